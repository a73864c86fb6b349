"""What a model says of itself, and the files it writes."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import dyn
import models


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = dyn.load(models.BERT, threads=1)

    def test_ports(self):
        ids, mask = self.model.inputs
        self.assertEqual((ids.name, ids.dtype, ids.shape), ("input_ids", "i64", ("batch", "seq")))
        self.assertEqual([dim.name for dim in mask.dims], ["batch", "seq"])
        [output] = self.model.outputs
        self.assertEqual((output.name, output.dtype, output.shape),
                         ("last_hidden_state", "f32", ("batch", "seq", 32)))
        self.assertEqual(repr(self.model),
                         "dyn.Model(input_ids: Tensor[(batch, seq), i64], attention_mask: Tensor[(batch, seq), i64])")

    def test_dims(self):
        dims = self.model.dims
        self.assertEqual(sorted(dims), ["batch", "seq"])
        self.assertEqual((dims["seq"].low, dims["seq"].high), (0, 512))
        self.assertIn("input_ids", dims["seq"].origin)

    def test_why(self):
        why = self.model.why("last_hidden_state.1")
        self.assertEqual(why.answer, "seq")
        self.assertIn("input_ids.1 = seq", str(why))
        self.assertTrue(why.chain)
        self.assertIn("seq must be at most 512", str(self.model.why("check0")))
        with self.assertRaisesRegex(dyn.Error, "there is no value 'absent'"):
            self.model.why("absent.1")

    def test_predictions_hold(self):
        for batch, seq in models.SHAPES:
            before = self.model.predict(batch=batch, seq=seq)
            y = self.model(*models.bert_inputs(batch, seq))
            self.assertEqual(before.shapes, {"last_hidden_state": y[0].shape})
            self.assertGreater(before.peak_bytes, y[0].nbytes - 1)
            self.assertEqual((before.refused, before.fails), ("", ()))

    def test_predicted_faults(self):
        before = self.model.predict(batch=1, seq=600)
        [fails] = before.fails
        self.assertIn("seq must be at most 512", fails.text)
        self.assertIsNone(before.peak_bytes)
        self.assertTrue(before.refused)
        with self.assertRaisesRegex(dyn.Error, "dims without a value"):
            self.model.predict(batch=1)
        with self.assertRaises(dyn.Error):
            self.model.predict(batch=1, seq=2, absent=3)

    def test_sizes_that_values_decide(self):
        model = models.text("fn @main(%x: Tensor[(n), bool]) { return nonzero(%x) }")
        self.assertEqual(list(model.predict(n=4).shapes.values()), [(1, None)])

    def test_commands(self):
        self.assertIn("dims", self.model.command("dims"))
        self.assertEqual(self.model.command(":set threads")["settings"][0]["value"], "1")
        self.assertIn("batch", self.model.text("dims"))
        for line in ("nonsense", "load x.onnx"):
            with self.assertRaises(dyn.UsageError):
                self.model.command(line)


class Written(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = dyn.load(models.BERT)
        self.given = models.bert_inputs(3, 11)
        self.wanted = self.model(*self.given)[0]

    def test_package(self):
        self.model.save(self.folder / "bert.dynpkg")
        again = dyn.load(self.folder / "bert.dynpkg")
        self.assertEqual([port.name for port in again.inputs], ["input_ids", "attention_mask"])
        np.testing.assert_array_equal(again(*self.given).last_hidden_state, self.wanted)
        data = (self.folder / "bert.dynpkg").read_bytes()
        np.testing.assert_array_equal(dyn.load(data, name="bert.dynpkg")(*self.given)[0], self.wanted)

    def test_onnx(self):
        self.model.to_onnx(self.folder / "folded.onnx", after="fold")
        again = dyn.load(self.folder / "folded.onnx")
        np.testing.assert_allclose(again(*self.given)[0], self.wanted, rtol=1e-5, atol=1e-6)

    def test_refused(self):
        with self.assertRaisesRegex(dyn.UsageError, "does not end in .dynpkg"):
            self.model.save(self.folder / "bert.onnx")
        with self.assertRaisesRegex(dyn.UsageError, "does not end in .onnx"):
            self.model.to_onnx(self.folder / "bert.dyn")
        with self.assertRaises(dyn.UsageError):
            self.model.export(self.folder / "bert", kind="nonsense")
        self.assertEqual(list(self.folder.iterdir()), [])


class Sample(unittest.TestCase):
    def test_first(self):
        done = subprocess.run([sys.executable, models.SOURCE / "samples/15_python/first.py", models.BERT],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in ("(1, 8, 32)", "(1, 32, 32)", "(1, 128, 32)", "seq"):
            self.assertIn(line, done.stdout)


if __name__ == "__main__":
    unittest.main()
