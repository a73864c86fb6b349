"""onnx.backend.base.Backend over Dyn, as onnxruntime.backend has it: prepare(model), run_model(model, inputs)."""

from __future__ import annotations

from typing import Any

from ._session import InferenceSession


class BackendRep:
    """A prepared model."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    def run(self, inputs: Any, **options: Any) -> list[Any]:
        """inputs: a list in the order of the model's, a dict by name, or the one array."""
        if isinstance(inputs, (list, tuple)):
            feed = dict(zip(self._session._input_names, inputs))
        elif isinstance(inputs, dict):
            feed = inputs
        else:
            feed = {self._session._input_names[0]: inputs}
        return self._session.run(None, feed)


class Backend:
    @classmethod
    def is_compatible(cls, model: Any, device: str | None = None, **options: Any) -> bool:
        return device is None or cls.supports_device(device)

    @classmethod
    def is_opset_supported(cls, model: Any) -> tuple[bool, str]:
        return True, ""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.upper() == "CPU"

    @classmethod
    def prepare(cls, model: Any, device: str | None = None, **options: Any) -> BackendRep:
        """model: an onnx.ModelProto, a path, bytes, or a session."""
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"there is no device '{device}' here: Dyn runs on the CPU")
        if isinstance(model, BackendRep):
            return model
        if isinstance(model, InferenceSession):
            return BackendRep(model)
        data = model.SerializeToString() if hasattr(model, "SerializeToString") else model
        return BackendRep(InferenceSession(data))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str | None = None, **options: Any) -> list[Any]:
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str | None = None, outputs_info: Any = None,
                 **options: Any) -> list[Any]:
        raise NotImplementedError("a node alone has no types: run a model")


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run = Backend.run_model
run_model = Backend.run_model
supports_device = Backend.supports_device
