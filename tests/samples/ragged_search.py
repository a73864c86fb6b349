#!/usr/bin/env python3
"""The search of samples/12_ragged over queries and documents of different lengths, beside onnxruntime over each pair by itself.

    ragged_search.py DYNREPL SAMPLES

Two batches of their own lengths, also of nothing; a result with two axes of lengths, as a file of its elements and how many each query
has; from the program and from a package. Compares within 1e-5.
"""
import json
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TOLERANCE = 1e-5


def model_of(w):
    """Of one query [m, 16] and one document [n, 16]."""
    nodes = [
        helper.make_node("MatMul", ["query", "w"], ["q"]),
        helper.make_node("MatMul", ["document", "w"], ["d0"]),
        helper.make_node("Transpose", ["d0"], ["d"], perm=[1, 0]),
        helper.make_node("MatMul", ["q", "d"], ["pairs"]),
        helper.make_node("ReduceMax", ["pairs"], ["best"], axes=[1], keepdims=0),
        helper.make_node("ReduceSum", ["best", "first"], ["score"], keepdims=0),
        helper.make_node("Transpose", ["q"], ["qt"], perm=[1, 0]),
        helper.make_node("MatMul", ["q", "qt"], ["own"]),
        helper.make_node("Softmax", ["own"], ["shares"], axis=-1),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size, 16]) for name, size in (("query", "m"), ("document", "n"))]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("score", "shares")]
    constants = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.array([0], np.int64), "first")]
    made = helper.make_model(helper.make_graph(nodes, "pair", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(command), done.stdout + done.stderr))
    return done.stdout


def ragged(program, model, folder, queries, documents):
    command = [program, "--cache-dir", folder + "/cache", "run", model, "--output-dir", folder + "/out", "--json", "--input", "w=@%s/w.npy" % folder]
    for name, sequences in (("queries", queries), ("documents", documents)):
        files = []
        for i, sequence in enumerate(sequences):
            files.append("@%s/%s%d.npy" % (folder, name, i))
            np.save(files[-1][1:], sequence)
        command += ["--input", name + "=" + ",".join(files) + ("," if len(files) == 1 else "")]
    return {o["name"]: np.load(o["file"]) for o in json.loads(call(command))["outputs"]}


def main():
    program, samples = sys.argv[1], sys.argv[2]
    random = np.random.default_rng(4)
    with tempfile.TemporaryDirectory() as folder:
        w = (random.standard_normal((16, 8)) * 0.4).astype(np.float32)
        np.save(folder + "/w.npy", w)
        session = model_of(w)
        package = folder + "/search.dynpkg"
        call([program, "--cache-dir", folder + "/cache", "compile", samples + "/12_ragged/search.dyn", "-o", package, "--quiet"])
        worst, compared = 0.0, 0
        for asked, written in (([3, 1, 7], [11, 2, 1, 29]), ([5], [1]), ([2, 0, 4], [13, 3]), ([1, 1], [1, 1, 1])):
            queries, documents = ([random.standard_normal((n, 16)).astype(np.float32) for n in lengths] for lengths in (asked, written))
            for model in (samples + "/12_ragged/search.dyn", package):
                files = ragged(program, model, folder, queries, documents)
                scores, shares, counts = files["scores"], files["shares"], files["shares.lengths"]
                assert scores.shape == (len(asked), len(written)) and list(counts) == [n * n for n in asked], (scores.shape, counts)
                assert shares.shape == (sum(n * n for n in asked),), shares.shape
                for i, own in enumerate(np.split(shares, np.cumsum(counts)[:-1])):
                    for j, document in enumerate(documents):
                        if asked[i] == 0:
                            assert scores[i, j] == 0
                            continue
                        score, expected = session.run(None, {"query": queries[i], "document": document})
                        worst = max(worst, abs(float(score) - scores[i, j]) / (1 + abs(float(score))),
                                    np.abs(own.reshape(expected.shape) - expected).max())
                        compared += 1
    print("search: %d pairs, worst difference %.1e" % (compared, worst))
    if not worst < TOLERANCE:
        sys.exit("more than %g" % TOLERANCE)


main()
