#!/usr/bin/env python3
"""Products, BERT and decoding on a GPU beside PyTorch (cuBLASLt, Inductor with dynamic shapes) and onnxruntime-gpu.

    ./dev bench gpu [--seconds 2] [--quick]                  on the driver of this machine
    gpu.py --build build/release [--driver LIBRARY]          on that library, such as the simulated one, to see that it works

Prints tables for tests/bench/RESULTS.md. Ours are wall times of whole runs by `dynrepl bench`, with the copies of inputs and results; the peers are timed
with their inputs and results copied as well. ratio = theirs / ours. Who is not there is "unavailable" with the reason.
Exit: 0, or 4 where there is no driver.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROWS = (16, 64, 256, 1024, 4096)
LENGTHS = (16, 59, 128, 200, 384)
PRODUCT = """fn @main(%x: Tensor[(m, {k}), f32], %w: Tensor[({k}, {n}), f32]) -> (Tensor[(m, {n}), f32]) {{
  %y = matmul(%x, %w)
  return %y
}}
"""


def reason_of(error):
    return f"unavailable: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"


class Ours:
    def __init__(self, options):
        self.dynrepl = os.path.join(options.build, "bin", "dynrepl")
        self.seconds = options.seconds
        self.environment = dict(os.environ)
        if options.driver:
            self.environment["DYN_CUDA_DRIVER"] = options.driver

    def run(self, *arguments):
        command = [self.dynrepl, "--cache-dir", "none", "--device", "cuda", "--json", "--quiet", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        try:
            document = json.loads(done.stdout)
        except json.JSONDecodeError:
            document = {"error": {"message": done.stderr.strip()[-200:] or f"exit {done.returncode}"}}
        return done.returncode, document

    def median_us(self, model, sizes):
        dims = [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]
        code, document = self.run("bench", model, *dims, "--seconds", str(self.seconds))
        if code != 0 or "error" in document:
            raise RuntimeError(document.get("error", {}).get("message", f"exit {code}"))
        rows = document.get("rows") or document.get("shapes") or [document["overall"]]
        return rows[0]["p50_ns"] / 1000


def median_of(call, seconds):
    """Of a call that ends when its result is on the host; in microseconds."""
    times, start = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    return sorted(times)[len(times) // 2]


class Torch:
    """cuBLASLt by PyTorch's product, Inductor by torch.compile(dynamic=True)."""

    def __init__(self):
        import torch  # noqa: PLC0415
        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch sees no GPU")
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        if hasattr(torch.backends.cuda, "preferred_blas_library"):
            torch.backends.cuda.preferred_blas_library("cublaslt")

    def product_us(self, m, n, k, seconds):
        x, w = self.torch.randn(m, k), self.torch.randn(k, n)
        self.torch.cuda.synchronize()
        return median_of(lambda: (x.cuda() @ w.cuda()).cpu(), seconds)

    def encoder_us(self, lengths, width, heads, layers, seconds):
        """An encoder as large as the model, compiled once with open sizes; by length."""
        torch = self.torch
        layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, activation="gelu", batch_first=True)
        encoder = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval().cuda()
        compiled = torch.compile(encoder, dynamic=True)
        times = {}
        with torch.no_grad():
            for length in lengths:
                x = torch.randn(1, length, width)
                call = lambda x=x: compiled(x.cuda()).cpu()  # noqa: E731
                call()
                times[length] = median_of(call, seconds)
        return times


