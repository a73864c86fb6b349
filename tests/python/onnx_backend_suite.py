"""The tests of the package onnx (onnx.backend.test) over dyn.onnx_backend, beside the lists of tests/conformance and of this folder: a
case that neither names passes. Not found by the discovery of test_*.py, as it takes minutes; package_test.py runs it by its name."""
import collections
import unittest
import warnings

import models

EXPECTED = models.SOURCE / "tests/conformance/expected.txt"
MORE = models.SOURCE / "tests/python/onnx_backend_expected.txt"
# onnx's group of a test -> the suite's folder. Real: networks that are downloaded.
GROUPS = {"Node": "node", "Simple": "simple", "PyTorchConverted": "pytorch-converted", "PyTorchOperator": "pytorch-operator"}


def listed(path):
    """{case: status} of a list."""
    rows = (line.split() for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {name: status for status, name in rows}


class Results(unittest.TestResult):
    """What each case ended with, by the name that the list has."""

    def __init__(self):
        super().__init__()
        self.ended, self.why = {}, {}

    def note(self, test, status, why=""):
        group = type(test).__name__.removeprefix("OnnxBackend").removesuffix("ModelTest")
        name = test.id().rpartition(".")[2]
        if group in GROUPS and name.endswith("_cpu"):
            self.ended[f"{GROUPS[group]}/{name.removesuffix('_cpu')}"] = status
            self.why[f"{GROUPS[group]}/{name.removesuffix('_cpu')}"] = why

    def addSuccess(self, test):
        self.note(test, "passed")

    def addFailure(self, test, err):
        self.note(test, "wrong", str(err[1]))

    def addError(self, test, err):
        self.note(test, "unsupported" if isinstance(err[1], NotImplementedError) else "failed", str(err[1]))

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)


class Suite(unittest.TestCase):
    def test_scoreboard(self):
        import onnx.backend.test

        if not onnx.__version__.startswith("1.23."):
            self.skipTest(f"the list is of onnx 1.23, this is {onnx.__version__}")
        from dyn import onnx_backend
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tests = onnx.backend.test.BackendTest(onnx_backend, __name__)
            tests.exclude("_cuda$")
            cases = [case for name, case in tests.test_cases.items()
                     if name.removeprefix("OnnxBackend").removesuffix("ModelTest") in GROUPS]
            suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in cases)
            results = Results()
            suite.run(results)
        passed = sum(status == "passed" for status in results.ended.values())
        print(f"onnx {onnx.__version__}: {passed} of {len(results.ended)} cases passed;",
              dict(collections.Counter(results.ended.values())))
        self.assertGreater(passed, 1500)
        wanted = {**listed(EXPECTED), **listed(MORE)}
        self.maxDiff = None
        wrong = [f"{name}: {status}, listed as {wanted.get(name, 'passed')}: {results.why[name][:300]}"
                 for name, status in sorted(results.ended.items()) if status != wanted.get(name, "passed")]
        self.assertEqual(wrong, [], "\n".join(wrong))


if __name__ == "__main__":
    unittest.main()
