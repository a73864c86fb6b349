#!/usr/bin/env python3
"""Every ONNX file of a folder beside onnxruntime, at several shapes, in one process, in turn: are the results equal, and who is faster?

    ./dev bench exported FOLDER [NAME...] [--shape NAME=N,...]... [--seconds S]

Names that a model does not have are passed over, so that one list of shapes serves images, texts and sounds; default: the three of SHAPES. Printed: per model and shape
the ratio of the medians of the processor's time (onnxruntime's / ours: above 1 Dyn is faster), ours in milliseconds, and the largest error in units of 1e-5 + 1e-4 |x|.
One thread. public_models.py fills such a folder. Needs numpy and onnxruntime.
"""
import argparse
import pathlib
import sys
import time

import numpy as np

import contexts
import feeds
import measuring
import peers

SHAPES = ("batch=1,h=224,w=224,frames=8,seq=59,decoded=17,samples=16000", "batch=2,h=160,w=256,frames=8,seq=17,decoded=5,samples=9000",
          "batch=3,h=256,w=192,frames=12,seq=1,decoded=1,samples=12345")


def compare(module, session, feed, seconds):
    """(error, ratio, our milliseconds)"""
    module.set(feed)
    module.run()
    error = measuring.difference(module.outputs(), session.run(None, feed))
    times = ([], [])
    end = time.monotonic() + seconds
    while len(times[0]) < 3 or time.monotonic() < end:
        for mine, run in zip(times, (module.run, lambda: session.run(None, feed))):
            start = time.process_time_ns()
            run()
            mine.append(time.process_time_ns() - start)
    ours, theirs = map(np.median, times)
    return error, theirs / ours, ours / 1e6


def one(build, path, shapes, seconds):
    module, session = contexts.load(build, str(path)), peers.peer_session(str(path), 1)
    known = {input.name for input in session.get_inputs()}
    module.inputs = [input for input in module.inputs if input[0] in known]
    rows = []
    for shape in shapes:
        feed = feeds.feed(module.inputs, measuring.parse_shape(shape))
        try:
            session.run(None, feed)
        except Exception as fault:  # a model exported for one size
            print(f"  {path.stem} at {shape}: onnxruntime refuses: {str(fault).splitlines()[0][:100]}")
            continue
        rows.append(compare(module, session, feed, seconds))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--shape", action="append", metavar="NAME=N,...")
    parser.add_argument("--seconds", type=float, default=1.0, help="per model and shape")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    paths = [arguments.folder / f"{name}.onnx" for name in arguments.names] or sorted(arguments.folder.glob("*.onnx"))
    ratios, bad = [], 0
    for path in paths:
        try:
            rows = one(arguments.build, path, arguments.shape or SHAPES, arguments.seconds)
        except Exception as fault:
            print(f"{path.stem:36} {str(fault).splitlines()[0][:120]}", flush=True)
            bad += 1
            continue
        ratios += [[row[1] for row in rows]] if rows else []
        bad += any(row[0] > 1 for row in rows)
        print(f"{path.stem:36}" + "".join(f"{ratio:7.2f} ({ours:.1f} ms, {error:.2g})" for error, ratio, ours in rows), flush=True)
    if ratios:
        means = [np.exp(np.mean(np.log([row[k] for row in ratios if len(row) > k]))) for k in range(max(map(len, ratios)))]
        print(f"geometric means of {len(ratios)} models: " + ", ".join(f"{mean:.3f}" for mean in means) + f"; {bad} failed or differ")
    return 3 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
