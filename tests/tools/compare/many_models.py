#!/usr/bin/env python3
"""ONNX models of one instance made programs of many: each instance gives what it gives alone.  many_models.py BUILD FOLDER

FOLDER holds models as samples/models does (NAME/model.onnx). Inputs are random, of small sizes; a model that refuses them alone is left out and named. Ends with 1 when results differ, when a
program of many does not compile, or when fewer than MODELS_LEAST models ran. Needs numpy.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import contexts  # noqa: E402
import measuring  # noqa: E402
from many import tensors  # noqa: E402

INSTANCES, MODELS_LEAST = 4, 10
BATCH = ("batch", "batch_size", "n")  # of one instance


def compiled(build, runtime, model, package, options):
    done = subprocess.run([f"{build}/bin/dynrepl", "compile", model, "-o", package, "--quiet", *options], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{model} {' '.join(options)}: {done.stderr}{done.stdout}")
    return contexts.opened(runtime, package, 1)


def random_inputs(module, random):
    feed = {}
    for name, dtype, shape in module.inputs:
        sizes = [d if isinstance(d, int) else 1 if d in BATCH else 3 for d in shape]
        if dtype.kind == "f":
            feed[name] = random.standard_normal(sizes).astype(dtype)
        else:
            feed[name] = random.integers(0, 2 if dtype.kind == "b" else 10, sizes).astype(dtype)
    return feed


def check(build, runtime, model, folder):
    """"" or what is wrong; None where the model refuses the inputs."""
    one = compiled(build, runtime, model, os.path.join(folder, "one.dynpkg"), [])
    if any(dtype is None for _, dtype, _ in one.inputs):
        return None
    random = np.random.default_rng(1)
    feeds = [random_inputs(one, random) for _ in range(INSTANCES)]
    alone = []
    try:
        for feed in feeds:
            one.set(feed)
            one.run()
            alone.append(tensors(one))
    except contexts.Error:
        return None
    many = compiled(build, runtime, model, os.path.join(folder, "many.dynpkg"), ["--many", "all"])
    many.set({name: np.stack([feed[name] for feed in feeds]) for name in feeds[0]})
    many.run()
    for index, joined in enumerate(tensors(many)):
        for number, outputs in enumerate(alone):
            if joined is not None and measuring.difference([joined[number]], [outputs[index]]) > 1:
                return f"instance {number}, output {index}: the joined run gives something else"
    return ""


def main():
    build, models = sys.argv[1], sys.argv[2]
    runtime = contexts.package(build)
    ran, wrong = 0, []
    for name in sorted(os.listdir(models)):
        model = os.path.join(models, name, "model.onnx")
        if not os.path.exists(model):
            continue
        with tempfile.TemporaryDirectory() as folder:
            what = check(build, runtime, model, folder)
        ran += what is not None
        print(f"{name}: {'left out: it refuses the inputs' if what is None else what or 'as alone'}", flush=True)
        if what:
            wrong.append(name)
    if ran < MODELS_LEAST:
        print(f"only {ran} models ran, {MODELS_LEAST} are wanted")
    return 1 if wrong or ran < MODELS_LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
