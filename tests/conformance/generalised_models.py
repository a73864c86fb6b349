#!/usr/bin/env python3
"""Open models, baked at one size, and opened again by `dynrepl generalise`: the results of the open model at other sizes.

    generalised_models.py --dynrepl PATH --samples DIR [--only NAME] [--show]

A model is baked as exporters do it: its inputs get fixed sizes, and onnxruntime folds all that becomes constant.
Right is what gives the results of the open model at five sizes; an opened model that gives others is wrong, and none
may be. OPENED lists the models that have to be opened.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

import size_faults

# Sizes of the example, where those of all dims are not enough.
SIZES = {"batch": 1, "seq": 16, "h": 32, "w": 48, "a": 4, "b": 8}
OPENED = {"images", "samples/espcn"}
# Models whose open form has no fixed size to be baked at, or inputs that random numbers do not fit.
LEFT_OUT = {"ragged", "ssd", "quantised"}


def dims_of(model):
    """Names of dims of the inputs that stand alone."""
    weights = {weight.name for weight in model.graph.initializer}
    places = {}
    for value in model.graph.input:
        if value.name in weights or not value.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                places.setdefault(dim.dim_param, []).append((value.name, axis))
    return places


def sized(text, sizes):
    return int(eval(text, {"__builtins__": {}}, dict(sizes)))  # of our own models: `4*a`


def baked(model, sizes, path, folder):
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in fixed.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = sized(dim.dim_param, sizes)
    for value in fixed.graph.output:
        value.type.tensor_type.ClearField("shape")
    del fixed.graph.value_info[:]
    source = os.path.join(folder, "fixed.onnx")
    onnx.save(fixed, source)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = path
    options.log_severity_level = 3
    ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def inputs_at(model, sizes, random):
    weights = {weight.name for weight in model.graph.initializer}
    given = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        tensor = value.type.tensor_type
        shape = [sized(dim.dim_param, sizes) if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if np.issubdtype(dtype, np.floating):
            given[value.name] = random.normal(size=shape).astype(dtype)
        else:
            given[value.name] = random.integers(0, 2, size=shape).astype(dtype)
    return given


def opened(dynrepl, model, name, folder, show):
    """("opened" | "refused" | "wrong" | "left", a sentence)"""
    places = dims_of(model)
    symbols = sorted({word for text in places for word in text.replace("*", " ").split() if word.isidentifier()})
    if not symbols:
        return "left", "no open dims"
    sizes = {symbol: SIZES.get(symbol, 8 + 3 * k) for k, symbol in enumerate(symbols)}
    fixed, made = os.path.join(folder, "baked.onnx"), os.path.join(folder, "made.onnx")
    try:
        baked(model, sizes, fixed, folder)
    except Exception as error:  # onnxruntime's, of any kind
        return "left", f"onnxruntime: {str(error)[:120]}"
    names = {text: text if text.isidentifier() else "d_" + str(k) for k, text in enumerate(sorted(places))}
    at = [f"{value}.{axis}={names[text]}" for text, all_places in places.items() for value, axis in all_places]
    arguments = [part for one in at for part in ("--at", one)]
    done = subprocess.run([dynrepl, "generalise", fixed, *arguments, "-o", made], capture_output=True, text=True, timeout=600)
    if show:
        print(done.stdout)
    if done.returncode != 0:
        return "refused", done.stderr.strip().splitlines()[0][:200] if done.stderr else str(done.returncode)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    source = os.path.join(folder, "open.onnx")
    onnx.save(model, source)
    right = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    ours = ort.InferenceSession(made, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(7)
    limits = dict(line.split(" is at most ") for line in done.stdout.splitlines() if " is at most " in line)
    for step in range(5):
        there = {symbol: 1 + int(random.integers(size if step else 1, 2 * size + 1)) for symbol, size in sizes.items()}
        for text, name_there in names.items():
            if name_there in limits and text in there:
                there[text] = min(there[text], int(limits[name_there]))
        feed = inputs_at(model, there, random)
        try:
            wanted = right.run(None, feed)
        except Exception:  # the open model does not take these sizes, either
            continue
        try:
            found = ours.run(None, feed)
        except Exception as error:
            return "wrong", f"at {there} it does not run: {str(error)[:160]}"
        for a, b in zip(wanted, found):
            if a.shape != b.shape or not np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True):
                return "wrong", f"at {there} the results differ"
    return "opened", f"{len(done.stdout.splitlines())} lines"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dynrepl", required=True)
    parser.add_argument("--samples", required=True)
    parser.add_argument("--only")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    models = {maker.__name__: maker() for maker in size_faults.FAULTS}
    for name in sorted(os.listdir(given.samples)):
        path = os.path.join(given.samples, name, "model.onnx")
        if os.path.exists(path) and name not in LEFT_OUT:
            models["samples/" + name] = onnx.load(path)
    failures = []
    for name, model in models.items():
        if given.only and given.only != name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            state, why = opened(given.dynrepl, model, name, folder, given.show)
        print(f"{state}: {name}: {why}", flush=True)
        if state == "wrong" or name in OPENED and state != "opened":
            failures.append(name)
    if failures:
        sys.exit(f"not as expected: {', '.join(failures)}")


if __name__ == "__main__":
    main()
