#!/usr/bin/env python3
"""hostile_names.py BUILD: a model whose names are no names. Each output has a file of its own, by the shell and by an exported program,
and nothing that any command prints commands the terminal, with colours or without. Needs numpy and onnx (with_python.sh)."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

BUILD = os.path.abspath(sys.argv[1])
DYNREPL = os.path.join(BUILD, "bin", "dynrepl")
EVIL = "a\x1b[31mred\x07\x1b]0;title\x07\nline\u202e\u009b"
OUTPUTS = ["a/b", "a:b", "日本", "中国", ".", "..", "-rf", "../../x", "l" * 300 + "1", "l" * 300 + "2", EVIL, "größe"]
fails = []


def check(good, text):
    if not good:
        fails.append(text)
        print("hostile_names:", text, file=sys.stderr)


def make(path):
    x, bad = "x" + EVIL, "node" + EVIL
    nodes = [helper.make_node("Relu", [x], [EVIL + "h"], name=bad)]
    for i, name in enumerate(OUTPUTS):
        nodes.append(helper.make_node("Mul", [EVIL + "h", f"w{i}{EVIL}"], [name], name=f"{bad}{i}", doc_string=EVIL))
    weights = [helper.make_tensor(f"w{i}{EVIL}", TensorProto.FLOAT, [1], [float(i + 1)]) for i in range(len(OUTPUTS))]
    shape = ["n", 4]
    graph = helper.make_graph(nodes, "graph" + EVIL, [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(o, TensorProto.FLOAT, shape) for o in OUTPUTS], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="made" + EVIL)
    model.ir_version = 8
    helper.set_model_props(model, {EVIL: EVIL})
    onnx.save(model, path)


def make_wrong(path, kind):
    """Models that are refused, by messages that name what is in them."""
    info = helper.make_tensor_value_info
    x, y = info("x", TensorProto.FLOAT, ["n" + EVIL, 4]), info("y", TensorProto.FLOAT, None)
    nodes = {"operator": [helper.make_node("Op" + EVIL, ["x"], ["y"], name=EVIL, domain="d" + EVIL)],
             "value": [helper.make_node("Relu", ["none" + EVIL], ["y"], name=EVIL)],
             "shape": [helper.make_node("Reshape", ["x", "s"], ["y"], name=EVIL)],
             "attribute": [helper.make_node("Relu", ["x"], ["y"], name=EVIL, **{"b" + EVIL: 1})]}[kind]
    weights = [helper.make_tensor("s", TensorProto.INT64, [2], [3, 5])] if kind == "shape" else []
    graph = helper.make_graph(nodes, EVIL, [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("d" + EVIL, 1)]), path)


def commands_a_terminal(text, colors):
    if colors:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]", text)


def run(*words, codes=(0,), program=DYNREPL):
    done = subprocess.run([program, *words], capture_output=True, timeout=120)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    colors = "always" in words
    for name, text in (("stdout", out), ("stderr", err)):
        found = commands_a_terminal(text, colors)
        check(not found, f"{words}: {name} has {found and found.group()!r}: {found and text[max(0, found.start() - 60):found.end() + 20]!r}")
    # A line of its own: the name broke the text.
    check(not re.search(r"^line", out + "\n" + err, re.M), f"{words}: a name ends a line")
    check(done.returncode in codes, f"{words}: exit {done.returncode}: {err[-400:]}")
    return out


def files(folder, outputs):
    names = sorted(os.listdir(folder))
    check(len(names) == len(OUTPUTS), f"{folder}: {len(OUTPUTS)} outputs, files {names}")
    for i, output in enumerate(outputs):
        path = output["file"]
        check(os.path.dirname(path) == folder, f"{output['name']!r} is in {path}")
        check(os.path.exists(path) and np.load(path).ravel()[0] == i + 1, f"{path} holds another output")
    check({"日本.npy", "中国.npy", "größe.npy", "a_b.npy", "a_b_2.npy"} <= set(names), f"{names}")


def main():
    work = tempfile.mkdtemp()
    os.chdir(work)
    make("model.onnx")
    given = ["--dim", "n=1", "--input", "x" + EVIL + "=ones"]
    out = json.loads(run("run", "model.onnx", *given, "--output-dir", os.path.join(work, "out"), "--json", "--quiet"))
    check([o["name"] for o in out["outputs"]] == OUTPUTS, "JSON has other names")
    files(os.path.join(work, "out"), out["outputs"])
    run("export", "model.onnx", "--kind", "exe", "-o", "program", "--quiet")
    out = json.loads(run(*given, "--output-dir", os.path.join(work, "exe"), "--json", "--quiet", program="./program"))
    files(os.path.join(work, "exe"), out["outputs"])
    done = subprocess.run([DYNREPL, "run", "model.onnx", *given, "--output-dir", "said"], capture_output=True, text=True)
    check("a_b_2.npy" in done.stderr and "größe.npy" not in done.stderr, f"stderr names no changed files: {done.stderr}")
    for color in ("always", "never"):
        both = ["--color", color]
        run("run", "model.onnx", "--dim", "n=2", "--explain", "--output-dir", "out2", *both)
        for level in ("graph", "placed", "loop", "llvm", "asm", "bytecode"):
            run("inspect", "model.onnx", "--ir", level, *both)
        run("inspect", "model.onnx", "--dims", "--plan", "--kernels", *both)
        run("inspect", "model.onnx", "--check", *both)
        run("bench", "model.onnx", "--dim", "n=2", "--seconds", "0.05", *both)
        run("-e", ":load model.onnx; :info; :passes; :graph; :find Mul; :places; :kernels; :vars; :run --dim n=1 --bind; :vars; :tensor h", *both,
            codes=(0, 1, 2))
        run("run", "model.onnx", "--dim", "n=2", "--input", "nothing=ones", *both, codes=(1, 2))
        run("save", "model.onnx", "-o", "saved.onnx", *both)
        for kind in ("operator", "value", "shape", "attribute"):
            make_wrong(f"{kind}.onnx", kind)
            for words in (("run", f"{kind}.onnx"), ("inspect", f"{kind}.onnx", "--check"), ("inspect", f"{kind}.onnx", "--dims")):
                run(*words, *both, codes=(0, 1, 2, 4))
    run("--describe", program="./program")
    run("--dim", "n=1", "--output-dir", "exe2", program="./program")
    os.chdir("/")
    shutil.rmtree(work)
    if fails:
        sys.exit(f"hostile_names: {len(fails)} faults")
    print("hostile_names: ok")


main()
