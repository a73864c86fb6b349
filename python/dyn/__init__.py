"""Dyn: neural networks of any size, compiled once.

    model = dyn.load("bert.onnx")
    y = model(input_ids=ids, attention_mask=mask)     # NumPy arrays of any sizes
    y.last_hidden_state, model.why("last_hidden_state.1"), model.predict(batch=4, seq=128)

`dyn.compat` runs programs that were written for onnxruntime.
"""

from typing import TYPE_CHECKING, Any

from ._errors import (CheckError, Cancelled, Diagnostic, Error, FileError, InputError, InternalError,
                      MemoryLimitError, ModelError, ModelWarning, Unsupported, UsageError)
from ._model import Model, load
from ._values import Dim, Port, Result

if TYPE_CHECKING:
    from ._answers import (Answer, Buffer, Change, Check, Commands, Diff, Explanation, Kernel, KernelTime, Limit, Pass,
                           Passes, Plan, Prediction, Profile)
    from ._from_torch import from_torch

__version__ = "0.1.0"
__all__ = [
    "Answer", "Buffer", "Cancelled", "Change", "Check", "CheckError", "Commands", "Diagnostic", "Diff", "Dim", "Error",
    "Explanation", "FileError", "InputError", "InternalError", "Kernel", "KernelTime", "Limit", "MemoryLimitError",
    "Model", "ModelError", "ModelWarning", "Pass", "Passes", "Plan", "Port", "Prediction", "Profile", "Result",
    "Unsupported", "UsageError", "from_torch", "load",
]


def __getattr__(name: str) -> Any:
    """Types of answers and from_torch, imported when the first is asked for."""
    if name == "from_torch":
        from ._from_torch import from_torch
        return from_torch
    if name in __all__:
        from . import _answers
        return getattr(_answers, name)
    raise AttributeError(f"module 'dyn' has no attribute '{name}'")
