#!/usr/bin/env python3
"""Writes the cases of tests/conformance/contrib_cases.tar.zst: operators of com.microsoft with what ONNX Runtime gives for them.

    python make_contrib_cases.py FOLDER [NAME...]

Needs onnx, onnxruntime and numpy. Each case is a folder in the layout of the ONNX backend tests; its dims have names, and its data sets
differ in sizes. Equal calls write equal files.
"""
import pathlib
import shutil
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Builder:
    """A model of one node; `run` records a data set for inputs of that shape."""

    def __init__(self, name, op, inputs, outputs, domain="com.microsoft", weights=None, **attributes):
        # inputs: (name, element type, dims) or None for one left out; weights: name -> array
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        weights = weights or {}
        names = [i if isinstance(i, str) else (i[0] if i else "") for i in inputs]
        node = helper.make_node(op, names, [o[0] if o else "" for o in outputs], name="node", domain=domain, **attributes)
        self.infos = [helper.make_tensor_value_info(*i) for i in inputs if i and not isinstance(i, str)]
        graph = helper.make_graph(
            [node], name, self.infos, [helper.make_tensor_value_info(o[0], o[1], None) for o in outputs if o],
            [numpy_helper.from_array(value, key) for key, value in weights.items()])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        self.model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        self.sets = []

    def real(self, *shape, dtype=np.float32, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(dtype)

    def whole(self, low, high, shape, dtype):
        return self.random.integers(low, high, shape).astype(dtype)

    def run(self, **feeds):
        self.sets.append(feeds)
        return self

    def write(self, folder):
        path = folder / self.name
        if path.exists():
            shutil.rmtree(path)
        path.mkdir(parents=True)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(self.model.SerializeToString(), options, ["CPUExecutionProvider"])
        (path / "model.onnx").write_bytes(self.model.SerializeToString())
        for index, feeds in enumerate(self.sets):
            data = path / f"test_data_set_{index}"
            data.mkdir()
            for i, info in enumerate(self.infos):
                (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(feeds[info.name]).SerializeToString())
            for i, result in enumerate(session.run(None, feeds)):
                (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(result).SerializeToString())


F, U8, I8, I32, I64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64
SIZES = [(2, 3), (1, 1), (3, 7)]


@case
def skip_layer_norm():
    h = 8
    rng = np.random.default_rng(1)
    weights = {"gamma": rng.standard_normal(h).astype(np.float32), "beta": rng.standard_normal(h).astype(np.float32),
               "bias": rng.standard_normal(h).astype(np.float32)}
    for name, op, inputs, outputs in [
            ("skip_layer_norm", "SkipLayerNormalization", ["gamma", "beta", "bias"], [("y", F), None, None, ("sum", F)]),
            ("skip_layer_norm_plain", "SkipLayerNormalization", ["gamma"], [("y", F)]),
            ("skip_simplified_layer_norm", "SkipSimplifiedLayerNormalization", ["gamma", "bias"],
             [("y", F), None, None, ("sum", F)])]:
        used = {k: weights[k] for k in inputs}
        b = Builder(name, op, [("x", F, ["b", "s", h]), ("skip", F, ["b", "s", h])] + inputs, outputs, weights=used,
                    epsilon=1e-5)
        for m, n in SIZES:
            b.run(x=b.real(m, n, h), skip=b.real(m, n, h))
        yield b


@case
def simplified_layer_norm():
    b = Builder("simplified_layer_norm", "SimplifiedLayerNormalization", [("x", F, ["b", "s", 6]), ("w", F, [6])],
                [("y", F)], domain="", axis=-1, epsilon=1e-6)
    for m, n in SIZES:
        b.run(x=b.real(m, n, 6), w=b.real(6))
    yield b


@case
def embed_layer_norm():
    h = 8
    rng = np.random.default_rng(2)
    weights = {k: rng.standard_normal(s).astype(np.float32)
               for k, s in [("words", (11, h)), ("positions", (16, h)), ("segments", (2, h)), ("gamma", h), ("beta", h)]}
    b = Builder("embed_layer_norm", "EmbedLayerNormalization",
                [("ids", I32, ["b", "s"]), ("segment", I32, ["b", "s"]), "words", "positions", "segments", "gamma", "beta",
                 ("mask", I32, ["b", "s"])], [("y", F), ("count", I32)], weights=weights, epsilon=1e-5)
    for m, n in SIZES:
        b.run(ids=b.whole(0, 11, (m, n), np.int32), segment=b.whole(0, 2, (m, n), np.int32),
              mask=b.whole(0, 2, (m, n), np.int32))
    yield b
    plain = Builder("embed_layer_norm_plain", "EmbedLayerNormalization",
                    [("ids", I32, ["b", "s"]), None, "words", "positions", None, "gamma", "beta"],
                    [("y", F), ("count", I32)], weights={k: v for k, v in weights.items() if k != "segments"})
    for m, n in SIZES:
        plain.run(ids=plain.whole(0, 11, (m, n), np.int32))
    yield plain


@case
def gelus():
    for name, op, bias, attributes in [("fast_gelu", "FastGelu", False, {}), ("fast_gelu_bias", "FastGelu", True, {}),
                                       ("gelu", "Gelu", False, {}), ("bias_gelu", "BiasGelu", True, {}),
                                       ("quick_gelu", "QuickGelu", False, {"alpha": 1.5})]:
        inputs = [("x", F, ["n", 6])] + ([("bias", F, [6])] if bias else [])
        b = Builder(name, op, inputs, [("y", F)], **attributes)
        for n in (1, 5):
            b.run(x=b.real(n, 6), **({"bias": b.real(6)} if bias else {}))
        yield b


@case
def fused_matmul():
    for name, a, w, attributes in [
            ("fused_matmul", (2, 3, 5), (2, 5, 4), {"alpha": 0.5}),
            ("fused_matmul_trans_a", (2, 5, 3), (2, 5, 4), {"transA": 1}),
            ("fused_matmul_trans_b", (2, 3, 5), (2, 4, 5), {"transB": 1, "alpha": 2.0}),
            ("fused_matmul_batch", (3, 2, 5), (5, 2, 4), {"transBatchA": 1, "transBatchB": 1}),
            ("fused_matmul_batch_trans", (5, 2, 3), (4, 2, 5), {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1})]:
        b = Builder(name, "FusedMatMul", [("a", F, ["d0", "d1", "d2"]), ("b", F, ["e0", "e1", "e2"])], [("y", F)], **attributes)
        b.run(a=b.real(*a), b=b.real(*w))
        yield b


@case
def fused_gemm():
    b = Builder("fused_gemm", "FusedGemm", [("a", F, ["m", "k"]), ("b", F, ["k", "n"]), ("c", F, ["n"])], [("y", F)],
                activation="LeakyRelu", activation_alpha=0.2, alpha=0.5, beta=2.0)
    for m, k, n in [(2, 3, 4), (1, 1, 1), (5, 7, 3)]:
        b.run(a=b.real(m, k), b=b.real(k, n), c=b.real(n))
    yield b


@case
def fused_conv():
    for name, activation, params, z in [("fused_conv_relu", "Relu", None, True), ("fused_conv_clip", "Clip", [-0.5, 0.5], False)]:
        attributes = {"activation": activation, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
        if params:
            attributes["activation_params"] = params
        inputs = [("x", F, ["n", 3, "h", "w"]), ("k", F, [4, 3, 3, 3]), ("b", F, [4])]
        if z:
            inputs.append(("z", F, ["n", 4, "h", "w"]))
        b = Builder(name, "FusedConv", inputs, [("y", F)], **attributes)
        for n, h, w in [(1, 5, 6), (2, 3, 3)]:
            feeds = dict(x=b.real(n, 3, h, w), k=b.real(4, 3, 3, 3, scale=0.2), b=b.real(4))
            if z:
                feeds["z"] = b.real(n, 4, h, w)
            b.run(**feeds)
        yield b


def quantised_weights(rng, n, k, bits, block):
    blocks = (k + block - 1) // block
    return (rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8),
            (rng.random((n, blocks)) * 0.1 + 0.01).astype(np.float32),
            rng.integers(0, 256, (n, (blocks * bits + 7) // 8)).astype(np.uint8))


@case
def matmul_nbits():
    for bits, n, k, block, zero, bias, level in [
            (4, 5, 32, 16, False, False, 0), (4, 7, 40, 16, True, True, 0), (8, 3, 32, 16, True, False, 0), (4, 6, 48, 32, True, False, 0),
            (4, 7, 101, 32, False, False, 4), (4, 19, 131, 64, True, True, 4), (4, 5, 257, 128, True, False, 4), (4, 3, 37, 16, False, False, 4)]:
        rng = np.random.default_rng(bits * 1000 + k)
        weights, scales, zeros = quantised_weights(rng, n, k, bits, block)
        constants = {"w": weights, "scales": scales}
        inputs = [("a", F, ["m", k]), "w", "scales"]
        if zero:
            constants["zeros"] = zeros
            inputs.append("zeros")
        if bias:
            inputs += [None] * (5 - len(inputs)) + ["bias"]
            constants["bias"] = rng.standard_normal(n).astype(np.float32)
        name = f"matmul_{bits}bits_{n}_{k}_{block}" + ("_zero" if zero else "") + ("_bias" if bias else "") + (f"_level{level}" if level else "")
        levels = {"accuracy_level": level} if level else {}
        b = Builder(name, "MatMulNBits", inputs, [("y", F)], weights=constants, K=k, N=n, bits=bits, block_size=block, **levels)
        for m in (1, 3, 13) if level else (1, 3):
            b.run(a=b.real(m, k))
        yield b


@case
def integer_products():
    for name, per_column, bias in [("matmul_integer_to_float", False, False), ("matmul_integer_to_float_columns", True, True)]:
        n = 4
        inputs = [("a", U8, ["m", "k"]), ("b", I8, ["k", n]), ("as", F, []), ("bs", F, [n] if per_column else []),
                  ("az", U8, []), ("bz", I8, [n] if per_column else [])]
        if bias:
            inputs.append(("bias", F, [n]))
        b = Builder(name, "MatMulIntegerToFloat", inputs, [("y", F)])
        for m, k in [(2, 3), (1, 1), (5, 7)]:
            feeds = dict(a=b.whole(0, 256, (m, k), np.uint8), b=b.whole(-128, 128, (k, n), np.int8))
            feeds.update({"as": np.float32(0.02), "az": np.uint8(120)})
            feeds["bs"] = (b.random.random(n) * 0.1).astype(np.float32) if per_column else np.float32(0.03)
            feeds["bz"] = b.whole(-5, 5, n, np.int8) if per_column else np.int8(3)
            if bias:
                feeds["bias"] = b.real(n)
            b.run(**{k2: np.asarray(v) for k2, v in feeds.items()})
        yield b
    rng = np.random.default_rng(9)
    weights = {"b": rng.integers(-128, 128, (6, 4)).astype(np.int8), "bs": np.float32(0.02) * np.ones(4, np.float32),
               "bz": np.zeros(4, np.int8), "bias": rng.standard_normal(4).astype(np.float32)}
    b = Builder("dynamic_quantize_matmul", "DynamicQuantizeMatMul", [("a", F, ["m", 6]), "b", "bs", "bz", "bias"], [("y", F)],
                weights=weights)
    for m in (1, 5):
        b.run(a=b.real(m, 6))
    yield b


def scale_zero(value, dtype=np.uint8, zero=None):
    return np.asarray(value, np.float32), np.asarray(128 if zero is None else zero, dtype)


@case
def qlinear():
    # Scales are powers of two and zero points even: sums are exact then, and halves go the same way whatever the order. QLinearSoftmax is left out: ONNX Runtime computes it
    # from a table of its own, one unit off here and there.
    shape = ["n", 3, 4]
    for name, op in [("qlinear_add", "QLinearAdd"), ("qlinear_mul", "QLinearMul")]:
        weights = {}
        for prefix, s, z in [("a", 0.015625, 120), ("b", 0.0625, 130), ("c", 0.03125, 124)]:
            weights[prefix + "s"], weights[prefix + "z"] = scale_zero(s, zero=z)
        b = Builder(name, op, [("a", U8, shape), "as", "az", ("b", U8, [1, 3, 1]), "bs", "bz", "cs", "cz"], [("y", U8)], weights=weights)
        for n in (1, 3):
            b.run(a=b.whole(0, 256, (n, 3, 4), np.uint8), b=b.whole(0, 256, (1, 3, 1), np.uint8))
        yield b
    for name, op, attributes in [("qlinear_sigmoid", "QLinearSigmoid", {}), ("qlinear_leaky_relu", "QLinearLeakyRelu", {"alpha": 0.3}),
                                 ("qlinear_reduce_mean", "QLinearReduceMean", {"axes": [1], "keepdims": 0})]:
        weights = {"xs": np.float32(0.0625), "xz": np.uint8(120), "ys": np.float32(0.00390625 if "leaky" not in name and "mean" not in name else 0.03125),
                   "yz": np.uint8(0 if "leaky" not in name and "mean" not in name else 110)}
        weights = {k: np.asarray(v) for k, v in weights.items()}
        b = Builder(name, op, [("x", U8, shape), "xs", "xz", "ys", "yz"], [("y", U8)], weights=weights, **attributes)
        for n in (1, 3):
            b.run(x=b.whole(0, 256, (n, 3, 4), np.uint8))
        yield b
    weights = {k: np.asarray(v) for k, v in {"xs": np.float32(0.0625), "xz": np.uint8(120), "ys": np.float32(0.03125), "yz": np.uint8(110)}.items()}
    for name, op, attributes in [("qlinear_global_average_pool", "QLinearGlobalAveragePool", {"channels_last": 0}),
                                 ("qlinear_global_average_pool_last", "QLinearGlobalAveragePool", {"channels_last": 1}),
                                 ("qlinear_average_pool", "QLinearAveragePool", {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]})]:
        b = Builder(name, op, [("x", U8, ["n", 3, "h", "w"]), "xs", "xz", "ys", "yz"], [("y", U8)], weights=weights, **attributes)
        for n, h, w in [(1, 4, 5), (2, 3, 7)]:
            b.run(x=b.whole(0, 256, (n, 3, h, w), np.uint8))
        yield b
    weights = {"ys": np.asarray(np.float32(0.03125)), "yz": np.asarray(np.uint8(124))}
    for prefix, s, z in [("a", 0.015625, 120), ("b", 0.0625, 130)]:
        weights[prefix + "s"], weights[prefix + "z"] = scale_zero(s, zero=z)
    b = Builder("qlinear_concat", "QLinearConcat", ["ys", "yz", ("a", U8, ["n", 3]), "as", "az", ("b", U8, ["n", 2]), "bs", "bz"],
                [("y", U8)], weights=weights, axis=1)
    for n in (1, 4):
        b.run(a=b.whole(0, 256, (n, 3), np.uint8), b=b.whole(0, 256, (n, 2), np.uint8))
    yield b
    b = Builder("qlinear_where", "QLinearWhere",
                [("c", TensorProto.BOOL, ["n", 3]), ("a", U8, ["n", 3]), "as", "az", ("b", U8, ["n", 3]), "bs", "bz", "ys", "yz"],
                [("y", U8)], weights=weights)
    for n in (1, 4):
        b.run(c=b.whole(0, 2, (n, 3), bool), a=b.whole(0, 256, (n, 3), np.uint8), b=b.whole(0, 256, (n, 3), np.uint8))
    yield b
    for name, with_output in [("qgemm", True), ("qgemm_real", False)]:
        rng = np.random.default_rng(5)
        weights = {"as": np.asarray(np.float32(0.015625)), "az": np.asarray(np.uint8(120)), "b": rng.integers(-128, 128, (5, 4)).astype(np.int8),
                   "bs": np.asarray(np.float32(0.03125)), "bz": np.asarray(np.int8(2)), "c": rng.integers(-500, 500, 4).astype(np.int32)}
        inputs = [("a", U8, ["m", 5]), "as", "az", "b", "bs", "bz", "c"]
        if with_output:
            weights["ys"], weights["yz"] = scale_zero(0.25, zero=100)
            inputs += ["ys", "yz"]
        b = Builder(name, "QGemm", inputs, [("y", U8 if with_output else F)], weights=weights)
        for m in (1, 3):
            b.run(a=b.whole(0, 256, (m, 5), np.uint8))
        yield b


@case
def attention():
    heads, h, width = 2, 4, 6
    rng = np.random.default_rng(3)
    weights = {"w": rng.standard_normal((width, 3 * heads * h)).astype(np.float32) * 0.3,
               "bias": rng.standard_normal(3 * heads * h).astype(np.float32)}
    plain = [("x", F, ["b", "s", width]), "w", "bias"]
    for name, more, attributes, outputs in [
            ("attention", [], {}, [("y", F)]),
            ("attention_causal", [], {"unidirectional": 1}, [("y", F)]),
            ("attention_mask", [("mask", I32, ["b", "s"])], {}, [("y", F)]),
            ("attention_counts", [("counts", I32, ["b"])], {}, [("y", F)]),
            ("attention_mask3", [("mask3", I32, ["b", "s", "s"])], {"mask_filter_value": -1000.0}, [("y", F)]),
            ("attention_past", [None, ("past", F, [2, "b", heads, "p", h])], {"unidirectional": 1}, [("y", F), ("present", F)]),
            ("attention_bias", [None, None, ("more", F, ["b", heads, "s", "s"])], {"scale": 0.7}, [("y", F)])]:
        b = Builder(name, "Attention", plain + more, outputs, weights=weights, num_heads=heads, **attributes)
        for m, n in SIZES:
            feeds = {"x": b.real(m, n, width)}
            for one in more:
                if one and one[0] == "mask":
                    feeds["mask"] = b.whole(0, 2, (m, n), np.int32)
                if one and one[0] == "counts":
                    feeds["counts"] = b.whole(1, n + 1, m, np.int32)
                if one and one[0] == "mask3":
                    feeds["mask3"] = b.whole(0, 2, (m, n, n), np.int32)
                if one and one[0] == "past":
                    feeds["past"] = b.real(2, m, heads, 3, h)
                if one and one[0] == "more":
                    feeds["more"] = b.real(m, heads, n, n)
            b.run(**feeds)
        yield b
    sizes = [8, 8, 12]
    weights = {"w": rng.standard_normal((width, sum(sizes))).astype(np.float32) * 0.3, "bias": rng.standard_normal(sum(sizes)).astype(np.float32)}
    b = Builder("attention_sizes", "Attention", plain, [("y", F)], weights=weights, num_heads=heads, qkv_hidden_sizes=sizes)
    for m, n in SIZES:
        b.run(x=b.real(m, n, width))
    yield b


@case
def q_attention():
    heads, h, width = 2, 4, 6
    rng = np.random.default_rng(4)
    weights = {"w": rng.integers(-100, 100, (width, 3 * heads * h)).astype(np.int8), "bias": rng.standard_normal(3 * heads * h).astype(np.float32),
               "xs": np.asarray(np.float32(0.02)), "ws": np.asarray(np.float32(0.01)), "xz": np.asarray(np.uint8(128)), "wz": np.asarray(np.int8(0))}
    b = Builder("q_attention", "QAttention", [("x", U8, ["b", "s", width]), "w", "bias", "xs", "ws", ("mask", I32, ["b", "s"]), "xz", "wz"],
                [("y", F)], weights=weights, num_heads=heads)
    for m, n in SIZES:
        b.run(x=b.whole(0, 256, (m, n, width), np.uint8), mask=b.whole(0, 2, (m, n), np.int32))
    yield b


@case
def multi_head_attention():
    heads, h = 2, 4
    w = heads * h
    q, k, v = ("q", F, ["b", "s", w]), ("k", F, ["b", "l", w]), ("v", F, ["b", "l", w])
    variants = {
        "mha": ([q, k, v], {}),
        "mha_bias": ([q, k, v, ("bias", F, [3 * w])], {}),
        "mha_mask": ([q, k, v, None, ("mask", I32, ["b", "l"])], {}),
        "mha_counts": ([q, k, v, None, ("counts", I32, ["b"])], {}),
        "mha_added": ([q, k, v, None, None, ("more", F, [1, heads, "s", "l"])], {"scale": 0.3}),
        "mha_causal": ([q, ("k", F, ["b", "s", w]), ("v", F, ["b", "s", w])], {"unidirectional": 1}),
        "mha_packed": ([("qkv", F, ["b", "s", heads, 3, h])], {}),
        "mha_packed_kv": ([q, ("kv", F, ["b", "l", heads, 2, h])], {}),
        "mha_past": ([q, ("k", F, ["b", "s", w]), ("v", F, ["b", "s", w]), None, None, None, ("pk", F, ["b", heads, "p", h]),
                      ("pv", F, ["b", heads, "p", h])], {"unidirectional": 1}),
        "mha_cross": ([q, ("k4", F, ["b", heads, "l", h]), ("v4", F, ["b", heads, "l", h])], {}),
    }
    for name, (inputs, attributes) in variants.items():
        outputs = [("y", F)] + ([("present_k", F), ("present_v", F)] if name == "mha_past" else [])
        b = Builder(name, "MultiHeadAttention", inputs, outputs, num_heads=heads, **attributes)
        for batch, s in SIZES:
            l = s if name in ("mha_causal", "mha_past") else s + 2
            dims = {"b": batch, "s": s, "l": l, "p": 3}
            feeds = {}
            for one in inputs:
                if not one:
                    continue
                shape = [dims.get(d, d) for d in one[2]]
                if one[0] == "mask":
                    feeds["mask"] = b.whole(0, 2, shape, np.int32)
                    feeds["mask"][:, 0] = 1
                elif one[0] == "counts":
                    feeds["counts"] = b.whole(1, l + 1, shape, np.int32)
                else:
                    feeds[one[0]] = b.real(*shape)
            b.run(**feeds)
        yield b


@case
def group_query_attention():
    heads, kv, h = 4, 2, 16  # the rotation of ONNX Runtime wants a multiple of 16
    rng = np.random.default_rng(6)
    angles = rng.standard_normal((32, h // 2)).astype(np.float32)
    tables = {"cos": np.cos(angles), "sin": np.sin(angles)}
    base = [("q", F, ["b", "s", heads * h]), ("k", F, ["b", "s", kv * h]), ("v", F, ["b", "s", kv * h]), ("pk", F, ["b", kv, "p", h]),
            ("pv", F, ["b", kv, "p", h]), ("lens", I32, ["b"]), ("total", I32, [1])]
    variants = {
        "gqa": (base, {}, {}),
        "gqa_rotary": (base + ["cos", "sin"], {"do_rotary": 1}, tables),
        "gqa_rotary_interleaved": (base + ["cos", "sin"], {"do_rotary": 1, "rotary_interleaved": 1}, tables),
        "gqa_window": (base, {"local_window_size": 3}, {}),
        "gqa_softcap": (base, {"softcap": 5.0, "scale": 0.5}, {}),
        "gqa_smooth": (base, {"smooth_softmax": 1}, {}),
        "gqa_packed": ([("qkv", F, ["b", "s", (heads + 2 * kv) * h]), None, None] + base[3:] + ["cos", "sin"], {"do_rotary": 1}, tables),
    }
    for name, (inputs, attributes, weights) in variants.items():
        b = Builder(name, "GroupQueryAttention", inputs, [("y", F), ("present_k", F), ("present_v", F)], weights=weights, num_heads=heads,
                    kv_num_heads=kv, **attributes)
        for batch, s, p in [(1, 5, 0), (2, 3, 0), (1, 1, 4), (2, 1, 6)]:
            dims = {"b": batch, "s": s, "p": p}
            feeds = {}
            for one in inputs:
                if not one or isinstance(one, str):
                    continue
                shape = [dims.get(d, d) for d in one[2]]
                if one[0] == "lens":
                    feeds["lens"] = np.full(shape, s + p - 1, np.int32)
                elif one[0] == "total":
                    feeds["total"] = np.array([s + p], np.int32)
                else:
                    feeds[one[0]] = b.real(*shape)
            b.run(**feeds)
        yield b


@case
def rotary_embedding():
    heads, h = 2, 6
    rng = np.random.default_rng(8)
    angles = rng.standard_normal((32, h // 2)).astype(np.float32)
    tables = {"cos": np.cos(angles), "sin": np.sin(angles)}
    for name, dims, positions, attributes in [
            ("rotary", ["b", "s", heads * h], ["b", "s"], {}), ("rotary_interleaved", ["b", "s", heads * h], ["b", "s"], {"interleaved": 1}),
            ("rotary_first", ["b", "s", heads * h], [1], {}), ("rotary_four", ["b", heads, "s", h], ["b", "s"], {})]:
        b = Builder(name, "RotaryEmbedding", [("x", F, dims), ("pos", I64, positions), "cos", "sin"], [("y", F)], weights=tables, **attributes)
        for m, n in SIZES:
            shape = [{"b": m, "s": n}.get(d, d) for d in dims]
            pos = np.array([2], np.int64) if positions == [1] else b.whole(0, 32, (m, n), np.int64)
            b.run(x=b.real(*shape), pos=pos)
        yield b


def main():
    folder = pathlib.Path(sys.argv[1])
    wanted = set(sys.argv[2:])
    for name, function in CASES.items():
        if wanted and name not in wanted:
            continue
        for builder in function():
            try:
                builder.write(folder)
            except Exception as error:  # what this version of ONNX Runtime does not run is left out, and said
                shutil.rmtree(folder / builder.name, ignore_errors=True)
                print(f"{builder.name}: left out: {str(error)[:200]}", file=sys.stderr)


if __name__ == "__main__":
    main()
