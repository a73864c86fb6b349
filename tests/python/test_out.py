"""out=: results in the caller's memory."""
import unittest

import numpy as np

import dyn
import models


class Out(unittest.TestCase):
    def setUp(self):
        self.model = models.double()
        self.x = np.arange(12, dtype=np.float32).reshape(3, 4)
        self.out = np.zeros((3, 4), np.float32)

    def refused(self, out, said):
        with self.assertRaisesRegex(dyn.InputError, said):
            self.model(self.x, out=out)
        np.testing.assert_array_equal(self.model(self.x)[0], self.x * 2)  # nothing stays bound

    def test_forms(self):
        for out in (self.out, [self.out], (self.out,)):
            for _ in range(3):  # from the second run on the program writes there itself
                self.out[:] = 0
                y = self.model(self.x, out=out)
                self.assertIs(y[0], self.out)
                np.testing.assert_array_equal(self.out, self.x * 2)

    def test_by_name_and_in_part(self):
        model = models.text("fn @main(%x: Tensor[(n), f32]) { %a = add(%x, %x) %b = mul(%x, %x) return %a, %b }")
        x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
        first, second = model.outputs
        for given in ({second.name: out}, [None, out]):
            out[:] = 0
            y = model.run([x], out=given)
            self.assertIs(y[1], out)
            np.testing.assert_array_equal(y[0], x + x)
            np.testing.assert_array_equal(out, x * x)
        with self.assertRaisesRegex(dyn.InputError, "there is no output 'absent'"):
            model.run([x], out={"absent": out})
        with self.assertRaisesRegex(dyn.InputError, "1 arrays are given, the model has 2 outputs"):
            model.run([x], out=[out])
        self.assertEqual(first.dtype, "f32")

    def test_read_only(self):
        self.out.flags.writeable = False
        self.refused(self.out, "is read-only")

    def test_fortran_order(self):
        self.refused(np.asfortranarray(self.out), "is not dense in C order")

    def test_strides(self):
        self.refused(np.zeros((3, 8), np.float32)[:, ::2], "is not dense in C order")
        self.refused(np.zeros((3, 4), np.float32)[::-1], "is not dense in C order")

    def test_dtype(self):
        self.refused(np.zeros((3, 4), np.float64), "wants f32, got float64")

    def test_size(self):
        self.refused(np.zeros((3, 3), np.float32), "needs 48 bytes, 36 are bound")
        self.refused(np.zeros((4, 3), np.float32), r"another shape than \[3, 4\]")
        self.refused(np.zeros((4, 4), np.float32), r"another shape than \[3, 4\]")

    def test_no_array(self):
        self.refused([[0.0] * 4] * 3, "3 arrays are given")
        self.refused(7, "is a int, want a NumPy array")

    def test_memory_of_an_input(self):
        self.refused(self.x, "shares memory with an input")

    def test_not_aligned(self):
        raw = np.zeros(self.out.nbytes + 4, np.uint8)[4:].view(np.float32).reshape(3, 4)
        for _ in range(3):
            self.model(self.x, out=raw)
            np.testing.assert_array_equal(raw, self.x * 2)

    def test_sizes_vary(self):
        for rows in (1, 7, 3, 0, 5):
            x = np.full((rows, 2), rows, np.float32)
            out = np.zeros_like(x)
            self.model(x, out=out)
            np.testing.assert_array_equal(out, x * 2)

    def test_an_input_called_out(self):
        model = models.text("fn @main(%out: Tensor[(n), f32]) { return add(%out, %out) }")
        self.assertEqual(model(out=np.ones(1, np.float32))[0].tolist(), [2])


if __name__ == "__main__":
    unittest.main()
