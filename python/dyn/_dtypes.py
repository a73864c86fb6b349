"""Element types: Dyn's names, their numbers in the C API, and NumPy's types."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _dyn
from ._errors import Unsupported

NAMES: tuple[str, ...] = tuple(name for name, _, _ in _dyn.dtypes())
STRING = NAMES.index("string")
_NUMPY = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64",
    "c128": "complex128",
}
# Types of the package ml_dtypes; NumPy alone has none of them.
_ML_DTYPES = {
    "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu", "f4e2m1": "float4_e2m1fn", "i4": "int4",
    "u4": "uint4", "i2": "int2", "u2": "uint2",
}
_CARRIERS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}
_SIZES = {name: size for name, _, size in _dyn.dtypes()}

# NumPy's type -> number. Of another byte order: not there.
CODES: dict[Any, int] = {np.dtype(numpy): NAMES.index(name) for name, numpy in _NUMPY.items()}
# Those that the buffer protocol has a form of: number -> NumPy's type.
PLAIN: dict[int, Any] = {code: dtype for dtype, code in CODES.items()}


def code_of(dtype: Any) -> int | None:
    """The number of a NumPy type; None: Dyn has no such type."""
    code = CODES.get(dtype)
    if code is None and dtype.kind in "USOT":
        return STRING
    if code is None:
        for name, other in _ML_DTYPES.items():
            if dtype.name == other:
                return NAMES.index(name)
    return code


def carried(array: Any, code: int) -> Any:
    """The array as one whose elements have a form in the buffer protocol."""
    return array if code in PLAIN else array.view(_CARRIERS[array.dtype.itemsize])


def given(array: Any, code: int) -> Any:
    """The same of an input. ml_dtypes keeps only the low bits of int4 and int2, Dyn wants their signs, too."""
    if NAMES[code] in ("i4", "i2"):
        return array.astype(np.int8).view(np.uint8)
    return carried(array, code)


def restored(array: Any, code: int) -> Any:
    """What the extension gave, with its type."""
    return array if code in PLAIN else array.view(numpy_of(code))


def numpy_of(code: int) -> Any:
    """NumPy's type of a number; strings are objects. Raises Unsupported where there is none."""
    if code in PLAIN:
        return PLAIN[code]
    if code == STRING:
        return np.dtype(object)
    name = NAMES[code]
    if name not in _ML_DTYPES:
        raise Unsupported(f"unsupported: {name}, which NumPy has no form of", "E0502")
    try:
        import ml_dtypes
    except ImportError:
        raise Unsupported(f"unsupported: {name} without the package ml_dtypes, which has it", "E0502") from None
    return np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
