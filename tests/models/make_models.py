#!/usr/bin/env python3
"""Writes the small models of this folder and their recorded cases (outputs by onnxruntime): what dynamic models do that other runtimes got wrong.

    python3 tests/models/make_models.py [NAME...]        needs numpy, onnx and onnxruntime; the tests themselves need only what is committed
"""
import os
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import large_models

node, info = helper.make_node, helper.make_tensor_value_info
FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


def ints(*values):
    return np.array(values, np.int64)


def reals(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def built(name, nodes, inputs, outputs, constants, value_info=(), opset=17):
    graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()], value_info=value_info)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@model
def loop_zero_after_seven():
    """A Loop with a carried value and a scan output: seven turns, then none, then three. The scan of no turn is empty, not that of the last call."""
    body = helper.make_graph(
        [node("Add", ["acc", "x"], ["next"]), node("Mul", ["next", "next"], ["square"]), node("Identity", ["go"], ["goes_on"])],
        "body", [info("i", INT64, []), info("go", BOOL, []), info("acc", FLOAT, ["n"])],
        [info("goes_on", BOOL, []), info("next", FLOAT, ["n"]), info("square", FLOAT, ["n"])])
    nodes = [node("Loop", ["turns", "", "x"], ["last", "squares"], body=body), node("ReduceSum", ["squares", "axis"], ["total"], keepdims=0)]
    yield built("loop", nodes, [info("turns", INT64, []), info("x", FLOAT, ["n"])], [info("last", FLOAT, ["n"]), info("squares", FLOAT, ["turns", "n"]), info("total", FLOAT, ["n"])],
                {"axis": ints(0)})
    for turns, n in ((7, 5), (0, 5), (3, 5), (0, 1), (1, 0), (0, 0)):
        x = reals(turns, n)
        # Not recorded: onnxruntime's scan of no turn has shape [0, 0] whatever n is.
        squares = np.array([((k + 2) * x) ** 2 for k in range(turns)], np.float32).reshape(turns, n)
        yield {"turns": np.array(turns, np.int64), "x": x}, [(turns + 1) * x, squares, squares.sum(0)]


@model
def batch_after_one():
    """Exported at batch 1: the types in between still say so, and the graph holds nothing that does. Positions are expanded, heads split and joined."""
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["length"]), node("Slice", ["table", "zero1", "end"], ["places"]),
             node("Unsqueeze", ["length", "zero1"], ["end"]), node("Unsqueeze", ["places", "zero1"], ["row"]), node("Add", ["h", "row"], ["p"]),
             node("Reshape", ["p", "heads"], ["split"]), node("Transpose", ["split"], ["q"], perm=[0, 2, 1, 3]), node("Transpose", ["split"], ["k"], perm=[0, 2, 3, 1]),
             node("MatMul", ["q", "k"], ["scores"]), node("Softmax", ["scores"], ["weights"], axis=-1), node("MatMul", ["weights", "q"], ["mixed"]),
             node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]), node("Reshape", ["back", "joined"], ["y"])]
    nodes.insert(3, nodes.pop(4))
    stale = [info("h", FLOAT, [1, "seq", 8]), info("p", FLOAT, [1, "seq", 8]), info("split", FLOAT, [1, "seq", 2, 4]), info("scores", FLOAT, [1, 2, "seq", "seq"])]
    yield built("attention", nodes, [info("x", FLOAT, ["batch", "seq", 6])], [info("y", FLOAT, ["batch", "seq", 8])],
                {"w": reals(1, 6, 8), "table": reals(2, 64, 8), "one": np.array(1, np.int64), "zero1": ints(0), "heads": ints(0, 0, 2, 4), "joined": ints(0, 0, 8)}, stale)
    for batch, seq in ((1, 4), (3, 4), (2, 1), (5, 13), (4, 4)):
        yield {"x": reals(batch, batch, seq, 6)}


