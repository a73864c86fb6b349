"""Writes model.onnx and detect.onnx: operators that no runtime knows, as exporters with operators of their own do."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def custom(name, inputs, outputs, **attributes):
    return helper.make_node(name, inputs, outputs, domain="com.acme", name=name.lower(), **attributes)


kernel = numpy_helper.from_array(np.array([0.25, 0.5, 0.25], np.float32))
graph = helper.make_graph(
    [
        custom("Swish", ["x"], ["a"], beta=1.5),
        custom("RmsNorm", ["a", "scale"], ["b"], axis=-1, epsilon=1e-6),
        custom("RmsNorm", ["b", "scale", "bias"], ["c"]),
        custom("Taps", ["c"], ["d"], kernel=kernel, to=TensorProto.FLOAT),
        custom("Roll", ["d"], ["y"], shift=2),
    ],
    "custom",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "seq", 8])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "seq", 8])],
    [
        numpy_helper.from_array(np.linspace(0.5, 1.5, 8).astype(np.float32), "scale"),
        numpy_helper.from_array(np.arange(8).astype(np.float32), "bias"),
    ],
)
opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.acme", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), "model.onnx")

graph = helper.make_graph(
    [
        helper.make_node("SoftNonMaxSuppression", ["boxes", "scores"], ["rows", "places"], domain="mmcv",
                         iou_threshold=0.3, sigma=0.5, min_score=0.001, method=2, offset=0),
        helper.make_node("StringLength", ["names"], ["lengths"], domain="ai.onnx.contrib"),
    ],
    "detect",
    [
        helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["n", 4]),
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n"]),
        helper.make_tensor_value_info("names", TensorProto.STRING, ["k"]),
    ],
    [
        helper.make_tensor_value_info("rows", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("places", TensorProto.INT64, None),
        helper.make_tensor_value_info("lengths", TensorProto.INT64, ["k"]),
    ],
)
opsets = [helper.make_opsetid(domain, 1 if domain else 20) for domain in ("", "mmcv", "ai.onnx.contrib")]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), "detect.onnx")
