"""dyn.custom_kernel: Python functions as kernels of operators of one's own."""
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

import numpy as np

import dyn
import models

SAMPLE = models.SOURCE / "samples/19_custom_operators"
SCALE = """fn @main(x: Tensor[(n, 3), f32], by: Tensor[(), f32]) {
  y = custom_call(x, by, shape(x), kernel = "KERNEL")
  return y + 1.0
}
"""


@dyn.custom_kernel("py_scale")
def scale(x, by):
    return x * by


@dyn.custom_kernel("py_parts")
def parts(x, none, texts):
    assert none is None
    return np.sort(x), np.array([len(text) for text in texts], np.int64)


class CustomKernels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def load(self, text, **options):
        (self.folder / "m.dyn").write_text(text)
        return dyn.load(self.folder / "m.dyn", **options)

    def test_any_size(self):
        model = self.load(SCALE.replace("KERNEL", "py_scale"))
        for n in (0, 1, 7):
            x = np.random.default_rng(n).random((n, 3), np.float32)
            np.testing.assert_array_equal(model(x=x, by=np.float32(2))[0], x * 2 + 1)
        self.assertIn("n", str(model.why("y.0")))

    def test_several_results_and_what_is_left_out(self):
        model = self.load("""fn @main(x: Tensor[(n), f32], t: Tensor[(k), string]) {
  a, b = custom_call(x, _, t, shape(x), shape(t), kernel = "py_parts", dtypes = ["f32", "i64"])
  return a, b
}
""")
        a, b = model(x=np.array([3, 1, 2], np.float32), t=np.array(["", "four", "größe"]))
        self.assertEqual(a.tolist(), [1, 2, 3])
        self.assertEqual(b.tolist(), [0, 4, 5])

    def test_constants_are_computed_once(self):
        calls = []

        @dyn.custom_kernel("py_counted")
        def counted(x):
            calls.append(threading.current_thread())
            return x + 1

        model = self.load("""fn @main(x: Tensor[(n), f32]) {
  y = custom_call(f32[2] [1, 2], [2], kernel = "py_counted")
  return x[:2] + y
}
""")
        for _ in range(3):
            self.assertEqual(model(x=np.zeros(2, np.float32))[0].tolist(), [2, 3])
        self.assertGreaterEqual(len(calls), 1)

    def test_what_it_raises_ends_the_run(self):
        def fails(error):
            @dyn.custom_kernel("py_fails")
            def kernel(x, by):
                if isinstance(error, BaseException):
                    raise error
                return error

        model = self.load(SCALE.replace("KERNEL", "py_fails"))
        x = np.zeros((2, 3), np.float32)
        for error, text in ((ValueError("no such scale"), "ValueError: no such scale"),
                            (np.zeros((3, 2), np.float32), "result 0 is float32[3, 2], custom_call says float32[2, 3]"),
                            (np.zeros((2, 3)), "result 0 is float64[2, 3], custom_call says float32[2, 3]"),
                            ((x, x), "it returned 2 results, custom_call has 1")):
            fails(error)
            with self.assertRaises(dyn.Error) as caught:
                model(x=x, by=np.float32(1))
            self.assertIn(text, str(caught.exception))
        fails(KeyboardInterrupt())
        with self.assertRaises(dyn.Cancelled):
            model(x=x, by=np.float32(1))
        fails(x)  # the later one counts
        self.assertEqual(model(x=x, by=np.float32(1))[0].tolist(), (x + 1).tolist())

    def test_arguments_are_read_only(self):
        @dyn.custom_kernel("py_writes")
        def writes(x, by):
            x[0] = 1
            return x

        model = self.load(SCALE.replace("KERNEL", "py_writes"))
        with self.assertRaises(dyn.Error) as caught:
            model(x=np.zeros((2, 3), np.float32), by=np.float32(1))
        self.assertIn("read-only", str(caught.exception))

    def test_many_threads(self):
        model = self.load(SCALE.replace("KERNEL", "py_scale"), threads=2)
        x = np.random.default_rng(1).random((50, 3), np.float32)
        wrong = []

        def work(by):
            for _ in range(50):
                if not np.array_equal(model(x=x, by=np.float32(by))[0], x * np.float32(by) + 1):
                    wrong.append(by)

        threads = [threading.Thread(target=work, args=(by,)) for by in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_no_kernel_and_no_name(self):
        with self.assertRaises(dyn.Unsupported) as caught:
            self.load(SCALE.replace("KERNEL", "py_absent"))(x=np.zeros((2, 3), np.float32), by=np.float32(1))
        self.assertIn("py_absent", str(caught.exception))
        with self.assertRaises(dyn.UsageError):
            dyn.custom_kernel("")
        with self.assertRaises(dyn.FileError):
            dyn.load_custom_kernels(self.folder / "none.so")

    def test_kernels_in_c(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        library = self.folder / "libkernels.so"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-I", str(models.SOURCE / "vm/include"),
                        str(SAMPLE / "kernels.c"), "-o", str(library), "-lm"], check=True)
        model = dyn.load(SAMPLE / "detect.onnx", ops=[SAMPLE / "mmcv.dyn", SAMPLE / "contrib.dyn", library])
        boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 2], [5, 5, 6, 6]], np.float32)
        rows, places, lengths = model(boxes=boxes, scores=np.array([0.5, 0.9, 0.3], np.float32),
                                      names=np.array(["a", "größe"]))
        self.assertEqual(places.tolist(), [1, 2, 0])
        np.testing.assert_allclose(rows[:, 4], [0.9, 0.3, 0.5 * np.exp(-2)], rtol=1e-6)
        self.assertEqual(lengths.tolist(), [1, 5])


if __name__ == "__main__":
    unittest.main()
