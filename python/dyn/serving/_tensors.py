"""Tensors of the Open Inference Protocol as NumPy arrays: lists of JSON and gRPC, and bytes as they lie in memory."""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np

from .._errors import InputError, Unsupported, wrong_input

# The protocol's name -> NumPy's type. Strings are objects.
DTYPES: dict[str, Any] = {
    "BOOL": np.dtype("bool"), "UINT8": np.dtype("uint8"), "UINT16": np.dtype("uint16"), "UINT32": np.dtype("uint32"),
    "UINT64": np.dtype("uint64"), "INT8": np.dtype("int8"), "INT16": np.dtype("int16"), "INT32": np.dtype("int32"),
    "INT64": np.dtype("int64"), "FP16": np.dtype("float16"), "FP32": np.dtype("float32"), "FP64": np.dtype("float64"),
    "BYTES": np.dtype(object),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_OF_DYN = {"bool": "BOOL", "string": "BYTES", "f16": "FP16", "f32": "FP32", "f64": "FP64",
           **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "INT"), ("u", "UINT")) for bits in (8, 16, 32, 64)}}


def name_of(dtype: str | None) -> str | None:
    """The protocol's name of a type of Dyn ("f32"); None: it has none."""
    return _OF_DYN.get(dtype or "")


def datatype_of(array: Any, what: str) -> str:
    if array.dtype not in _NAMES:
        raise Unsupported(f"unsupported: {what} is {array.dtype}, for which the Open Inference Protocol has no datatype",
                          "E0502")
    return _NAMES[array.dtype]


def dtype_of(datatype: str, what: str) -> Any:
    if datatype not in DTYPES:
        raise wrong_input(f"{what}: datatype {datatype!r} is none of {', '.join(DTYPES)}")
    return DTYPES[datatype]


def _sized(array: Any, shape: list[int], what: str) -> Any:
    if any(type(size) is not int or size < 0 for size in shape):
        raise wrong_input(f"{what}: shape {shape} has a size that is no number from 0 on")
    if array.size != math.prod(shape):
        raise wrong_input(f"{what}: shape {shape} wants {math.prod(shape)} elements, got {array.size}")
    try:
        return array.reshape(shape)
    except ValueError as refused:  # more axes, or larger ones beside a 0, than NumPy has
        raise wrong_input(f"{what}: shape {shape}: {refused}") from refused


class Head(NamedTuple):
    """What a request in JSON says of an input beside its data."""

    name: str
    datatype: str
    shape: list[int]
    parameters: dict[str, Any]


def head_of(one: Any) -> Head:
    """Of an element of "inputs"."""
    if not isinstance(one, dict) or not isinstance(one.get("name"), str):
        raise wrong_input("an input has no name")
    head = Head(one["name"], one.get("datatype"), one.get("shape"), one.get("parameters") or {})  # type: ignore[arg-type]
    what = f"input '{head.name}'"
    if not isinstance(head.shape, list) or not isinstance(head.datatype, str) or not isinstance(head.parameters, dict):
        raise wrong_input(f"{what}: shape is a list, datatype a string, parameters an object")
    if "shared_memory_region" in head.parameters:
        raise Unsupported(f"unsupported: {what} in shared memory", "E0502")
    if head.parameters.get("content_type") not in (None, "np", "str"):
        raise Unsupported(f"unsupported: {what} with content_type {head.parameters['content_type']!r}: np or str", "E0502")
    return head


def from_json(one: dict[str, Any], head: Head) -> Any:
    what = f"input '{head.name}'"
    if "data" not in one:
        raise wrong_input(f"{what}: it has neither data nor binary_data_size")
    return from_list(one["data"], head.datatype, head.shape, what)


def from_bytes(raw: bytes | memoryview, datatype: str, shape: list[int], what: str) -> Any:
    """Of little-endian elements in C order; a string is its length as 4 bytes, then its bytes. The array uses the
    memory of raw."""
    dtype = dtype_of(datatype, what)
    if datatype == "BYTES":
        return _sized(_objects(_strings_of(memoryview(raw), what)), shape, what)
    if len(raw) % dtype.itemsize:
        raise wrong_input(f"{what}: {len(raw)} bytes are no whole number of {datatype}")
    return _sized(np.frombuffer(raw, dtype), shape, what)


