#!/usr/bin/env python3
"""Chains of equal convolutions in planes beside channels last: what the factors of compiler/passes/layout/layout_cost.cpp are rounded from.

    ./dev bench layouts [KIND...] [--seconds S] [--build BUILD]

A chain is four convolutions with bias and ReLU and a mean over all places; p1: 1 x 1; w3, w5: windows; d3, d5: depthwise; g8, g16: groups of so many channels. Printed per kind, channels
and size of the image: time in planes / time with channels last, by the time of the processor, one thread, runs in turn; `!` where results differ. Needs numpy and onnx.
"""
import argparse
import os
import sys
import tempfile
import time

import numpy as np

import contexts
import measuring

CHANNELS, SIZES = (8, 16, 24, 32, 40, 44, 64, 72, 96, 128, 256), (112, 56, 28, 9)
MOST_STEPS = 5e8  # of one convolution
KINDS = {"p1": (1, lambda c: 1), "w3": (3, lambda c: 1), "w5": (5, lambda c: 1), "d3": (3, lambda c: c), "d5": (5, lambda c: c), "g8": (3, lambda c: max(1, c // 8)),
         "g16": (3, lambda c: max(1, c // 16))}


def save(path, channels, kernel, group, random):
    import onnx
    from onnx import helper, numpy_helper
    nodes, initializers, x = [], [], "x"
    for i in range(4):
        weights = random.standard_normal((channels, channels // group, kernel, kernel)) / np.sqrt(channels // group * kernel * kernel)
        initializers += [numpy_helper.from_array(weights.astype(np.float32), f"w{i}"), numpy_helper.from_array(np.zeros(channels, np.float32), f"b{i}")]
        nodes += [helper.make_node("Conv", [x, f"w{i}", f"b{i}"], [f"y{i}"], pads=[kernel // 2] * 4, kernel_shape=[kernel, kernel], group=group),
                  helper.make_node("Relu", [f"y{i}"], [f"r{i}"])]
        x = f"r{i}"
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["z"]))
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", 1, ["n", channels, "h", "w"])],
                              [helper.make_tensor_value_info("z", 1, ["n", channels, 1, 1])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def ratio(modules, x, seconds):
    """planes / last, and whether they agree."""
    for module in modules:
        module.set({"x": x})
        module.run()
    planes, last = (module.outputs()[0] for module in modules)
    times, end = [], time.monotonic() + seconds
    while len(times) < 5 or time.monotonic() < end:
        start = time.thread_time_ns()
        modules[0].run()
        between = time.thread_time_ns()
        modules[1].run()
        times.append((between - start) / max(1, time.thread_time_ns() - between))
    return float(np.median(times)), np.allclose(planes, last, 1e-3, 1e-4)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--seconds", type=float, default=0.15, help="per figure")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - set(KINDS):
        parser.error(f"no kind is called {', '.join(sorted(unknown))}")
    try:
        import onnx  # noqa: F401
    except ImportError:
        sys.exit("layouts: skipped: onnx is not installed (./dev setup test)")
    random = np.random.default_rng(0)
    print(f"1 thread, {measuring.cpu_name()}; planes / channels last")
    print(f"{'kind':6}{'channels':>9}" + "".join(f"{f'{size} x {size}':>12}" for size in SIZES))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chain.onnx")
        for kind in arguments.kinds or KINDS:
            kernel, groups = KINDS[kind]
            for channels in CHANNELS:
                group = groups(channels)
                if channels % group:
                    continue
                save(path, channels, kernel, group, random)
                modules = [contexts.load(arguments.build, path, 1, ["--passes=" + passes]) for passes in ("-layout", "+layout{regions=all}")]
                line = f"{kind:6}{channels:>9}"
                for size in SIZES:
                    if channels * channels // group * kernel * kernel * size * size > MOST_STEPS:
                        line += f"{'':>12}"
                        continue
                    value, same = ratio(modules, random.standard_normal((1, channels, size, size)).astype(np.float32), arguments.seconds)
                    wrong += not same
                    line += f"{value:>11.2f}{' ' if same else '!'}"
                print(line, flush=True)
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
