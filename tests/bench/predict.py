#!/usr/bin/env python3
"""How near is the time that was predicted to the time that is measured? Models at random shapes, each predicted by `:predict` and run.

    ./dev bench predict MODEL.onnx --vary seq=1..128 [--vary ...] [--count 20] [--threads N] [--latency SECONDS] [--json]

Printed: predicted / measured for each shape (measured: the median of runs), and the median of how far it is off, |log ratio| as a factor. A model whose memory or
steps depend on values has no prediction; its reason is printed. With --latency the prediction is that of `:latency`, which measures other sizes for so many
seconds before; printed besides: how many shapes are inside of its interval, and within 15 %. Needs numpy.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import contexts
import feeds
import measuring

RUNS = 15
NEAR = 0.15


def measured_runs(build, model, vary, seconds, threads, file):
    """Runs `:latency` and returns its answer; the runs are written to the file."""
    ranges = [word for text in vary for word in ("--dim", text)]
    command = [f"{build}/bin/dynrepl", "latency", model, *ranges, "--seconds", str(seconds), "--threads", str(threads), "-o", file, "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["latency"]


def predictions(build, model, shapes, threads, runs):
    """What `:predict` says of the model at each of the shapes; the model is not made for them."""
    by = f" --runs {runs}" if runs else ""
    lines = [f":load {model}"] + [":predict " + " ".join(f"--dim {name}={size}" for name, size in dims.items()) + by for dims in shapes]
    command = [f"{build}/bin/dynrepl", "script", "-", "--json", "--quiet", "--keep-going", "--threads", str(threads)]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["results"][1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--vary", action="append", required=True, metavar="NAME=LOW..HIGH")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--latency", type=float, metavar="SECONDS", help="by the formula of :latency, which measures for so long")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    ranges = measuring.parse_ranges(arguments.vary)
    module = contexts.load(arguments.build, arguments.model, arguments.threads)
    random = np.random.default_rng(1)
    shapes = [{name: int(random.integers(low, high + 1)) for name, (low, high) in ranges.items()} for _ in range(arguments.count)]
    formula = None
    with tempfile.TemporaryDirectory() as folder:
        runs = str(pathlib.Path(folder) / "runs.json") if arguments.latency else None
        if runs:
            formula = measured_runs(arguments.build, arguments.model, arguments.vary, arguments.latency, arguments.threads, runs)
        answers = predictions(arguments.build, arguments.model, shapes, arguments.threads, runs)
    rows = []
    for dims, answer in zip(shapes, answers, strict=True):
        expected = answer.get("prediction")
        if expected is None or (formula and expected["by_runs"] is None):
            print(f"{arguments.model}: no prediction: {answer.get('error', {}).get('message', '')}")
            return 0
        module.set(feeds.feed(module.inputs, dims))
        for _ in range(3):
            module.run()
        measured = float(np.median([measuring.clock(module.run) for _ in range(RUNS)]))
        told = expected["by_runs"] if formula else expected
        rows.append({"dims": dims, "predicted_ns": told["time_ns"], "measured_ns": measured,
                     "inside": bool(formula and told["low_ns"] <= measured <= told["high_ns"]),
                     "peak_bytes": expected["peak_bytes"], "measured_peak_bytes": module.statistics.peak_bytes})
    ratios = np.array([row["predicted_ns"] / row["measured_ns"] for row in rows])
    off = float(np.median(np.maximum(ratios, 1 / ratios)) - 1)
    result = {"schema": 1, "command": "bench predict", "model": arguments.model, "threads": arguments.threads,
              "cpu": measuring.cpu_name(), "ratio_median": float(np.median(ratios)), "off_median": off, "rows": rows}
    if formula:
        near = int(np.sum(np.abs(1 / ratios - 1) <= NEAR))
        result |= {"formula": formula["formula"], "spread": formula["spread"], "inside_count": sum(row["inside"] for row in rows), "near_count": near}
    if arguments.json:
        print(json.dumps(result))
        return 0
    for row, ratio in zip(rows, ratios, strict=True):
        print(f"  {row['dims']}: predicted {row['predicted_ns'] / 1000:.1f} us, measured {row['measured_ns'] / 1000:.1f} us, {ratio:.2f}")
    print(f"{arguments.model}: predicted / measured {np.median(ratios):.2f} (middle half {np.percentile(ratios, 25):.2f}..{np.percentile(ratios, 75):.2f}), "
          f"off by {100 * off:.0f} % (median of {len(rows)})")
    if formula:
        print(f"{arguments.model}: time = {formula['formula']}; {result['inside_count']} of {len(rows)} inside of its interval "
              f"(1/{formula['spread']:.2f} to {formula['spread']:.2f}), {result['near_count']} within {100 * NEAR:.0f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