@model
def squeeze_when_one():
    """If the size is 1 squeeze it away, else keep it: branches of different rank, a second If that asks for the rank, and one chain that fits."""
    def squeezed(name, value, axis, rank_kept):
        return helper.make_graph([node("Squeeze", [value, axis], [name])], name + "_g", [], [info(name, FLOAT, [None] * rank_kept)])

    def kept(name, value, rank):
        return helper.make_graph([node("Identity", [value], [name])], name + "_g", [], [info(name, FLOAT, [None] * rank)])
    nodes = [node("Conv", ["x", "filter"], ["c"], strides=[4], pads=[1, 1]), node("Shape", ["c"], ["cs"]), node("Gather", ["cs", "last"], ["frames"]), node("Equal", ["frames", "one1"], ["single"]),
             node("If", ["single"], ["f"], then_branch=squeezed("f1", "c", "last", 2), else_branch=kept("f2", "c", 3)),
             node("Shape", ["f"], ["fs"]), node("Size", ["fs"], ["rank"]), node("Equal", ["rank", "two"], ["flat"]),
             node("If", ["flat"], ["g"], then_branch=kept("g1", "f", 2), else_branch=helper.make_graph([node("Unsqueeze", ["f", "first"], ["g2"])], "g2_g", [], [info("g2", FLOAT, None)])),
             node("Transpose", ["g"], ["gt"], perm=[1, 0]), node("MatMul", ["w", "gt"], ["y"])]
    yield built("squeeze", nodes, [info("x", FLOAT, [None, 2, None])], [info("y", FLOAT, [3, None])],
                {"filter": reals(1, 4, 2, 3), "last": ints(-1), "first": ints(0), "one1": ints(1), "two": np.array(2, np.int64), "w": reals(2, 3, 4)})
    for batch, width in ((1, 4), (3, 2), (7, 3), (0, 4)):
        yield {"x": reals(width, batch, 2, width)}


@model
def padding_computed():
    """Paddings that the graph works out by reversing and reshaping constants, as the exporter of torch.nn.functional.pad writes it; dims are -1 or have no name."""
    nodes = [node("Concat", ["given", "rest"], ["flat"], axis=0), node("Reshape", ["flat", "pairs"], ["table"]), node("Slice", ["table", "last", "least", "zero1", "last"], ["reversed"]),
             node("Transpose", ["reversed"], ["columns"], perm=[1, 0]), node("Reshape", ["columns", "last"], ["pads"]), node("Pad", ["x", "pads"], ["y"], mode="reflect")]
    yield built("padding", nodes, [info("x", FLOAT, [-1, None])], [info("y", FLOAT, [-1, None])],
                {"given": ints(2, 3), "rest": ints(0, 0), "pairs": ints(-1, 2), "last": ints(-1), "least": ints(-9223372036854775807), "zero1": ints(0)})
    for rows, columns in ((2, 4), (1, 11), (5, 5), (0, 7)):
        yield {"x": reals(rows, rows, columns)}


@model
def padding_given():
    """Paddings that are an input: the sizes behind depend on values."""
    nodes = [node("Pad", ["x", "pads"], ["p"]), node("Shape", ["p"], ["s"]), node("ReduceSum", ["p", "axis"], ["r"], keepdims=0), node("ConstantOfShape", ["s"], ["z"]), node("Add", ["z", "p"], ["y"])]
    yield built("padding", nodes, [info("x", FLOAT, ["n", "m"]), info("pads", INT64, [4])], [info("y", FLOAT, [None, None]), info("r", FLOAT, [None])], {"axis": ints(1)})
    for pads in ((0, 0, 0, 0), (1, 2, 3, 4), (0, 0, 0, 5), (2, 0, 0, 0)):
        yield {"x": reals(pads[1], 3, 2), "pads": ints(*pads)}


