"""Caches that grow in place: the same results as dense ones, nothing copied."""
import threading
import unittest

import numpy as np

import dyn
import models

GPT2 = models.SOURCE / "samples/models/gpt2/model.onnx"
# The step is doubled and appended to the cache, to which it then attends.
STEP = """fn @main(%x: Tensor[(b, h, m, 4), f32], %past: Tensor[(b, h, p, 4), f32]) {
  %twice = add(%x, %x)
  %cache = concat(%past, %twice) {axis = 2}
  %keys = transpose(%cache) {perm = [0, 1, 3, 2]}
  %scores = matmul(%x, %keys)
  %p = softmax(%scores) {axis = -1}
  %z = matmul(%p, %cache)
  return %z, %cache
}
"""
# Groups of three heads share a key, as exporters write it: each is repeated three times.
SHARED = """fn @main(%x: Tensor[(b, h, m, 4), f32], %q: Tensor[(b, 3*h, m, 4), f32], %past: Tensor[(b, h, p, 4), f32]) {
  %cache = concat(%past, %x) {axis = 2}
  %b = shape(%x) {end = 1}
  %h = shape(%x) {start = 1, end = 2}
  %rest = shape(%cache) {start = 2}
  %three = constant() {value = i64[1] [3]}
  %one = constant() {value = i64[1] [2]}
  %u = unsqueeze(%cache, %one)
  %wide = concat(%b, %h, %three, %rest) {axis = 0}
  %e = expand(%u, %wide)
  %heads = mul(%h, %three)
  %flat = concat(%b, %heads, %rest) {axis = 0}
  %k = reshape(%e, %flat)
  %keys = transpose(%k) {perm = [0, 1, 3, 2]}
  %scores = matmul(%q, %keys)
  %p = softmax(%scores) {axis = -1}
  %z = matmul(%p, %k)
  return %z, %cache
}
"""
# All elements are read, side by side.
READ = "fn @main(%x: Tensor[(n, m), f32]) { %y = relu(%x) return %y }"


def address(array):
    return array.__array_interface__["data"][0]


