"""Runs whose inputs stay set."""
import json
import threading
import time
import unittest

import numpy as np

import dyn
import models
import test_threads

STEP = """fn @main(%x: Tensor[(1, 4), f32], %past: Tensor[(n, 4), f32]) -> (Tensor[(1, 4), f32], Tensor[(m, 4), f32]) {
  %cache = concat(%past, %x) {axis = 0}
  %y = reduce_sum(%cache, i64[1] [0]) {keepdims = 1}
  return %y, %cache
}"""
TREES = """type Tree { Leaf(Tensor[(), i64]), Node(Tree, Tree) }
fn @main(t: Tree, e: Tensor[(words, 2), f32]) {
  h = @encode(t, e)
  return h
}
fn @encode(t: Tree, e: Tensor[(words, 2), f32]) -> (Tensor[(2), f32]) {
  h = match(t, e) case Leaf(i, e) { return gather(e, i) }
                  case Node(a, b, e) { return tanh(@encode(a, e) + @encode(b, e)) }
  return h
}"""


class Contexts(unittest.TestCase):
    def test_runs(self):
        model = dyn.load(models.BERT, threads=1)
        context = model.context()
        for batch, seq in ((2, 9), (1, 30), (2, 9)):
            ids, mask = models.bert_inputs(batch, seq)
            context.set({"input_ids": ids, "attention_mask": mask})
            for _ in range(3):
                context.run()
            wanted = model(ids, mask)[0]
            self.assertTrue(np.array_equal(context.output("last_hidden_state"), wanted))
            self.assertTrue(np.array_equal(context.outputs.last_hidden_state, wanted))
            self.assertFalse(context.output(0).flags.writeable)
            statistics = context.statistics
            self.assertEqual((statistics.allocations_count, statistics.instructions_count), (0, 0))
            self.assertGreater(min(statistics.peak_bytes, statistics.launches_count, statistics.run_ns), 0)
        with self.assertRaisesRegex(dyn.UsageError, "no output 'z'"):
            context.output("z")
        with self.assertRaisesRegex(dyn.UsageError, "no result 7"):
            context.output(7)
        with self.assertRaisesRegex(dyn.InputError, "no input 'z'"):
            context.set({"z": ids})
        with self.assertRaisesRegex(dyn.InputError, "wants i64, got f32"):
            context.set({"input_ids": ids.astype(np.float32)})

    def test_one_input_after_the_other(self):
        context = models.text("fn @main(%x: Tensor[(n), f32], %y: Tensor[(n), f32]) { return add(%x, %y), %x }").context()
        with self.assertRaises(dyn.UsageError):
            context.run()  # nothing is set
        context.set({"x": np.arange(3, dtype=np.float32)})
        context.set({"y": np.ones(3, np.float32)})
        context.run()
        context.set({"y": np.full(3, 5, np.float32)})
        self.assertEqual(context.output(0).tolist(), [1, 2, 3])  # of the run that was
        self.assertEqual(context.output(1).tolist(), [0, 1, 2])
        context.run()
        self.assertEqual(context.output(0).tolist(), [5, 6, 7])

    def test_outputs_fed_back(self):
        model = models.text(STEP)
        for past in (np.zeros((0, 4), np.float32), model.growing(np.zeros((0, 4), np.float32), axis=0, room=8)):
            context = model.context()
            context.set({"past": past})
            for i in range(6):
                context.set({"x": np.full((1, 4), i, np.float32)})
                context.run()
                context.feed_back({"past": context._names[1]})
            self.assertEqual(context.output(1)[:, 0].tolist(), [0, 1, 2, 3, 4, 5])
            self.assertEqual(context.output(0)[0, 0], 15)

    def test_profile(self):
        context = dyn.load(models.BERT, threads=2).context()
        ids, mask = models.bert_inputs(1, 12)
        context.set({"input_ids": ids, "attention_mask": mask})
        rows = json.loads(context.profile(3, "json"))["rows"]
        self.assertTrue(any(row["count"] == 3 and row["total_ns"] > 0 for row in rows))
        self.assertGreater(context.statistics.instructions_count, 0)
        self.assertIn("total_ns", context.profile().splitlines()[0])
        self.assertIn("traceEvents", json.loads(context.profile(1, "trace")))
        with self.assertRaisesRegex(dyn.UsageError, "none of csv, json, trace"):
            context.profile(1, "xml")
        context.simulate_threads()
        context.run()
        self.assertTrue(np.array_equal(context.output(0), dyn.load(models.BERT, threads=1)(ids, mask)[0]))

    def test_forms_of_runs(self):
        model = dyn.load(models.BERT, threads=1)
        given = dict(zip(("input_ids", "attention_mask"), models.bert_inputs(2, 7)))
        context, interpreted, dry = model.context(), model.context(interpret=True), model.context(dry_run=True)
        for one in (context, interpreted, dry):
            one.set(given)
            one.run()
        self.assertTrue(np.array_equal(context.output(0), interpreted.output(0)))
        self.assertEqual(dry.statistics.peak_bytes, context.statistics.peak_bytes)

    def test_trees(self):
        table = np.random.default_rng(1).standard_normal((5, 2)).astype(np.float32)
        wanted = np.tanh(table[3] + np.tanh(table[1] + table[4]))
        made = {}
        for passes in ("+batch_levels", "-batch_levels"):
            context = models.text(TREES, passes=passes).context()
            context.set({"e": table})
            leaf = [context.data(0, [np.array(word)]) for word in (3, 1, 4)]
            context.set_data("t", context.data(1, [leaf[0], context.data(1, leaf[1:])]))
            context.run()
            made[passes] = context.output(0)
            np.testing.assert_allclose(made[passes], wanted, rtol=1e-5)
        context = models.text(TREES, passes="+batch_levels").context()
        context.set({"e": table})
        context.set_forest("t", np.array([0, 0, 0, 1, 1], np.int32), np.array([0, 0, 0, 0, 2, 4]), np.array([1, 2, 0, 3]),
                           [np.array([3, 1, 4])])
        context.run()
        np.testing.assert_array_equal(context.output(0), made["+batch_levels"])
        for what in ("constructors", "starts"):
            arrays = {"constructors": np.array([0, 0, 1], np.int32), "starts": np.array([0, 0, 0, 2], np.int64)}
            arrays[what] = arrays[what].astype(np.int16)
            with self.assertRaisesRegex(dyn.InputError, what):
                context.set_forest("t", arrays["constructors"], arrays["starts"], np.array([0, 1], np.int64), [np.array([3, 1])])

    def test_cancel(self):
        context = models.text(test_threads.LOOP).context()
        context.set({"x": np.ones(4, np.float32), "trips": np.int64(2**62)})
        raised = []

        def work():
            try:
                context.run()
            except dyn.Cancelled as fault:
                raised.append(fault)
        thread = threading.Thread(target=work)
        thread.start()
        while not raised and thread.is_alive():  # it is another thread's while it runs, but for cancel()
            try:
                context.set({"trips": np.int64(2**62)})
            except dyn.UsageError as fault:
                self.assertIn("another thread", str(fault))
                break
        for call in (context.run, lambda: context.output(0), lambda: context.statistics, lambda: context.outputs):
            with self.assertRaisesRegex(dyn.UsageError, "another thread"):
                call()
        while thread.is_alive():
            context.cancel()
            time.sleep(0.01)
        self.assertEqual(len(raised), 1)
        context.set({"trips": np.int64(3)})
        context.run()
        self.assertEqual(context.output(0).tolist(), [8, 8, 8, 8])


if __name__ == "__main__":
    unittest.main()
