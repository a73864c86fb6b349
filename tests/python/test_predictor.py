"""What engines for clusters use of the package: a model as one file of a machine, and batches of columns."""
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

import dyn
import models

CHILD = """
import sys
import numpy as np
import dyn
served = dyn.Server().add(dyn.load(sys.argv[1], threads=1))
print(float(served(np.ones((3, 1024), np.float32))[0].sum()), flush=True)
sys.stdin.read()
"""


def ragged(rows):
    made = np.empty(len(rows), object)
    made[:] = rows
    return made


def pss_of(pid, path):
    """Bytes of the pages of a file that a process maps; a page counts by the share of the process."""
    inside, total = False, 0
    for line in pathlib.Path("/proc", str(pid), "smaps").read_text().splitlines():
        if line[0] in "0123456789abcdef" and "-" in line.split()[0]:
            inside = line.endswith(str(path))
        elif inside and line.startswith("Pss:"):
            total += int(line.split()[1]) << 10
    return total


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(unittest.mock.patch.object(tempfile, "tempdir", str(self.folder)))

    def test_a_path_stays(self):
        path = self.folder / "double.dynpkg"
        models.double().save(path)
        made = dyn.packaged(path)
        self.assertEqual((made.path, made.data, made.file()), (str(path), b"", str(path)))

    def test_options(self):
        """Those of compilation go with a model that is not compiled yet, those of runs with any."""
        for compiled in (models.double(), dyn.packaged(models.double())):
            with self.assertRaisesRegex(dyn.UsageError, "too late for math"):
                dyn.DynPredictor(compiled, math="bf16", threads=2)
        made = dyn.DynPredictor(models.BERT, dims={"seq": "1..16"}, threads=2)
        self.assertEqual(made._model.command("set threads")["settings"][0]["value"], "2")
        with self.assertRaisesRegex(dyn.Error, "16"):
            made({name: np.ones((1, 17), np.int64) for name in ("input_ids", "attention_mask")})

    def test_travels(self):
        """Its bytes become one file, whose content is looked at before it is used."""
        made = pickle.loads(pickle.dumps(dyn.packaged(models.double())))
        path = made.file()
        self.assertEqual(made.load({})(np.ones((1, 2), np.float32))[0].tolist(), [[2, 2]])
        before = os.stat(path)
        self.assertEqual((made.file(), os.stat(path).st_ino), (path, before.st_ino))
        self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o777, 0o700)
        pathlib.Path(path).write_bytes(made.data[:-1] + b"!")
        self.assertEqual(pathlib.Path(made.file()).read_bytes(), made.data)
        self.assertEqual(os.listdir(os.path.dirname(path)), [os.path.basename(path)])

    def test_a_folder_of_others(self):
        made = dyn.packaged(models.double())
        os.chmod(os.path.dirname(made.file()), 0o777)
        with self.assertRaisesRegex(dyn.FileError, "this user alone"):
            made.file()

    def test_too_large(self):
        with unittest.mock.patch("dyn._packages._MOST_BYTES", 1000), self.assertRaisesRegex(dyn.Unsupported, "path that every"):
            dyn.packaged(models.double())

    def test_processes_share_it(self):
        import importlib.util
        if importlib.util.find_spec("onnx") is None:
            self.skipTest("there is no package onnx")
        import onnx
        weights = np.ones((1024, 1024), np.float32)
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 1024])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 1024])],
            [onnx.numpy_helper.from_array(weights, "w")])
        path = self.folder / "product.dynpkg"
        dyn.load(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)).save(path)
        totals, processes = [], []
        for count in (1, 4):
            while len(processes) < count:
                processes.append(subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdin=subprocess.PIPE,
                                                  stdout=subprocess.PIPE, text=True))
                self.addCleanup(processes[-1].wait)
                self.addCleanup(processes[-1].stdout.close)
                self.addCleanup(processes[-1].stdin.close)
                self.assertEqual(processes[-1].stdout.readline(), "%.1f\n" % (3 * 1024 * 1024))
            totals.append(sum(pss_of(one.pid, path) for one in processes))
        self.assertGreater(totals[0], weights.nbytes * 0.9)
        self.assertLess(totals[1], 1.1 * totals[0])


class Predictor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bert = dyn.load(models.BERT, threads=1)
        random = np.random.default_rng(0)
        cls.tokens = [random.integers(0, 50, 1 + i % 5) for i in range(13)]
        cls.wanted = [cls.bert(ids[None], np.ones_like(ids[None]))[0][0] for ids in cls.tokens]

    def test_dense(self):
        ids, mask = models.bert_inputs(4, 9)
        predictor = dyn.DynPredictor(self.bert, outputs={"last_hidden_state": "hidden"}, keep=["id"])
        y = predictor({"input_ids": ids, "attention_mask": mask, "id": np.arange(4), "other": np.zeros(4)})
        self.assertEqual(list(y), ["id", "hidden"])
        np.testing.assert_array_equal(y["hidden"], self.bert(ids, mask)[0])

    def test_lengths(self):
        predictor = dyn.DynPredictor(self.bert, columns={"input_ids": "tokens"}, lengths="attention_mask")
        for rows in (range(13), [3, 8], [2]):  # of different lengths, of one length, one alone
            tokens = [self.tokens[i] for i in rows]
            alike = len({len(one) for one in tokens}) == 1
            y = predictor({"tokens": np.stack(tokens) if alike else ragged(tokens)})["last_hidden_state"]
            self.assertEqual(y.dtype == object, not alike)
            for i, row in zip(rows, y):
                np.testing.assert_allclose(row, self.wanted[i], atol=1e-5)

    def test_equal_shapes(self):
        predictor = dyn.DynPredictor(self.bert, columns={"input_ids": "tokens"})
        y = predictor({"tokens": ragged(self.tokens), "attention_mask": ragged([np.ones_like(one) for one in self.tokens])})
        for row, wanted in zip(y["last_hidden_state"], self.wanted):
            np.testing.assert_allclose(row, wanted, atol=1e-5)
        two = models.text("fn @main(%x: Tensor[(n, m), f32], %z: Tensor[(n, 1), f32]) { %y = mul(%x, %z) return %y }")
        rows = [np.full(1 + i % 3, i, np.float32) for i in range(7)]
        y = dyn.DynPredictor(two)({"x": ragged(rows), "z": np.arange(7, dtype=np.float32)[:, None]})["y"]
        self.assertEqual([row.tolist() for row in y], [(i * row).tolist() for i, row in enumerate(rows)])

    def test_errors(self):
        predictor = dyn.DynPredictor(models.double())
        with self.assertRaisesRegex(dyn.InputError, "no column 'x'"):
            predictor({"z": np.ones((2, 2), np.float32)})
        with self.assertRaisesRegex(dyn.InputError, "no output 'z'"):
            dyn.DynPredictor(models.double(), outputs={"z": "z"})({"x": np.ones((2, 2), np.float32)})
        twice = models.text("fn @main(%x: Tensor[(n), f32]) { %y = concat(%x, %x) {axis = 0} return %y }")
        with self.assertRaisesRegex(dyn.Unsupported, "no row for each of the 2 rows"):
            dyn.DynPredictor(twice)({"x": np.ones(2, np.float32)})


if __name__ == "__main__":
    unittest.main()
