#!/usr/bin/env python3
"""What planning saves: a model beside the same model with one allocation for each tensor, and beside our own build for that one shape.

    ./dev bench memory MODEL.onnx --shape batch=1,seq=59 [--shape ...] [--threads N] [--runs N] [--json]

Printed for each shape: allocations of tensor memory in a warm run and the time they take (as the profile has it), planned and unplanned; the peak
beside that of the static build of this shape; and what a warm run asks the system for, which must be nothing. Needs numpy.
"""
import argparse
import json
import subprocess
import sys

import numpy as np

import contexts
import feeds
import measuring


def allocations(module, runs):
    """(how many in a run, ns they take: the median of several runs)"""
    counts, times = [], []
    for _ in range(runs):
        rows = [row for row in module.profile_table(1) if row["kind"] == "allocation"]
        counts.append(sum(row["count"] for row in rows))
        times.append(sum(row["total_ns"] for row in rows))
    return int(np.median(counts)), float(np.median(times))


def warm_statistics(module, inputs):
    module.set(inputs)
    for _ in range(3):
        module.run()
    return module.statistics


def measure(dynamic, unplanned, static, dims, runs):
    inputs = feeds.feed(dynamic.inputs, dims)
    ours, each = warm_statistics(dynamic, inputs), warm_statistics(unplanned, inputs)
    fixed = warm_statistics(static, inputs) if static else None
    count, time = allocations(dynamic, runs)
    each_count, each_time = allocations(unplanned, runs)
    return {"dims": dims, "allocations_count": count, "unplanned_allocations_count": each_count,
            "allocation_ns": time, "unplanned_allocation_ns": each_time,
            "peak_bytes": ours.peak_bytes, "unplanned_peak_bytes": each.peak_bytes, "static_peak_bytes": fixed.peak_bytes if fixed else None,
            "system_allocations_count": ours.allocations_count}


def static_build(arguments, dims):
    """The model for this one shape; None where it can't be had (a shape that depends on values stays open)."""
    fixed = [part for dim, size in dims.items() for part in ("--dim", f"{dim}={size}")]
    try:
        return contexts.load(arguments.build, arguments.model, arguments.threads, ["--static", *fixed])
    except subprocess.CalledProcessError:
        print(f"no static build for {dims}: what dynrepl says of it stands above", file=sys.stderr)
        return None


def over(ours, other):
    return f"{ours / other:.3f}" if other else "-"


def less(new, old):
    return f"{100 * (1 - new / old):.0f} %" if old else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--shape", action="append", required=True, metavar="NAME=N,...")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=51, help="profiled runs")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    dynamic = contexts.load(arguments.build, arguments.model, arguments.threads)
    unplanned = contexts.load(arguments.build, arguments.model, arguments.threads, ["--passes", "-plan"])
    rows = []
    if not arguments.json:
        print(f"{arguments.model}, {arguments.threads} thread(s), {measuring.cpu_name()}")
        print(f"{'shape':28}{'allocations':>14}{'less':>7}{'ns':>16}{'less':>7}{'peak bytes':>14}{'/ static':>10}{'/ unplanned':>13}{'system':>8}")
    for text in arguments.shape:
        dims = measuring.parse_shape(text)
        row = measure(dynamic, unplanned, static_build(arguments, dims), dims, arguments.runs)
        rows.append(row)
        if not arguments.json:
            counts = f"{row['allocations_count']} / {row['unplanned_allocations_count']}"
            times = f"{row['allocation_ns']:.0f} / {row['unplanned_allocation_ns']:.0f}"
            print(f"{text:28}{counts:>14}{less(row['allocations_count'], row['unplanned_allocations_count']):>7}{times:>16}"
                  f"{less(row['allocation_ns'], row['unplanned_allocation_ns']):>7}{row['peak_bytes']:>14}"
                  f"{over(row['peak_bytes'], row['static_peak_bytes']):>10}{over(row['peak_bytes'], row['unplanned_peak_bytes']):>13}"
                  f"{row['system_allocations_count']:>8}", flush=True)
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench memory", "model": arguments.model, "threads": arguments.threads,
                          "cpu": measuring.cpu_name(), "rows": rows}))
    return 3 if any(row["system_allocations_count"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
