#!/usr/bin/env python3
"""Branches at once: what stages (pass `stages`) gain over one operation after the other, on the same threads.

    ./dev bench branches MODEL.onnx... [--shape b=1,h=96,w=96]... [--cores 1,2,4,8,16] [--real 2] [--rounds 5] [--json]

Cores are simulated (vm/include/dyn_cores.h): tasks run one after the other, each launch counts as its longest task; lanes count as the longest of them.
A stage tries both ways in its first eight runs; these are left out. --real N measures N threads of this machine, in turn with and without stages; where onnxruntime is there, its sequential and its parallel mode (N threads each, and N for operators at once) in the same turns. Printed: milliseconds without stages and the ratio (above 1: stages are faster).
Results with and without stages must be the same to the bit. Needs numpy.
"""
import argparse
import json
import sys
import time

import numpy as np

import contexts
import feeds
import measuring


def pair(build, model, cores, dims):
    modules = []
    for passes in ((), ("--passes", f"+stages{{threads={max(2, cores)}}}")):
        module = contexts.load(build, model, cores, options=("--threads", str(cores), *passes))
        module.set(feeds.feed(module.inputs, dims))
        modules.append(module)
    return modules


def outputs(module):
    module.run()
    return [np.array(value).tobytes() for value in module.outputs()]


def simulated(build, model, cores, dims, rounds):
    modules = pair(build, model, cores, dims)
    if cores > 1:
        for module in modules:
            module.simulate_threads()
    least = [float("inf")] * 2
    for _ in range(rounds + 10):
        for i, module in enumerate(modules):
            began = time.thread_time_ns()
            module.run()
            ns = module.statistics.run_ns if cores > 1 else time.thread_time_ns() - began
            least[i] = min(least[i], ns)
    return least


def theirs(model, cores, inputs):
    """Runs of onnxruntime, one operator after the other and several at once; none where it is absent."""
    try:
        import onnxruntime
    except ImportError:
        return []
    runs = []
    for mode in (onnxruntime.ExecutionMode.ORT_SEQUENTIAL, onnxruntime.ExecutionMode.ORT_PARALLEL):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = cores
        options.execution_mode = mode
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        given = {one.name: inputs[one.name] for one in session.get_inputs()}
        runs.append(lambda session=session, given=given: session.run(None, given))
    return runs


def real(build, model, cores, dims, rounds):
    modules = pair(build, model, cores, dims)
    runs = [module.run for module in modules] + theirs(model, cores, feeds.feed(modules[0].inputs, dims))
    least, ratios = [float("inf")] * len(runs), []
    for turn in range(8 * rounds + 12):
        times = [measuring.clock(run) for run in runs]
        if turn < 12:
            continue
        ratios.append(times[0] / times[1])
        least = [min(a, b) for a, b in zip(least, times)]
    return least, float(np.median(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--shape", action="append", default=[], help="NAME=SIZE,...; one for all models, or one for each")
    parser.add_argument("--cores", default="1,2,4,8,16")
    parser.add_argument("--real", type=int, default=0, metavar="N")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    shapes = arguments.shape or [""]
    counts = [int(count) for count in arguments.cores.split(",")]
    rows = []
    for i, model in enumerate(arguments.models):
        dims = measuring.parse_shape(shapes[i if len(shapes) > 1 else 0])
        plain, staged = pair(arguments.build, model, 4, dims)
        row = {"model": model, "dims": dims, "same": outputs(plain) == outputs(staged), "simulated": [], "real": None}
        for count in counts:
            a, b = simulated(arguments.build, model, count, dims, arguments.rounds)
            row["simulated"].append({"cores": count, "ns": a, "staged_ns": b, "ratio": a / b})
        if arguments.real:
            (a, b, *others), median = real(arguments.build, model, arguments.real, dims, arguments.rounds)
            row["real"] = {"cores": arguments.real, "ns": a, "staged_ns": b, "ratio": a / b, "median_ratio": median,
                           "onnxruntime_ns": others[0] if others else None, "onnxruntime_parallel_ns": others[1] if others else None}
        rows.append(row)
        if not arguments.json:
            print(f"{model} {dims}" + ("" if row["same"] else "  RESULTS DIFFER"))
            for s in row["simulated"]:
                print(f"  {s['cores']:3} cores, simulated {s['ns'] / 1e6:10.3f} ms {s['ratio']:6.2f}")
            if row["real"]:
                r = row["real"]
                print(f"  {r['cores']:3} threads, real    {r['ns'] / 1e6:10.3f} ms {r['ratio']:6.2f} (median of pairs {r['median_ratio']:.2f})", flush=True)
                if r["onnxruntime_ns"]:
                    print(f"      onnxruntime      {r['onnxruntime_ns'] / 1e6:10.3f} ms, its parallel mode {r['onnxruntime_parallel_ns'] / 1e6:.3f} ms")
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench branches", "cpu": measuring.cpu_name(), "rows": rows}))
    return 0 if all(row["same"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
