#!/usr/bin/env python3
"""How near the machine's limits a model's kernels come, and where the time beyond them goes.

    ./dev bench roofline MODEL [--dim NAME=SIZE]... [--threads N] [--runs N] [--losses N] [--json]

Each launch has a bound: the time that its multiply-adds take at the measured rate of products of this machine, or its bytes at the measured rate of the memory that holds them, or a launch alone,
whichever is longest (:bounds). Of each launch the fastest of the runs counts, so that other work disturbs little. Launches with one name and the same sizes are one row. A bound is measured, too:
where a launch is faster, it counts as its own bound. The losses are the rows with the most time beyond their bounds. Without a MODEL: the sample models.
"""
import argparse
import json
import os
import subprocess
import sys

import measuring

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SAMPLES = {
    "bert": ["batch=1", "seq=128"],
    "gpt2": ["batch=1", "seq=1", "past=63"],
    "espcn": ["batch=1", "h=128", "w=128"],
    "lstm": ["batch=1", "seq=64"],
    "ssd": ["h=128", "w=128"],
}


def profiles(program, model, dims, threads, runs):
    """The rows of :bounds of several runs in one session."""
    run = ":profile " + " ".join("--dim " + dim for dim in dims)
    lines = [":load " + model] + [run, ":bounds"] * (runs + 1)
    command = [program, "--json", "--threads", str(threads)] + [word for line in lines for word in ("-e", line)]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"roofline: {model}: {done.stderr.strip() or done.stdout.strip()}")
    if done.returncode:
        error = answer.get("error") or {}
        sys.exit(f"roofline: {model}: {error.get('message') or done.stderr.strip()}")
    found = [result["kernels"] for result in answer["results"] if result["line"] == ":bounds"]
    return found[1:]  # the first one is warm-up


def rows_of(found):
    """Rows by name and sizes; of each launch the fastest run."""
    launches = {}
    for kernels in found:
        seen = {}
        for kernel in kernels:
            if not kernel.get("bound_ns"):
                continue
            key = (kernel["name"], kernel.get("dims", ""), kernel["place"])
            seen[key] = seen.get(key, 0) + 1
            mine = launches.setdefault(key + (seen[key],), kernel)
            if kernel["total_ns"] < mine["total_ns"]:
                launches[key + (seen[key],)] = kernel
    rows = {}
    for (name, dims, *_), kernel in launches.items():
        row = rows.setdefault((name, dims), {"name": name, "dims": dims, "launches_count": 0, "ns": 0, "bound_ns": 0, "bounds": {}, "place": kernel["place"]})
        bound = min(kernel["bound_ns"], kernel["total_ns"])
        row["launches_count"] += kernel["launches_count"]
        row["ns"] += kernel["total_ns"]
        row["bound_ns"] += bound
        row["bounds"][kernel["bound"]] = row["bounds"].get(kernel["bound"], 0) + bound
    for row in rows.values():
        bounds = row.pop("bounds")
        row["bound"] = max(bounds, key=bounds.get)
    return sorted(rows.values(), key=lambda row: row["bound_ns"] - row["ns"])


def table(model, dims, rows, losses):
    whole, bound = sum(row["ns"] for row in rows), sum(row["bound_ns"] for row in rows)
    if not whole:
        return f"{model}: no kernel of it has a bound"
    lines = [f"{model} ({', '.join(dims)}): {bound / whole:.0%} of the machine's limits; {whole / 1e3:.1f} us in {sum(row['launches_count'] for row in rows)} launches"]
    lines.append(f"  {'beyond':>9} {'share':>6} {'of bound':>8}  {'bound by':9} {'launches':>8}  name, sizes")
    for row in rows[:losses]:
        lines.append(f"  {(row['ns'] - row['bound_ns']) / 1e3:6.1f} us {(row['ns'] - row['bound_ns']) / whole:6.1%} {row['bound_ns'] / row['ns']:8.0%}  {row['bound']:9} {row['launches_count']:8}  {row['name']}  {row['dims']}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help=argparse.SUPPRESS)
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--losses", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.dim and not options.models:
        sys.exit("roofline: --dim goes with a model")
    program = os.path.join(options.build, "bin", "dynrepl")
    wanted = [(model, options.dim) for model in options.models]
    wanted = wanted or [(os.path.join(ROOT, "samples", "models", name, "model.onnx"), dims) for name, dims in SAMPLES.items()]
    results = []
    for model, dims in wanted:
        rows = rows_of(profiles(program, model, dims, options.threads, options.runs))
        name = os.path.relpath(model, ROOT) if model.startswith(ROOT) else model
        results.append({"model": name, "dims": dims, "rows": rows})
        if not options.json:
            print(table(name, dims, rows, options.losses), flush=True)
    if options.json:
        print(json.dumps({"schema": 1, "command": "bench roofline", "machine": measuring.cpu_name(), "threads": options.threads, "models": results}))
    else:
        print(f"{measuring.cpu_name()}, {options.threads} thread{'s' if options.threads > 1 else ''}, the fastest of {options.runs} runs")


if __name__ == "__main__":
    main()
