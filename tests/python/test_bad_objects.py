"""Inputs that are not what they should be: each is refused with its reason, and the model stays usable."""
import array
import concurrent.futures
import ctypes
import unittest

import numpy as np

import dyn
import models


def lying(**attributes):
    return type("Lying", (), attributes)()


class Objects(unittest.TestCase):
    def setUp(self):
        self.model = models.double()
        self.integers = models.double("i64")
        self.x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def refused(self, given, said, model=None):
        with self.assertRaisesRegex(dyn.InputError, said):
            (model or self.model)(given)
        np.testing.assert_array_equal(self.model(self.x)[0], self.x * 2)

    def test_float_for_int(self):
        self.refused(np.ones((2, 2)), "wants i64, got f64", self.integers)
        self.refused([[1.0, 2.0]], "wants i64, got f64", self.integers)
        self.refused(np.ones((2, 2), bool), "wants i64, got bool", self.integers)

    def test_other_dtypes(self):
        self.refused(np.ones((2, 2)), "wants f32, got f64")
        self.refused(np.ones((2, 2), complex), "wants f32, got c128")
        self.refused(np.ones((2, 2), ">f4"), "wants f32, got >f4")
        self.refused(np.zeros((2, 2), [("a", "f4")]), "wants f32")
        self.refused(np.array([[None, 1]], object), "wants f32, got object")
        self.refused(np.zeros((2, 2), np.longdouble), "wants f32")

    def test_ragged_lists(self):
        self.refused([[1.0, 2.0], [3.0]], "it is no array")
        self.refused([self.x, self.x[:1]], "it is no array")
        listed = models.text("fn @main(x: List[Tensor[(?, 3), f32]]) { return concat_from_sequence(x, axis = 0) }")
        for given, said in (([self.x, [[1.0], [2.0, 3.0]]], "item 1: it is no array"), (self.x, "wants a list"),
                            ([self.x, "text"], "element 1 is string"), ([self.x, self.x[0]], ""), ([self.x, None], "item 1")):
            with self.assertRaisesRegex(dyn.Error, said):
                listed(given)
        self.assertEqual(listed([self.x, self.x])[0].shape, (4, 3))

    def test_masked(self):
        self.refused(np.ma.masked_array(self.x, self.x > 2), "masked array")

    def test_lies_of_dlpack(self):
        def fails(self, **options):
            raise BufferError("no memory today")

        device = lambda self: (1, 0)
        self.refused(lying(__dlpack__=fails, __dlpack_device__=device), "no memory today")
        self.refused(lying(__dlpack__=lambda self, **options: 7, __dlpack_device__=device), "DLPack")
        self.refused(lying(__dlpack__=lambda self, **options: None), "DLPack")
        self.refused(lying(__dlpack__=lambda self, **options: None, __dlpack_device__=lambda self: (2, 0)), "DLPack")

    def test_lies_of_arrays(self):
        self.refused(lying(__array__=lambda self, dtype=None, copy=None: 7), "no array")
        self.refused(lying(__array_interface__={"shape": (2, 2)}), "no array")
        self.refused(lying(__array_interface__=7), "no array")

    def test_buffers_of_other_kinds(self):
        self.refused(b"abcd", "wants f32")
        self.refused(array.array("d", [1, 2]), "wants f32, got f64")
        self.refused((ctypes.c_float * 3)(1, 2, 3), "wants rank 2, got rank 1")
        self.refused(memoryview(b"abcd"), "wants f32, got u8")

    def test_classes_derived_from_arrays(self):
        with np.testing.suppress_warnings() as quiet:
            quiet.filter(PendingDeprecationWarning)
            self.assertEqual(type(self.model(np.asmatrix(self.x))[0]), np.ndarray)

    def test_names_that_are_no_text(self):
        with self.assertRaises(dyn.InputError):
            self.model.run({7: self.x})
        with self.assertRaisesRegex(dyn.UsageError, "neither a mapping nor a list"):
            self.model.run(self.x)

    def test_many_axes(self):
        self.refused(np.ones((1,) * 60, np.float32), "wants rank 2, got rank 60")

    def test_eight_threads(self):
        model = models.double()
        bad = np.ones((2, 2))

        def work(index):
            for i in range(200):
                x = np.full((1 + i % 5, 3), index, np.float32)
                if not np.array_equal(model(x)[0], x * 2):
                    return False
                try:
                    model(bad)
                    return False
                except dyn.InputError:
                    pass
            return True

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(work, range(8))))


if __name__ == "__main__":
    unittest.main()