def _strings_of(raw: memoryview, what: str) -> list[bytes]:
    texts, at = [], 0
    while at < len(raw):
        if len(raw) - at < 4:
            raise wrong_input(f"{what}: {len(raw) - at} bytes are left where the length of a string should stand")
        [size] = struct.unpack_from("<I", raw, at)
        at += 4
        if size > len(raw) - at:
            raise wrong_input(f"{what}: a string of {size} bytes, but {len(raw) - at} bytes are left")
        texts.append(bytes(raw[at:at + size]))
        at += size
    return texts


def _objects(values: list[Any]) -> Any:
    made = np.empty(len(values), object)
    made[:] = values
    return made


def from_list(data: Any, datatype: str, shape: list[int], what: str) -> Any:
    """Of a list, flat or nested as the shape. Nothing is cast: 1.5 is no INT64, 300 no UINT8, 1 no BOOL. null is
    the NaN of FP16, FP32 and FP64."""
    dtype = dtype_of(datatype, what)
    if datatype == "BYTES":
        flat = _flat(data)
        if any(not isinstance(text, (str, bytes)) for text in flat):
            raise wrong_input(f"{what}: an element of BYTES is no string")
        return _sized(_objects(flat), shape, what)
    try:
        read = np.array(data)
        wide = dtype.kind in "iu" and read.dtype.kind in "fO" and all(type(item) is int for item in _flat(data))
        if wide or read.dtype == object:
            # From 2**63 on NumPy would make reals of integers. null becomes NaN.
            read = np.array(data, object if wide else np.float64)
    except (ValueError, TypeError, OverflowError) as refused:
        raise wrong_input(f"{what}: data is no list of {datatype}: {refused}") from refused
    if wide:
        return _sized(_integers(read, dtype, what), shape, what)
    kinds = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}[dtype.kind]
    if read.size and read.dtype.kind not in kinds:
        raise wrong_input(f"{what}: data has elements that are no {datatype}")
    with np.errstate(over="ignore"):
        made = read.astype(dtype)
    lost = np.isinf(made) & np.isfinite(read) if dtype.kind == "f" else made != read
    if read.size and lost.any():
        raise wrong_input(f"{what}: {read[lost].flat[0]} is out of the range of {datatype}")
    return _sized(made, shape, what)


def _integers(read: Any, dtype: Any, what: str) -> Any:
    limits = np.iinfo(dtype)
    for value in read.flat:
        if not limits.min <= value <= limits.max:
            raise wrong_input(f"{what}: {value} is out of the range of {_NAMES[dtype]}")
    return read.astype(dtype)


def _flat(data: Any) -> list[Any]:
    if not isinstance(data, list):
        return [data]
    if not any(isinstance(item, list) for item in data):
        return data
    return [inner for item in data for inner in _flat(item)]


def to_bytes(array: Any) -> bytes:
    if array.dtype != object:
        return np.ascontiguousarray(array).tobytes()
    parts = [encoded(text) for text in array.ravel().tolist()]
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def encoded(text: str | bytes) -> bytes:
    """The bytes of a string that a run gave, also where they are not UTF-8."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def to_list(array: Any, what: str) -> list[Any]:
    """For JSON: NaN becomes null. Raises InputError where JSON has no form of a value."""
    if array.dtype == object:
        try:
            return [encoded(text).decode() for text in array.ravel().tolist()]
        except UnicodeDecodeError:
            raise InputError(f"{what} has a string that is not UTF-8, which JSON cannot carry: ask for binary data",
                             "E0305") from None
    flat: list[Any] = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        if np.isinf(array).any():
            raise InputError(f"{what} has an infinity, which JSON cannot carry: ask for binary data", "E0305")
        return [None if value != value else value for value in flat]
    return flat
