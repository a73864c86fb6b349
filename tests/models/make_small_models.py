#!/usr/bin/env python3
"""Writes the models for microcontrollers of samples/models and their recorded cases (outputs by onnxruntime), each small enough for a board with 16 KB of memory.

    python3 tests/models/make_small_models.py [NAME...]        needs numpy, onnx and onnxruntime; the tests themselves need only what is committed
"""
import os
import sys

import numpy as np
from onnx import TensorProto, helper

import make_models
from make_models import FLOAT, INT64, BOOL, built, info, ints, node, reals

UINT8 = TensorProto.UINT8
MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


def weights(seed, *shape):
    """As a trained layer has them: small for many inputs."""
    return reals(seed, *shape) / np.float32(np.sqrt(np.prod(shape[1:])))


@model
def keyword():
    """Keyword spotting: a depthwise-separable convolutional net over the frames of a spectrogram, any number of them."""
    nodes = [node("Conv", ["frames", "w0", "b0"], ["c0"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), node("Relu", ["c0"], ["r0"])]
    constants = {"w0": weights(1, 8, 1, 3, 3), "b0": reals(2, 8)}
    for k in (1, 2):
        constants.update({f"d{k}": weights(10 * k, 8, 1, 3, 3), f"e{k}": reals(10 * k + 1, 8), f"p{k}": weights(10 * k + 2, 8, 8, 1, 1), f"q{k}": reals(10 * k + 3, 8)})
        nodes += [node("Conv", [f"r{k - 1}", f"d{k}", f"e{k}"], [f"s{k}"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=8), node("Relu", [f"s{k}"], [f"t{k}"]),
                  node("Conv", [f"t{k}", f"p{k}", f"q{k}"], [f"u{k}"], kernel_shape=[1, 1]), node("Relu", [f"u{k}"], [f"r{k}"])]
    constants.update({"words": weights(5, 4, 8), "bias": reals(6, 4)})
    nodes += [node("GlobalAveragePool", ["r2"], ["mean"]), node("Flatten", ["mean"], ["flat"]), node("Gemm", ["flat", "words", "bias"], ["scores"], transB=1),
              node("Softmax", ["scores"], ["word"], axis=-1)]
    yield built("keyword", nodes, [info("frames", FLOAT, [1, 1, "time", 8])], [info("word", FLOAT, [1, 4])], constants)
    for time in (12, 1, 2, 7, 25):
        yield {"frames": reals(time, 1, 1, time, 8)}


@model
def anomaly():
    """An autoencoder over 1 to 64 sensors: of its weights those of the sensors that are there; how far each reading is from what it made of it."""
    nodes = [node("Shape", ["readings"], ["shape"]), node("Slice", ["shape", "one", "two"], ["sensors"]),
             node("Slice", ["encoder", "zero", "sensors"], ["w"]), node("MatMul", ["readings", "w"], ["h"]), node("Tanh", ["h"], ["code"]),
             node("Slice", ["decoder", "zero", "sensors", "one"], ["v"]), node("MatMul", ["code", "v"], ["again"]),
             node("Sub", ["readings", "again"], ["difference"]), node("Mul", ["difference", "difference"], ["square"]),
             node("ReduceMean", ["square"], ["distance"], axes=[1], keepdims=0)]
    yield built("anomaly", nodes, [info("readings", FLOAT, ["batch", "sensors"])], [info("distance", FLOAT, ["batch"])],
                {"encoder": weights(1, 64, 6), "decoder": weights(2, 6, 64), "zero": ints(0), "one": ints(1), "two": ints(2)})
    for batch, sensors in ((1, 64), (2, 1), (3, 13), (1, 7), (5, 32)):
        yield {"readings": reals(sensors, batch, sensors)}


@model
def lstm_list():
    """An LSTM as a loop that puts what each step made into a list, which is joined behind it."""
    hidden = 6
    body = helper.make_graph(
        [node("Gather", ["x", "i"], ["step"], axis=0), node("MatMul", ["step", "w"], ["a"]), node("MatMul", ["h", "r"], ["b"]), node("Add", ["a", "b"], ["ab"]), node("Add", ["ab", "bias"], ["gates"]),
         node("Split", ["gates"], ["gi", "gf", "go", "gc"], axis=1), node("Sigmoid", ["gi"], ["si"]), node("Sigmoid", ["gf"], ["sf"]), node("Sigmoid", ["go"], ["so"]), node("Tanh", ["gc"], ["tc"]),
         node("Mul", ["sf", "c"], ["kept"]), node("Mul", ["si", "tc"], ["new"]), node("Add", ["kept", "new"], ["c_next"]), node("Tanh", ["c_next"], ["t"]), node("Mul", ["so", "t"], ["h_next"]),
         node("SequenceInsert", ["list", "h_next"], ["longer"]), node("Identity", ["go_on"], ["goes_on"])],
        "step", [info("i", INT64, []), info("go_on", BOOL, []), info("h", FLOAT, ["batch", hidden]), info("c", FLOAT, ["batch", hidden]), helper.make_tensor_sequence_value_info("list", FLOAT, None)],
        [info("goes_on", BOOL, []), info("h_next", FLOAT, ["batch", hidden]), info("c_next", FLOAT, ["batch", hidden]), helper.make_tensor_sequence_value_info("longer", FLOAT, None)])
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "first"], ["turns"]), node("Slice", ["shape", "one", "two"], ["batch"]), node("Concat", ["batch", "size"], ["state"], axis=0),
             node("ConstantOfShape", ["state"], ["h0"]), node("SequenceEmpty", [], ["empty"], dtype=FLOAT),
             node("Loop", ["turns", "", "h0", "h0", "empty"], ["hn", "cn", "all"], body=body), node("ConcatFromSequence", ["all"], ["y"], axis=0), node("MatMul", ["hn", "head"], ["score"])]
    yield built("lstm_list", nodes, [info("x", FLOAT, ["seq", "batch", 4])], [info("y", FLOAT, [None, hidden]), info("score", FLOAT, ["batch", 2])],
                {"w": weights(1, 4, 4 * hidden), "r": weights(2, hidden, 4 * hidden), "bias": reals(3, 4 * hidden), "head": weights(4, hidden, 2), "first": np.array(0, np.int64), "one": ints(1),
                 "two": ints(2), "size": ints(hidden)})
    for seq, batch in ((5, 2), (1, 1), (3, 1), (11, 3), (2, 7)):
        yield {"x": reals(seq, seq, batch, 4)}


