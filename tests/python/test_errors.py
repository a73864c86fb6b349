"""Errors: each says what is wrong, where, and by which id."""
import pickle
import tempfile
import unittest

import numpy as np

import dyn
import models


class Inputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = dyn.load(models.BERT)
        cls.ids, cls.mask = models.bert_inputs(2, 5)

    def refused(self, message, *given, **named):
        with self.assertRaisesRegex(dyn.InputError, message) as caught:
            self.model(*given, **named)
        self.assertTrue(caught.exception.id)
        return caught.exception

    def test_dtype(self):
        self.refused("input 'input_ids': wants i64, got i32", self.ids.astype(np.int32), self.mask)
        self.refused("input 'attention_mask': wants i64, got f64", self.ids, self.mask.astype(float))
        self.refused("input 'input_ids': wants i64, got >i8", self.ids.astype(">i8"), self.mask)
        self.refused("input 'input_ids': wants i64, got <U1", np.array([["a"]]), self.mask)
        self.refused("input 'input_ids': wants i64, got datetime64", self.ids.astype("M8[s]"), self.mask)

    def test_rank(self):
        self.refused("input 'input_ids': wants rank 2, got rank 1, shape \\[5\\]", self.ids[0], self.mask)

    def test_names(self):
        self.refused("missing: input 'attention_mask'", self.ids)
        self.refused("missing: input 'input_ids'", attention_mask=self.mask)
        self.refused("there is no input 'labels'; inputs: input_ids, attention_mask", self.ids, labels=self.mask)
        self.refused("3 inputs are given, the model has 2", self.ids, self.mask, self.mask)
        self.refused("'input_ids' is given twice", self.ids, input_ids=self.ids)

    def test_sizes(self):
        self.refused("seq is 5 .* but 4", self.ids, self.mask[:, :4])

    def test_no_array(self):
        self.refused("no array", object(), self.mask)
        self.refused("no array", [[1, 2], [3]], self.mask)
        self.refused("no array", None, self.mask)

    def test_still_usable(self):
        self.refused("rank", self.ids[0], self.mask)
        self.assertEqual(self.model(self.ids, self.mask)[0].shape, (2, 5, 32))


class Runs(unittest.TestCase):
    def test_check(self):
        ones = np.ones((1, 600), np.int64)
        with self.assertRaisesRegex(dyn.CheckError, "seq must be at most 512") as caught:
            dyn.load(models.BERT)(ones, ones)
        self.assertIn("node /inner/embeddings/Expand_1", caught.exception.place)

    def test_memory_limit(self):
        model = models.text("fn @main(%x: Tensor[(n, m), f32]) { return matmul(%x, transpose(%x, perm = [1, 0])) }",
                            mem_limit="1MB")
        with self.assertRaises(dyn.MemoryLimitError):
            model(np.ones((2000, 2), np.float32))
        self.assertEqual(model(np.ones((2, 2), np.float32))[0].shape, (2, 2))


class Files(unittest.TestCase):
    def test_absent(self):
        with self.assertRaisesRegex(dyn.FileError, "absent.onnx") as caught:
            dyn.load("absent.onnx")
        self.assertEqual(caught.exception.id, "E0010")

    def test_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(dyn.Error):
                dyn.load(folder)

    def test_cut_off(self):
        data = models.BERT.read_bytes()
        for size in (0, 10, len(data) // 2, len(data) - 1):
            with self.assertRaises(dyn.ModelError) as caught:
                dyn.load(data[:size])(*models.bert_inputs(1, 3))
            self.assertTrue(caught.exception.id.startswith("E"))

    def test_names_that_are_no_text(self):
        data = models.BERT.read_bytes()
        for name in (b"MatMul", b"\x22\x06MatMul"):  # of a value, of an operator
            broken = data.replace(name, name[:-6] + b"\xff\xfeMul!", 1)
            with self.assertRaises(dyn.Error) as caught:
                dyn.load(broken).compile()
            self.assertIn("Mul!", caught.exception.message)

    def test_place(self):
        with self.assertRaises(dyn.ModelError) as caught:
            models.text("fn @main(%x: Tensor[(n), f32]) {\n  %y = nonsense(%x)\n  return %y }")
        fault = caught.exception
        self.assertTrue(fault.place.startswith("test.dyn:2:"), fault.place)
        self.assertEqual((fault.diagnostics[0].file, fault.diagnostics[0].line), ("test.dyn", 2))
        again = pickle.loads(pickle.dumps(fault))
        self.assertEqual((str(again), type(again)), (str(fault), type(fault)))

    def test_no_model(self):
        with self.assertRaisesRegex(dyn.UsageError, "a int is no model"):
            dyn.load(3)
        with self.assertRaisesRegex(dyn.UsageError, "no name for bytes"):
            dyn.load(b"x", name="a/b.onnx")


class Options(unittest.TestCase):
    def test_unknown(self):
        with self.assertRaisesRegex(dyn.UsageError, "there is no setting 'bogus'"):
            dyn.load(models.BERT, bogus=1)

    def test_value(self):
        with self.assertRaisesRegex(dyn.UsageError, "math: 'fp7' is not one of fp32"):
            dyn.load(models.BERT, math="fp7")
        with self.assertRaisesRegex(dyn.UsageError, "a list is no value"):
            dyn.load(models.BERT, threads=[1])

    def test_static_wants_sizes(self):
        with self.assertRaises(dyn.Error):
            models.text("fn @main(%x: Tensor[(n), f32]) { return %x }", static=True).compile()

    def test_dims(self):
        model = models.text("fn @main(%x: Tensor[(n), f32]) { return add(%x, %x) }", dims={"n": "2..8:2"})
        self.assertEqual((model.dims["n"].low, model.dims["n"].high, model.dims["n"].multiple), (2, 8, 2))
        with self.assertRaises(dyn.Error):
            model(np.ones(10, np.float32))


if __name__ == "__main__":
    unittest.main()
