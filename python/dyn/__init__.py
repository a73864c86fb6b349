"""Dyn: neural networks of any size, compiled once.

    model = dyn.load("bert.onnx")
    y = model(input_ids=ids, attention_mask=mask)     # NumPy arrays of any sizes
    y.last_hidden_state, model.why("last_hidden_state.1"), model.predict(batch=4, seq=128)
"""

from ._errors import (CheckError, Cancelled, Diagnostic, Error, FileError, InputError, InternalError,
                      MemoryLimitError, ModelError, ModelWarning, Unsupported, UsageError)
from ._model import Check, Explanation, Model, Prediction, load
from ._values import Dim, Port, Result

__version__ = "0.1.0"
__all__ = [
    "Cancelled", "Check", "CheckError", "Diagnostic", "Dim", "Error", "Explanation", "FileError", "InputError",
    "InternalError", "MemoryLimitError", "Model", "ModelError", "ModelWarning", "Port", "Prediction", "Result",
    "Unsupported", "UsageError", "load",
]
