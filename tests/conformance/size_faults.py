#!/usr/bin/env python3
"""`dynrepl check` on faults of sizes, seeded into good models, and on the good models themselves.

    size_faults.py --dynrepl PATH --samples DIR [--models DIR] [--schema sarif-2.1.0.json] [--show]

Each fault is one that people report of exported models: an example's batch or length in the target of a Reshape, a
table of positions that is too short, a mask of fixed size, a transpose left out. Nothing is run. At least 90 % of the
faults must be found (exit 1, a finding that is proved to fail), and at most 2 % of the good models may be accused:
of a good model each finding must be a real one, so that a run at its sizes fails.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

HIDDEN, HEADS, WORDS, PLACES = 12, 3, 40, 64
FOUND_LEAST, ACCUSED_MOST = 0.9, 0.02


class Graph:
    """A graph that grows node by node; constants by their values."""

    def __init__(self, **inputs):
        self.nodes, self.weights, self.inputs = [], [], []
        for name, (dtype, shape) in inputs.items():
            self.inputs.append(h.make_tensor_value_info(name, dtype, shape))
        self.random = np.random.default_rng(1)

    def const(self, value, dtype=None):
        name = f"c{len(self.weights)}"
        self.weights.append(nh.from_array(np.asarray(value, dtype or np.int64), name))
        return name

    def weight(self, *shape):
        return self.const(self.random.normal(size=shape), np.float32)

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}" + (f"_{k}" if k else "") for k in range(outputs)]
        self.nodes.append(h.make_node(op, list(inputs), names, name=f"/{names[0]}", **attributes))
        return names[0] if outputs == 1 else names

    def model(self, *results):
        outputs = [h.make_tensor_value_info(name, T.FLOAT, None) for name in results]
        graph = h.make_graph(self.nodes, "g", self.inputs, outputs, self.weights)
        return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def encoder(fault=None):
    """One layer of attention over words and positions, for any batch and length."""
    g = Graph(ids=(T.INT64, ["batch", "seq"]), mask=(T.INT64, ["batch", "seq"]))
    shape = g.node("Shape", "ids")
    batch = g.node("Gather", shape, g.const([0]))
    seq = g.node("Gather", shape, g.const([1]))
    if fault == "baked batch in Reshape":
        batch = g.const([1])
    if fault == "baked length in Reshape":
        seq = g.const([16])
    words = g.node("Gather", g.weight(WORDS, HIDDEN), "ids")
    if fault == "positions of the example":
        places = g.weight(1, 16, HIDDEN)
    elif fault == "position numbers of the example":
        places = g.node("Gather", g.weight(PLACES, HIDDEN), g.const(np.arange(16)[None]))
    elif fault == "more positions than the table has":
        scalar = g.node("Squeeze", seq, g.const([0]))
        places = g.node("Gather", g.weight(PLACES, HIDDEN), g.node("Range", g.const(0), scalar, g.const(1)))
    elif fault == "table cut to its end":
        places = g.node("Slice", g.weight(PLACES, HIDDEN), g.const([0]), seq, g.const([0]))
    else:
        wave = g.node("Range", g.const(0), g.node("Squeeze", seq, g.const([0])), g.const(1))
        wave = g.node("Unsqueeze", g.node("Sin", g.node("Cast", wave, to=T.FLOAT)), g.const([1]))
        places = wave
    if fault == "segment embedding of another width":
        words = g.node("Add", words, g.weight(HIDDEN + 1))
    x = g.node("Add", words, places)
    split = g.node("Concat", batch, seq, g.const([HEADS, HIDDEN // HEADS]), axis=0)
    heads = []
    for k in range(3):
        rows = HIDDEN + 2 if fault == "weight with other rows" and k == 1 else HIDDEN
        y = g.node("MatMul", x, g.weight(rows, HIDDEN))
        if fault == "bias of another width" and k == 0:
            y = g.node("Add", y, g.weight(HIDDEN - 2))
        target = split
        if fault == "heads that do not divide the width" and k == 0:
            target = g.node("Concat", batch, seq, g.const([5, HIDDEN // 5]), axis=0)
        y = g.node("Reshape", y, target)
        perm = [0, 2, 3, 1] if k == 1 and fault != "transpose left out" else [0, 2, 1, 3]
        heads.append(g.node("Transpose", y, perm=perm))
    scores = g.node("MatMul", heads[0], heads[1])
    if fault == "mask of the example":
        scores = g.node("Add", scores, g.const(np.triu(np.full((16, 16), -1e9), 1), np.float32))
    elif fault == "mask along a wrong axis":
        bias = g.node("Cast", g.node("Unsqueeze", "mask", g.const([1])), to=T.FLOAT)
        scores = g.node("Add", scores, bias)
    elif fault == "mask expanded to the example":
        bias = g.node("Cast", g.node("Unsqueeze", "mask", g.const([1, 2])), to=T.FLOAT)
        scores = g.node("Add", scores, g.node("Expand", bias, g.const([1, 1, 16, 16])))
    elif fault == "Where with a mask of the example":
        scores = g.node("Where", g.const(np.tril(np.ones((16, 16), bool)), bool), scores, g.const(-1e9, np.float32))
    else:
        bias = g.node("Cast", g.node("Unsqueeze", "mask", g.const([1, 2])), to=T.FLOAT)
        scores = g.node("Add", scores, bias)
    context = g.node("MatMul", g.node("Softmax", scores, axis=-1), heads[2])
    context = g.node("Transpose", context, perm=[0, 2, 1, 3])
    merged = g.node("Concat", batch, seq, g.const([HIDDEN]), axis=0)
    y = g.node("Add", g.node("Reshape", context, merged), x)
    if fault == "normalisation of another width":
        y = g.node("LayerNormalization", y, g.weight(HIDDEN - 1), g.weight(HIDDEN - 1), axis=-1)
    else:
        y = g.node("LayerNormalization", y, g.weight(HIDDEN), g.weight(HIDDEN), axis=-1)
    if fault == "zeros of the example beside it":
        y = g.node("Concat", y, g.node("ConstantOfShape", g.const([1, 16, 2])), axis=2)
    if fault == "class token of batch 1":
        y = g.node("Concat", g.weight(1, 1, HIDDEN), y, axis=1)
    if fault == "flattened for a layer of fixed length":
        y = g.node("Gemm", g.node("Flatten", y, axis=1), g.weight(16 * HIDDEN, 4))
    if fault == "repeated for a batch of two":
        y = g.node("Add", y, g.node("Tile", g.weight(1, 1, HIDDEN), g.const([2, 1, 1])))
    if fault == "Squeeze of the batch":
        y = g.node("Squeeze", y, g.const([0]))
    if fault == "Split into parts of the example":
        y = g.node("Split", y, g.const([8, 8]), axis=1, outputs=2)[0]
    if fault == "product over the length of the example":
        y = g.node("MatMul", g.weight(4, 16), y)
    if fault == "Einsum of other letters":
        y = g.node("Einsum", y, g.weight(HIDDEN + 1, 4), equation="bsh,hk->bsk")
    return g.model(y)


def images(fault=None):
    """A small U-Net over images of any size that four divides."""
    g = Graph(image=(T.FLOAT, ["batch", 3, "4*a", "4*b"]))
    channels = 4 if fault == "convolution over other channels" else 3
    x = g.node("Relu", g.node("Conv", "image", g.weight(8, channels, 3, 3), pads=[1, 1, 1, 1]))
    down = g.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    if fault == "window larger than a small image":
        down = g.node("Conv", down, g.weight(8, 8, 9, 9), pads=[3, 3, 3, 3])
    else:
        down = g.node("Conv", down, g.weight(8, 8, 3, 3), pads=[1, 1, 1, 1])
    if fault == "sizes of the example in Resize":
        up = g.node("Resize", down, "", "", g.const([1, 8, 64, 64]), mode="nearest")
    elif fault == "padding left out":
        up = g.node("ConvTranspose", down, g.weight(8, 8, 3, 3), strides=[2, 2])
    else:
        up = g.node("Resize", down, "", g.const([1, 1, 2, 2], np.float32), mode="nearest")
    y = g.node("Concat", x, up, axis=1)
    if fault == "normalisation of other channels":
        y = g.node("BatchNormalization", y, *[g.weight(8) for _ in range(3)], g.const(np.ones(8), np.float32))
    y = g.node("Conv", y, g.weight(4, 16, 1, 1))
    if fault == "classifier for one size of image":
        y = g.node("Gemm", g.node("Flatten", y), g.weight(4 * 64 * 64, 10))
    elif fault == "Reshape of an image of the example":
        y = g.node("Reshape", y, g.const([1, 4, 4096]))
    else:
        y = g.node("GlobalAveragePool", y)
    return g.model(y)


def recurrent(fault=None):
    """An LSTM with a state, for any length and batch."""
    g = Graph(x=(T.FLOAT, ["seq", "batch", 5]))
    batch = g.node("Gather", g.node("Shape", "x"), g.const([1]))
    state = g.node("ConstantOfShape", g.node("Concat", g.const([1]), batch, g.const([6]), axis=0))
    if fault == "state of batch 1":
        state = g.const(np.zeros((1, 1, 6)), np.float32)
    if fault == "state of another width":
        state = g.node("ConstantOfShape", g.node("Concat", g.const([1]), batch, g.const([7]), axis=0))
    width = 4 if fault == "input of another width" else 5
    y, _, _ = g.node("LSTM", "x", g.weight(1, 24, width), g.weight(1, 24, 6), g.weight(1, 48), "", state, state,
                     hidden_size=6, outputs=3)
    y = g.node("Squeeze", y, g.const([1]))
    if fault == "length of the example behind a recurrence":
        y = g.node("Reshape", y, g.const([16, -1, 2, 3]))
        y = g.node("Add", y, g.weight(16, 1, 2, 3))
        y = g.node("Add", y, g.node("Reshape", "x", g.const([16, 1, 1, 5])))
    if fault == "last step by number":
        y = g.node("Slice", y, g.const([15]), g.const([16]), g.const([0]))
        y = g.node("Squeeze", y, g.const([0]))
    return g.model(y)


FAULTS = {
    encoder: [
        "baked batch in Reshape", "baked length in Reshape", "positions of the example", "position numbers of the example",
        "more positions than the table has", "table cut to its end", "segment embedding of another width",
        "weight with other rows", "bias of another width", "heads that do not divide the width", "transpose left out",
        "mask of the example", "mask along a wrong axis", "mask expanded to the example", "Where with a mask of the example",
        "normalisation of another width", "zeros of the example beside it", "class token of batch 1",
        "flattened for a layer of fixed length", "repeated for a batch of two", "Squeeze of the batch",
        "Split into parts of the example", "product over the length of the example", "Einsum of other letters"],
    images: ["convolution over other channels", "window larger than a small image", "sizes of the example in Resize",
             "padding left out", "normalisation of other channels", "classifier for one size of image",
             "Reshape of an image of the example"],
    recurrent: ["state of batch 1", "state of another width", "input of another width",
                "length of the example behind a recurrence", "last step by number"],
}


def checked(dynrepl, path, *more):
    done = subprocess.run([dynrepl, "check", path, "--json", *more], capture_output=True, text=True, timeout=300)
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{path}: no JSON: {done.stdout[:200]} {done.stderr[:400]}")


def is_found(code, answer):
    return code == 1 and any(f["proved_to_fail"] for f in answer.get("findings", [])) or bool(answer.get("problems"))


def runs_at(dynrepl, path, sizes):
    dims = [part for name, size in sizes.items() for part in ("--dim", f"{name}={size}")]
    done = subprocess.run([dynrepl, "run", path, "-q", "--mem-limit", "4GB", *dims], capture_output=True, text=True, timeout=300)
    return done.returncode == 0


def faults(dynrepl, folder, show):
    found = count = 0
    for maker, names in FAULTS.items():
        for name in names:
            path = os.path.join(folder, "fault.onnx")
            onnx.save(maker(name), path)
            code, answer = checked(dynrepl, path)
            good = is_found(code, answer)
            found, count = found + good, count + 1
            if show or not good:
                messages = [f["message"] for f in answer.get("findings", [])] or [p["message"] for p in answer.get("problems", [])]
                print(f"{'found' if good else 'MISSED'}: {name}: {messages[:1]}")
    return found, count


def accused(dynrepl, models, show):
    """Good models with a finding that is none: a run at its sizes succeeds."""
    wrong = []
    for path in models:
        code, answer = checked(dynrepl, path)
        findings = [f for f in answer.get("findings", []) if f["proved_to_fail"]]
        if show:
            print(f"{os.path.relpath(path)}: exit {code}, {len(findings)} proved to fail, "
                  f"{len(answer.get('findings', [])) - len(findings)} not proved")
        for finding in findings:
            if finding["sizes"] and runs_at(dynrepl, path, finding["sizes"]):
                wrong.append((path, finding["message"]))
                print(f"ACCUSED: {path}: {finding['message']}")
                break
    return wrong


def sarif(dynrepl, folder, schema):
    path = os.path.join(folder, "fault.onnx")
    onnx.save(encoder("table cut to its end"), path)
    done = subprocess.run([dynrepl, "check", path, "--format", "sarif"], capture_output=True, text=True, timeout=300)
    document = json.loads(done.stdout)
    assert done.returncode == 1 and document["version"] == "2.1.0", done
    result = document["runs"][0]["results"][0]
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] and result["level"] == "error", result
    assert "seq=65" in result["message"]["text"], result
    if schema:
        import jsonschema
        with open(schema, encoding="utf-8") as file:
            jsonschema.validate(document, json.load(file))
    done = subprocess.run([dynrepl, "check", path, "--format", "github"], capture_output=True, text=True, timeout=300)
    assert done.stdout.startswith("::error file=") and "seq=65" in done.stdout, done.stdout
    done = subprocess.run([dynrepl, "check", path, "--assert", "batch>=1, seq<=64"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.startswith("proved"), done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dynrepl", required=True)
    parser.add_argument("--samples", required=True)
    parser.add_argument("--models")
    parser.add_argument("--schema")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sarif(given.dynrepl, folder, given.schema)
        found, count = faults(given.dynrepl, folder, given.show)
        models = []
        for maker in FAULTS:
            models.append(os.path.join(folder, maker.__name__ + ".onnx"))
            onnx.save(maker(), models[-1])
        for root in filter(None, [given.samples, given.models]):
            for at, _, files in sorted(os.walk(root)):
                models += [os.path.join(at, name) for name in sorted(files) if name.endswith(".onnx")]
        wrong = accused(given.dynrepl, models, given.show)
    print(f"{found} of {count} faults found; {len(wrong)} of {len(models)} good models accused")
    if found < FOUND_LEAST * count or len(wrong) > ACCUSED_MOST * len(models):
        sys.exit(1)


if __name__ == "__main__":
    main()
