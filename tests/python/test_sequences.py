"""Sequences of different lengths in place of a padded batch."""
import unittest

import numpy as np

import dyn
import models


class Sequences(unittest.TestCase):
    def setUp(self):
        self.model = dyn.load(models.BERT, threads=1)
        random = np.random.default_rng(0)
        self.given = [random.integers(0, 50, length) for length in (5, 1, 9, 3)]

    def test_as_one_by_one(self):
        y = self.model.run_sequences({"input_ids": self.given})
        self.assertEqual([one.shape for one in y.last_hidden_state], [(len(ids), 32) for ids in self.given])
        for ids, one in zip(self.given, y.last_hidden_state):
            wanted = self.model(ids[None], np.ones((1, len(ids)), np.int64))[0][0]
            np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
        again = self.model.run_sequences({"input_ids": self.given[:2]}, lengths="attention_mask")
        np.testing.assert_allclose(again[0][1], y[0][1], rtol=1e-4, atol=1e-5)

    def test_refused(self):
        for given, said in (({"absent": self.given}, "there is no input 'absent'"),
                            ({"input_ids": [np.ones((2, 3), np.int64)]}, "sequence 0: wants rank 1, got rank 2"),
                            ({"input_ids": [np.ones(3)]}, "sequence 0: wants i64, got f64"),
                            ({"input_ids": []}, "sequences stand for")):
            with self.assertRaisesRegex(dyn.InputError, said):
                self.model.run_sequences(given)
        with self.assertRaises(dyn.Error):
            self.model.run_sequences({"input_ids": self.given}, lengths="absent")
        with self.assertRaises(dyn.Error):
            models.double("i64").run_sequences({"x": self.given})


if __name__ == "__main__":
    unittest.main()
