#!/usr/bin/env python3
"""Random programs in onnxruntime: does it make of them what our reference interpreter makes?

    random_programs.py FOLDER [-v] [--dynrepl PROGRAM]        as `differential --suite FOLDER` has written it

Outputs that are the same in every order of evaluation must be equal; others within 1e-3. Where onnxruntime gives something else or refuses a run, ONNX's own
evaluator is asked: if it agrees with us, that is counted; onnxruntime gives sums over nothing another shape, for one. A program that onnxruntime can't load, for an element type
one of its operators lacks, say, is counted as such, and so is one it crashes on. With --dynrepl the ONNX files are compiled and run, too, and must give what the programs
gave as text. Exit 3 when a run is left that neither confirms, or that we give another result. Needs numpy, onnx and onnxruntime.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx.reference
import onnxruntime


# A size of 0 that was computed: ONNX's Reshape takes it as "as before", unless it is told not to, and fails; we take it as written.
COMPUTED_ZERO = ("cannot be reshaped to the requested shape", "The dimension with value zero exceeds the dimension size")
# ONNX's evaluator cannot stack what a loop without iterations gives.
NO_ITERATIONS = "need at least one array to concatenate"


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # As the graph says: what its optimiser makes of it is not the question.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def difference(theirs, ours, exact):
    if theirs.shape != ours.shape:
        return f"shape {theirs.shape} instead of {ours.shape}"
    if theirs.dtype != ours.dtype:
        return f"{theirs.dtype} instead of {ours.dtype}"
    if exact or ours.dtype.kind != "f":
        same = np.array_equal(theirs, ours, equal_nan=ours.dtype.kind == "f")
    else:
        same = np.allclose(theirs, ours, rtol=1e-3, atol=1e-3, equal_nan=True)
    return "" if same else f"{theirs.ravel()[:6]} instead of {ours.ravel()[:6]}"


def is_mean_of_nothing(theirs, ours):
    """Do they differ only where onnxruntime gives 0 and we NaN? 0 / 0 is what the standard and NumPy make of a mean of no elements."""
    if theirs.shape != ours.shape or ours.dtype.kind != "f":
        return np.array_equal(theirs, ours)
    return bool(np.all(np.isclose(theirs, ours, rtol=1e-3, atol=1e-3, equal_nan=True) | ((theirs == 0) & np.isnan(ours))))


def check(run, evaluate, folder):
    """What is wrong with a run, as text; empty when the outputs are ours."""
    place = os.path.join(folder, run["folder"])
    feeds = {f"input_{i}": np.load(f"{place}/input_{i}.npy") for i in range(run["inputs"])}
    try:
        outputs = evaluate(feeds)
    except Exception as fault:  # neither evaluator has a class of its own for what it refuses
        return " ".join(str(fault).split())[:600] or type(fault).__name__
    for i, (output, exact) in enumerate(zip(outputs, run["exact"], strict=True)):
        found = difference(np.asarray(output), np.load(f"{place}/output_{i}.npy"), exact)
        if found:
            return f"output {i}: {found}"
    return ""


def check_each(run, peer, wanted, folder, holds):
    """Does `holds` hold of each of onnxruntime's outputs and ours?"""
    place = os.path.join(folder, run["folder"])
    feeds = {f"input_{i}": np.load(f"{place}/input_{i}.npy") for i in range(run["inputs"])}
    outputs = peer.run(None, {name: value for name, value in feeds.items() if name in wanted})
    return all(holds(np.asarray(output), np.load(f"{place}/output_{i}.npy")) for i, output in enumerate(outputs))


def compare(folder, model, runs):
    """Of one program: counts, what neither confirms, and why it was not loaded."""
    counts, unconfirmed = collections.Counter(), []
    try:
        peer = session(model)
    except Exception as fault:
        return {"not loaded": 1}, [], str(fault).splitlines()[0][-120:]
    wanted = {i.name for i in peer.get_inputs()}
    for run in runs:
        found = check(run, lambda feeds: peer.run(None, {name: value for name, value in feeds.items() if name in wanted}), folder)
        if any(text in found for text in COMPUTED_ZERO):
            continue
        counts["runs"] += 1
        if not found:
            continue
        second = check(run, lambda feeds: onnx.reference.ReferenceEvaluator(model).run(None, feeds), folder)
        if NO_ITERATIONS in second and check_each(run, peer, wanted, folder, is_mean_of_nothing):
            second = ""
        counts["settled"] += not second
        if second:
            unconfirmed.append(f"{run['folder']}: onnxruntime: {found}\n    ONNX's evaluator: {second}")
    return counts, unconfirmed, ""


def apart(*arguments):
    """compare() in a process of its own: onnxruntime crashes on some programs."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            json.dump(compare(*arguments), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if status == 0 else ({"crashed": 1}, [], "")


def compiled(dynrepl, folder, model, runs):
    """What the compiler makes of the ONNX file: what is wrong with its runs, each from one artefact."""
    with tempfile.TemporaryDirectory() as place:
        cases = os.path.join(place, "cases.jsonl")
        with open(cases, "w") as lines:
            for k, run in enumerate(runs):
                inputs = {f"input_{i}": f"@{folder}/{run['folder']}/input_{i}.npy" for i in range(run["inputs"])}
                lines.write(json.dumps({"inputs": inputs, "output_dir": f"{place}/{k}"}) + "\n")
        process = subprocess.run([dynrepl, "--cache-dir", "none", "run", model, "--cases", cases], capture_output=True, text=True, errors="replace")
        if process.returncode != 0:
            return [f"{model}: dynrepl ends with {process.returncode}: {process.stderr[-600:]}"]
        wrong = []
        for k, run in enumerate(runs):
            for i, exact in enumerate(run["exact"]):
                found = difference(np.load(f"{place}/{k}/output_{i}.npy"), np.load(f"{folder}/{run['folder']}/output_{i}.npy"), exact)
                if found:
                    wrong.append(f"{run['folder']}: output {i} of the compiled file: {found}")
                    break
        return wrong


def main():
    folder = sys.argv[1]
    dynrepl = sys.argv[sys.argv.index("--dynrepl") + 1] if "--dynrepl" in sys.argv else ""
    warnings.simplefilter("ignore")
    programs = collections.defaultdict(list)
    with open(f"{folder}/suite.jsonl") as lines:
        for run in map(json.loads, lines):
            programs[run["model"]].append(run)
    counts, reasons = collections.Counter(programs=len(programs)), collections.Counter()
    failed = 0
    for model, runs in programs.items():
        wrong = compiled(dynrepl, folder, os.path.join(folder, model), runs) if dynrepl else []
        counts["wrong"] += len(wrong)
        for text in wrong:
            print(text)
        found, unconfirmed, reason = apart(folder, os.path.join(folder, model), runs)
        counts.update(found)
        failed += len(unconfirmed)
        for text in unconfirmed:
            print(text[:1000])
        if reason:
            reasons[reason] += 1
    print(f"{counts['programs']} programs, {counts['runs']} runs: {counts['runs'] - counts['settled'] - failed} as in onnxruntime, {counts['settled']} only as in ONNX's "
          f"evaluator, {failed} as in neither; onnxruntime does not load {counts['not loaded']} programs and crashes on {counts['crashed']}")
    if "-v" in sys.argv:
        for text, count in reasons.most_common():
            print(f"  {count} {text}")
    if dynrepl:
        print(f"  {counts['wrong']} runs of the compiled files give something else")
    return 3 if failed or counts["wrong"] or counts["runs"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
