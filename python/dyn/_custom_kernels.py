"""Kernels of operators of one's own, as Python functions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from . import _dtypes, _dyn
from ._errors import FileError, UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

_CANCELLED, _KERNEL_FAULT = 9, 11  # dyn_status
_NO_TENSOR = -1


class _Tensor(ctypes.Structure):
    """DynTensorView of dyn_builtin.h, as are the structures below."""
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("elements", ctypes.c_int64), ("rank", ctypes.c_uint32), ("dtype", ctypes.c_int32)]


_Fault = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class _Context(ctypes.Structure):
    """The beginning of DynBuiltinContext."""
    _fields_ = [("threads", ctypes.c_int32), ("parallel", ctypes.c_void_p), ("cancelled", ctypes.c_void_p), ("fault", _Fault)]


class _Call(ctypes.Structure):
    _fields_ = [("context", ctypes.POINTER(_Context)), ("gemm_family", ctypes.c_void_p), ("arguments", ctypes.POINTER(_Tensor)),
                ("results", ctypes.POINTER(_Tensor)), ("scalars", ctypes.c_void_p), ("numbers", ctypes.c_void_p),
                ("argument_count", ctypes.c_uint32), ("result_count", ctypes.c_uint32), ("scalar_count", ctypes.c_uint32),
                ("number_count", ctypes.c_uint32), ("scratch", ctypes.c_void_p), ("scratch_bytes", ctypes.c_uint64)]


_Scratch = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_Call), ctypes.POINTER(ctypes.c_uint64))
_Run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_Call))


class _Kernel(ctypes.Structure):
    """DynCustomKernel."""
    _fields_ = [("name", ctypes.c_char_p), ("scratch_bytes", _Scratch), ("run", _Run)]


_library = ctypes.CDLL(_dyn.__file__)  # its symbols, and those of the library that it is linked with
_library.dyn_custom_kernels_add.argtypes = [ctypes.POINTER(_Kernel), ctypes.c_int32]
_library.dyn_custom_kernels_add.restype = ctypes.c_int32
_library.dyn_custom_kernels_load.argtypes = [ctypes.c_char_p]
_library.dyn_custom_kernels_load.restype = ctypes.c_int32
_library.dyn_last_message.restype = ctypes.c_char_p
_kept: list[Any] = []  # kernels live as long as the process


def _array_of(tensor: _Tensor) -> Any:
    """Of the caller's memory, without a copy; strings are copied."""
    shape = tuple(tensor.shape[axis] for axis in range(tensor.rank))
    if tensor.dtype == _dtypes.STRING:
        return _strings_of(tensor).reshape(shape)
    dtype = _dtypes.numpy_of(tensor.dtype)
    if tensor.elements == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_uint8 * (tensor.elements * dtype.itemsize)).from_address(tensor.data)
    return np.frombuffer(memory, dtype).reshape(shape)


def _strings_of(tensor: _Tensor) -> Any:
    places = (ctypes.c_void_p * tensor.elements).from_address(tensor.data)
    texts = np.empty(tensor.elements, object)
    for i, place in enumerate(places):  # DynText: the size, then the characters; none for the empty string
        size = ctypes.c_uint64.from_address(place).value if place else 0
        texts[i] = ctypes.string_at(place + 8, size).decode("utf-8", "replace") if place else ""
    return texts


def _read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _compute(function: Callable[..., Any], call: _Call) -> None:
    given = [None if call.arguments[i].dtype == _NO_TENSOR else _read_only(_array_of(call.arguments[i]))
             for i in range(call.argument_count)]
    made = function(*given)
    results = made if isinstance(made, tuple) else (made,)
    if len(results) != call.result_count:
        raise ValueError(f"it returned {len(results)} results, custom_call has {call.result_count}")
    for i, result in enumerate(results):
        to, array = _array_of(call.results[i]), np.asarray(result)
        if array.shape != to.shape or array.dtype != to.dtype:
            raise ValueError(f"result {i} is {array.dtype}{list(array.shape)}, custom_call says {to.dtype}{list(to.shape)}")
        to[...] = array


def custom_kernel(name: str) -> Callable[[Function], Function]:
    """The function below becomes the kernel that `custom_call(..., kernel = "NAME")` of a file of operators (ops=)
    calls.

        @dyn.custom_kernel("acme_scale")
        def scale(x, by):
            return x * by

    It gets the arguments as read-only arrays, None for one that is left out, and returns an array for each result (a
    tuple of several), of the shape and element type that custom_call says. It must be a function of its arguments:
    calls may be left out, repeated, made at compile time, and made from several threads. What it raises ends the
    run. A later kernel of the same name takes its place. For models in this process: `dynrepl` takes kernels in C.
    Raises UsageError where the name is empty."""
    if not isinstance(name, str) or not name:
        raise UsageError("custom_kernel(name): a name that is not empty")

    def add(function: Function) -> Function:
        def run(call: Any) -> int:
            try:
                _compute(function, call.contents)
                return 0
            except BaseException as error:  # nothing is raised through C
                context = call.contents.context
                text = f"custom kernel {name}: {type(error).__name__}: {error}"
                context.contents.fault(ctypes.cast(context, ctypes.c_void_p), text.encode())
                return _CANCELLED if isinstance(error, KeyboardInterrupt) else _KERNEL_FAULT

        kernel = _Kernel(name.encode(), _Scratch(), _Run(run))
        _kept.append(kernel)
        _library.dyn_custom_kernels_add(ctypes.byref(kernel), 1)
        return function

    return add


def load_custom_kernels(path: str | os.PathLike[str]) -> None:
    """Adds the kernels of a shared library, as `--ops LIBRARY` of dynrepl does. The library is code of this process.
    Raises FileError where it cannot be loaded, or no kernels are in it."""
    if _library.dyn_custom_kernels_load(os.fspath(path).encode()) != 0:
        raise FileError(_library.dyn_last_message().decode("utf-8", "replace"))
