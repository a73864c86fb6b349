"""Models that the tests share."""
import os
import pathlib

import numpy as np

import dyn

SOURCE = pathlib.Path(os.environ["DYN_TEST_SOURCE"])
BERT = SOURCE / "samples/models/bert/model.onnx"
SHAPES = ((1, 7), (3, 59), (8, 128))


def text(body, **options):
    """A model of the text language."""
    return dyn.load(body.encode(), name="test.dyn", **options)


def double(dtype="f32"):
    return text("fn @main(%%x: Tensor[(n, m), %s]) { %%y = add(%%x, %%x) return %%y }" % dtype)


def bert_inputs(batch, seq, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 50, (batch, seq)), np.ones((batch, seq), np.int64)
