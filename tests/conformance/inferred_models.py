#!/usr/bin/env python3
"""Models of the ONNX suite and of the samples as `dynrepl infer` writes them: is every shape in the file right?

onnx.checker (with strict shape inference) and onnxruntime take each of them. Then onnxruntime runs it with every value as an output: each
dim in the file, a number or a formula of the input's dims, is that of the run. Needs onnx and onnxruntime.
What does not hold for a reason is in the expected list. With DYN_UPDATE=1 the list is written instead; read the difference before you commit it.
"""
import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

from saved_models import compare, models

CHUNK = 50  # models that one shell loads
FUNCTIONS = {
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "group": lambda a: a,
}


def quoted(path: pathlib.Path) -> str:
    return '"' + str(path) + '"'


def infer(dynrepl: pathlib.Path, chosen: list, folder: pathlib.Path):
    """The file of each model, of those that have one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = {}
    for begin in range(0, len(chosen), CHUNK):
        script = folder / "script.dyns"
        lines = []
        for name, case in chosen[begin:begin + CHUNK]:
            made[name] = folder / (name.replace("/", "@") + ".onnx")
            lines += [f":load {quoted(case / 'model.onnx')}", f":infer {quoted(made[name])}"]
        script.write_text("\n".join(lines) + "\n")
        subprocess.run([dynrepl, "--cache-dir", "none", "--quiet", "--keep-going", "-e", f":source {quoted(script)}"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return made


def plain_types(model: onnx.ModelProto):
    """Name and dims of all values whose shape the file says."""
    graph = model.graph
    for value in [*graph.value_info, *graph.output]:
        kind = value.type.WhichOneof("value")
        if kind == "tensor_type" and value.type.tensor_type.HasField("shape"):
            yield value.name, [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in value.type.tensor_type.shape.dim]


def feeds_of(model: onnx.ModelProto, case: pathlib.Path):
    feeds = {}
    names = [value.name for value in model.graph.input]
    for index, name in enumerate(names):
        path = case / "test_data_set_0" / f"input_{index}.pb"
        if not path.exists():
            continue
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        feeds[name] = numpy_helper.to_array(tensor)
    return feeds


def sizes_of(model: onnx.ModelProto, feeds: dict) -> dict:
    """The sizes of dims that inputs name."""
    sizes = {}
    for value in model.graph.input:
        if value.name in feeds and value.type.HasField("tensor_type"):
            for dim, size in zip(value.type.tensor_type.shape.dim, feeds[value.name].shape):
                if re.fullmatch(r"\w+", dim.dim_param):
                    sizes[dim.dim_param] = size
    return sizes


def fault_of(case: pathlib.Path, path: pathlib.Path, counts: collections.Counter):
    """What is wrong with the file, or None."""
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(path)
    if any(not value.type.HasField("tensor_type") for value in model.graph.input):
        return None
    feeds = feeds_of(model, case)
    said = dict(plain_types(model))
    outputs = {value.name for value in model.graph.output}
    model.graph.output.extend(value for value in model.graph.value_info
                              if value.name in said and value.name not in outputs)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, feeds)
    sizes = sizes_of(model, feeds)
    for output, result in zip(session.get_outputs(), results):
        if not isinstance(result, numpy.ndarray) or output.name not in said:
            continue
        dims = said[output.name]
        if len(dims) != result.ndim:
            return f"{output.name}: rank {len(dims)}, in the run {result.ndim}"
        for axis, (dim, size) in enumerate(zip(dims, result.shape)):
            if isinstance(dim, str):
                unknown = dim == "" or any(word not in sizes and word not in FUNCTIONS for word in re.findall(r"[A-Za-z_]\w*", dim))
                counts["known only in a run" if unknown else "formulas"] += 1
                if unknown:
                    continue
                value = eval(dim, {"__builtins__": {}}, {**FUNCTIONS, **sizes})
            else:
                counts["numbers"] += 1
                value = dim
            if value != size:
                return f"{output.name}.{axis}: {dim} is {value}, in the run {size}"
    counts["models that ran"] += 1
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrepl", type=pathlib.Path, required=True)
    parser.add_argument("--cases", type=pathlib.Path, required=True)
    parser.add_argument("--samples", type=pathlib.Path, required=True)
    parser.add_argument("--expected", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="models whose names hold this")
    arguments = parser.parse_args()
    chosen = [(name, case) for name, case in models(arguments.cases, arguments.samples) if arguments.only in name]
    counts = collections.Counter()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        made = infer(arguments.dynrepl, chosen, pathlib.Path(folder) / "models")
        for name, case in chosen:
            if not made[name].exists():
                counts["not read by dynrepl"] += 1
                continue
            counts["files"] += 1
            try:
                fault = fault_of(case, made[name], counts)
            except Exception as error:  # whatever the two libraries throw
                fault = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
            if fault:
                found[name] = fault
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    if arguments.only:
        for name, fault in found.items():
            print(f"{name}: {fault}")
        return 1 if found else 0
    return compare(found, arguments.expected, "# What `dynrepl infer` writes that other programs do not take, and why (inferred_models.py).\n")


if __name__ == "__main__":
    sys.exit(main())
