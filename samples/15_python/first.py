"""Reads an ONNX model, runs three shapes, and asks why a dim is what it is:  first.py bert.onnx"""
import sys

import numpy as np

import dyn

model = dyn.load(sys.argv[1])
for length in (8, 32, 128):
    ids = np.zeros((1, length), np.int64)
    y = model(input_ids=ids, attention_mask=np.ones_like(ids))
    print(y.last_hidden_state.shape, model.predict(batch=1, seq=length).peak_bytes, "bytes")
print(model.why("last_hidden_state.1"))
