#!/usr/bin/env python3
"""From the start of a process to its first result, beside onnxruntime, and the memory that is the process's alone.

    ./dev bench start [MODEL] [--shape batch=1,seq=16] [--rounds 5] [--threads 1] [--seconds 2] [--cpu] [--json]

Without a model: BERT-base with random weights, written by tests/models/large_models.py (needs onnx). Every run is a process of its own, ours and theirs in turn:

    cold       dynrepl run of the model itself, without a cache: all is compiled
    model      the same, everything it wants in the object cache
    package    dynrepl run of its package
    theirs     onnxruntime, the session and its first run alone: Python and the import are not counted; of ours the whole process is

--cpu: the time of the processor instead of the clock's, for machines busy with other work. Memory: what /proc says is private of a process that repeats the run, without the mapped weights. onnxruntime keeps its weights in private memory.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import measuring

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
THEIRS = """
import json, sys, time
import numpy as np, onnxruntime
path, threads, sizes = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
clock = time.process_time if sys.argv[4] == "cpu" else time.perf_counter
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
start = clock()
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
types = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}
feeds = {i.name: np.ones([sizes.get(d, 1) if isinstance(d, str) else d for d in i.shape], types[i.type]) for i in session.get_inputs()}
session.run(None, feeds)
took = clock() - start
private = sum(int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Private"))
print(took, private * 1024)
"""


def default_model(folder):
    sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
    import large_models
    return large_models.write(folder, ["bert_base"])[0]


def seconds_of(command, cpu):
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return used.ru_utime + used.ru_stime if cpu else time.perf_counter() - start


def private_bytes(pid, weights):
    """Of the mappings of no file in `weights` (endings of names)."""
    total, counted = 0, True
    with open(f"/proc/{pid}/smaps") as maps:
        for line in maps:
            words = line.split()
            if not words[0].endswith(":"):
                counted = not (len(words) > 5 and words[5].endswith(tuple(weights)))
            elif counted and words[0].startswith("Private"):
                total += int(words[1]) * 1024
    return total


def most_private(command, weights, seconds):
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most, end = 0, time.perf_counter() + seconds
    try:
        while child.poll() is None and time.perf_counter() < end:
            try:
                most = max(most, private_bytes(child.pid, weights))
            except (FileNotFoundError, ProcessLookupError):
                break
            time.sleep(0.02)
    finally:
        child.kill()
        child.wait()
    return most


def measure(arguments, model, folder):
    shape = measuring.parse_shape(arguments.shape)
    dynrepl, cache = os.path.join(arguments.build, "bin", "dynrepl"), os.path.join(folder, "cache")
    plain = ["--threads", str(arguments.threads), "--quiet"]
    options = ["--cache-dir", cache] + plain
    sizes = [word for name, size in shape.items() for word in ("--dim", f"{name}={size}")]
    package = os.path.join(folder, "model.dynpkg")
    ours = {"cold": [dynrepl, "run", model] + sizes + ["--cache-dir", "none"] + plain, "model": [dynrepl, "run", model] + sizes + options,
            "package": [dynrepl, "run", package] + sizes + options}
    theirs = [sys.executable, "-c", THEIRS, model, str(arguments.threads), json.dumps(shape), "cpu" if arguments.cpu else "clock"]
    time.sleep(3)  # a file that has just been written has no name in the cache yet
    first = seconds_of(ours["model"], arguments.cpu)
    subprocess.run([dynrepl, "compile", model, "-o", package] + options, check=True, stdout=subprocess.DEVNULL)
    times, their_memory = {name: [] for name in [*ours, "theirs"]}, []
    for _ in range(arguments.rounds):
        for name, command in ours.items():
            times[name].append(seconds_of(command, arguments.cpu))
        took, memory = subprocess.run(theirs, check=True, capture_output=True, text=True).stdout.split()
        times["theirs"].append(float(took))
        their_memory.append(int(memory))
    weights = [".dynweights", os.path.basename(model), os.path.basename(package)]
    rows = {}
    for name in ours:
        ratios = [a / b for a, b in zip(times[name], times["theirs"])]
        rows[name] = {"seconds": statistics.median(times[name]), "ratio": statistics.median(ratios), "ratios": ratios,
                      "private_bytes": most_private(ours[name] + ["--repeat", "1000000"], weights, arguments.seconds)}
    rows["theirs"] = {"seconds": statistics.median(times["theirs"]), "private_bytes": statistics.median(their_memory)}
    return {"model": model, "shape": shape, "threads": arguments.threads, "first_seconds": first, "rows": rows}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench start", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--shape", default="batch=1,seq=16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(arguments, arguments.model or default_model(folder), folder)
    if arguments.json:
        print(json.dumps(result))
        return
    print(f"{result['model']} {arguments.shape}, {arguments.threads} threads; the first start of all, nothing cached: {result['first_seconds']:.2f} s")
    print("| start to first result | seconds | of onnxruntime's | private MB beside the weights |\n|---|---|---|---|")
    for name, row in result["rows"].items():
        print(f"| {name} | {row['seconds']:.3f} | {row.get('ratio', 1):.2f} | {row['private_bytes'] / 1e6:.0f} |")


if __name__ == "__main__":
    main()
