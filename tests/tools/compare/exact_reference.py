"""Models in double precision, and the ONNX reference evaluator on them: slow, and says what a result should be where there is no peer."""
import functools
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

MOST_INPUT_ELEMENTS = 1 << 22  # beyond, its plain loops take minutes


def _widen_tensor(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def _widen_type(type_proto):
    kind = type_proto.WhichOneof("value")
    if kind == "tensor_type" and type_proto.tensor_type.elem_type == TensorProto.FLOAT:
        type_proto.tensor_type.elem_type = TensorProto.DOUBLE
    elif kind in ("sequence_type", "optional_type"):
        _widen_type(getattr(type_proto, kind).elem_type)


def _widen_node(node, graphs):
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR:
            _widen_tensor(attribute.t)
        elif attribute.type == onnx.AttributeProto.GRAPH:
            graphs.append(attribute.g)
        elif attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT:
            attribute.i = TensorProto.DOUBLE
        elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
            values = [attribute.f] if attribute.name == "value_float" else list(attribute.floats)
            array = np.array(values[0] if attribute.name == "value_float" else values, np.float64)
            attribute.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(array)))


def widen(model):
    """Every float32 of the model (weights, constants, casts, declared types, bodies) becomes float64."""
    graphs = [model.graph]
    while graphs:
        graph = graphs.pop()
        for tensor in graph.initializer:
            _widen_tensor(tensor)
        for value in [*graph.input, *graph.output, *graph.value_info]:
            _widen_type(value.type)
        for node in graph.node:
            _widen_node(node, graphs)
    for function in model.functions:
        bodies = []
        for node in function.node:
            _widen_node(node, bodies)
    return model


def wide(value):
    return value.astype(np.float64) if value.dtype == np.float32 else value


@functools.lru_cache(maxsize=1)
def _evaluator(path):
    return ReferenceEvaluator(widen(onnx.load(path)))


def evaluate(path, inputs):
    """(outputs in double, "") or (None, why not). Never raises: what it can't do is an answer too."""
    if sum(v.size for v in inputs.values()) > MOST_INPUT_ELEMENTS:
        return None, "too large for the reference evaluator"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [np.asarray(v) for v in _evaluator(path).run(None, {n: wide(v) for n, v in inputs.items()})], ""
    except Exception as error:  # the evaluator raises whatever numpy and its operators raise
        return None, f"the reference evaluator fails: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
