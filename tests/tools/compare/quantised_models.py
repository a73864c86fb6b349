#!/usr/bin/env python3
"""Models that onnxruntime's own quantizer has made of small f32 ones, run by dynrepl and by onnxruntime on the same inputs of several shapes.

    quantised_models.py --dynrepl BIN [--keep FOLDER] [--passes=-quantise] [--verbose]

And models that `dynrepl quantise --calibration` has made of the same f32 ones: onnxruntime has to read them as Dyn does, and their results have to be near those of the f32 model.

A perceptron, an attention block, a convolutional net, one of SiLU and squeeze and excite, and one of joined and shuffled channels; quantised dynamically (MatMulInteger and what goes with it) and statically (DequantizeLinear and
QuantizeLinear around the operators, or QLinear operators), with u8 and i8 activations, with scales for a whole weight and for each of its channels.
Integer products are exact in both runtimes (where a processor has no dot products of bytes, onnxruntime's sums of u8 by i8 stop at 16 bits: weights are
then given seven bits, as its documentation advises); between them f32 is rounded, and a number half way between two steps may go either way. So results agree
when they are at most one step of the output's own quantisation apart (of a dynamically quantised model, whose output has none: a 255th of its range),
and when at most one element in fifty is that far off. onnxruntime runs without the optimisations that go beyond the operators: its softmax of bytes by
table is up to two steps off what the operators say, and wraps around where a row has one element.
Exit: 0 all agree, 1 dynrepl did not run, 3 results differ. Needs numpy, onnx and onnxruntime.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

MOST_APART = 0.02  # the share of elements that may be a step apart
FARTHEST = 0.05  # from the f32 model: the norm of the difference over that of the results


def reals(seed, *shape, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def built(name, nodes, dims, result, constants):
    nodes = [helper.make_node(op, [("" if i == "-" else i) for i in inputs.split()], outputs.split(), name=f"{op}_{i}", **attributes) for i, (op, inputs, outputs, attributes) in enumerate(nodes)]
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def perceptron():
    nodes = [("MatMul", "x w1", "a", {}), ("Add", "a b1", "b", {}), ("Relu", "b", "c", {}), ("Gemm", "c w2 b2", "y", {"transB": 1})]
    constants = {"w1": reals(1, 64, 96, scale=0.2), "b1": reals(2, 96), "w2": reals(3, 33, 96, scale=0.2), "b2": reals(4, 33)}
    return built("perceptron", nodes, ["n", 64], ["n", 33], constants), [(n, 64) for n in (1, 2, 3, 16, 17, 61)]


def attention():
    nodes, constants = [], {"heads": np.array([0, 0, 4, 8], np.int64), "joined": np.array([0, 0, 32], np.int64), "root": np.float32(8 ** -0.5)}
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        constants |= {f"w{name}": reals(ord(name), 32, 32, scale=0.3), f"b{name}": reals(ord(name) + 1, 32, scale=0.1)}
        nodes += [("MatMul", f"x w{name}", f"m{name}", {}), ("Add", f"m{name} b{name}", f"a{name}", {}), ("Reshape", f"a{name} heads", f"r{name}", {}),
                  ("Transpose", f"r{name}", name, {"perm": perm})]
    nodes += [("MatMul", "q k", "scores", {}), ("Mul", "scores root", "scaled", {}), ("Softmax", "scaled", "p", {"axis": -1}), ("MatMul", "p v", "mixed", {}),
              ("Transpose", "mixed", "back", {"perm": [0, 2, 1, 3]}), ("Reshape", "back joined", "rows", {}), ("MatMul", "rows wo", "out", {}), ("Add", "out x", "y", {})]
    constants["wo"] = reals(9, 32, 32, scale=0.3)
    return built("attention", nodes, ["batch", "seq", 32], ["batch", "seq", 32], constants), [(b, s, 32) for b, s in ((1, 2), (1, 7), (2, 5), (3, 3), (2, 33))]


def convolutional():
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [("Conv", "x w1 b1", "a", conv | {"strides": [2, 2]}), ("Relu", "a", "b", {}), ("Conv", "b w2 b2", "c", conv | {"group": 8}), ("Relu", "c", "d", {}),
             ("Conv", "d w3 b3", "e", {"kernel_shape": [1, 1]}), ("Relu", "e", "f", {}), ("Conv", "f w4", "g", conv), ("GlobalAveragePool", "g", "h", {}), ("Flatten", "h", "i", {}),
             ("Gemm", "i w5 b5", "y", {"transB": 1})]
    constants = {"w1": reals(1, 8, 3, 3, 3, scale=0.3), "b1": reals(2, 8), "w2": reals(3, 8, 1, 3, 3, scale=0.4), "b2": reals(4, 8), "w3": reals(5, 20, 8, 1, 1, scale=0.4), "b3": reals(6, 20),
                 "w4": reals(7, 12, 20, 3, 3, scale=0.1), "w5": reals(8, 10, 12), "b5": reals(9, 10)}
    return built("convolutional", nodes, ["n", 3, "h", "w"], ["n", 10], constants), [(n, 3, h, w) for n, h, w in ((1, 16, 16), (2, 7, 13), (3, 1, 1), (1, 33, 31))]


def excited():
    """SiLU behind its convolutions, squeeze and excite, a shortcut."""
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [("Conv", "x w1 b1", "a", conv | {"strides": [2, 2]}), ("Sigmoid", "a", "sa", {}), ("Mul", "a sa", "b", {}), ("Conv", "b w2 b2", "c", conv | {"group": 8}),
             ("Sigmoid", "c", "sc", {}), ("Mul", "c sc", "d", {}), ("GlobalAveragePool", "d", "m", {}), ("Conv", "m w3 b3", "e", {}), ("Relu", "e", "re", {}),
             ("Conv", "re w4 b4", "g", {}), ("Sigmoid", "g", "sg", {}), ("Mul", "d sg", "h", {}), ("Conv", "h w5 b5", "i", {}), ("Add", "i b", "j", {}), ("Conv", "j w6 b6", "k", conv),
             ("GlobalAveragePool", "k", "l", {}), ("Flatten", "l", "f", {}), ("Gemm", "f w7 b7", "y", {"transB": 1})]
    constants = {"w1": reals(1, 8, 3, 3, 3, scale=0.3), "b1": reals(2, 8), "w2": reals(3, 8, 1, 3, 3, scale=0.4), "b2": reals(4, 8), "w3": reals(5, 4, 8, 1, 1, scale=0.4), "b3": reals(6, 4),
                 "w4": reals(7, 8, 4, 1, 1, scale=0.4), "b4": reals(8, 8), "w5": reals(9, 8, 8, 1, 1, scale=0.4), "b5": reals(10, 8), "w6": reals(11, 12, 8, 3, 3, scale=0.2), "b6": reals(12, 12),
                 "w7": reals(13, 10, 12), "b7": reals(14, 10)}
    return built("excited", nodes, ["n", 3, "h", "w"], ["n", 10], constants), [(n, 3, h, w) for n, h, w in ((1, 16, 16), (2, 7, 13), (3, 1, 1), (1, 33, 31))]


def joined():
    """Channels that are joined, normalised, shuffled and split; HardSwish; a picture that grows."""
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [("Conv", "x w1 b1", "a", conv), ("HardSwish", "a", "b", {}), ("MaxPool", "b", "p", {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}), ("Conv", "p w2 b2", "c", {}),
             ("Concat", "p c", "d", {"axis": 1}), ("BatchNormalization", "d gamma beta mean variance", "e", {}), ("Relu", "e", "f", {}), ("Conv", "f w3", "g", {}),
             ("Reshape", "g groups", "h", {}), ("Transpose", "h", "i", {"perm": [0, 2, 1, 3, 4]}), ("Shape", "g", "size", {}), ("Reshape", "i size", "j", {}),
             ("Split", "j", "k l", {"axis": 1}), ("Conv", "k w4 b4", "m", conv | {"group": 8}), ("Add", "m l", "n", {}), ("LeakyRelu", "n", "o", {"alpha": 0.1}),
             ("Resize", "o - scales", "q", {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}), ("Conv", "q w5 b5", "r", conv),
             ("GlobalAveragePool", "r", "s", {}), ("Flatten", "s", "t", {}), ("MatMul", "t w6", "u", {}), ("Add", "u b6", "y", {})]
    constants = {"w1": reals(1, 8, 3, 3, 3, scale=0.3), "b1": reals(2, 8), "w2": reals(3, 8, 8, 1, 1, scale=0.4), "b2": reals(4, 8), "w3": reals(5, 16, 16, 1, 1, scale=0.3),
                 "gamma": reals(6, 16, scale=0.2) + 1, "beta": reals(7, 16), "mean": reals(8, 16), "variance": np.abs(reals(9, 16)) + 1, "groups": np.array([0, 2, 8, -1, 1], np.int64),
                 "w4": reals(10, 8, 1, 3, 3, scale=0.4), "b4": reals(11, 8), "scales": np.array([1, 1, 2, 2], np.float32), "w5": reals(12, 12, 8, 3, 3, scale=0.2), "b5": reals(13, 12),
                 "w6": reals(14, 12, 10), "b6": reals(15, 10)}
    return built("joined", nodes, ["n", 3, "h", "w"], ["n", 10], constants), [(n, 3, h, w) for n, h, w in ((1, 16, 16), (2, 7, 13), (3, 2, 2), (1, 33, 31))]


class Calibration(CalibrationDataReader):
    def __init__(self, shapes):
        self.samples = iter([{"x": reals(100 + i, *shape)} for i, shape in enumerate(shapes)])

    def get_next(self):
        return next(self.samples, None)


def sums_stop_at_16_bits():
    """Whether onnxruntime's sum of two products of u8 by i8 is cut on this processor."""
    depth = 64
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "probe", [helper.make_tensor_value_info("a", TensorProto.UINT8, [depth, depth])],
                              [helper.make_tensor_value_info("y", TensorProto.INT32, [depth, depth])], [numpy_helper.from_array(np.full((depth, depth), 127, np.int8), "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return int(session.run(None, {"a": np.full((depth, depth), 255, np.uint8)})[0][0, 0]) != depth * 255 * 127


def quantised(name, model, shapes, folder):
    """Yields the paths of all quantised forms."""
    seven_bits = sums_stop_at_16_bits()
    source = os.path.join(folder, f"{name}.onnx")
    onnx.save(model, source)
    for weights in (QuantType.QInt8, QuantType.QUInt8):
        for per_channel in (False, True):
            path = os.path.join(folder, f"{name}_dynamic_{weights}{'_channels' if per_channel else ''}.onnx")
            quantize_dynamic(source, path, weight_type=weights, per_channel=per_channel, reduce_range=seven_bits)
            yield path
    for form in (QuantFormat.QDQ, QuantFormat.QOperator):
        for activations in (QuantType.QUInt8, QuantType.QInt8):
            for per_channel in (False, True):
                path = os.path.join(folder, f"{name}_{form}_{activations}{'_channels' if per_channel else ''}.onnx")
                quantize_static(source, path, Calibration(shapes), quant_format=form, activation_type=activations, weight_type=QuantType.QInt8, per_channel=per_channel, reduce_range=seven_bits)
                yield path


def quantised_by_dyn(options, name, inputs, folder):
    """The path of the model that Dyn makes, by the ranges of these inputs; each product in it has to read bytes, but one of two activations."""
    path, data = os.path.join(folder, f"{name}_dyn.onnx"), os.path.join(folder, f"{name}_data")
    os.makedirs(data, exist_ok=True)
    for i, x in enumerate(inputs):
        np.save(os.path.join(data, f"{i}.npy"), x)
    done = subprocess.run([options.dynrepl, "--cache-dir", "none", "quantise", os.path.join(folder, f"{name}.onnx"), "--weights", "int8", "--calibration", data, "-o", path,
                           "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: quantise ends with {done.returncode}: {done.stdout[-300:]}")
    answer = json.loads(done.stdout)
    stays = {row["stays"] for row in answer["weights"] if "stays" in row} - {"its right factor is no constant"}
    if stays or answer["runs_count"] != len(inputs) or not answer["activations"]:
        sys.exit(f"{name}: products stay f32: {stays}; {answer['runs_count']} runs")
    onnx.checker.check_model(path, full_check=True)
    return path


def output_step(path):
    """The scale that the output is dequantised with; None where it is not."""
    graph = onnx.load(path).graph
    scales = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        if "y" in node.output and node.op_type == "DequantizeLinear":
            return float(scales[node.input[1]])
    return None


def far_from_reals(path, source, inputs, settings):
    """The norm of what quantisation changes, over that of the f32 model's results."""
    if sums_stop_at_16_bits():
        return 0.0
    made, exact = (onnxruntime.InferenceSession(p, settings, providers=["CPUExecutionProvider"]) for p in (path, source))
    errors = norms = 0.0
    for x in inputs:
        y = exact.run(None, {"x": x})[0].astype(np.float64)
        errors, norms = errors + np.sum((made.run(None, {"x": x})[0] - y) ** 2), norms + np.sum(y ** 2)
    return float(np.sqrt(errors / norms))


def run_dyn(options, path, inputs, folder):
    os.makedirs(folder)
    with open(os.path.join(folder, "cases.jsonl"), "w") as lines:
        for i, x in enumerate(inputs):
            np.save(os.path.join(folder, f"{i}.npy"), x)
            lines.write(json.dumps({"inputs": {"x": "@" + os.path.join(folder, f"{i}.npy")}, "output_dir": os.path.join(folder, f"out{i}")}) + "\n")
    command = [options.dynrepl, "--cache-dir", "none", "run", path, "--cases", os.path.join(folder, "cases.jsonl"), "--json", "--quiet"]
    if options.passes:
        command.append(f"--passes={options.passes}")
    done = subprocess.run(command, capture_output=True, text=True)
    document = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    bad = [c["error"]["message"] for c in document.get("cases", []) if "error" in c]
    if len(document.get("cases", [])) != len(inputs) or bad:
        sys.exit(f"{path}: dynrepl did not run: {(bad or [done.stderr.strip()[-300:] or done.stdout[-300:]])[0]}")
    return [np.load(os.path.join(folder, case["outputs"][0]["file"])) for case in document["cases"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrepl", required=True)
    parser.add_argument("--keep", help="folder for the models; else they are written to a temporary one")
    parser.add_argument("--passes", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level, settings.intra_op_num_threads = 3, 1
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    differ, count = [], 0
    with tempfile.TemporaryDirectory(prefix="dyn_quantised_") as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for make in (perceptron, attention, convolutional, excited, joined):
            model, shapes = make()
            inputs = [reals(i, *shape) for i, shape in enumerate(shapes)]
            # onnxruntime's calibration stacks what it has seen: one shape, and values that the inputs stay among.
            onnx.save(model, os.path.join(folder, f"{make.__name__}.onnx"))
            # Its quantizer wants types of `joined` that onnx's own inference does not find.
            paths = [] if make is joined else list(quantised(make.__name__, model, [max(shapes, key=np.prod)] * 4, folder))
            own = quantised_by_dyn(options, make.__name__, inputs, folder)
            far = far_from_reals(own, os.path.join(folder, f"{make.__name__}.onnx"), inputs, settings)
            if far > FARTHEST:
                sys.exit(f"{own}: {far:.3f} of the results' norm from the f32 model")
            # Sums that are cut at 16 bits cannot hold those of eight-bit weights.
            for path in paths + ([] if sums_stop_at_16_bits() else [own]):
                session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
                step, worst, apart, elements = output_step(path), 0.0, 0, 0
                for x, got in zip(inputs, run_dyn(options, path, inputs, os.path.join(temporary, f"run{count}"))):
                    expected = session.run(None, {"x": x})[0]
                    if got.shape != expected.shape or got.dtype != expected.dtype:
                        sys.exit(f"{path}: {got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}")
                    allowed = step or float(np.ptp(expected)) / 255 + 1e-30
                    steps = np.abs(got - expected) / allowed
                    worst, apart, elements = max(worst, float(steps.max())), apart + int(np.count_nonzero(steps > 0.01)), elements + steps.size
                # A step apart within the model of Dyn's changes a whole row of its results, which are not quantised.
                good = worst <= 1.001 and (path == own or apart <= max(1, MOST_APART * elements))
                if not good:
                    differ.append(path)
                if not good or options.verbose:
                    print(f"{os.path.basename(path)}: {apart} of {elements} elements apart, at most {worst:.3f} steps{'' if good else '  DIFFERS'}")
                count += 1
    print(f"{count} models, {len(differ)} differ")
    return 3 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