class Growing(unittest.TestCase):
    def steps(self, model, past, count, rows=1):
        wanted = np.array(past)
        caches = [past]
        for i in range(count):
            x = np.full((*past.shape[:2], rows, 4), i + 1, np.float32)
            _, past = model(x, past)
            wanted = np.concatenate([wanted, x + x], axis=2)
            np.testing.assert_array_equal(past, wanted)
            caches.append(past)
        return caches

    def test_in_place(self):
        model = models.text(STEP, threads=1)
        start = np.arange(2 * 3 * 5 * 4, dtype=np.float32).reshape(2, 3, 5, 4)
        caches = self.steps(model, model.growing(start, axis=2, room=12), 7)
        self.assertEqual({address(cache) for cache in caches}, {address(caches[0])})
        self.assertEqual(model.copies, 0)
        self.assertFalse(any(cache.flags.writeable for cache in caches))
        np.testing.assert_array_equal(caches[0], start)  # what somebody holds stays as it was

    def test_heads_that_share_a_key(self):
        model, random = models.text(SHARED, threads=1), np.random.default_rng(2)
        dense = random.random((2, 2, 3, 4), np.float32)
        past = model.growing(dense, axis=2, room=32)
        places = {address(past)}
        for rows in (1, 1, 2, 1):
            x, q = random.random((2, 2, rows, 4), np.float32), random.random((2, 6, rows, 4), np.float32)
            z, past = model(x, q, past)
            places.add(address(past))
            dense = np.concatenate([dense, x], axis=2)
            np.testing.assert_array_equal(past, dense)
            keys = np.repeat(dense, 3, axis=1)
            scores = np.exp(q @ keys.swapaxes(2, 3))
            np.testing.assert_allclose(z, scores / scores.sum(-1, keepdims=True) @ keys, rtol=1e-5)
        self.assertEqual((len(places), model.copies), (1, 0))

    def test_moves_when_full(self):
        model = models.text(STEP, threads=1)
        caches = self.steps(model, model.growing(np.ones((1, 2, 3, 4), np.float32), axis=-2, room=4), 9)
        self.assertEqual(len({address(cache) for cache in caches}), 3)  # room for 4, 10, 22
        self.assertEqual(model.copies, 0)

    def test_from_nothing(self):
        model = models.text(STEP, threads=1)
        caches = self.steps(model, model.growing(np.zeros((2, 2, 0, 4), np.float32), axis=2, room=16), 5, rows=3)
        self.assertEqual(len({address(cache) for cache in caches[1:]}), 1)
        self.assertEqual(model.copies, 0)

    def test_two_continuations(self):
        model = models.text(STEP, threads=1)
        start = model.growing(np.ones((1, 1, 2, 4), np.float32), axis=2, room=8)
        one, other = (model(np.full((1, 1, 1, 4), n, np.float32), start)[1] for n in (1, 2))
        self.assertNotEqual(address(one), address(other))
        np.testing.assert_array_equal(one[0, 0, 2], np.full(4, 2))
        np.testing.assert_array_equal(other[0, 0, 2], np.full(4, 4))

    def test_bfloat16(self):
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            self.skipTest("needs ml_dtypes")
        model = models.text("fn @main(%x: Tensor[(n, m), bf16]) { return %x }", threads=1)
        x = np.arange(6, dtype=bfloat16).reshape(2, 3)
        cache = model.growing(x, axis=1, room=8)
        self.assertEqual((cache.dtype, cache.strides), (x.dtype, (16, 2)))
        np.testing.assert_array_equal(model(cache)[0], x)

    def test_by_name_and_run(self):
        model = models.text(STEP, threads=1)
        past = model.growing(np.ones((1, 1, 2, 4), np.float32), axis=2, room=8)
        x, z = np.ones((1, 1, 1, 4), np.float32), np.empty((1, 1, 1, 4), np.float32)
        first = model(x=x, past=past).cache
        second = model.run({"x": x, "past": first}, out={"z": z}).cache
        self.assertEqual((second.shape[2], address(second), model.copies), (4, address(past), 0))

    def test_a_part_is_copied(self):
        model = models.text(STEP, threads=1)
        past = model.growing(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), axis=2, room=8)
        part = past[:, :, 1:3]
        cache = model(np.ones((1, 1, 1, 4), np.float32), part)[1]
        np.testing.assert_array_equal(cache[0, 0, :2], part[0, 0])
        np.testing.assert_array_equal(past.ravel(), np.arange(16))

    def test_lives_without_the_model(self):
        model = models.text(STEP, threads=1)
        past = model(np.ones((1, 1, 1, 4), np.float32), model.growing(np.ones((1, 1, 2, 4), np.float32), 2, 8))[1]
        other = models.text(STEP, threads=1)
        del model
        self.steps(other, past, 3)
        self.assertEqual(other.copies, 0)

    def test_many_threads(self):
        model = models.text(STEP, threads=1)
        start, faults = model.growing(np.ones((1, 2, 1, 4), np.float32), axis=2, room=64), []

        def work():
            try:
                self.steps(model, start, 30)
            except BaseException as fault:  # told to the test's thread
                faults.append(fault)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])

    def test_a_decoder(self):
        model = dyn.load(GPT2, threads=1)
        random = np.random.default_rng(0)
        start = [random.standard_normal((2, 2, 3, 16), dtype=np.float32) for _ in range(4)]
        growing, dense = [model.growing(one, axis=2, room=32) for one in start], start
        before = [address(one) for one in growing]
        for step in range(10):
            ids = random.integers(0, 211, (2, 1))
            logits, *growing = model(ids, *growing)
            wanted, *dense = model(ids, *dense)
            np.testing.assert_array_equal(logits, wanted)
        self.assertEqual([address(one) for one in growing], before)
        self.assertEqual((growing[0].shape, model.copies), ((2, 2, 13, 16), 0))

    def test_strided_results_are_no_caches(self):  # a result that does not lie side by side is copied, as ever
        turn = models.text("fn @main(%x: Tensor[(n, m), f32]) { %y = transpose(%x) {perm = [1, 0]} return %y }")
        turned = turn(np.arange(6, dtype=np.float32).reshape(2, 3)).y
        np.testing.assert_array_equal(models.text(READ)(turned).y, [[0, 3], [1, 4], [2, 5]])

    def test_refused(self):
        reader = models.text(READ)
        with self.assertRaisesRegex(dyn.Unsupported, "side by side"):
            reader(reader.growing(np.ones((2, 3), np.float32), axis=1, room=8))
        model = models.text(STEP, threads=1)
        x = np.ones((1, 1, 2, 4), np.float32)
        for axis, room, said in ((4, 8, "has no axis 4"), (2, 1, "room for 1 rows"), (-5, 8, "no axis -5")):
            with self.assertRaisesRegex(dyn.UsageError, said):
                model.growing(x, axis, room)
        with self.assertRaises(dyn.Unsupported):
            model.growing(np.array(["a"]), 0, 8)


if __name__ == "__main__":
    unittest.main()
