"""Inputs from NumPy, buffers and DLPack; results by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _dtypes, _dyn
from ._errors import Unsupported, wrong_input


class Dim(NamedTuple):
    """A size known only at run time: low <= size <= high (None: no limit), a multiple of `multiple`."""

    name: str
    low: int
    high: int | None
    multiple: int = 1
    origin: str = ""


class Port(NamedTuple):
    """An input or output. `shape` has an int or the text of a dim per axis; None: of any rank, or no tensor.
    `dtype` is Dyn's name of it ("i64"), None unless a tensor. `dims` are the dims that stand alone in an axis."""

    name: str
    kind: str
    type: str
    dtype: str | None
    shape: tuple[int | str, ...] | None
    dims: tuple[Dim, ...]


_UNLIMITED = 2**63 - 1


def port_of(row: tuple[str, str, str, int, int, list[tuple[int, str, int, int, int]]]) -> Port:
    name, kind, type_text, code, rank, dims = row
    shape = tuple(text if text else value for value, text, _, _, _ in dims) if rank >= 0 else None
    named = tuple(Dim(text, low, None if high == _UNLIMITED else high, multiple)
                  for _, text, low, high, multiple in dims if text.isidentifier())
    return Port(name, kind, type_text, _dtypes.NAMES[code] if code >= 0 else None, shape, named)


def _array_of(given: Any, what: str) -> Any:
    if isinstance(given, np.ndarray):
        if isinstance(given, np.ma.MaskedArray):
            raise wrong_input(f"{what}: it is a masked array, whose mask Dyn has no use for: give its filled()")
        return given
    if hasattr(given, "__dlpack__") and not isinstance(given, np.generic):
        try:
            return np.from_dlpack(given)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as refused:
            raise wrong_input(f"{what}: its memory cannot be read by DLPack: {refused}") from refused
    try:
        made = np.asarray(given)
    except (ValueError, TypeError) as refused:
        raise wrong_input(f"{what}: it is no array: {refused}") from refused
    if made.dtype == object and not isinstance(given, str):
        raise wrong_input(f"{what}: a {type(given).__name__} is no array")
    return made


def _texts_of(array: Any, what: str) -> tuple[list[bytes], int, tuple[int, ...]]:
    texts: list[bytes] = []
    for text in array.ravel().tolist():
        if isinstance(text, str):
            text = text.encode("utf-8", "surrogateescape")
        if not isinstance(text, bytes):
            raise wrong_input(f"{what}: an element is a {type(text).__name__}, want a text")
        if b"\0" in text:
            raise wrong_input(f"{what}: a text has a zero byte, which ends texts here")
        texts.append(text)
    return texts, _dtypes.STRING, array.shape


def tensor_form(given: Any, dtype: str | None, rank: int | None, what: str) -> tuple[Any, ...]:
    """(array, number) or (texts, number, shape) for the extension. dtype, rank: wanted; None: any."""
    array = _array_of(given, what)
    code = _dtypes.CODES.get(array.dtype)
    if code is None:
        code = _dtypes.code_of(array.dtype)
    if code is None or (dtype is not None and _dtypes.NAMES[code] != dtype):
        has = array.dtype if code is None or array.dtype.kind in "OUST" else _dtypes.NAMES[code]
        raise wrong_input(f"{what}: wants {dtype or 'a dtype of Dyn'}, got {has}; Dyn casts nothing by itself")
    if rank is not None and array.ndim != rank:
        raise wrong_input(f"{what}: wants rank {rank}, got rank {array.ndim}, shape {list(array.shape)}")
    if code == _dtypes.STRING:
        return _texts_of(array, what)
    return _dtypes.given(array, code), code


def _list_form(given: list[Any] | tuple[Any, ...], what: str) -> list[Any]:
    return [tensor_form(item, None, None, f"{what}, item {i}") for i, item in enumerate(given)]


def form_of(port: Port, given: Any) -> Any:
    """An input as the extension takes it; checked: kind, dtype, rank. The library checks sizes."""
    what = f"input '{port.name}'"
    if port.kind == "tensor":
        return tensor_form(given, port.dtype, None if port.shape is None else len(port.shape), what)
    if port.kind == "optional":
        if given is None:
            return ()
        return (_list_form(given, what) if isinstance(given, (list, tuple)) else tensor_form(given, None, None, what),)
    if port.kind == "list":
        if not isinstance(given, (list, tuple)):
            raise wrong_input(f"{what}: wants a list of arrays, got a {type(given).__name__}")
        return _list_form(given, what)
    raise Unsupported(f"unsupported: {what} of kind {port.kind} ({port.type})", "E0502")


