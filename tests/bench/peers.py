#!/usr/bin/env python3
"""Dyn beside onnxruntime, in one process, in turn, on the same inputs.

    ./dev bench peers MODEL.onnx --shape batch=1,seq=59 [--shape ...] [--threads N] [--seconds S] [--cpu] [--peer OTHER.onnx] [--profile] [--json]

Each shape is run A B A B for about S seconds (with several threads four runs of each in turn); the outputs are compared first. Printed: minimum, median and 90th percentile of both, and the
ratio of the medians (onnxruntime's time / ours, so above 1 Dyn is faster) with the middle half of the ratios of neighbouring pairs.
--cpu: time of the processor instead of the clock's, of one thread: for machines busy with other work. --peer: what onnxruntime runs, such as the same model in f32; its results
are then only compared in shape, and printed as the error is how far apart they are, as a share of the largest.
Needs numpy and onnxruntime.
"""
import argparse
import functools
import json
import sys
import time

import numpy as np

import contexts
import feeds
import measuring


def peer_session(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def measure(module, session, inputs, seconds, threads, clock, apart):
    module.set(inputs)
    module.run()
    wide = {given.name for given in session.get_inputs() if given.type == "tensor(float)"}
    inputs = {name: array.astype(np.float32) if name in wide else array for name, array in inputs.items()}
    error = apart(module.outputs(), session.run(None, inputs))
    ours, theirs = [], []
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    end = time.monotonic() + seconds
    runs = ((ours, module.run), (theirs, lambda: session.run_with_iobinding(binding)))
    while len(ours) < 5 or time.monotonic() < end:
        for times, run in runs:
            if threads == 1:
                times.append(clock(run))
                continue
            measuring.wake(run)
            times.extend(clock(run) for _ in range(4))
    ratios = np.sort(np.array(theirs) / np.array(ours))
    quantiles = lambda times: [float(np.percentile(times, q)) for q in (0, 50, 90)]
    return {"error": error, "ours_ns": quantiles(ours), "peer_ns": quantiles(theirs), "runs_count": len(ours),
            "ratio": float(np.median(theirs) / np.median(ours)),
            "ratio_quartiles": [float(np.percentile(ratios, q)) for q in (25, 75)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=N,...")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--math", default="fp32", help="of our build: fp32 or bf16")
    parser.add_argument("--cpu", action="store_true", help="time of the processor, of one thread")
    parser.add_argument("--peer", metavar="MODEL.onnx", help="what onnxruntime runs; default: the same model")
    parser.add_argument("--profile", action="store_true", help="print Dyn's time per kernel for each shape")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.cpu and arguments.threads != 1:
        parser.error("--cpu counts the time of one thread")
    clock = functools.partial(measuring.clock, now=time.thread_time_ns) if arguments.cpu else measuring.clock
    try:
        import onnxruntime
    except ImportError:
        sys.exit("peers: skipped: onnxruntime is not installed (pip install onnxruntime)")
    module = contexts.load(arguments.build, arguments.model, arguments.threads, ("--math", arguments.math))
    session = peer_session(arguments.peer or arguments.model, arguments.threads)
    rows = []
    if not arguments.json:
        print(f"{arguments.model}, {arguments.threads} thread(s), {measuring.cpu_name()}, onnxruntime {onnxruntime.__version__}")
        print(f"{'shape':32}{'dyn p50':>12}{'peer p50':>12}{'ratio':>8}   quartiles    dyn min/p90, peer min/p90 [us]; error")
    for text in arguments.shape or [""]:
        dims = measuring.parse_shape(text)
        row = {"dims": dims} | measure(module, session, feeds.feed(module.inputs, dims), arguments.seconds, arguments.threads, clock,
                                         measuring.apart if arguments.peer else measuring.difference)
        rows.append(row)
        if arguments.json:
            continue
        us = lambda ns: f"{ns / 1000:.1f}"
        a, b = row["ours_ns"], row["peer_ns"]
        low, high = row["ratio_quartiles"]
        print(f"{text:32}{us(a[1]):>12}{us(b[1]):>12}{row['ratio']:>8.2f}   {low:.2f}..{high:.2f}"
              f"   {us(a[0])}/{us(a[2])}, {us(b[0])}/{us(b[2])}; {row['error']:.2g}{'' if row['error'] <= 1 or arguments.peer else '  DIFFERS'}", flush=True)
        if arguments.profile:
            print(module.profile_head())
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench peers", "model": arguments.model, "threads": arguments.threads, "cpu": measuring.cpu_name(),
                          "peer": f"onnxruntime {onnxruntime.__version__}", "rows": rows}))
    elif len(rows) > 1:
        print(f"geometric mean of {len(rows)} ratios: {np.exp(np.mean([np.log(r['ratio']) for r in rows])):.3f}")
    return 3 if arguments.math == "fp32" and not arguments.peer and any(r["error"] > 1 for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
