"""Inputs and outputs of a session, bound to memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InvalidArgument
from ._values import OrtValue, array_at, need_cpu

if TYPE_CHECKING:
    from ._session import InferenceSession


class IOBinding:
    """What `InferenceSession.run_with_iobinding` reads and writes."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        # By name: memory to write to, or None where the run gives it.
        self._outputs: dict[str, Any] = {}
        self._results: list[Any] = []

    def _known(self, name: str, names: list[str], what: str) -> None:
        if name not in names:
            raise InvalidArgument(f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid {what} name: {name}; there are: "
                                  f"{', '.join(names)}")

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        self._known(name, self._session._input_names, "input")
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Any,
                   buffer_ptr: int) -> None:
        need_cpu(device_type)
        self.bind_cpu_input(name, array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_cpu_input(name, ortvalue._value)

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Any = None, buffer_ptr: int | None = None) -> None:
        need_cpu(device_type)
        self._known(name, self._session._output_names, "output")
        self._outputs[name] = None if buffer_ptr is None else array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._known(name, self._session._output_names, "output")
        self._outputs[name] = ortvalue._array()

    def synchronize_inputs(self) -> None:
        """Nothing: the memory is the CPU's."""

    def synchronize_outputs(self) -> None:
        """Nothing: the memory is the CPU's."""

    def get_outputs(self) -> list[OrtValue]:
        return [OrtValue(value) for value in self._results]

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [value.copy() if isinstance(value, np.ndarray) else value for value in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = []


SessionIOBinding = IOBinding
