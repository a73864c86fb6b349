"""Answers of the shell's commands as objects."""
import pathlib
import tempfile
import unittest

import numpy as np

import dyn
import models


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = dyn.load(models.BERT, threads=1)

    def test_plan(self):
        open_sizes = self.model.plan()
        self.assertIn("batch", open_sizes.peak)
        self.assertIsNone(open_sizes.predicted_peak_bytes)
        plan = self.model.plan(batch=4, seq=128)
        self.assertGreater(plan.predicted_peak_bytes, 4 * 128 * 32 * 4)
        self.assertTrue(any(buffer.shape == ("batch", "seq", 32) and buffer.size_bytes == 65536
                            for buffer in plan.buffers))
        self.assertIn("peak", str(plan))

    def test_limit(self):
        limit = self.model.limit("1MB", batch=2)["seq"]
        self.assertEqual(limit.others, {"batch": 2})
        self.assertLess(limit.peak_bytes, 1 << 20)
        self.assertGreater(self.model.limit("4MB", batch=2)["seq"].largest, limit.largest)

    def test_passes(self):
        passes = self.model.passes
        self.assertEqual((passes[0].name, passes["fuse"].name), ("import", "fuse"))
        self.assertEqual(passes[passes["fuse"].index], passes["fuse"])
        self.assertIn("layer_norm", passes["fold"].ir)
        self.assertIn("fused(", passes["fuse"].ir)
        with self.assertRaisesRegex(KeyError, "there is no pass 'absent'"):
            passes["absent"]

    def test_diffs(self):
        diff = self.model.passes.diff("fuse")
        self.assertEqual(diff, self.model.passes["fuse"].diff)
        self.assertEqual(diff.end, "fuse")
        self.assertEqual(len(diff.changes), diff.added_count + diff.removed_count + diff.changed_count)
        self.assertEqual(self.model.passes.diff("fold", "fuse").start, "fold")

    def test_kernels_and_profile(self):
        self.assertTrue(any(kernel.kind == "kernel" for kernel in self.model.kernels))
        profile = self.model.profile(batch=1, seq=59)
        self.assertEqual(profile.dims, {"batch": 1, "seq": 59})
        self.assertAlmostEqual(sum(one.share for one in profile.kernels), 1, delta=0.01)
        self.assertGreaterEqual(profile.kernels[0].total_ns, profile.kernels[-1].total_ns)
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "a trace.json"
            self.model.profile(trace, batch=1, seq=5)
            self.assertIn("traceEvents", trace.read_text())

    def test_check(self):
        self.assertEqual(self.model.check(), ())

    def test_each_command(self):
        names = dir(self.model.commands)
        for name in ("sweep", "asm", "graph", "predict", "help"):
            self.assertIn(name, names)
        self.assertNotIn("load", names)
        sweep = self.model.commands.sweep("seq", "1..4", dim={"batch": 1})
        self.assertEqual([point.value for point in sweep.sweep.points], [1, 2, 3, 4])
        self.assertIn("seq", str(sweep))
        self.assertEqual(self.model.commands.ir("fuse", level="graph").ir.level, "graph")
        self.assertIn(":sweep", self.model.commands.help("sweep"))
        with self.assertRaisesRegex(AttributeError, "the shell has no command 'absent'"):
            self.model.commands.absent()
        with self.assertRaises(dyn.Error):
            self.model.commands.sweep("absent")

    def test_types_are_there(self):
        for name in dyn.__all__:
            self.assertTrue(hasattr(dyn, name), name)
        with self.assertRaises(AttributeError):
            dyn.absent


if __name__ == "__main__":
    unittest.main()
