"""Runs packages (.dynpkg) that Dyn compiled elsewhere. It has no compiler.

    import dyn_runtime as dyn
    model = dyn.load("bert.dynpkg")                   # written by dyn.Model.save or `dynrepl compile`
    y = model(input_ids=ids, attention_mask=mask)     # NumPy arrays of any sizes

Calls, results and errors are those of the package dyn.
"""

from typing import TYPE_CHECKING, Any

from ._errors import (CheckError, Cancelled, Diagnostic, Error, FileError, InputError, InternalError,
                      MemoryLimitError, ModelError, Unsupported, UsageError)
from ._model import Model, load
from ._threads import ThreadPool
from ._values import Dim, Port, Result

if TYPE_CHECKING:
    from ._context import Context, RunStatistics
    from ._custom_kernels import custom_kernel, load_custom_kernels

__version__ = "0.1.0"
__all__ = [
    "Cancelled", "CheckError", "Context", "Diagnostic", "Dim", "Error", "FileError", "InputError", "InternalError",
    "MemoryLimitError", "Model", "ModelError", "Port", "Result", "RunStatistics", "ThreadPool", "Unsupported", "UsageError",
    "custom_kernel", "load", "load_custom_kernels",
]


def __getattr__(name: str) -> Any:
    if name in ("Context", "RunStatistics"):  # imported when the first is asked for
        from . import _context
        return getattr(_context, name)
    if name in ("custom_kernel", "load_custom_kernels"):
        from . import _custom_kernels
        return getattr(_custom_kernels, name)
    if name in ("from_torch", "torch", "compat", "serving", "ModelWarning"):
        raise AttributeError(f"unsupported: dyn_runtime.{name}: it is in the package dyn, which has the compiler")
    raise AttributeError(f"module 'dyn_runtime' has no attribute '{name}'")
