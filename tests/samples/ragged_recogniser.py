#!/usr/bin/env python3
"""The recogniser of samples/12_ragged over recordings of different lengths, beside onnxruntime over each recording by itself.

    ragged_recogniser.py DYNREPL SAMPLES

Convolutions, depthwise ones, LSTMs from both ends; lengths of 1, primes, and batches with recordings of nothing, which have no positions in
the results. Compares within 1e-5.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TOLERANCE = 1e-5
CHANNELS, FEATURES, HIDDEN, WORDS = 13, 16, 12, 7


def weights(random):
    shapes = {"stem": (FEATURES, CHANNELS, 5), "stem_bias": (FEATURES,), "each": (FEATURES, 1, 3), "w": (FEATURES, 4 * HIDDEN),
              "r": (HIDDEN, 4 * HIDDEN), "bias": (4 * HIDDEN,), "w2": (FEATURES, 4 * HIDDEN), "r2": (HIDDEN, 4 * HIDDEN),
              "bias2": (4 * HIDDEN,), "words": (2 * HIDDEN, WORDS)}
    return {name: (random.standard_normal(shape) * 0.3).astype(np.float32) for name, shape in shapes.items()}


def model_of(w):
    """The same network for one recording, [1, s, 13], of ONNX's own operators."""
    def both(first, second):
        return np.stack([w[first].T, w[second].T])
    bias = np.stack([np.concatenate([w[name], np.zeros_like(w[name])]) for name in ("bias", "bias2")])
    constants = {"stem": w["stem"], "stem_bias": w["stem_bias"], "each": w["each"], "W": both("w", "w2"), "R": both("r", "r2"),
                 "B": bias, "words": w["words"], "joined": np.array([0, 0, -1], np.int64)}
    nodes = [
        helper.make_node("Transpose", ["x"], ["c"], perm=[0, 2, 1]),
        helper.make_node("Conv", ["c", "stem", "stem_bias"], ["s0"], strides=[2], pads=[2, 2]),
        helper.make_node("Relu", ["s0"], ["s"]),
        helper.make_node("Conv", ["s", "each"], ["d0"], group=FEATURES, pads=[1, 1]),
        helper.make_node("Add", ["s", "d0"], ["d"]),
        helper.make_node("Transpose", ["d"], ["h"], perm=[2, 0, 1]),
        helper.make_node("LSTM", ["h", "W", "R", "B"], ["y"], hidden_size=HIDDEN, direction="bidirectional"),
        helper.make_node("Transpose", ["y"], ["y1"], perm=[2, 0, 1, 3]),
        helper.make_node("Reshape", ["y1", "joined"], ["both"]),
        helper.make_node("MatMul", ["both", "words"], ["scores"]),
    ]
    graph = helper.make_graph(nodes, "recogniser", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "s", CHANNELS])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])


def ragged(program, samples, folder, recordings):
    names = []
    for i, recording in enumerate(recordings):
        names.append("@%s/%d.npy" % (folder, i))
        np.save(names[-1][1:], recording)
    command = [program, "--cache-dir", folder + "/cache", "run", samples + "/12_ragged/recogniser.dyn", "--input",
               "x=" + ",".join(names) + ("," if len(names) == 1 else ""), "--output-dir", folder + "/out", "--json"]
    for name in ("stem", "stem_bias", "each", "w", "r", "bias", "w2", "r2", "bias2", "words"):
        command += ["--input", "%s=@%s/weights/%s.npy" % (name, folder, name)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(command), done.stdout + done.stderr))
    files = {o["name"]: np.load(o["file"]) for o in json.loads(done.stdout)["outputs"]}
    lengths = files["scores.lengths"]
    return np.split(files["scores"], np.cumsum(lengths)[:-1]), files["best"]


def main():
    program, samples = sys.argv[1], sys.argv[2]
    random = np.random.default_rng(11)
    w = weights(random)
    session = model_of(w)
    batches = [[5, 0, 1, 3], [1], [7], [0], [17, 2, 0, 31, 1, 1], [1, 1, 1], [0, 4], [64, 13, 97]]
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/weights")
        for name, value in w.items():
            np.save("%s/weights/%s.npy" % (folder, name), value)
        for lengths in batches:
            recordings = [random.standard_normal((n, CHANNELS)).astype(np.float32) for n in lengths]
            scores, best = ragged(program, samples, folder, recordings)
            for i, recording in enumerate(recordings):
                if len(recording) == 0:
                    if len(scores[i]) != 0 or not np.all(best[i] == -np.inf):
                        sys.exit("lengths %s: a recording of nothing has scores" % lengths)
                    continue
                expected = session.run(None, {"x": recording[None]})[0][0]
                if expected.shape != scores[i].shape:
                    sys.exit("lengths %s: %s instead of %s" % (lengths, scores[i].shape, expected.shape))
                worst = max(worst, float(np.abs(scores[i] - expected).max()), float(np.abs(best[i] - expected.max(0)).max()))
            if worst > TOLERANCE:
                sys.exit("lengths %s: %g apart, more than %g" % (lengths, worst, TOLERANCE))
    print("%d batches, at most %.2g apart" % (len(batches), worst))


if __name__ == "__main__":
    main()
