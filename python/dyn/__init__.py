"""Dyn: neural networks of any size, compiled once.

    model = dyn.load("bert.onnx")
    y = model(input_ids=ids, attention_mask=mask)     # NumPy arrays of any sizes
    y.last_hidden_state, model.why("last_hidden_state.1"), model.predict(batch=4, seq=128)

`dyn.compat` runs programs that were written for onnxruntime.
"""

from typing import TYPE_CHECKING, Any

from ._errors import (CheckError, Cancelled, DeadlineInfeasible, DeadlinePassed, Diagnostic, Error, FileError, InputError, InternalError,
                      MemoryLimitError, ModelError, ModelWarning, QueueFull, ShutDown, Unsupported, UsageError)
from ._model import Model, load
from ._threads import ThreadPool
from ._values import Dim, Port, Result

if TYPE_CHECKING:
    from ._answers import (Answer, Buffer, Change, Check, Commands, Diff, Explanation, Graph, Kernel, KernelTime, Limit,
                           Pass, Passes, Plan, Prediction, Profile)
    from ._context import Context, RunStatistics
    from ._custom_kernels import custom_kernel, load_custom_kernels
    from ._from_torch import from_torch
    from ._generate import Generated, Generation, GenerationStatistics, Token
    from ._packages import Package, packaged
    from ._predictor import DynPredictor
    from ._quantise import quantise
    from ._server import Request, Served, Server, ServerStatistics

__version__ = "0.1.0"
__all__ = [
    "Answer", "Buffer", "Cancelled", "Change", "Check", "CheckError", "Commands", "Context", "DeadlineInfeasible", "DeadlinePassed", "Diagnostic",
    "Diff", "Dim", "DynPredictor", "Error", "Explanation", "FileError", "Generated", "Generation",
    "GenerationStatistics", "Graph", "InputError", "InternalError", "Kernel", "KernelTime", "Limit", "MemoryLimitError", "Model", "ModelError", "ModelWarning", "Pass", "Passes", "Plan",
    "Package", "Port", "Prediction", "Profile", "QueueFull", "Request", "Result", "RunStatistics", "Served", "Server", "ServerStatistics",
    "ShutDown", "ThreadPool", "Token", "Unsupported", "UsageError", "custom_kernel", "from_torch", "load", "load_custom_kernels",
    "packaged", "quantise",
]


_ELSEWHERE = {"from_torch": "_from_torch", "DynPredictor": "_predictor", "quantise": "_quantise", "Package": "_packages", "packaged": "_packages",
              "custom_kernel": "_custom_kernels", "load_custom_kernels": "_custom_kernels", "Context": "_context", "RunStatistics": "_context",
              **dict.fromkeys(("Generated", "Generation", "GenerationStatistics", "Token"), "_generate"),
              **dict.fromkeys(("Request", "Served", "Server", "ServerStatistics"), "_server")}


def __getattr__(name: str) -> Any:
    """Types of answers, and what few programs need, imported when the first is asked for."""
    if name in __all__:
        import importlib
        return getattr(importlib.import_module("." + _ELSEWHERE.get(name, "_answers"), __name__), name)
    raise AttributeError(f"module 'dyn' has no attribute '{name}'")
