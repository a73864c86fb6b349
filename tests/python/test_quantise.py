"""dyn.quantise: weights alone, and activations by the inputs of some runs."""
import pathlib
import tempfile
import unittest

import numpy as np

import dyn
import models

ESPCN = models.SOURCE / "samples/models/espcn/model.onnx"


class Quantise(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = pathlib.Path(folder.name) / "small.onnx"
        self.model = dyn.load(ESPCN)
        port = self.model.inputs[0]
        random = np.random.default_rng(3)
        self.runs = [{port.name: random.random([d if isinstance(d, int) else 7 + i for d in port.shape], np.float32)}
                     for i in range(3)]

    def test_activations_by_arrays(self):
        answer = dyn.quantise(self.model, self.output, calibration=self.runs)
        self.assertEqual(answer.runs_count, 3)
        self.assertEqual([w.op for w in answer.weights], ["Conv"] * 4)
        self.assertTrue(all("form" in w for w in answer.weights))
        elements = np.concatenate([x.ravel() for run in self.runs for x in run.values()])
        self.assertAlmostEqual(answer.activations[0].low, elements.min(), places=6)
        self.assertAlmostEqual(answer.activations[0].high, elements.max(), places=6)
        small, exact = dyn.load(self.output), self.model
        x = self.runs[0]
        y, wanted = small(**x)[0], exact(**x)[0]
        self.assertLess(np.linalg.norm(y - wanted), 0.05 * np.linalg.norm(wanted))
        self.assertGreater(np.abs(y - wanted).max(), 0)

    def test_excluded(self):
        nodes = [w.node for w in dyn.quantise(self.model, self.output, calibration=self.runs).weights]
        answer = dyn.quantise(self.model, self.output, calibration=self.runs, exclude=nodes[:1], percentile=99.9)
        self.assertEqual(answer.weights[0].stays, "excluded")

    def test_weights_alone(self):
        answer = dyn.quantise(dyn.load(models.SOURCE / "samples/models/bert/model.onnx"), self.output, "int4", block=16)
        self.assertIn("blocks of 16", next(w.form for w in answer.weights if "form" in w))

    def test_refused(self):
        for runs, text in (([], "one run at least"), ([np.zeros(3)], "mapping"), ([{"nothing": np.zeros(3)}], "no input of the model")):
            with self.subTest(text), self.assertRaisesRegex(dyn.UsageError, text):
                dyn.quantise(self.model, self.output, calibration=runs)
        self.assertFalse(self.output.exists())
