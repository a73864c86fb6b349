#!/usr/bin/env python3
"""Single operators beside oneDNN (by PyTorch, its weights packed beforehand), PyTorch's own choice, and OpenBLAS (by NumPy).

    ./dev bench operators [GROUP...] [--threads N] [--seconds S]
    ./dev bench operators --all [--only REGEX] [--sizes small,cache,memory] [--threads N] [--seconds S] [--json]
                          [--part K/N] [--append FILE] [--report] [--own-names equal|ones] [--target NAME]

--all: every row of the operator table at three sizes beside onnxruntime (operator_sweep.py; its rows are operator_rows.py): the ratio of the medians
(onnxruntime's time / ours) for each, those below 0.8 and 0.5, the geometric mean, operators that no row shows. The whole takes 5 to 10 minutes; --part K/N runs every Nth row from the Kth, --append keeps results in a
JSON file where those of later runs are added or replace earlier ones by name, --report only says what FILE holds. Needs numpy, onnx and onnxruntime.
Exit 1: an operator has no row; 3: results differ.

Groups: gemm, gemv, conv, softmax, layer_norm. Each operator is a model of one node with constant weights, compiled for all sizes; ours and the peers run in
turn on the same input, results are compared first. Printed: medians, and the ratios peer / ours; GFLOP/s of convolutions count the direct sum. Needs numpy,
onnx and torch.
"""
import argparse
import os
import sys
import tempfile
import time

for option, count in zip(sys.argv, sys.argv[1:]):  # OpenBLAS takes its number of threads when it is loaded
    if option == "--threads":
        os.environ["OPENBLAS_NUM_THREADS"] = count
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

import contexts
import measuring

GEMM = [(m, k, n) for m in (16, 59, 128, 512) for k, n in ((768, 768), (768, 3072), (3072, 768), (768, 2304))]
GEMV = [(1, k, n) for k, n in ((768, 768), (768, 3072), (3072, 768), (768, 2304), (768, 50257))]
CONV = [(3, 32, 300, 3, 2), (32, 64, 150, 3, 2), (64, 64, 56, 3, 1), (128, 128, 28, 3, 1), (256, 256, 14, 3, 1), (64, 64, 113, 5, 1), (64, 256, 56, 1, 1), (256, 64, 56, 1, 1)]
ROWS = [(59, 768), (512, 768), (6144, 512), (708, 59)]


def one_node(folder, op, attributes, inputs, rank, constants):
    """A model of one node over x; returns its path."""
    from onnx import helper, numpy_helper, save
    node = helper.make_node(op, ["x", *constants], ["y"], **attributes)
    shape = [f"d{i}" if size is None else size for i, size in enumerate(inputs)]
    graph = helper.make_graph([node], "one", [helper.make_tensor_value_info("x", 1, shape)],
                              [helper.make_tensor_value_info("y", 1, [f"e{i}" for i in range(rank)])],
                              [numpy_helper.from_array(a, name) for name, a in constants.items()])
    path = os.path.join(folder, "one.onnx")
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def product(torch, folder, sizes, random):
    m, k, n = sizes
    w = random.standard_normal((k, n), dtype=np.float32) / np.float32(k) ** 0.5
    x = random.standard_normal((m, k), dtype=np.float32)
    model = one_node(folder, "MatMul", {}, [None, k], 2, {"w": w})
    xt, wt = torch.from_numpy(x), torch.from_numpy(np.ascontiguousarray(w.T))
    packed = torch.ops.mkldnn._reorder_linear_weight(wt, m)
    peers = {"oneDNN": lambda: torch.ops.mkldnn._linear_pointwise(xt, packed, None, "none", [], ""),
             "PyTorch": lambda: torch.nn.functional.linear(xt, wt), "OpenBLAS": lambda: x @ w}
    return model, x, peers, 2.0 * m * k * n


def convolution(torch, folder, sizes, random):
    channels, filters, size, kernel, stride = sizes
    w = random.standard_normal((filters, channels, kernel, kernel), dtype=np.float32) / np.float32(channels * kernel * kernel) ** 0.5
    x = random.standard_normal((1, channels, size, size), dtype=np.float32)
    pad = kernel // 2
    model = one_node(folder, "Conv", {"pads": [pad] * 4, "strides": [stride] * 2}, [None, channels, None, None], 4, {"w": w})
    xt, wt = torch.from_numpy(x), torch.from_numpy(w)
    window = ([pad] * 2, [stride] * 2, [1, 1], 1)
    packed = torch.ops.mkldnn._reorder_convolution_weight(wt, *window, list(x.shape))
    last = xt.contiguous(memory_format=torch.channels_last)
    peers = {"oneDNN": lambda: torch.ops.mkldnn._convolution_pointwise(last, packed, None, *window, "none", [], ""),
             "PyTorch": lambda: torch.conv2d(xt, wt, stride=stride, padding=pad)}
    out = (size + 2 * pad - kernel) // stride + 1
    return model, x, peers, 2.0 * filters * channels * kernel * kernel * out * out


