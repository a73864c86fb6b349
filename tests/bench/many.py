#!/usr/bin/env python3
"""Many instances in one run (--many) beside the program of one, instance by instance, on the same inputs, in turn.

    ./dev bench many [--model NAME]... [--width N] [--count R]... [--threads N] [--seconds S] [--json]

Models are the text modules of samples/18_many, with random weights of the width. Times are those of the processor, since others may use it: medians of runs in turn. Printed for each count of
instances: how many times faster the joined run is, and the operations' launches per instance of both. Results are compared; a difference ends the program. Needs numpy.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import contexts
import measuring

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples", "18_many")
STEPS = 20


def weights(random, *shape):
    return (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def early_exit(random, d, r):
    own = {"x": random.standard_normal((r, d)).astype(np.float32)}
    return own, {"w0": weights(random, d, d), "w1": weights(random, d, d), "w2": weights(random, d, d), "head": weights(random, d, 4) * 2}


def experts(random, d, r):
    own = {"x": random.standard_normal((r, d)).astype(np.float32)}
    return own, {"gate": weights(random, d, 3), "a": weights(random, d, d), "b": weights(random, d, d), "c": weights(random, d, d)}


def lstm(random, d, r):
    own = {"x": random.standard_normal((r, STEPS, d)).astype(np.float32), "count": random.integers(STEPS // 4, STEPS + 1, r)}
    return own, {"w": weights(random, d, 4 * d), "u": weights(random, d, 4 * d), "b": np.zeros(4 * d, np.float32)}


def gru(random, d, r):
    own = {"x": random.standard_normal((r, STEPS, d)).astype(np.float32), "count": random.integers(STEPS // 4, STEPS + 1, r)}
    return own, {"w": weights(random, d, 3 * d), "u": weights(random, d, 3 * d)}


def greedy(random, d, r):
    own = {"start": random.standard_normal((r, d)).astype(np.float32)}
    return own, {"table": weights(random, 16, d) * 4, "w": weights(random, d, d), "out": weights(random, d, 16), "most": np.array(STEPS)}


def nested_rnn(random, d, r):
    own = {"x": random.standard_normal((r, d)).astype(np.float32), "outer": random.integers(2, 6, r), "inner": random.integers(2, 6, r)}
    return own, {"w": weights(random, d, d), "u": weights(random, d, d)}


def drnn(random, d, r):
    own = {"x": random.standard_normal((r, d)).astype(np.float32)}
    return own, {"left": weights(random, d, d), "right": weights(random, d, d)}


MODELS = {m.__name__: m for m in (early_exit, experts, lstm, gru, greedy, nested_rnn, drnn)}


def compiled(build, runtime, folder, name, many, threads):
    package = os.path.join(folder, f"{name}{'.many' if many else ''}.dynpkg")
    options = ["--many", "+".join(many)] if many else []
    subprocess.run([f"{build}/bin/dynrepl", "compile", os.path.join(FOLDER, f"{name}.dyn"), "-o", package, "--quiet", *options], check=True, stdout=subprocess.DEVNULL)
    return contexts.opened(runtime, package, threads)


def tensors(module):
    """Outputs that are tensors, by place; None for lists."""
    return [output if isinstance(output, np.ndarray) else None for output in module.outputs()]


def measured(call, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        times.append(measuring.clock(call, time.process_time_ns))
    return times


def bench(options, runtime, folder, name):
    random = np.random.default_rng(1)
    own, shared = MODELS[name](random, options.width, max(options.count))
    own = {k: v.astype(np.int64) if v.dtype.kind == "i" else v for k, v in own.items()}
    one = compiled(options.build, runtime, folder, name, [], options.threads)
    many = compiled(options.build, runtime, folder, name, list(own), options.threads)
    rows = []
    for r in options.count:
        feeds = [{k: v[i] for k, v in own.items()} | shared for i in range(r)]
        together = {k: np.ascontiguousarray(v[:r]) for k, v in own.items()} | shared
        alone, launches = [], 0
        for feed in feeds:
            one.set(feed)
            one.run()
            alone.append(tensors(one))
            launches += one.statistics.launches_count
        many.set(together)
        many.run()
        joined = tensors(many)
        for i, outputs in enumerate(alone):
            pairs = [(a[i], b) for a, b in zip(joined, outputs, strict=True) if a is not None]
            if measuring.difference([a for a, _ in pairs], [b for _, b in pairs]) > 1:
                sys.exit(f"{name}, instance {i} of {r}: the joined run gives something else")
        joined_launches = many.statistics.launches_count

        def by_one():
            for feed in feeds:
                one.set(feed)
                one.run()

        def joined_run():
            many.set(together)
            many.run()

        times = {by_one: [], joined_run: []}
        for _ in range(options.rounds):
            for call in times:
                times[call] += measured(call, options.seconds / (2 * options.rounds))
        alone_ns, joined_ns = (float(np.median(t)) for t in times.values())
        rows.append({"model": name, "count": r, "alone_us": alone_ns / 1e3 / r, "joined_us": joined_ns / 1e3 / r, "ratio": alone_ns / joined_ns,
                     "launches_alone": launches / r, "launches_joined": joined_launches / r})
        if not options.json:
            row = rows[-1]
            print(f"{name:11} r={r:<3} {row['alone_us']:9.1f} us alone {row['joined_us']:9.1f} us joined, per instance: {row['ratio']:6.2f}x   "
                  f"launches {row['launches_alone']:7.1f} and {row['launches_joined']:6.1f}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--model", action="append", choices=sorted(MODELS))
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--count", type=int, action="append")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2, help="for each model and count")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.count = options.count or [1, 8, 64]
    runtime = contexts.package(options.build)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.model or MODELS:
            rows += bench(options, runtime, folder, name)
    if options.json:
        print(json.dumps({"processor": measuring.cpu_name(), "threads": options.threads, "width": options.width, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
