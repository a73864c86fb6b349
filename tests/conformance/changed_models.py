#!/usr/bin/env python3
"""`dynrepl diff`, `extract`, `quantise` and `compare` on the sample models, beside onnxruntime.

    changed_models.py --dynrepl PATH --samples DIR [--only NAME]

diff: a model and itself have no difference; a changed weight is found; a missing file is exit code 2.
extract: onnx.checker takes each part, onnxruntime gives from its inputs .npy what the whole model gives there.
compare: every inner value is that of onnxruntime, and the loss of quantised weights is measured at each.
quantise: onnxruntime and Dyn give the same for the written file.
LEAST is how many of each have to be there.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

from inferred_models import feeds_of, run

LEAST = {"diffs": 24, "parts": 50, "first parts": 15, "quantised files": 20, "compared": 20, "beside onnxruntime": 15}
TOLERANCE = dict(rtol=1e-3, atol=1e-4)
MOST_PARTS = 3  # of a model


class Failure(Exception):
    pass


class Tool:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def __call__(self, *arguments, codes=(0,)):
        command = [self.path, *map(str, arguments), "--json", "--quiet", "--cache-dir", "none"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env={**os.environ, "DYN_PYTHON": sys.executable})
        if done.returncode not in codes:
            raise Failure(f"{' '.join(map(str, arguments))}: exit {done.returncode}: {done.stdout[-600:]} {done.stderr[-300:]}")
        return done.returncode, json.loads(done.stdout)


def is_taken(model, feeds):
    """Tensors alone, with data, that onnxruntime takes."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    if any(not value.type.HasField("tensor_type") or value.name not in feeds for value in inputs):
        return False
    try:
        dict(run(model, feeds))
    except Exception:
        return False
    return True


def inputs_of(case, model):
    weights = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in weights]
    given = []
    for index, name in enumerate(names):
        given += ["--input", f"{name}=@{case / 'test_data_set_0' / f'input_{index}.pb'}"]
    return given


