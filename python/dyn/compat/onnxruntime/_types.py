"""Types as onnxruntime writes them: tensor(float), seq(tensor(int64)), optional(tensor(float))."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ... import _dtypes
from ..._values import Port

# Dyn's name: onnxruntime's, number of onnx.TensorProto.
ELEMENTS = {
    "f32": ("float", 1), "u8": ("uint8", 2), "i8": ("int8", 3), "u16": ("uint16", 4), "i16": ("int16", 5),
    "i32": ("int32", 6), "i64": ("int64", 7), "string": ("string", 8), "bool": ("bool", 9), "f16": ("float16", 10),
    "f64": ("double", 11), "u32": ("uint32", 12), "u64": ("uint64", 13), "c64": ("complex64", 14),
    "c128": ("complex128", 15), "bf16": ("bfloat16", 16), "f8e4m3fn": ("float8e4m3fn", 17),
    "f8e4m3fnuz": ("float8e4m3fnuz", 18), "f8e5m2": ("float8e5m2", 19), "f8e5m2fnuz": ("float8e5m2fnuz", 20),
    "u4": ("uint4", 21), "i4": ("int4", 22), "f4e2m1": ("float4e2m1", 23), "f8e8m0": ("float8e8m0", 24),
    "u2": ("uint2", 25), "i2": ("int2", 26),
}
_BY_NUMBER = {number: name for name, (_, number) in ELEMENTS.items()}
_BY_TEXT = {text: name for name, (text, _) in ELEMENTS.items()}
_WRAPPERS = (("List[", "seq"), ("Optional[", "optional"), ("optional[", "optional"), ("list[", "seq"))
_ELEMENT = re.compile(r"\b(" + "|".join(ELEMENTS) + r")\]")


def type_text(text: str) -> str:
    """Of Dyn's text of a type: "List[Tensor[(?, 3), f32]]" gives "seq(tensor(float))"."""
    for prefix, theirs in _WRAPPERS:
        if text.startswith(prefix):
            return f"{theirs}({type_text(text[len(prefix):-1])})"
    found = _ELEMENT.findall(text)
    return f"tensor({ELEMENTS[found[-1]][0]})" if found else text


def tensor_text(array: Any) -> str:
    """Of an array."""
    code = _dtypes.code_of(array.dtype)
    return "tensor(object)" if code is None else f"tensor({ELEMENTS[_dtypes.NAMES[code]][0]})"


def numpy_type(element: Any) -> Any:
    """NumPy's type of what programs name an element by: np.float32, 1, "tensor(float)"."""
    if isinstance(element, (int, np.integer)) and not isinstance(element, bool):
        name = _BY_NUMBER.get(int(element))
    elif isinstance(element, str) and element.startswith("tensor("):
        name = _BY_TEXT.get(element[7:-1])
    else:
        return np.dtype(element)
    if name is None:
        raise ValueError(f"there is no element type {element}")
    return _dtypes.numpy_of(_dtypes.NAMES.index(name))


def element_number(dtype: Any) -> int:
    """The number of onnx.TensorProto."""
    code = _dtypes.code_of(dtype)
    return 0 if code is None else ELEMENTS[_dtypes.NAMES[code]][1]


class NodeArg:
    """An input or output of a session. shape: an int, a name, or None where a size has no name."""

    def __init__(self, port: Port) -> None:
        self.name = port.name
        self.type = type_text(port.type)
        self.shape: list[int | str | None] = [
            None if isinstance(size, str) and size.startswith("?") else size for size in port.shape or ()]

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"

    __str__ = __repr__
