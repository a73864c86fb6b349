#!/usr/bin/env python3
"""Good models, each broken in one place: what Dyn says of them beside ONNX's checker and onnxruntime.

    broken_models.py --dynrepl PATH [--count 300] [--seed 1] [--show open|all]

A mutant that both others refuse and Dyn takes without a warning is printed as `lenient`, one that both take and Dyn refuses as `strict`; a
crash, a signal, a hang or exit 70 as `fault`. Exit 1 where there is a fault, or a difference that SETTLED does not explain.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

# Differences that are meant: how the description of the change looks, and why.
SETTLED = [
    (r"elem_type|data_type", "element types are taken wherever the operator computes them, not where its version lists them"),
    (r"denotation|doc_string", "prose"),
    (r"value_info", "declared types of inner values are not read: inference finds them"),
    (r"dim_param|dim_value|shape\.dim", "whether sizes agree is found by inference or at run time"),
    (r"attribute\[\d\]\.type", "the value of an attribute tells its type"),
    (r"^functions: opset_import\[0\]", "a function has operator sets of its own; other runtimes want those of the model"),
    (r"node\[0\]\.input\[0\] doubled", "Conv takes no bias of rank 4, which others see only when it runs"),
]


def info(name, dtype, shape):
    return h.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, initializers=(), functions=(), opset=17):
    graph = h.make_graph(nodes, "g", inputs, outputs, list(initializers))
    imports = [h.make_opsetid("", opset)] + ([h.make_opsetid("local", 1)] if functions else [])
    return h.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=8)


def constant(name, value):
    return nh.from_array(np.asarray(value), name)


def image():
    weights = np.arange(36, dtype=np.float32).reshape(2, 2, 3, 3) / 40
    nodes = [h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[1, 1], kernel_shape=[3, 3]),
             h.make_node("Relu", ["c"], ["r"]),
             h.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             h.make_node("Flatten", ["p"], ["f"], axis=1),
             h.make_node("Softmax", ["f"], ["y"], axis=-1)]
    return model(nodes, [info("x", T.FLOAT, ["n", 2, 4, 4])], [info("y", T.FLOAT, ["n", 8])], [constant("w", weights)])


def shapes():
    nodes = [h.make_node("Reshape", ["x", "s"], ["a"]),
             h.make_node("Transpose", ["a"], ["b"], perm=[1, 0, 2]),
             h.make_node("Slice", ["b", "begin", "end", "axes"], ["c"]),
             h.make_node("Concat", ["c", "c"], ["d"], axis=1),
             h.make_node("ReduceMean", ["d"], ["e"], axes=[2], keepdims=0),
             h.make_node("Cast", ["e"], ["y"], to=T.FLOAT)]
    i64 = np.int64
    initializers = [constant("s", np.array([2, 3, -1], i64)), constant("begin", np.array([0], i64)),
                    constant("end", np.array([2], i64)), constant("axes", np.array([0], i64))]
    return model(nodes, [info("x", T.FLOAT, ["n", 12])], [info("y", T.FLOAT, None)], initializers)


def control():
    branch = lambda op: h.make_graph([h.make_node(op, ["x"], ["b"])], op, [], [info("b", T.FLOAT, ["n"])])
    body = h.make_graph([h.make_node("Add", ["s", "x"], ["t"]), h.make_node("Identity", ["go"], ["again"])], "body",
                        [info("i", T.INT64, []), info("go", T.BOOL, []), info("s", T.FLOAT, ["n"])],
                        [info("again", T.BOOL, []), info("t", T.FLOAT, ["n"])])
    nodes = [h.make_node("If", ["c"], ["z"], then_branch=branch("Relu"), else_branch=branch("Neg")),
             h.make_node("Loop", ["m", "c", "z"], ["y"], body=body)]
    return model(nodes, [info("c", T.BOOL, []), info("x", T.FLOAT, ["n"])], [info("y", T.FLOAT, ["n"])],
                 [constant("m", np.array(3, np.int64))])


def functions():
    function = h.make_function("local", "f", ["v"], ["w"], [h.make_node("LeakyRelu", ["v"], ["w"], alpha=0.5)],
                               [h.make_opsetid("", 17)])
    nodes = [h.make_node("f", ["x"], ["a"], domain="local"), h.make_node("Abs", ["a"], ["y"])]
    return model(nodes, [info("x", T.FLOAT, ["n", 3])], [info("y", T.FLOAT, ["n", 3])], functions=[function])


def quantised():
    nodes = [h.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
             h.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
             h.make_node("TopK", ["d", "k"], ["y", "i"], axis=1),
             h.make_node("Gather", ["d", "at"], ["g"], axis=1)]
    initializers = [constant("scale", np.float32(0.5)), constant("zero", np.int8(1)), constant("k", np.array([2], np.int64)),
                    constant("at", np.array([0, 2], np.int64))]
    return model(nodes, [info("x", T.FLOAT, ["n", 4])],
                 [info("y", T.FLOAT, ["n", 2]), info("i", T.INT64, ["n", 2]), info("g", T.FLOAT, ["n", 2])], initializers)


BASES = [image, shapes, control, functions, quantised]


def is_repeated(field):
    known = getattr(field, "is_repeated", None)
    return field.label == field.LABEL_REPEATED if known is None else known


def places(message, path=""):
    """All (owner, field, index or None, path)."""
    for field, value in message.ListFields():
        here = f"{path}.{field.name}" if path else field.name
        repeated = is_repeated(field)
        items = list(enumerate(value)) if repeated else [(None, value)]
        for index, item in items:
            at = here if index is None else f"{here}[{index}]"
            yield message, field, index, at
            if field.type == field.TYPE_MESSAGE:
                yield from places(item, at)


def change(owner, field, index, rng):
    """Changes the field in place; what was done, or None."""
    name = field.name
    repeated = index is not None
    get = lambda: getattr(owner, name)[index] if repeated else getattr(owner, name)

    def put(value):
        if repeated:
            getattr(owner, name)[index] = value
        else:
            setattr(owner, name, value)

    if repeated and rng.random() < (1 if field.type == field.TYPE_MESSAGE else 0.4):
        if rng.random() < 0.5:
            del getattr(owner, name)[index]
            return "removed"
        items = getattr(owner, name)
        if field.type == field.TYPE_MESSAGE:
            items.add().CopyFrom(items[index])
        else:
            items.append(items[index])
        return "doubled"
    if field.type == field.TYPE_STRING:
        value = rng.choice(["", "zzz"])
        put(value)
        return f"set to '{value}'"
    if field.type == field.TYPE_BYTES:
        put(get()[:-1])
        return "cut by a byte"
    if field.type in (field.TYPE_INT64, field.TYPE_INT32, field.TYPE_ENUM):
        value = rng.choice([v for v in (-7, -1, 0, 1, 5, 99) if v != get()])
        try:
            put(value)
        except ValueError:
            return None
        return f"set to {value}"
    if field.type == field.TYPE_FLOAT:
        put(rng.choice([0.0, -1.0, float("nan")]))
        return "set to another number"
    if field.type == field.TYPE_MESSAGE and not repeated:
        owner.ClearField(name)
        return "removed"
    return None


def mutant(rng):
    made = rng.choice(BASES)
    broken = made()
    owner, field, index, path = rng.choice(list(places(broken)))
    done = change(owner, field, index, rng)
    return (broken, f"{made.__name__}: {path} {done}") if done else None


def checker_says(broken):
    try:
        onnx.checker.check_model(broken, full_check=True)
        return None
    except Exception as refused:
        return str(refused).strip().split("\n")[0][:110]


def onnxruntime_says(data):
    try:
        ort.InferenceSession(data, providers=["CPUExecutionProvider"])
        return None
    except Exception as refused:
        return str(refused).replace("\n", " ")[:110]


def dyn_says(dynrepl, path):
    """(exit code, first message, number of warnings)"""
    try:
        done = subprocess.run([dynrepl, "--cache-dir", "none", "inspect", path, "--check", "--json"], capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return 124, "hangs", 0
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return done.returncode if done.returncode != 0 else 70, "no JSON: " + done.stderr.decode(errors="replace")[:100], 0
    message = said.get("error", {}).get("message", "")
    return done.returncode, message, len(said.get("warnings", []))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dynrepl", required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", default="open", choices=["open", "all"])
    options = parser.parse_args()
    ort.set_default_logger_severity(4)
    rng = random.Random(options.seed)
    counts = {}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        for number in range(options.count):
            drawn = mutant(rng)
            if drawn is None:
                continue
            broken, what = drawn
            try:
                data = broken.SerializeToString()
            except Exception:
                continue
            with open(path, "wb") as file:
                file.write(data)
            checker, runtime = checker_says(broken), onnxruntime_says(data)
            code, message, warnings = dyn_says(options.dynrepl, path)
            kind = "agree"
            if code not in (0, 1, 4):
                kind = "fault"
            elif code == 0 and warnings == 0 and checker and runtime:
                kind = "lenient"
            elif code != 0 and not checker and not runtime:
                kind = "strict"
            elif code == 0 and warnings == 0 and (checker or runtime):
                kind = "half lenient"
            counts[kind] = counts.get(kind, 0) + 1
            settled = any(re.search(pattern, what) for pattern, _ in SETTLED)
            is_open = kind == "fault" or (kind in ("lenient", "strict") and not settled)
            failed += is_open
            if is_open or (options.show == "all" and kind != "agree"):
                print(f"{kind}{' (settled)' if settled else ''}: {what}\n    checker: {checker}\n    onnxruntime: {runtime}\n"
                      f"    dyn: {code} {message} ({warnings} warnings)")
    print(counts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