def all_values(model, feeds):
    """Every tensor of the graph in a run of onnxruntime."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    there = {value.name for value in wide.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in there:
                wide.graph.output.append(onnx.ValueInfoProto(name=name))
                there.add(name)
    return {name: value for name, value in run(wide, feeds) if isinstance(value, numpy.ndarray)}


def behind(model, names):
    """Values that follow from these."""
    found = set(names)
    for node in model.graph.node:
        if found & set(node.input):
            found |= set(node.output)
    return found - {*names, ""}


def check_diff(tool, model, path, counts):
    _, same = tool("diff", path, path)
    if same["changed"] or same["ops"] or same["weights"] or same["inner"]:
        raise Failure(f"{path}: differs from itself: {same['changed']} {same['ops']}")
    tool("diff", path, path.parent / "missing.onnx", codes=(2,))
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    floats = [weight for weight in changed.graph.initializer if weight.data_type == onnx.TensorProto.FLOAT and len(weight.dims) == 2]
    if floats:
        values = numpy_helper.to_array(floats[0]) + numpy.float32(1)
        floats[0].CopyFrom(numpy_helper.from_array(values, floats[0].name))
        onnx.save(changed, path.parent / "weight.onnx")
        _, found = tool("diff", path, path.parent / "weight.onnx")
        if [weight["change"] for weight in found["weights"]] != ["different"]:
            raise Failure(f"{path}: a changed weight is not found: {found['weights']}")
    counts["diffs"] += 1


def check_first_part(tool, model, feeds, values, given, path, inner):
    """From the inputs of the model to the middle."""
    part = path.parent / "first.onnx"
    last = inner[len(inner) // 2]
    code, said = tool("extract", path, "--to", last, "-o", part, *given, codes=(0, 2, 4))
    if code == 0:
        onnx.checker.check_model(str(part), full_check=True)
        stored = {one["name"]: numpy.load(path.parent / one["file"]) for one in said["inputs"]}
        numpy.testing.assert_allclose(dict(run(onnx.load(part), stored))[last], values[last], **TOLERANCE, err_msg=f"{path}: to {last}")
    elif code == 2 and last in behind(model, list(feeds)):
        raise Failure(f"{path}: {last} follows from the inputs: {said}")
    return code == 0


def check_parts(tool, case, model, feeds, path, counts):
    values = all_values(model, feeds)
    inner = [node.output[0] for node in model.graph.node
             if node.output[0] in values and values[node.output[0]].dtype == numpy.float32]
    given = inputs_of(case, model)
    made = 0
    counts["first parts"] += bool(inner) and check_first_part(tool, model, feeds, values, given, path, inner)
    for index in range(len(inner) // 4, len(inner), max(1, len(inner) // 5)):
        after = [name for name in inner if name in behind(model, [inner[index]])]
        if not after or made == MOST_PARTS:
            continue
        part = path.parent / f"part{index}.onnx"
        code, said = tool("extract", path, "--from", inner[index], "--to", after[-1], "-o", part, *given, codes=(0, 4))
        if code == 4:
            continue
        onnx.checker.check_model(str(part), full_check=True)
        extracted = onnx.load(part)
        stored = {one["name"]: numpy.load(path.parent / one["file"]) for one in said["inputs"]}
        result = dict(run(extracted, stored))[after[-1]]
        numpy.testing.assert_allclose(result, values[after[-1]], **TOLERANCE, err_msg=f"{path}: {inner[index]} to {after[-1]}")
        # The same by the command that it prints.
        repeated = [word.strip("'") for word in said["again"].split()[1:]]
        tool(*repeated, "--output-dir", path.parent / "out")
        made += 1
    counts["parts"] += made


def check_beside_onnxruntime(tool, case, model, path, counts):
    # Without VNNI, onnxruntime adds products of unsigned and signed bytes in 16 bits, which saturate: it is wrong.
    if any(node.op_type in ("QLinearConv", "QLinearMatMul") for node in model.graph.node):
        return
    _, said = tool("compare", path, "--values", "--against", "onnxruntime", *inputs_of(case, model))
    if said["values"]:
        counts["beside onnxruntime"] += 1


def check_quantised(tool, case, model, feeds, path, counts):
    given = inputs_of(case, model)
    for bits in ("int8", "int4"):
        file = path.parent / f"{bits}.onnx"
        code, said = tool("quantise", path, "--weights", bits, "-o", file, codes=(0, 4))
        if code == 4 or not any("form" in weight for weight in said["weights"]):
            continue
        onnx.checker.check_model(str(file))
        small = onnx.load(file)
        wanted = dict(run(small, feeds))
        out = path.parent / f"out_{bits}"
        _, ran = tool("run", file, *given, "--output-dir", out)
        for output in ran["outputs"]:
            numpy.testing.assert_allclose(numpy.load(path.parent / output["file"]), wanted[output["name"]], **TOLERANCE,
                                          err_msg=f"{path} {bits}: {output['name']}")
        counts["quantised files"] += 1
        _, compared = tool("compare", path, file, "--values", "--rtol", "1e9", *given)
        if not compared["values"] or max(value.get("relative") or 0 for value in compared["values"]) == 0:
            raise Failure(f"{path} {bits}: compare finds no loss: {compared['values'][:3]}")
        counts["compared"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrepl", required=True)
    parser.add_argument("--samples", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    counts, failures = dict.fromkeys(LEAST, 0), []
    for case in sorted(folder.parent for folder in arguments.samples.resolve().glob("*/model.onnx")):
        if arguments.only not in case.name:
            continue
        model = onnx.load(case / "model.onnx")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            onnx.save(model, path)
            tool = Tool(arguments.dynrepl, folder)
            try:
                check_diff(tool, model, path, counts)
                feeds = feeds_of(model, case)
                if is_taken(model, feeds):
                    check_parts(tool, case, model, feeds, path, counts)
                    check_beside_onnxruntime(tool, case, model, path, counts)
                    check_quantised(tool, case, model, feeds, path, counts)
            except (Failure, AssertionError, onnx.checker.ValidationError) as error:
                failures.append(f"{case.name}: {error}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    for failure in failures:
        print("FAILED", failure)
    few = [what for what, least in LEAST.items() if counts[what] < least and not arguments.only]
    for what in few:
        print(f"FAILED: only {counts[what]} {what}, {LEAST[what]} are wanted")
    return 1 if failures or few else 0


if __name__ == "__main__":
    sys.exit(main())
