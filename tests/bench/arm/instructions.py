#!/usr/bin/env python3
"""Instructions that one run takes on 64-bit ARM beside onnxruntime's build for it, both under qemu, which counts them. They are not time.

    ./dev bench arm/instructions MODEL.onnx [--shape batch=1,seq=59]... [--processor neoverse-n1] [--peer FOLDER] [--runs N] [--json]

The model is compiled here for `aarch64-multi` and run there by dynrun; onnxruntime is that of PyPI under Debian's Python for ARM, fetched once into the folder
(default: build/peer-aarch64; about 150 MB). Of each, a process with N more runs (default: 1) is counted beside one without them: what is left is one warm run, one
thread. Results are compared first; ratios above 1: Dyn takes fewer. Needs qemu-user, the cross-built runtime (./dev build --target aarch64), numpy, onnx and pip.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tests/arm")]
import emulator  # noqa: E402
import feeds  # noqa: E402
import measuring  # noqa: E402
from counted import counting  # noqa: E402

PYTHON = ("python3-minimal", "libpython3-stdlib", "libstdc++6")
WHEELS = ("onnxruntime", "numpy")
# onnxruntime tells from what the processor is called what it has, and qemu shows this machine's name.
PARTS = {"cortex-a53": "d03", "cortex-a72": "d08", "cortex-a76": "d0b", "neoverse-n1": "d0c"}
PROCESSOR = """processor\t: 0
Features\t: fp asimd
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0x{part}
CPU revision\t: 1

"""
PEER = """
import sys
import numpy as np, onnxruntime
model, given, out, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 3
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
values = dict(np.load(given))
for _ in range(runs):
    results = session.run(None, values)
np.savez(out, *results)
"""


class Peer:
    """onnxruntime for ARM in a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.site = self.folder / "site"
        if not (self.site / "onnxruntime").is_dir():
            self.fetch()
        self.python = next((self.folder / "usr/bin").glob("python3.*[0-9]"))

    def fetch(self):
        if subprocess.run([ROOT / "cmake/aarch64_sysroot.sh", self.folder, *PYTHON]).returncode != 0:
            sys.exit("arm/instructions: skipped: no Python for 64-bit ARM")
        version = next((self.folder / "usr/bin").glob("python3.*[0-9]")).name[len("python"):]
        platforms = [f"--platform=manylinux_{glibc}_aarch64" for glibc in ("2_17", "2_27", "2_28", "2_34")]
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", *platforms, f"--python-version={version}", f"--target={self.site}", *WHEELS], check=True)

    def words(self, processor, options, *words):
        (self.folder / "proc").mkdir(exist_ok=True)
        (self.folder / "proc/cpuinfo").write_text(PROCESSOR.format(part=PARTS[processor]))
        return ["qemu-aarch64", "-cpu", processor, *options, "-L", self.folder, "-E", f"PYTHONPATH={self.site}", "-E", "PYTHONHASHSEED=0", self.python, "-c", PEER, *words]


def declared_inputs(path):
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    constant = {value.name for value in graph.initializer}
    inputs = []
    for value in graph.input:
        if value.name not in constant:
            tensor = value.type.tensor_type
            inputs.append((value.name, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type), [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]))
    return inputs, [value.name for value in graph.output]


class Pair:
    """One model on both."""

    def __init__(self, arguments, emulated, peer, folder):
        self.emulated, self.peer, self.folder, self.processor = emulated, peer, pathlib.Path(folder), arguments.processor
        self.model = os.path.abspath(arguments.model)
        self.package = self.folder / "model.dynpkg"
        subprocess.run([f"{arguments.build}/bin/dynrepl", "compile", self.model, "-o", self.package, "--target", arguments.target, "--quiet", *arguments.option], check=True)
        self.inputs, self.outputs = declared_inputs(self.model)
        self.counter = counting.Counter(folder)

    def ours(self, options, runs):
        words = [self.emulated.program("dynrun"), self.package, "--threads", "1", "--quiet", "--warmup", "0", "--repeat", str(runs), "--output-dir", self.folder / "ours", *self.given]
        return ["qemu-aarch64", "-cpu", self.processor, *options, "-R", emulator.ADDRESSES, "-L", emulator.SYSTEM, *words]

    def theirs(self, options, runs):
        return self.peer.words(self.processor, options, self.model, self.folder / "given.npz", self.folder / "theirs.npz", str(runs))

    def measure(self, dims, runs):
        values = feeds.feed(self.inputs, dims)
        np.savez(self.folder / "given.npz", **values)
        self.given = []
        for at, (name, value) in enumerate(values.items()):
            np.save(self.folder / f"given{at}.npy", value)
            self.given += ["--input", f"{name}=@{self.folder}/given{at}.npy"]
        counts = []
        for words in (self.ours, self.theirs):
            more, one = (self.counter.count(words(self.counter.options(), n), 3600) for n in (2 + runs, 2))
            counts.append((more - one) / runs)
        theirs = np.load(self.folder / "theirs.npz")
        error = measuring.apart([np.load(self.folder / "ours" / f"{name}.npy") for name in self.outputs], [theirs[name] for name in theirs.files])
        return {"dims": dims, "ours_instructions": counts[0], "peer_instructions": counts[1], "ratio": counts[1] / counts[0], "error": error}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=N,...")
    parser.add_argument("--processor", choices=PARTS, default="neoverse-n1")
    parser.add_argument("--target", default="aarch64-multi", help="what the model is compiled for")
    parser.add_argument("--option", action="append", default=[], metavar="WORD", help="of dynrepl compile")
    parser.add_argument("--peer", default=str(ROOT / "build/peer-aarch64"), help="folder of onnxruntime for ARM")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    emulated, why = emulator.emulator(arguments.build)
    if not emulated:
        sys.exit(why)
    peer = Peer(arguments.peer)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(arguments, emulated, peer, folder)
        for text in arguments.shape or [""]:
            row = pair.measure(measuring.parse_shape(text), arguments.runs)
            rows.append(row)
            if not arguments.json:
                print(f"{pathlib.Path(arguments.model).stem:28}{text:32}{row['ours_instructions'] / 1e6:>12.3f}{row['peer_instructions'] / 1e6:>12.3f}{row['ratio']:>8.2f}   "
                      f"{row['error']:.1e} apart", flush=True)
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench arm/instructions", "model": arguments.model, "processor": arguments.processor, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