def sequences_form(port: Port, given: Any) -> Any:
    """A list of arrays as (rows, number, lengths): the sequences of a padded input; anything else as form_of()."""
    if port.kind != "tensor" or not isinstance(given, (list, tuple)):
        return form_of(port, given)
    what = f"input '{port.name}'"
    if port.shape is None or len(port.shape) < 2 or not given:
        raise wrong_input(f"{what}: sequences stand for a tensor [batch, longest, ...], it is {port.type}")
    parts = [tensor_form(one, port.dtype, len(port.shape) - 1, f"{what}, sequence {i}") for i, one in enumerate(given)]
    if any(part[0].shape[1:] != parts[0][0].shape[1:] for part in parts):
        raise wrong_input(f"{what}: sequences may differ in their first axis only")
    return np.concatenate([part[0] for part in parts]), parts[0][1], [len(part[0]) for part in parts]


def sequences_of(form: Any) -> Any:
    """A result as the caller gets it: of (rows, number, lengths) a list of arrays."""
    if not isinstance(form, tuple) or len(form) != 3 or form[1] == _dtypes.STRING:
        return object_of(form)
    rows, code, lengths = form
    ends = np.cumsum(lengths)
    return [_dtypes.restored(rows[end - length:end], code) for end, length in zip(ends.tolist(), lengths)]


def _target_of(port: Port, given: Any) -> Any:
    what = f"out: the array of output '{port.name}'"
    if not isinstance(given, np.ndarray):
        raise wrong_input(f"{what} is a {type(given).__name__}, want a NumPy array")
    if port.dtype is None or port.dtype == "string":
        raise Unsupported(f"unsupported: out: output '{port.name}' is {port.type}, no tensor of numbers", "E0502")
    code = _dtypes.code_of(given.dtype)
    if code is None or _dtypes.NAMES[code] != port.dtype:
        raise wrong_input(f"{what}: wants {port.dtype}, got {given.dtype}; Dyn casts nothing by itself")
    if not given.flags.writeable:
        raise wrong_input(f"{what} is read-only")
    if not given.flags.c_contiguous or not given.flags.aligned:
        raise wrong_input(f"{what} is not dense in C order")
    return _dtypes.carried(given, code)


def targets_of(ports: tuple[Port, ...], out: Any) -> list[Any]:
    """An array or None for each output, checked: dtype, order. The run checks sizes."""
    if isinstance(out, np.ndarray) or not isinstance(out, (Mapping, list, tuple)):
        out = [out]
    if isinstance(out, Mapping):
        names = [port.name for port in ports]
        for name in out:
            if name not in names:
                raise wrong_input(f"out: there is no output '{name}'; outputs: {', '.join(names)}")
        out = [out.get(name) for name in names]
    if len(out) != len(ports):
        raise wrong_input(f"out: {len(out)} arrays are given, the model has {len(ports)} outputs")
    return [None if given is None else _target_of(port, given) for port, given in zip(ports, out)]


def object_of(form: Any) -> Any:
    """A result of the extension as the caller gets it."""
    if form is None or isinstance(form, np.ndarray):
        return form
    if isinstance(form, list):
        return [object_of(item) for item in form]
    if form[1] == _dtypes.STRING:
        texts, _, shape = form
        made = np.empty(len(texts), dtype=object)
        made[:] = texts
        return made.reshape(shape)
    return _dtypes.restored(*form)


def _use_numpy() -> None:
    try:
        from numpy._core import multiarray
    except ImportError:  # before NumPy 1.26
        from numpy.core import multiarray  # type: ignore[no-redef]
    sample = np.zeros((2, 6), np.float32)[:, ::2]
    _dyn.set_numpy(np.ndarray, [_dtypes.PLAIN.get(code) for code in range(len(_dtypes.NAMES))], multiarray._ARRAY_API,
                   sample, object_of)


_use_numpy()


class Result:
    """The outputs of a call: y.NAME, y["NAME"], y[0], `a, b = y`, len(y), y.names."""

    __slots__ = ("names", "_values")

    def __init__(self, names: tuple[str, ...], values: list[Any]) -> None:
        self.names = names
        self._values = values

    def __getitem__(self, key: int | str) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"there is no output '{key}'; outputs: {', '.join(self.names)}")
            return self._values[self.names.index(key)]
        return self._values[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in Result.__slots__ or name not in self.names:
            raise AttributeError(f"there is no output '{name}'")
        return self._values[self.names.index(name)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Result({', '.join(f'{name}={value!r}' for name, value in zip(self.names, self._values))})"
