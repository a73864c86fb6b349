"""Dyn as a backend of the package onnx (onnx.backend.base):

    import dyn.onnx_backend as backend
    y, = backend.prepare(model).run([x])
    onnx.backend.test.BackendTest(backend, __name__)      # its tests
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend as OnnxBackend
from onnx.backend.base import BackendRep, Device, DeviceType

from ._errors import Error, Unsupported
from ._model import Model, load, opened


def _no_device(device: str) -> Unsupported:
    return Unsupported(f"unsupported: the device {device} of onnx's backends", "E0502")


class PreparedModel(BackendRep):
    """A compiled model."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """inputs: a sequence in the order of the model's, a mapping by name, or the one array. A result of a scalar is
        an array of rank 0."""
        if isinstance(inputs, (Mapping, list, tuple)):
            return tuple(self.model.run(inputs, **kwargs))
        return tuple(self.model.run([inputs], **kwargs))


class Backend(OnnxBackend):
    """prepare, run_model, run_node, is_compatible, supports_device."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """The CPU alone; the package's option device= has the others."""
        try:
            parsed = Device(device)
        except AttributeError:  # no device of onnx's
            return False
        return bool(parsed.type == DeviceType.CPU and parsed.device_id == 0)

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Does it compile?"""
        try:
            cls.prepare(model, device, **kwargs)
        except Error:
            return False
        return True

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """Compiles an onnx.ModelProto, or what else dyn.load takes. kwargs: options of dyn.load."""
        if not cls.supports_device(device):
            raise _no_device(device)
        return PreparedModel(load(model, **kwargs).compile())

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None,
                 **kwargs: Any) -> tuple[Any, ...]:
        """One operator on these arrays. opset_version=: of the operator, else the newest that onnx knows."""
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        given = [np.asarray(one) for one in inputs]
        if len(given) != len(names):
            raise Unsupported(f"unsupported: {len(given)} inputs for a node that names {len(names)}", "E0502")
        graph = onnx.helper.make_graph(
            [node], "node",
            [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
             for name, one in zip(names, given)],
            [onnx.ValueInfoProto(name=name) for name in node.output if name])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, version)])
        if not cls.supports_device(device):
            raise _no_device(device)
        # Not by load(), which would warn of outputs without a type.
        return PreparedModel(Model(opened(model, "node.onnx", kwargs)).compile()).run(given)


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
