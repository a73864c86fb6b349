#!/usr/bin/env python3
"""Builds the package dyn_runtime over a libdynvm.so, lets dynrepl compile packages, and runs them.

    runtime_test.py --library build/release/lib/libdynvm.so --dynrepl build/release/bin/dynrepl --source . --build build/release/python_runtime

Exit 77 (skipped) where Python's headers or nanobind are missing."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import package_test

MODELS = {
    "double": "fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y }",
    "append": "fn @main(%x: Tensor[(b, h, m, 4), f32], %past: Tensor[(b, h, p, 4), f32]) {\n"
              "  %twice = add(%x, %x)\n  %cache = concat(%past, %twice) {axis = 2}\n"
              "  %keys = transpose(%cache) {perm = [0, 1, 3, 2]}\n  %scores = matmul(%x, %keys)\n"
              "  %p = softmax(%scores) {axis = -1}\n  %z = matmul(%p, %cache)\n  return %z, %cache\n}\n",
    "product": "fn @main(%a: Tensor[(n, k), f32], %b: Tensor[(m, 2), f32]) { %y = matmul(%a, %b) return %y }",
}
FOLDER = None  # of the packages
SOURCE = None


class Runtime(unittest.TestCase):
    def load(self, name, **options):
        return dyn.load(FOLDER / (name + ".dynpkg"), **options)

    def test_any_size(self):
        model = self.load("double")
        for count in (0, 1, 7, 1000):
            x = np.arange(count, dtype=np.float32)
            np.testing.assert_array_equal(model(x).y, x + x)
            np.testing.assert_array_equal(model(x=x)[0], x + x)
        out = np.zeros(7, np.float32)
        self.assertIs(model(np.ones(7, np.float32), out=out)[0], out)
        self.assertEqual(list(out), [2] * 7)

    def test_ports(self):
        model = self.load("append")
        self.assertEqual([port.type for port in model.inputs], ["Tensor[(b, h, m, 4), f32]", "Tensor[(b, h, p, 4), f32]"])
        self.assertEqual([port.name for port in model.outputs], ["z", "cache"])
        self.assertEqual(model.inputs[1].dims[2].name, "p")
        self.assertIn("dyn_runtime.Model(x: Tensor", repr(model))

    def test_bytes(self):
        data = (FOLDER / "double.dynpkg").read_bytes()
        before = len(os.listdir("/proc/self/fd"))
        model = dyn.load(data, name="double.dynpkg")
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        np.testing.assert_array_equal(model(np.ones(3, np.float32))[0], [2, 2, 2])

    def test_a_cache_that_grows(self):
        model = self.load("append", threads=1)
        past = model.growing(np.zeros((2, 1, 1, 4), np.float32), axis=2, room=8)
        begin = past.__array_interface__["data"][0]
        for i in range(7):
            past = model(np.full((2, 1, 1, 4), i, np.float32), past).cache
        np.testing.assert_array_equal(past[1, 0, :, 3], [0, 0, 2, 4, 6, 8, 10, 12])
        self.assertEqual((past.__array_interface__["data"][0], model.copies), (begin, 0))

    def test_a_context(self):
        pool = dyn.ThreadPool(2)
        model = self.load("append", threads=pool)
        context = model.context()
        self.assertIsInstance(context, dyn.Context)
        context.set({"past": model.growing(np.zeros((2, 1, 1, 4), np.float32), axis=2, room=8)})
        for i in range(7):
            context.set({"x": np.full((2, 1, 1, 4), i, np.float32)})
            context.run()
            context.feed_back({"past": "cache"})
        np.testing.assert_array_equal(context.outputs.cache[1, 0, :, 3], [0, 0, 2, 4, 6, 8, 10, 12])
        self.assertIsInstance(context.statistics, dyn.RunStatistics)
        self.assertIn("total_ns", context.profile(runs=2).splitlines()[0])
        self.assertEqual(repr(pool), "ThreadPool(2)")

    def test_errors(self):
        model = self.load("product")
        with self.assertRaises(dyn.CheckError):
            model(np.ones((2, 3), np.float32), np.ones((4, 2), np.float32))
        with self.assertRaisesRegex(dyn.InputError, "wants f32, got f64"):
            model(np.ones((2, 3)), np.ones((3, 2)))
        with self.assertRaises(dyn.FileError):
            self.load("absent")
        damaged = bytearray((FOLDER / "double.dynpkg").read_bytes())
        damaged[len(damaged) // 2] ^= 255
        with self.assertRaises(dyn.Error):
            dyn.load(bytes(damaged[:len(damaged) // 2]))
        with self.assertRaisesRegex(dyn.UsageError, "mem_limit"):
            self.load("double", mem_limit="much")
        with self.assertRaises(dyn.MemoryLimitError):
            self.load("double", mem_limit="1KB")(np.ones(100000, np.float32))

    def test_no_compiler(self):
        for given, options in ((SOURCE / "samples/models/bert/model.onnx", {}), ("m.dyn", {}), (3, {}),
                               (b"fn @main", {"name": "m.dyn"}), (FOLDER / "double.dynpkg", {"math": "bf16"})):
            with self.assertRaisesRegex(dyn.Unsupported, "without a compiler"):
                dyn.load(given, **options)
        model = self.load("double")
        self.assertIs(model.compile(), model)
        for name in ("why", "predict", "passes", "save"):
            with self.assertRaisesRegex(dyn.Unsupported, "Model.%s without a compiler" % name):
                getattr(model, name)
        with self.assertRaisesRegex(AttributeError, "the package dyn, which has the compiler"):
            dyn.from_torch
        with self.assertRaises(AttributeError):
            model.bogus

    def test_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder) / "key.pub"
            with self.assertRaises(dyn.FileError):
                self.load("double", verify_key=key)
            key.write_text("no key")
            with self.assertRaisesRegex(dyn.UsageError, "no Ed25519"):
                self.load("double", verify_key=key)
            key.write_text("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
                           "-----END PUBLIC KEY-----\n")
            with self.assertRaises((dyn.ModelError, dyn.Unsupported)):  # not signed, or no libsodium
                self.load("double", verify_key=key)
        with self.assertRaisesRegex(dyn.Unsupported, "without native code"):
            self.load("double", native_code=False)

    def test_little_is_loaded(self):
        done = subprocess.run([sys.executable, "-c", "import sys, numpy; before = set(sys.modules)\nimport dyn_runtime\n"
                               "print(*sorted(name for name in set(sys.modules) - before))\n"
                               "print([line for line in open('/proc/self/maps') if 'LLVM' in line])"],
                              capture_output=True, text=True, check=True)
        modules, mapped = done.stdout.splitlines()
        others = {name for name in modules.split() if not name.startswith("dyn_runtime")}
        self.assertLessEqual(others, {"__future__", "atexit", "base64", "binascii"})
        self.assertEqual(mapped, "[]")


def main():
    global FOLDER, SOURCE, dyn, np
    parser = argparse.ArgumentParser()
    for name in ("library", "dynrepl", "source", "build"):
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    why = package_test.missing()
    if why:
        print("skipped: %s" % why)
        return 77
    SOURCE, folder = given.source.resolve(), given.build.resolve()
    package_test.build(given.library.resolve(), SOURCE, folder, ("vm/include",), ("-DDYN_RUNTIME=ON",))
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    import numpy as np
    import dyn_runtime as dyn
    with tempfile.TemporaryDirectory() as place:
        FOLDER = pathlib.Path(place)
        for name, text in MODELS.items():
            (FOLDER / (name + ".dyn")).write_text(text)
            package_test.run([given.dynrepl, "--cache-dir", "none", "compile", FOLDER / (name + ".dyn"), "-o",
                              FOLDER / (name + ".dynpkg"), "-q"])
        return 0 if unittest.main(argv=[sys.argv[0], *given.tests], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
