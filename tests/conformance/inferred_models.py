#!/usr/bin/env python3
"""Models of the ONNX suite and of the samples as `dynrepl infer` writes them: is every shape in the file right?

onnx.checker (with strict shape inference) and onnxruntime take each of them. Then onnxruntime runs it with every value as an output: each
dim in the file, a number or a formula of the input's dims, is that of the run. Needs onnx and onnxruntime.
What does not hold for a reason is in the expected list. With DYN_UPDATE=1 the list is written instead; read the difference before you commit it.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

from saved_models import compare, models

FUNCTIONS = {
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "group": lambda a: a,
}


def infer(dynrepl: pathlib.Path, chosen: list, folder: pathlib.Path) -> dict:
    """The file of each model, or why there is none."""
    def one(name: str, case: pathlib.Path):
        file = folder / (name.replace("/", "@") + ".onnx")
        command = [dynrepl, "--cache-dir", "none", "infer", case / "model.onnx", "-o", file, "--quiet"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return file
        return "dynrepl: " + (re.search(r"error\[.*|$", done.stderr).group() or f"ended with {done.returncode}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {name: pool.submit(one, name, case) for name, case in chosen}
        return {name: job.result() for name, job in jobs.items()}


def plain_types(model: onnx.ModelProto):
    """Name and dims of all values whose shape the file says."""
    graph = model.graph
    for value in [*graph.value_info, *graph.output]:
        kind = value.type.WhichOneof("value")
        if kind == "tensor_type" and value.type.tensor_type.HasField("shape"):
            yield value.name, [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in value.type.tensor_type.shape.dim]


def feeds_of(model: onnx.ModelProto, case: pathlib.Path):
    feeds = {}
    weights = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in weights]
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


def run(model: onnx.ModelProto, feeds: dict):
    """Names and results of all outputs, as onnxruntime computes them without a change of the graph."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return zip([output.name for output in session.get_outputs()], session.run(None, feeds))


def has_plain_inputs(model: onnx.ModelProto) -> bool:
    return all(value.type.HasField("tensor_type") for value in model.graph.input)


def is_taken(case: pathlib.Path) -> bool:
    """Do both libraries take the model as it was?"""
    try:
        onnx.checker.check_model(str(case / "model.onnx"), full_check=True)
        model = onnx.load(case / "model.onnx")
        if has_plain_inputs(model):
            run(model, feeds_of(model, case))
        return True
    except Exception:
        return False


def fault_of(case: pathlib.Path, path: pathlib.Path, counts: collections.Counter):
    """What is wrong with the file, or None."""
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(path)
    if not has_plain_inputs(model):
        return None
    feeds = feeds_of(model, case)
    said = dict(plain_types(model))
    outputs = {value.name for value in model.graph.output}
    model.graph.output.extend(value for value in model.graph.value_info
                              if value.name in said and value.name not in outputs)
    sizes = sizes_of(model, feeds)
    for name, result in run(model, feeds):
        if not isinstance(result, numpy.ndarray) or name not in said:
            continue
        dims = said[name]
        if len(dims) != result.ndim:
            return f"{name}: rank {len(dims)}, in the run {result.ndim}"
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
                return f"{name}.{axis}: {dim} is {value}, in the run {size}"
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
        made = infer(arguments.dynrepl, chosen, pathlib.Path(folder))
        for name, case in chosen:
            if isinstance(made[name], str):
                counts["not read by dynrepl"] += 1
                found[name] = made[name]
                continue
            counts["files"] += 1
            try:
                fault = fault_of(case, made[name], counts)
            except Exception as error:  # whatever the two libraries throw
                fault = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
            if fault and is_taken(case):
                found[name] = fault
            elif fault:
                counts["not taken as they were"] += 1
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    if arguments.only:
        for name, fault in found.items():
            print(f"{name}: {fault}")
        return 1 if found else 0
    return compare(found, arguments.expected, "# What `dynrepl infer` writes that other programs do not take, and why (inferred_models.py).\n")


if __name__ == "__main__":
    sys.exit(main())