@model
def resize_to_another():
    """Resize to the sizes of another input, then a sum: the pyramid of a detector. No dim has a name."""
    nodes = [node("Shape", ["small"], ["ss"]), node("Slice", ["ss", "zero1", "two1"], ["front"]), node("Shape", ["large"], ["ls"]), node("Slice", ["ls", "two1", "four1"], ["back"]),
             node("Concat", ["front", "back"], ["sizes"], axis=0),
             node("Resize", ["small", "", "", "sizes"], ["grown"], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"), node("Add", ["grown", "large"], ["y"])]
    yield built("resize", nodes, [info("small", FLOAT, [None, 2, None, None]), info("large", FLOAT, [None, 2, None, None])], [info("y", FLOAT, [None, 2, None, None])],
                {"zero1": ints(0), "two1": ints(2), "four1": ints(4)})
    for batch, (h, w), (th, tw) in ((1, (2, 3), (4, 6)), (2, (3, 3), (3, 3)), (1, (1, 1), (7, 5)), (3, (5, 2), (11, 3))):
        yield {"small": reals(h, batch, 2, h, w), "large": reals(w, batch, 2, th, tw)}


@model
def bytes_one_hot():
    """Bytes as int32, one-hot by comparing with a range, a product with the table, the largest over the length."""
    nodes = [node("Unsqueeze", ["bytes", "last"], ["column"]), node("Equal", ["column", "range"], ["hit"]), node("Cast", ["hit"], ["hot"], to=FLOAT), node("MatMul", ["hot", "table"], ["e"]),
             node("ReduceMax", ["e"], ["m"], axes=[1], keepdims=0), node("Softmax", ["m"], ["y"], axis=-1)]
    yield built("bytes", nodes, [info("bytes", INT32, ["batch", "length"])], [info("y", FLOAT, ["batch", 5])],
                {"last": ints(-1), "range": np.arange(33, dtype=np.int32).reshape(1, 1, 33), "table": reals(3, 33, 5)})
    for batch, length in ((1, 3), (2, 7), (7, 2), (3, 3)):
        yield {"bytes": np.random.default_rng(batch).integers(0, 33, (batch, length)).astype(np.int32)}


@model
def state_of_another_batch():
    """An LSTM whose first states are inputs with dims of their own name: equal sizes are demanded once, not broadcast in each step."""
    nodes = [node("LSTM", ["x", "w", "r", "b", "", "h", "c"], ["y", "hn", "cn"], hidden_size=4)]
    yield built("lstm", nodes, [info("x", FLOAT, [None, None, 3]), info("h", FLOAT, [1, None, 4]), info("c", FLOAT, [1, None, 4])],
                [info("y", FLOAT, [None, 1, None, 4]), info("hn", FLOAT, [1, None, 4]), info("cn", FLOAT, [1, None, 4])],
                {"w": reals(1, 1, 16, 3), "r": reals(2, 1, 16, 4), "b": reals(3, 1, 32)})
    for steps, batch in ((1, 1), (7, 1), (5, 3), (2, 2)):
        yield {"x": reals(steps, steps, batch, 3), "h": reals(8, 1, batch, 4), "c": reals(9, 1, batch, 4)}


@model
def swin_open_size():
    """A Swin transformer of open height and width: padded to windows of 7 by mod, shifted by slices and concats, masks made from sizes, halved by strided slices. The sizes nest
    min, max, mod and floordiv, which once took minutes to type."""
    yield large_models.swin([2, 2, 2], 4, 2)
    for batch, height, width in ((1, 29, 31), (2, 4, 4), (1, 60, 33), (3, 28, 28), (2, 5, 37)):
        yield {"image": reals(height, batch, 3, height, width)}


def write(name, below=os.path.dirname(os.path.abspath(__file__))):
    made = MODELS[name]()
    model_proto = next(made)
    folder = os.path.join(below, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, "model.onnx")
    onnx.save(model_proto, path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    for number, case in enumerate(made):
        inputs, outputs = case if isinstance(case, tuple) else (case, session.run(None, case))
        place = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(place)
        for i, port in enumerate(session.get_inputs()):
            onnx.save_tensor(numpy_helper.from_array(inputs[port.name], port.name), os.path.join(place, f"input_{i}.pb"))
        for i, (port, value) in enumerate(zip(session.get_outputs(), outputs)):
            onnx.save_tensor(numpy_helper.from_array(np.asarray(value), port.name), os.path.join(place, f"output_{i}.pb"))
        print(name, number, {k: v.shape for k, v in inputs.items()}, "->", [v.shape for v in outputs])


if __name__ == "__main__":
    for name in sys.argv[1:] or MODELS:
        write(name)
