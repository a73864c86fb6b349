"""Exceptions of onnxruntime, and which of Dyn's becomes which. The cause (`__cause__`) is Dyn's own, with more to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ... import _errors as dyn_errors


class Fail(Exception):
    pass


class InvalidArgument(Exception):
    pass


class NoSuchFile(Exception):
    pass


class NoModel(Exception):
    pass


class EngineError(Exception):
    pass


class RuntimeException(Exception):
    pass


class InvalidProtobuf(Exception):
    pass


class ModelLoaded(Exception):
    pass


class NotImplemented(Exception):
    pass


class InvalidGraph(Exception):
    pass


class EPFail(Exception):
    pass


class ModelLoadCanceled(Exception):
    pass


class ModelRequiresCompilation(Exception):
    pass


class NotFound(Exception):
    pass


_ROWS: tuple[tuple[type[dyn_errors.Error], type[Exception], str], ...] = (
    (dyn_errors.FileError, NoSuchFile, "3 : NO_SUCHFILE"),
    (dyn_errors.InputError, InvalidArgument, "2 : INVALID_ARGUMENT"),
    (dyn_errors.UsageError, InvalidArgument, "2 : INVALID_ARGUMENT"),
    (dyn_errors.Unsupported, NotImplemented, "9 : NOT_IMPLEMENTED"),
    (dyn_errors.ModelError, InvalidGraph, "10 : INVALID_GRAPH"),
    (dyn_errors.Cancelled, Fail, "1 : FAIL"),
    (dyn_errors.MemoryLimitError, RuntimeException, "6 : RUNTIME_EXCEPTION"),
    (dyn_errors.CheckError, RuntimeException, "6 : RUNTIME_EXCEPTION"),
)
_DAMAGED = "E0400"  # no ONNX file, or one that is cut off


def translated(error: dyn_errors.Error) -> Exception:
    """The exception of onnxruntime; its text begins as onnxruntime's does."""
    if error.id == _DAMAGED:
        return InvalidProtobuf(f"[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : {error}")
    for ours, theirs, text in _ROWS:
        if isinstance(error, ours):
            return theirs(f"[ONNXRuntimeError] : {text} : {error}")
    return Fail(f"[ONNXRuntimeError] : 1 : FAIL : {error}")


@contextmanager
def translating() -> Iterator[None]:
    try:
        yield
    except dyn_errors.Error as error:
        raise translated(error) from error
