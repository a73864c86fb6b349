"""Pickling, fork, asyncio, logging: a model beside the rest of a program."""
import asyncio
import copy
import importlib.util
import logging
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy as np

import dyn
import models

FORKED = """
import os, sys
import numpy as np
import dyn, models
x = np.ones((2, 3), np.int64)
model = dyn.load(models.BERT, threads=2)
wanted = model(x, x)[0]
child = os.fork()
if child == 0:
    again = dyn.load(models.BERT, threads=2)
    os._exit(0 if np.array_equal(again(x, x)[0], wanted) else 1)
_, status = os.waitpid(child, 0)
assert np.array_equal(model(x, x)[0], wanted)
sys.exit(os.waitstatus_to_exitcode(status))
"""

# Ends without giving anything back, its models alive.
ENDED = """
import os, signal, sys
import numpy as np
import dyn, models
x = np.ones((2, 3), np.int64)
model = dyn.load(models.BERT.read_bytes(), cache_dir="none", threads=1)
packed = dyn.load(sys.stdin.buffer.read(), name="bert.dynpkg", threads=1)
assert np.array_equal(model(x, x)[0], packed(x, x)[0])
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
os._exit(0)
"""


class Pickled(unittest.TestCase):
    def setUp(self):
        self.model = dyn.load(models.BERT, threads=1)
        self.given = models.bert_inputs(2, 5)
        self.wanted = self.model(*self.given)[0]

    def test_round_trip(self):
        again = pickle.loads(pickle.dumps(self.model))
        np.testing.assert_array_equal(again(*self.given)[0], self.wanted)
        self.assertEqual(again.command("set threads")["settings"][0]["value"], "1")
        third = pickle.loads(pickle.dumps(again))
        np.testing.assert_array_equal(third(*self.given)[0], self.wanted)
        np.testing.assert_array_equal(copy.deepcopy(self.model)(*self.given)[0], self.wanted)

    def test_of_a_package(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bert.dynpkg"
            self.model.save(path)
            packed = dyn.load(path)
            packed.save(pathlib.Path(folder) / "copy.dynpkg")
            self.assertEqual((pathlib.Path(folder) / "copy.dynpkg").read_bytes(), path.read_bytes())
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(packed))(*self.given)[0], self.wanted)

    def test_results(self):
        y = pickle.loads(pickle.dumps(self.model(*self.given)))
        np.testing.assert_array_equal(y.last_hidden_state, self.wanted)


class Process(unittest.TestCase):
    def test_fork(self):
        done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_memory_is_flat(self):
        model = models.double()
        x = np.ones((100, 100), np.float32)

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        for _ in range(2000):
            model(x)
        before = resident()
        for _ in range(20000):
            model(x)
        self.assertLess(resident() - before, 4 << 20)

    def test_bytes_leave_no_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bert.dynpkg"
            dyn.load(models.BERT, threads=1).save(path)
            package = path.read_bytes()
        for way, code in (("ended", 0), ("killed", -9)):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, "-c", ENDED, way], input=package, capture_output=True,
                                      timeout=120, env={**os.environ, "TMPDIR": folder})
                self.assertEqual((done.returncode, done.stderr, os.listdir(folder)), (code, b"", []))


class Bytes(unittest.TestCase):
    def test_read_again(self):  # by commands that compile anew
        model = dyn.load(models.BERT.read_bytes(), name="mine.onnx", threads=1)
        wanted = [one.name for one in model.passes]
        self.assertIn("fuse", wanted)
        model.command("set passes -fuse")
        self.assertNotIn("fuse", [one.name for one in model.passes])
        self.assertEqual(model.command("info")["path"], "mine.onnx")
        self.assertEqual(model.check(), ())

    def test_descriptors_are_given_back(self):
        data = models.BERT.read_bytes()
        dyn.load(data)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            dyn.load(data)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_have_no_folder(self):
        with self.assertRaisesRegex(dyn.FileError, "w.onnx: .* has no folder"):
            models.text('weights "w.onnx"\nfn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y }')

    @unittest.skipIf(importlib.util.find_spec("onnx") is None, "needs onnx")
    def test_external_data(self):
        import onnx
        model = onnx.load(models.BERT)
        onnx.external_data_helper.convert_model_to_external_data(model, location="0", size_threshold=0)
        for tensor in model.graph.initializer:
            onnx.external_data_helper.set_external_data(tensor, "0")
            tensor.ClearField("raw_data")
        with self.assertRaisesRegex(dyn.ModelError, "external data need a model that comes from a file"):
            dyn.load(model)

    def test_damaged(self):
        for data in (b"", b"DYNPACK1"):
            with self.assertRaises(dyn.Error) as caught:
                dyn.load(data, name="packed.dynpkg")
            self.assertNotIn("/proc", str(caught.exception))
            self.assertIn("packed.dynpkg", str(caught.exception))


class Async(unittest.TestCase):
    def test_await(self):
        model = dyn.load(models.BERT, threads=1)
        asked = [models.bert_inputs(1, 3 + i, seed=i) for i in range(8)]

        async def all_of_them():
            return await asyncio.gather(*(model.arun(*given) for given in asked))

        for given, y in zip(asked, asyncio.run(all_of_them())):
            np.testing.assert_array_equal(y[0], model(*given)[0])


class Logged(unittest.TestCase):
    def test_progress(self):
        with self.assertLogs("dyn", logging.DEBUG) as said:
            dyn.load(models.BERT, cache_dir="none").compile()
        self.assertTrue(any("compiling" in line for line in said.output), said.output)

    def test_bar(self):
        """Where tqdm is installed and somebody looks: of each command that knows its progress, and gone behind it."""
        told = []

        class Bar:
            n = 0

            def __init__(self, **how):
                told.append("begun")

            def set_description_str(self, text, refresh):
                self.text = text

            def update(self, amount):
                self.n += amount
                told.append((self.text, self.n))

            def close(self):
                told.append("ended")
        model = dyn.load(models.BERT)
        with unittest.mock.patch.dict(sys.modules, {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": types.ModuleType("auto")}):
            sys.modules["tqdm.auto"].tqdm = Bar
            with unittest.mock.patch("dyn._progress._is_watched", return_value=True):
                model.commands.sweep("seq", "1..200", dim={"batch": 1})
                self.assertIsNone(model._handle.progress._bar)
            count = len(told)
            model.commands.sweep("seq", "1..200", dim={"batch": 1})
        self.assertEqual((told[0], told[-1], len(told)), ("begun", "ended", count))
        self.assertIn("seq", told[1][0])
        self.assertLessEqual(max(amount for _, amount in told[1:-1]), 100)


if __name__ == "__main__":
    unittest.main()
