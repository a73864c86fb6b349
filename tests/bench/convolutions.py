#!/usr/bin/env python3
"""Convolutions and pools beside onnxruntime over a grid of windows and sizes: where are the cliffs?

    ./dev bench convolutions [GROUP...] [--threads N] [--seconds S] [--below R] [--only TEXT]

Groups: depthwise, grouped, line (1-D), odd (1x1 images, windows as large as the image, few channels), deep (many weights for few places), padded (windows that
see more padding than image), transposed, pools. Each row is a model of one node with constant
weights, compiled for all sizes; ours and onnxruntime run in turn on the same input. Results are checked against sums in f64 first. Printed: the medians and the
ratio onnxruntime / ours, the worst last; with --below only rows under that ratio. Needs numpy, onnx and onnxruntime.
"""
import argparse
import itertools
import os
import sys
import tempfile
import time

import numpy as np

import contexts
import measuring
import peers


def row(op, channels, filters, groups, size, kernel, stride=1, dilation=1, batch=1, pad="same", rank=2, **attributes):
    reach = (kernel - 1) * dilation
    pads = {"same": (reach // 2, reach - reach // 2), "none": (0, 0), "left": (reach, 0)}[pad]
    return {"op": op, "channels": channels, "filters": filters, "groups": groups, "size": size, "kernel": kernel, "stride": stride, "dilation": dilation,
            "batch": batch, "pads": pads, "rank": rank, "attributes": attributes,
            "name": f"{op} n{batch} c{channels} f{filters} g{groups} {'x'.join([str(size)] * rank)} k{kernel} s{stride} d{dilation} {pad}"
                    + "".join(f" {key}={value}" for key, value in attributes.items())}


def depthwise(channels, size, kernel, **more):
    return row("Conv", channels, channels, channels, size, kernel, **more)


def rows_of(group):
    if group == "depthwise":
        yield from (depthwise(c, s, k, stride=t) for (c, s), k, t in itertools.product(((16, 112), (32, 112), (96, 56), (144, 28), (240, 14), (480, 14), (960, 7)), (3, 5, 7), (1, 2)))
        yield from (depthwise(c, s, 3, dilation=d) for (c, s), d in itertools.product(((32, 56), (240, 14), (960, 7)), (2, 4)))
        yield from (depthwise(c, s, 5, batch=4) for c, s in ((32, 112), (240, 14), (960, 7)))
        yield from (depthwise(c, s, k, pad=p) for (c, s), k, p in itertools.product(((32, 112), (240, 14)), (3, 5), ("none", "left")))
        yield from (depthwise(c, s, k, stride=3) for c, s, k in ((32, 112, 3), (240, 14, 5)))
        yield from (depthwise(c, s, k) for c, s, k in ((20, 33, 3), (100, 17, 5), (7, 63, 3), (64, 224, 3), (64, 31, 7)))
        yield from (depthwise(c, s, k, rank=1) for c, s, k in ((256, 1000, 31), (512, 59, 3), (1024, 200, 4)))
    elif group == "grouped":
        yield from (row("Conv", c, c, g, s, 3, stride=t) for (c, g, s), t in itertools.product(((64, 2, 56), (128, 32, 56), (256, 32, 28), (512, 32, 14), (96, 6, 28), (240, 60, 14)), (1, 2)))
        yield from (row("Conv", c, c, g, s, 1) for c, g, s in ((240, 3, 28), (480, 8, 14), (64, 4, 56)))
        yield from (row("Conv", c, 2 * c, c, s, 3) for c, s in ((32, 56), (128, 14)))
    elif group == "line":
        yield from (row("Conv", c, f, 1, s, k, stride=t, rank=1) for c, f, s, k, t in (
            (80, 512, 300, 3, 1), (512, 512, 300, 3, 2), (1, 64, 16000, 10, 5), (256, 256, 100, 1, 1), (64, 64, 1000, 5, 1), (3, 16, 4000, 7, 2), (512, 512, 20, 3, 1)))
        yield from (row("Conv", 64, 64, 1, 1000, 3, dilation=d, pad="left", rank=1) for d in (1, 8))
    elif group == "odd":
        yield from (row("Conv", c, f, 1, 1, 1) for c, f in ((512, 128), (1280, 1000), (64, 64)))
        yield from (row("Conv", c, f, 1, 1, 3) for c, f in ((256, 256),))
        yield from (row("Conv", c, f, 1, s, s, pad="none", stride=1) for c, f, s in ((512, 512, 7), (64, 128, 14), (3, 64, 32)))
        yield from (row("Conv", 3, 768, 1, 224, k, stride=k, pad="none") for k in (14, 16, 32))
        yield from (row("Conv", c, f, 1, s, k) for c, f, s, k in ((1, 1, 224, 3), (1, 8, 112, 5), (3, 3, 224, 7), (2, 4, 56, 3), (4, 1, 112, 1), (64, 1, 56, 1), (1, 32, 28, 3), (16, 2, 64, 3)))
        yield from (row("Conv", c, f, 1, s, k, stride=2) for c, f, s, k in ((3, 32, 224, 3), (3, 64, 224, 7), (24, 72, 28, 1), (128, 256, 28, 1)))
        yield from (row("Conv", 64, 64, 1, 28, 3, dilation=d) for d in (2, 6))
        yield from (row("Conv", 512, 512, 1, 7, 3, batch=b) for b in (1, 4))
        yield from (row("Conv", 8, 8, 1, s, 3, rank=3) for s in (16,))
    elif group == "deep":
        yield from (row("Conv", c, c, 1, s, 3) for c, s in itertools.product((128, 256, 512), (2, 3, 5, 7, 10, 14)))
        yield from (row("Conv", c, 2 * c, 1, s, 3, stride=2) for c, s in itertools.product((128, 256), (4, 7, 14, 28)))
        yield from (row("Conv", c, f, 1, s, 1) for c, f in ((512, 2048), (2048, 512), (256, 1024)) for s in (1, 3, 7, 14))
    elif group == "padded":
        yield from (row("Conv", c, c, 1, 1, 3) for c in (64, 128, 512))
        yield from (row("Conv", c, c, 1, s, k) for c in (64, 192) for s, k in ((1, 5), (2, 5), (3, 5), (1, 7), (3, 7)))
        yield from (row("Conv", 256, 256, 1, s, 3, dilation=d) for s, d in ((1, 2), (3, 2), (3, 3), (7, 12), (14, 12)))
        yield from (row("Conv", 256, 256, 1, s, 3, stride=2) for s in (1, 2, 3))
        yield from (row("Conv", 256, 256, 1, s, k, rank=1) for s, k in ((1, 3), (1, 9), (3, 9)))
    elif group == "transposed":
        yield from (row("ConvTranspose", c, f, 1, s, k, stride=t, pad="none") for c, f, s, k, t in (
            (64, 32, 28, 2, 2), (256, 128, 14, 4, 2), (32, 16, 56, 3, 2), (128, 64, 7, 3, 1), (512, 256, 4, 4, 2), (16, 3, 64, 4, 2)))
        yield row("ConvTranspose", 32, 32, 32, 28, 4, stride=2, pad="none")
        yield from (row("ConvTranspose", 128, 64, 1, 100, k, stride=t, pad="none", rank=1) for k, t in ((16, 8), (4, 2)))
    elif group == "pools":
        yield from (row(op, c, c, c, s, k, stride=t) for op in ("MaxPool", "AveragePool")
                    for c, s, k, t in ((64, 112, 3, 2), (256, 14, 3, 1), (512, 7, 3, 1), (64, 56, 2, 2), (480, 14, 5, 1), (16, 28, 13, 1), (32, 112, 2, 2), (960, 7, 7, 1)))
        yield from (row("AveragePool", c, c, c, s, s, pad="none") for c, s in ((960, 7), (256, 14)))
        yield from (row("GlobalAveragePool", c, c, c, s, s) for c, s in ((960, 7), (64, 56), (2048, 7)))
        yield from (row("MaxPool", 128, 128, 128, 500, k, stride=t, rank=1) for k, t in ((2, 2), (3, 1)))
        yield row("MaxPool", 32, 32, 32, 112, 3, stride=2, ceil_mode=1)


GROUPS = ("depthwise", "grouped", "line", "odd", "deep", "padded", "transposed", "pools")


def model_of(r, folder, random):
    from onnx import helper, numpy_helper, save
    rank, constants = r["rank"], []
    attributes = dict(r["attributes"])
    if r["op"] != "GlobalAveragePool":
        attributes |= {"kernel_shape": [r["kernel"]] * rank, "strides": [r["stride"]] * rank, "pads": [r["pads"][0]] * rank + [r["pads"][1]] * rank}
    if r["op"].startswith("Conv"):
        attributes |= {"group": r["groups"], "dilations": [r["dilation"]] * rank}
        first, second = (r["filters"], r["channels"]) if r["op"] == "Conv" else (r["channels"], r["filters"])
        shape = (first, second // r["groups"], *[r["kernel"]] * rank)
        w = random.standard_normal(shape, dtype=np.float32) / np.float32(np.prod(shape[1:])) ** 0.5
        constants = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(random.standard_normal(r["filters"], dtype=np.float32), "b")]
    node = helper.make_node(r["op"], ["x", *[c.name for c in constants]], ["y"], **attributes)
    shape = ["n", r["channels"], *[f"d{i}" for i in range(rank)]]
    graph = helper.make_graph([node], "one", [helper.make_tensor_value_info("x", 1, shape)],
                              [helper.make_tensor_value_info("y", 1, [f"e{i}" for i in range(rank + 2)])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = os.path.join(folder, "one.onnx")
    save(model, path)
    return path, model


def transposed_in_f64(r, weights, bias, x):
    """The sum that defines ConvTranspose. The evaluator of the package onnx adds the first bias of all to each group."""
    rank, kernel, stride, dilation = r["rank"], r["kernel"], r["stride"], r["dilation"]
    of_group, per_group = r["channels"] // r["groups"], r["filters"] // r["groups"]
    whole = (r["size"] - 1) * stride + (kernel - 1) * dilation + 1
    y = np.zeros((len(x), r["filters"], *[whole] * rank))
    for group in range(r["groups"]):
        mine = slice(group * of_group, (group + 1) * of_group)
        for tap in itertools.product(range(kernel), repeat=rank):
            at = tuple(slice(t * dilation, t * dilation + (r["size"] - 1) * stride + 1, stride) for t in tap)
            sums = np.einsum("nc...,cf->nf...", x[:, mine].astype(np.float64), weights[mine][(slice(None), slice(None), *tap)].astype(np.float64))
            y[(slice(None), slice(group * per_group, (group + 1) * per_group), *at)] += sums
    low, high = r["pads"]
    return (y + bias.reshape(-1, *[1] * rank))[(slice(None), slice(None), *[slice(low, whole - high)] * rank)]


def in_f64(r, model, x):
    """What the model gives when it is computed in f64."""
    import onnxruntime
    from onnx import numpy_helper, TensorProto
    if r["op"] == "ConvTranspose":
        return transposed_in_f64(r, *(numpy_helper.to_array(c) for c in model.graph.initializer), x)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    for i, constant in enumerate(model.graph.initializer):
        model.graph.initializer[i].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant).astype(np.float64), constant.name))
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, {"x": x.astype(np.float64)})[0]
    except Exception:  # onnxruntime has these operators in f32 only
        from onnx.reference import ReferenceEvaluator
        return ReferenceEvaluator(model).run(None, {"x": x.astype(np.float64)})[0]


