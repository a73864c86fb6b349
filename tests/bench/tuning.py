#!/usr/bin/env python3
"""One tuning of eight lengths with a quarter of the trials, beside eight tunings of one length each with all of them.

    ./dev bench tuning [--depth K] [--columns N] [--threads T] [--rounds R]

The model is one product with constant weights. Printed: the trials of either way, and for each length the time with the versions of the one tuning over the time
with those of its own (runs in turn, best of each round; the geometric mean over the lengths is the quality). Needs numpy.
"""
import argparse
import json
import math
import os
import subprocess
import tempfile

import numpy as np

LENGTHS = [24, 59, 90, 128, 177, 230, 301, 384]


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip() or done.stdout.strip())
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help=argparse.SUPPRESS)
    parser.add_argument("--depth", type=int, default=1600)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    program, threads = os.path.join(options.build, "bin", "dynrepl"), ["--threads", str(options.threads)]
    with tempfile.TemporaryDirectory() as folder:
        model, lengths = os.path.join(folder, "product.dyn"), os.path.join(folder, "lengths.txt")
        weights = np.random.default_rng(1).standard_normal((options.depth, options.columns))
        with open(model, "w") as text:
            size = f"{options.depth}, {options.columns}"
            rows = ", ".join("[" + ", ".join(f"{w:.3f}" for w in row) + "]" for row in weights)
            text.write(f"fn @main(%x: Tensor[(n, {options.depth}), f32]) {{ %w = constant() {{value = f32[{size}] [{rows}]}} %y = matmul(%x, %w) return %y }}")
        with open(lengths, "w") as text:
            text.write("".join(f"{length}\n" for length in LENGTHS))

        def tuned(name, dim, *more):
            file = os.path.join(folder, name)
            result = run([program, "tune", model, "--dim", dim, "--seconds", "8", "-o", file, "--json", *threads, *more])
            return file, result["trials_count"], result["operations"][0]["chosen"]

        own, separate = {}, 0
        for length in LENGTHS:
            own[length], trials, chosen = tuned(f"{length}.json", f"n={length}")
            separate += trials
            print(f"length {length}: {trials} trials, {chosen}")
        together, trials, chosen = tuned("together.json", f"n=@{lengths}", "--trials", str(separate // 4))
        print(f"together: {trials} trials of {separate}, {chosen}")

        def best(length, file):
            ran = run([program, "run", model, "--dim", f"n={length}", "--tuning", file, "--repeat", "20", "--json", *threads])
            return min(one["ns"] for one in ran["runs"])

        ratios = []
        for length in LENGTHS:
            ours, theirs = math.inf, math.inf
            for _ in range(options.rounds):
                ours, theirs = min(ours, best(length, together)), min(theirs, best(length, own[length]))
            ratios.append(ours / theirs)
            print(f"length {length}: {ours / 1e3:.1f} us together, {theirs / 1e3:.1f} us by itself, {ratios[-1]:.3f}")
        print(f"quality {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} (1: as good), worst {max(ratios):.3f}, trials {trials / separate:.2f}")


if __name__ == "__main__":
    main()