class OnnxRuntime:
    def __init__(self):
        import onnxruntime  # noqa: PLC0415
        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise RuntimeError("onnxruntime is built without CUDA")
        self.runtime = onnxruntime

    def model_us(self, path, sizes, seconds):
        import numpy  # noqa: PLC0415
        session = self.runtime.InferenceSession(path, providers=["CUDAExecutionProvider"])
        if session.get_providers()[0] != "CUDAExecutionProvider":
            raise RuntimeError("onnxruntime takes no GPU")
        types = {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(float)": numpy.float32, "tensor(bool)": numpy.bool_}
        feeds = {i.name: numpy.ones([sizes.get(d, 1) if isinstance(d, str) else d for d in i.shape], types[i.type]) for i in session.get_inputs()}
        session.run(None, feeds)
        return median_of(lambda: session.run(None, feeds), seconds)


def peer(kind, missing):
    try:
        return kind()
    except Exception as error:  # whatever a library that is half there throws
        missing[kind.__name__] = reason_of(error)
        return None


def cell(call):
    """Microseconds, or why not."""
    try:
        return call()
    except Exception as error:
        return reason_of(error)


def text_of(value):
    return value if isinstance(value, str) else f"{value:.0f}"


def ratio_of(theirs, ours):
    return f"{theirs / ours:.2f}" if not isinstance(theirs, str) and not isinstance(ours, str) and ours > 0 else "-"


def products(options, ours, torch):
    n = k = 64 if options.quick else 4096
    lines = [f"Products of m x {k} and {k} x {n} in fp32, us (ours with its copies; PyTorch's by cuBLASLt, tf32 off):", "", "| m | ours | cuBLASLt | ratio |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, "product.dyn")
        with open(model, "w", encoding="utf-8") as file:
            file.write(PRODUCT.format(n=n, k=k))
        for m in (16,) if options.quick else ROWS:
            mine = cell(lambda m=m: ours.median_us(model, {"m": m}))
            theirs = cell(lambda m=m: torch.product_us(m, n, k, options.seconds)) if torch else "unavailable"
            lines.append(f"| {m} | {text_of(mine)} | {text_of(theirs)} | {ratio_of(theirs, mine)} |")
    return lines


def models(options, ours, torch, runtime):
    path = os.path.join(ROOT, "samples", "models", "bert", "model.onnx")
    lengths = (4,) if options.quick else LENGTHS
    inductor = cell(lambda: torch.encoder_us(lengths, 128, 2, 2, options.seconds)) if torch else "unavailable"
    lines = ["", "BERT-tiny, batch 1, us (Inductor: an encoder of the same size, dynamic shapes):", "", "| seq | ours | Inductor | ratio | onnxruntime-gpu | ratio |", "|---|---|---|---|---|---|"]
    for length in lengths:
        sizes = {"batch": 1, "seq": length}
        mine = cell(lambda sizes=sizes: ours.median_us(path, sizes))
        first = inductor if isinstance(inductor, str) else inductor[length]
        second = cell(lambda sizes=sizes: runtime.model_us(path, sizes, options.seconds)) if runtime else "unavailable"
        lines.append(f"| {length} | {text_of(mine)} | {text_of(first)} | {ratio_of(first, mine)} | {text_of(second)} | {ratio_of(second, mine)} |")
    path = os.path.join(ROOT, "samples", "models", "gpt2", "model.onnx")
    lines += ["", "GPT-2 (the sample), one token after `past` others, us:", "", "| past | ours | onnxruntime-gpu | ratio |", "|---|---|---|---|"]
    for past in (2,) if options.quick else (1, 16, 63):
        sizes = {"batch": 1, "seq": 1, "past": past}
        mine = cell(lambda sizes=sizes: ours.median_us(path, sizes))
        theirs = cell(lambda sizes=sizes: runtime.model_us(path, sizes, options.seconds)) if runtime else "unavailable"
        lines.append(f"| {past} | {text_of(mine)} | {text_of(theirs)} | {ratio_of(theirs, mine)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--driver", default="")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--quick", action="store_true", help="one small size each")
    options = parser.parse_args()
    if options.quick:
        options.seconds = min(options.seconds, 0.2)
    ours = Ours(options)
    code, document = ours.run("run", os.path.join(ROOT, "samples", "models", "lstm_loop", "model.onnx"), "--dim", "seq=1", "--dim", "batch=1")
    if code != 0:
        message = document.get("error", {}).get("message", f"exit {code}")
        print(message if "unavailable" in message else f"unavailable: {message}")
        return 4
    missing = {}
    torch, runtime = peer(Torch, missing), peer(OnnxRuntime, missing)
    lines = products(options, ours, torch) + models(options, ours, torch, runtime)
    names = {"Torch": "PyTorch (cuBLASLt, Inductor)", "OnnxRuntime": "onnxruntime-gpu"}
    lines += [""] + [f"{names[name]}: {why}" for name, why in missing.items()]
    print("\n".join(lines).strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