def rowwise(name):
    def make(torch, folder, sizes, random):
        x = random.standard_normal(sizes, dtype=np.float32)
        xt = torch.from_numpy(x)
        if name == "softmax":
            model = one_node(folder, "Softmax", {"axis": -1}, [None, None], 2, {})
            return model, x, {"PyTorch": lambda: torch.softmax(xt, -1)}, 0
        scale, bias = (random.standard_normal(sizes[1], dtype=np.float32) for _ in range(2))
        model = one_node(folder, "LayerNormalization", {"axis": -1}, [None, sizes[1]], 2, {"scale": scale, "bias": bias})
        st, bt = torch.from_numpy(scale), torch.from_numpy(bias)
        return model, x, {"PyTorch": lambda: torch.layer_norm(xt, (sizes[1],), st, bt, 1e-5)}, 0
    return make


GROUPS = {"gemm": (product, GEMM), "gemv": (product, GEMV), "conv": (convolution, CONV), "softmax": (rowwise("softmax"), ROWS),
          "layer_norm": (rowwise("layer_norm"), ROWS)}


def measure(arguments, torch, make, sizes, random):
    with tempfile.TemporaryDirectory() as folder:
        model, x, peers, operations = make(torch, folder, sizes, random)
        ours = contexts.load(arguments.build, model, arguments.threads)
    ours.set({ours.inputs[0][0]: x})
    ours.run()
    runs = {"ours": ours.run} | peers
    wanted = np.asarray(next(iter(peers.values()))())
    error = float(np.max(np.abs(ours.outputs()[0] - wanted))) if wanted.size else 0.0
    times = {name: [] for name in runs}
    end = time.monotonic() + arguments.seconds
    while len(times["ours"]) < 5 or time.monotonic() < end:
        for name, run in runs.items():
            times[name].append(measuring.clock(run))
    return {name: float(np.median(t[1:])) for name, t in times.items()}, operations, error


def part(text):
    k, _, n = text.partition("/")
    if not 1 <= int(k) <= int(n):
        raise ValueError(text)
    return int(k), int(n)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="of each measurement: 0.5; with --all 0.03")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--all", action="store_true", help="every row of the operator table beside onnxruntime")
    parser.add_argument("--only", metavar="REGEX", help="with --all: rows whose title matches")
    parser.add_argument("--sizes", type=lambda text: text.split(","), help="with --all: some of small, cache, memory")
    parser.add_argument("--json", action="store_true", help="with --all")
    parser.add_argument("--own-names", choices=["equal", "ones"],
                        help="with --all: each dim of each input has a name of its own in the model; ones: all of the last input's are 1 when it runs")
    parser.add_argument("--target", metavar="NAME", help="with --all: compile for this machine (haswell: AVX2); the runtime's own kernels stay those of this one")
    parser.add_argument("--part", type=part, default=(1, 1), metavar="K/N", help="with --all: every Nth row from the Kth")
    parser.add_argument("--append", metavar="FILE", help="with --all: keep results here, beside those of earlier runs")
    parser.add_argument("--report", action="store_true", help="with --all and --append: measure nothing, say what FILE holds")
    arguments = parser.parse_args()
    arguments.seconds = arguments.seconds or (0.03 if arguments.all else 0.5)
    if arguments.all:
        try:
            import operator_sweep
            return operator_sweep.main(arguments)
        except ImportError as missing:
            sys.exit(f"operators: skipped: {missing} (pip install onnx onnxruntime)")
    try:
        import onnx  # noqa: F401
        import torch
    except ImportError as missing:
        sys.exit(f"operators: skipped: {missing.name} is not installed (pip install onnx torch)")
    torch.set_num_threads(arguments.threads)
    torch.set_grad_enabled(False)
    random = np.random.default_rng(1)
    print(f"{arguments.threads} thread(s), {measuring.cpu_name()}, PyTorch {torch.__version__}, NumPy {np.__version__}")
    for group in arguments.groups or GROUPS:
        make, shapes = GROUPS[group]
        rows = [(sizes, *measure(arguments, torch, make, sizes, random)) for sizes in shapes]
        ratios = {}
        for sizes, medians, operations, error in rows:
            line = f"{group:10} {'x'.join(map(str, sizes)):18} {medians['ours'] / 1000:>10.1f} us"
            line += f" {operations / medians['ours']:7.1f} GFLOP/s" if operations else ""
            for name, ns in medians.items():
                if name != "ours":
                    ratios.setdefault(name, []).append(ns / medians["ours"])
                    line += f"   {name} {ns / medians['ours']:.2f}"
            print(f"{line}   error {error:.1e}", flush=True)
        print(f"{group:10} geometric means: " + ", ".join(f"{name} {np.exp(np.mean(np.log(r))):.2f}" for name, r in ratios.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