@model
def quantised():
    """A convolutional net on bytes: QLinearConv, a depthwise one with a scale for each channel, one written as DequantizeLinear, Conv and QuantizeLinear, pools, and bytes as its results."""
    def scale(value):
        return np.array(value, np.float32)

    def zero(value, dtype=np.uint8):
        return np.array(value, dtype)
    random = np.random.default_rng(5)

    def whole(low, high, *shape):
        return random.integers(low, high, shape)
    nodes = [node("QLinearConv", ["image", "sx", "zx", "w1", "sw1", "zw", "s1", "z1", "b1"], ["y1"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             node("QLinearConv", ["y1", "s1", "z1", "w2", "sw2", "zw2", "s2", "z2", "b2"], ["y2"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=6),
             node("MaxPool", ["y2"], ["y3"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
             node("DequantizeLinear", ["y3", "s2", "z2"], ["r3"]), node("DequantizeLinear", ["w4", "sw4", "zw"], ["rw4"]), node("Conv", ["r3", "rw4"], ["r4"], kernel_shape=[1, 1]),
             node("Relu", ["r4"], ["a4"]), node("QuantizeLinear", ["a4", "s4", "z4"], ["map"]), node("ReduceMax", ["map"], ["best"], axes=[2, 3], keepdims=0)]
    constants = {"sx": scale(0.017), "zx": zero(120), "w1": whole(-90, 91, 6, 1, 3, 3).astype(np.int8), "sw1": scale(0.011), "zw": zero(0, np.int8), "s1": scale(0.023), "z1": zero(100),
                 "b1": whole(-900, 901, 6).astype(np.int32), "w2": whole(-90, 91, 6, 1, 3, 3).astype(np.int8), "sw2": (random.random(6) * 0.01 + 0.004).astype(np.float32), "zw2": np.zeros(6, np.int8),
                 "s2": scale(0.029), "z2": zero(128), "b2": whole(-900, 901, 6).astype(np.int32), "w4": whole(-90, 91, 5, 6, 1, 1).astype(np.int8), "sw4": scale(0.013), "s4": scale(0.041), "z4": zero(3)}
    yield built("quantised", nodes, [info("image", UINT8, [1, 1, "h", "w"])], [info("map", UINT8, [1, 5, None, None]), info("best", UINT8, [1, 5])], constants)
    for h, w in ((12, 12), (1, 1), (3, 5), (7, 2), (16, 11)):
        yield {"image": np.random.default_rng(h).integers(0, 256, (1, 1, h, w)).astype(np.uint8)}


@model
def ragged():
    """Sensors that have said different numbers of things: the lengths are an input, what stands behind them does not count."""
    nodes = [node("Shape", ["readings"], ["shape"]), node("Gather", ["shape", "second"], ["most"]), node("Range", ["begin", "most", "step"], ["places"]), node("Unsqueeze", ["lengths", "last"], ["column"]),
             node("Less", ["places", "column"], ["there"]), node("Unsqueeze", ["there", "last"], ["there3"]),
             node("MatMul", ["readings", "w"], ["h"]), node("Add", ["h", "b"], ["hb"]), node("Tanh", ["hb"], ["t"]), node("MatMul", ["t", "v"], ["score"]),
             node("Where", ["there3", "score", "never"], ["masked"]), node("Softmax", ["masked"], ["share"], axis=1), node("Mul", ["t", "share"], ["weighted"]), node("ReduceSum", ["weighted", "axis"], ["pooled"], keepdims=0),
             node("Where", ["there3", "t", "least"], ["seen"]), node("ReduceMax", ["seen"], ["peak"], axes=[1], keepdims=0), node("Concat", ["pooled", "peak"], ["both"], axis=1),
             node("MatMul", ["both", "head"], ["y"])]
    yield built("ragged", nodes, [info("readings", FLOAT, ["batch", "time", 3]), info("lengths", INT64, ["batch"])], [info("y", FLOAT, ["batch", 2])],
                {"second": np.array(1, np.int64), "begin": np.array(0, np.int64), "step": np.array(1, np.int64), "last": ints(-1), "axis": ints(1), "w": weights(1, 3, 8), "b": reals(2, 8),
                 "v": weights(3, 8, 1), "never": np.array(-1e9, np.float32), "least": np.array(-2, np.float32), "head": weights(4, 16, 2)})
    for lengths in ((5, 2, 7), (1,), (4, 4), (1, 9), (3, 1, 2, 6, 5)):
        yield {"readings": reals(len(lengths), len(lengths), max(lengths), 3), "lengths": ints(*lengths)}


if __name__ == "__main__":
    make_models.MODELS = MODELS
    for name in sys.argv[1:] or MODELS:
        make_models.write(name, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples", "models"))
