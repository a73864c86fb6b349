#!/usr/bin/env python3
"""What dynamic shapes cost: the dynamic build of a model beside our own build for one shape, in one process, in turn, on the same inputs.

    ./dev bench dynamism MODEL.onnx --shape batch=1,seq=59 [--shape ...] [--threads N] [--seconds S] [--json]

Printed: the medians of both, and the ratio (dynamic / static, so 1.00 is free) with the middle half of the ratios of neighbouring pairs. Needs numpy.
"""
import argparse
import json
import sys
import time

import numpy as np

import contexts
import feeds
import measuring


def measure(dynamic, static, dims, seconds):
    inputs = feeds.feed(dynamic.inputs, dims)
    for module in (dynamic, static):
        module.set(inputs)
        module.run()
    error = measuring.difference(dynamic.outputs(), static.outputs())
    first, second = [], []
    end = time.monotonic() + seconds
    while len(first) < 5 or time.monotonic() < end:
        first.append(measuring.clock(dynamic.run))
        second.append(measuring.clock(static.run))
    ratios = np.array(first) / np.array(second)
    return {"dims": dims, "error": error, "dynamic_ns": float(np.median(first)), "static_ns": float(np.median(second)),
            "ratio": float(np.median(ratios)), "ratio_quartiles": [float(np.percentile(ratios, q)) for q in (25, 75)],
            "runs_count": len(first)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--shape", action="append", required=True, metavar="NAME=N,...")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    dynamic = contexts.load(arguments.build, arguments.model, arguments.threads)
    if not arguments.json:
        print(f"{arguments.model}, {arguments.threads} thread(s), {measuring.cpu_name()}")
        print(f"{'shape':32}{'dynamic us':>12}{'static us':>12}{'ratio':>8}   quartiles")
    for text in arguments.shape:
        dims = measuring.parse_shape(text)
        fixed = [part for dim, size in dims.items() for part in ("--dim", f"{dim}={size}")]
        static = contexts.load(arguments.build, arguments.model, arguments.threads, fixed)
        row = measure(dynamic, static, dims, arguments.seconds)
        rows.append(row)
        if not arguments.json:
            low, high = row["ratio_quartiles"]
            print(f"{text:32}{row['dynamic_ns'] / 1000:>12.1f}{row['static_ns'] / 1000:>12.1f}{row['ratio']:>8.3f}"
                  f"   {low:.3f}..{high:.3f}{'' if row['error'] <= 1 else '  DIFFERS'}", flush=True)
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench dynamism", "model": arguments.model, "threads": arguments.threads,
                          "cpu": measuring.cpu_name(), "rows": rows}))
    elif len(rows) > 1:
        print(f"geometric mean of {len(rows)} ratios: {np.exp(np.mean([np.log(r['ratio']) for r in rows])):.3f}")
    return 3 if any(r["error"] > 1 for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