def measure(arguments, r, random):
    with tempfile.TemporaryDirectory() as folder:
        path, model = model_of(r, folder, random)
        ours, theirs = contexts.load(arguments.build, path, arguments.threads), peers.peer_session(path, arguments.threads)
    x = random.standard_normal((r["batch"], r["channels"], *[r["size"]] * r["rank"]), dtype=np.float32)
    ours.set({"x": x})
    ours.run()
    binding = theirs.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y")
    times = ([], [])
    end = time.monotonic() + arguments.seconds
    while len(times[0]) < 7 or time.monotonic() < end:
        for kept, run in zip(times, (ours.run, lambda: theirs.run_with_iobinding(binding))):
            kept.append(measuring.clock(run))
    error = 0.0
    if arguments.check:
        wanted, found = in_f64(r, model, x), ours.outputs()[0]
        error = float("inf") if wanted.shape != found.shape else float(np.max(np.abs(wanted - found)) / (1e-5 * (1 + np.max(np.abs(wanted)))))
    return *(float(np.median(t[1:])) for t in times), error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--below", type=float, default=float("inf"))
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument("--check", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as missing:
        sys.exit(f"convolutions: skipped: {missing.name} is not installed (pip install onnx onnxruntime)")
    random = np.random.default_rng(1)
    wrong = 0
    print(f"{arguments.threads} thread(s), {measuring.cpu_name()}")
    for group in arguments.groups or GROUPS:
        found = []
        for r in rows_of(group):
            if arguments.only in r["name"]:
                found.append((r["name"], *measure(arguments, r, random)))
        for name, ours, theirs, error in sorted(found, key=lambda f: -f[2] / f[1]):
            wrong += error > 1
            if theirs / ours < arguments.below or error > 1:
                print(f"{group:10} {name:60} {ours / 1000:>10.1f} us {theirs / 1000:>10.1f} us  {theirs / ours:6.2f}" + ("  WRONG" if error > 1 else ""), flush=True)
        if found:
            print(f"{group:10} geometric mean of {len(found)} {np.exp(np.mean([np.log(f[2] / f[1]) for f in found])):.2f}, least {min(f[2] / f[1] for f in found):.2f}", flush=True)
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
