"""OrtValue and what stands for devices."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np

from ._errors import Fail
from ._errors import NotImplemented as Refused
from ._types import element_number, numpy_type, tensor_text


def need_cpu(device_type: Any) -> None:
    name = device_type.device_type() if isinstance(device_type, OrtDevice) else str(device_type)
    if name.lower() not in ("cpu", "cpuexecutionprovider"):
        raise Fail(f"[ONNXRuntimeError] : 1 : FAIL : there is no device '{name}' here: Dyn runs on the CPU")


class OrtDevice:
    """The CPU."""

    def __init__(self, device_type: str = "cpu", device_id: int = 0) -> None:
        need_cpu(device_type)
        self._device_id = device_id

    @staticmethod
    def make(ort_device_name: str, device_id: int = 0, vendor_id: int = -1) -> OrtDevice:
        return OrtDevice(ort_device_name, device_id)

    @staticmethod
    def cpu() -> int:
        return 0

    @staticmethod
    def default_memory() -> int:
        return 0

    def device_id(self) -> int:
        return self._device_id

    def device_type(self) -> str:
        return "cpu"


class OrtMemType(enum.IntEnum):
    CPU_INPUT = -2
    CPU_OUTPUT = -1
    DEFAULT = 0


class OrtAllocatorType(enum.IntEnum):
    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemoryInfo:
    def __init__(self, name: str, allocator: Any = None, device_id: int = 0, memory_type: Any = None) -> None:
        need_cpu(name)
        self.name = name


class OrtArenaCfg:
    def __init__(self, *given: Any, **by_name: Any) -> None:
        """Nothing: there is no arena to set up."""


class SparseTensor:
    def __init__(self, *given: Any, **by_name: Any) -> None:
        raise Refused("Dyn has no sparse tensors")


class OrtValue:
    """A tensor, a list of tensors, or nothing (an optional), in memory of NumPy."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: Any = "cpu", device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """Over the array's memory, as in onnxruntime."""
        need_cpu(device_type)
        return OrtValue(np.ascontiguousarray(numpy_obj).reshape(np.shape(numpy_obj)))

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Any, onnx_element_type: int) -> OrtValue:
        wanted = numpy_type(onnx_element_type)
        return OrtValue(np.ascontiguousarray(data).view(wanted).reshape(np.shape(data)))

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Any, element_type: Any, device_type: Any = "cpu", device_id: int = 0,
                                     vendor_id: int = -1) -> OrtValue:
        need_cpu(device_type)
        return OrtValue(np.zeros(tuple(shape), numpy_type(element_type)))

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> OrtValue:
        array = np.from_dlpack(data)
        return OrtValue(array.view(np.bool_) if is_bool_tensor else array)

    @staticmethod
    def ort_value_from_sparse_tensor(tensor: Any) -> OrtValue:
        raise Refused("Dyn has no sparse tensors")

    def _array(self) -> Any:
        if not isinstance(self._value, np.ndarray):
            raise Fail("[ONNXRuntimeError] : 1 : FAIL : the value is no tensor")
        return self._value

    def data_ptr(self) -> int:
        return int(self._array().ctypes.data)

    def device_name(self) -> str:
        return "cpu"

    def shape(self) -> list[int]:
        return list(self._array().shape)

    def data_type(self) -> str:
        if isinstance(self._value, list):
            return f"seq({tensor_text(self._value[0])})" if self._value else "seq(tensor(float))"
        return tensor_text(self._array())

    def element_type(self) -> int:
        return element_number(self._array().dtype)

    def tensor_size_in_bytes(self) -> int:
        return int(self._array().nbytes)

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def numpy(self) -> Any:
        """A copy, as in onnxruntime."""
        return self._array().copy()

    def update_inplace(self, np_arr: Any) -> None:
        array = self._array()
        if array.shape != np_arr.shape or array.dtype != np_arr.dtype:
            raise Fail(f"[ONNXRuntimeError] : 1 : FAIL : the value is {array.dtype} {list(array.shape)}, the array "
                       f"{np_arr.dtype} {list(np_arr.shape)}")
        np.copyto(array, np_arr)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._array(), dtype=dtype) if dtype or copy else self._array()

    def __dlpack__(self, **options: Any) -> Any:
        return self._array().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array().__dlpack_device__()


def array_at(pointer: int, element_type: Any, shape: Any) -> Any:
    """An array over memory that the program keeps alive."""
    dtype = numpy_type(element_type)
    sizes = tuple(int(size) for size in shape)
    count = int(np.prod(sizes, dtype=np.int64))
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(pointer)
    return np.frombuffer(memory, dtype=dtype, count=count).reshape(sizes)
