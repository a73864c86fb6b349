"""Calls: inputs of every kind, results by name, memory."""
import array
import gc
import sys
import unittest
import weakref

import numpy as np

import dyn
import models

try:
    import onnx
    import onnxruntime
except ImportError:
    onnx = onnxruntime = None


class Bert(unittest.TestCase):
    @unittest.skipIf(onnxruntime is None, "needs onnxruntime")
    def test_as_onnxruntime(self):
        model = dyn.load(models.BERT)
        other = onnxruntime.InferenceSession(str(models.BERT), providers=["CPUExecutionProvider"])
        for batch, seq in models.SHAPES:
            ids, mask = models.bert_inputs(batch, seq)
            mask[:, seq // 2:] = 0
            [wanted] = other.run(None, {"input_ids": ids, "attention_mask": mask})
            y = model(input_ids=ids, attention_mask=mask)
            np.testing.assert_allclose(y.last_hidden_state, wanted, rtol=1e-4, atol=1e-5)
        self.assertEqual(model.copies, 0)

    def test_positions_and_names(self):
        model = dyn.load(models.BERT)
        ids, mask = models.bert_inputs(2, 5)
        wanted = model(ids, mask)[0]
        for y in (model(ids, attention_mask=mask), model(attention_mask=mask, input_ids=ids)):
            np.testing.assert_array_equal(y["last_hidden_state"], wanted)
        [only] = model(ids, mask)
        np.testing.assert_array_equal(only, wanted)
        self.assertEqual((len(model(ids, mask)), model(ids, mask).names), (1, ("last_hidden_state",)))

    def test_sources(self):
        ids, mask = models.bert_inputs(1, 9)
        wanted = dyn.load(str(models.BERT))(ids, mask)[0]
        data = models.BERT.read_bytes()
        sources = [models.BERT, data, bytearray(data), memoryview(data)]
        if onnx:
            sources.append(onnx.load(models.BERT))
        for source in sources:
            np.testing.assert_array_equal(dyn.load(source)(ids, mask)[0], wanted)


class Inputs(unittest.TestCase):
    def setUp(self):
        self.model = models.double()
        self.x = np.arange(12, dtype=np.float32).reshape(3, 4)

    def check(self, given, wanted, copies):
        before = self.model.copies
        np.testing.assert_array_equal(self.model(given)[0], wanted)
        self.assertEqual(self.model.copies - before, copies)

    def test_dense_is_not_copied(self):
        self.check(self.x, self.x * 2, 0)
        self.check(self.x[1:], self.x[1:] * 2, 0)

    def test_fortran_order(self):
        self.check(np.asfortranarray(self.x), self.x * 2, 1)
        self.check(self.x.T, self.x.T * 2, 1)

    def test_negative_strides(self):
        self.check(self.x[::-1], self.x[::-1] * 2, 1)
        self.check(self.x[:, ::-2], self.x[:, ::-2] * 2, 1)

    def test_not_aligned(self):
        raw = np.zeros(self.x.nbytes + 1, np.uint8)[1:]
        raw[:] = np.frombuffer(self.x.tobytes(), np.uint8)
        off = raw.view(np.float32).reshape(3, 4)
        self.assertFalse(off.flags.aligned)
        self.check(off, self.x * 2, 1)

    def test_broadcast_strides(self):
        self.check(np.broadcast_to(self.x[:1], (3, 4)), np.broadcast_to(self.x[:1], (3, 4)) * 2, 1)

    def test_read_only(self):
        self.x.flags.writeable = False
        self.check(self.x, self.x * 2, 0)

    def test_no_elements(self):
        for shape in ((0, 4), (3, 0), (0, 0)):
            self.assertEqual(self.model(np.zeros(shape, np.float32))[0].shape, shape)

    def test_buffer(self):
        memory = memoryview(array.array("f", range(12))).cast("B").cast("f", (3, 4))
        self.check(memory, self.x * 2, 0)

    def test_dlpack(self):
        class Tensor:
            def __init__(self, inner):
                self.inner = inner

            def __dlpack__(self, **options):
                return self.inner.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.inner.__dlpack_device__()

        self.check(Tensor(self.x), self.x * 2, 0)

    def test_nested_lists(self):
        model = models.double("i64")
        np.testing.assert_array_equal(model([[1, 2], [3, 4]])[0], [[2, 4], [6, 8]])


class Dtypes(unittest.TestCase):
    def test_each(self):
        for name, dtype in (("bool", np.bool_), ("i8", np.int8), ("i16", np.int16), ("i32", np.int32),
                            ("i64", np.int64), ("u8", np.uint8), ("u16", np.uint16), ("u32", np.uint32),
                            ("u64", np.uint64), ("f16", np.float16), ("f32", np.float32), ("f64", np.float64)):
            with self.subTest(name):
                model = models.text("fn @main(%%x: Tensor[(n), %s]) { return concat(%%x, %%x, axis = 0) }" % name)
                x = np.array([0, 1, 1], dtype)
                [y] = model(x)
                self.assertEqual(y.dtype, x.dtype)
                np.testing.assert_array_equal(y, np.concatenate([x, x]))

    def test_scalar(self):
        model = models.text("fn @main(%x: Tensor[(), f32]) { return add(%x, %x) }")
        for x in (np.float32(1.5), np.array(1.5, np.float32)):
            [y] = model(x)
            self.assertEqual((y.shape, float(y)), ((), 3.0))

    def test_bf16(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("needs ml_dtypes")
        x = np.array([[1, 2.5]], ml_dtypes.bfloat16)
        [y] = models.double("bf16")(x)
        self.assertEqual(y.dtype, x.dtype)
        np.testing.assert_array_equal(y.astype(np.float32), [[2, 5]])

    def test_strings(self):
        model = models.text("fn @main(%x: Tensor[(n), string]) { return %x }")
        for x in (np.array(["a", "größer", ""]), np.array(["a", "größer", ""], object)):
            [y] = model(x)
            self.assertEqual(y.tolist(), ["a", "größer", ""])
        with self.assertRaisesRegex(dyn.InputError, "zero byte"):
            model(np.array(["a\0b"], object))


class Lists(unittest.TestCase):
    def test_list_of_arrays(self):
        model = models.text("fn @main(x: List[Tensor[(?, 3), f32]]) { return concat_from_sequence(x, axis = 0), x }")
        parts = [np.full((rows, 3), rows, np.float32) for rows in (1, 3, 2)]
        whole, again = model(parts)
        np.testing.assert_array_equal(whole, np.concatenate(parts))
        self.assertEqual([part.shape for part in again], [(1, 3), (3, 3), (2, 3)])
        with self.assertRaisesRegex(dyn.InputError, "wants a list of arrays, got a ndarray"):
            model(parts[0])


class Memory(unittest.TestCase):
    def test_results_outlive_the_model(self):
        model = models.double()
        x = np.ones((64, 64), np.float32)
        first = model(x)[0]
        model(x * 3)
        del model
        gc.collect()
        np.testing.assert_array_equal(first, x * 2)

    def test_results_belong_to_the_caller(self):
        model = models.double()
        x = np.ones((2, 2), np.float32)
        y = model(x)[0]
        y[0, 0] = 7
        np.testing.assert_array_equal(model(x)[0], [[2, 2], [2, 2]])
        np.testing.assert_array_equal(y, [[7, 2], [2, 2]])

    def test_results_that_others_see_are_read_only(self):
        model = models.text("fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y, %y }")
        for y in model(np.ones(3, np.float32)):
            with self.assertRaises(ValueError):
                y[0] = 1

    def test_an_output_that_is_an_input(self):
        model = models.text("fn @main(%x: Tensor[(n), f32]) { return %x }")
        x = np.ones(8, np.float32)
        [y] = model(x)
        x[:] = 5
        np.testing.assert_array_equal(y, np.ones(8))
        self.assertEqual(model.copies, 1)

    def test_inputs_are_given_back(self):
        model = models.double()
        x = np.ones((4, 4), np.float32)
        alive = weakref.ref(x)
        model(x)
        del x
        model(np.zeros((1, 1), np.float32))
        gc.collect()
        self.assertIsNone(alive())

    def test_failed_calls_keep_nothing(self):
        model = models.text("fn @main(%x: Tensor[(n), f32], %y: Tensor[(n), f32]) { return add(%x, %y) }")
        x, y = np.ones(3, np.float32), np.ones(4, np.float32)
        before = sys.getrefcount(x)
        for _ in range(10):
            with self.assertRaises(dyn.InputError):
                model(x, y)
        model(y, y)
        self.assertEqual(sys.getrefcount(x), before)


if __name__ == "__main__":
    unittest.main()
