#!/usr/bin/env python3
"""Which models over padded batches are computed without padding, and whether their results stay what they are.

    python3 tests/models/packing_verdicts.py FOLDER [NAME...] [--why] [--no-run]

FOLDER holds models as `padded_models.py` writes them: two inputs, the second a mask [batch, length] or lengths [batch]. Each is compiled by default, with `--padded-results zero` and with
`--passes=-pack_sequences`, and run with masks of all kinds: all ones, prefixes, left padding, holes, lengths of 0 and 1. By default all results are those of the padded program, with zeros those
at kept positions; both are compared with onnxruntime as well. Printed: how many attentions and recurrences are without padding by default and with zeros, and the largest difference of
either from the padded program and from onnxruntime. --why adds what `:why ragged` says. Ends with 1 where something differs by more than 1e-5.
"""
import argparse
import os
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import contexts

TOLERANCE = 1e-5


def why(build, path, policy):
    """(how many are without padding, what the shell says)"""
    text = subprocess.run([f"{build}/bin/dynrepl", "--no-init", *policy, "-e", f":load {path}", "-e", ":why ragged"], capture_output=True, text=True)
    lines = (text.stdout + text.stderr).splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("computed without padding?")), None)
    if at is None:
        return None, lines[-4:]
    count = sum(int(n) for n in re.findall(r"(\d+) (?:attention|recurrence)", lines[at]))
    return count, lines[at:]


def masks(batch, length, seed):
    random = np.random.default_rng(seed)
    ends = random.integers(0, length + 1, batch)
    ends[: 3] = [length, 1, 0][: batch]
    place = np.arange(length)[None]
    yield "ones", np.ones((batch, length), np.int64)
    yield "prefixes", (place < np.maximum(ends, 1)[:, None]).astype(np.int64)
    yield "prefixes of 0 too", (place < ends[:, None]).astype(np.int64)
    yield "left padding", (place >= length - np.maximum(ends, 1)[:, None]).astype(np.int64)
    yield "holes", random.integers(0, 2, (batch, length))


def feeds(path):
    """(what, inputs, mask) of a model."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    first, second = graph.input[0], graph.input[1]
    rank = len(second.type.tensor_type.shape.dim)
    real = first.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    width = [d.dim_value for d in first.type.tensor_type.shape.dim[2:]]
    for batch, length in ((3, 7), (1, 5), (5, 13), (4, 2), (2, 37)):
        if first.name == "input_values":  # sound
            length *= 300
        random = np.random.default_rng(length)
        for what, mask in masks(batch, length, length):
            if rank == 1 and (what in ("left padding", "holes") or (what == "prefixes of 0 too" and ".mean" in path)):
                continue
            if rank == 1 and not real and (mask.sum(1) == 0).any():
                continue  # what packs sequences takes none of length 0
            if rank == 1 and not real and mask.sum(1).max() < length:
                continue  # and unpacks up to the longest
            if ".optimised" in path and what in ("left padding", "holes"):
                continue  # the optimiser has made the mask a count of its ones
            words = random.standard_normal((batch, length, *width)).astype(np.float32) if real else random.integers(3, 90, (batch, length))
            yield f"{what}, {batch} x {length}", {first.name: words, second.name: mask if rank == 2 else mask.sum(1)}, mask


def difference(actual, expected, mask):
    """The largest, relative to max(1, |expected|); `mask`: at kept positions alone, where the result has positions."""
    worst = 0.0
    for a, e in zip(actual, expected):
        if a.shape != e.shape:
            return float("inf")
        if mask is not None and a.shape[:2] == mask.shape:
            a, e = a[mask > 0], e[mask > 0]
        elif mask is not None and a.ndim == 3:  # frames of sound, fewer than the mask has samples
            held = (a != 0).any(-1)
            a, e = a[held], e[held]
        if a.size:
            apart = np.abs(a - e) / np.maximum(1, np.abs(e))
            worst = max(worst, float(np.where(np.isnan(a) & np.isnan(e), 0, apart).max()))
    return worst


def check(build, path):
    """Largest differences: by default and with zeros, from padded and from onnxruntime."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        peer = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception:  # an operator that it lacks
        peer = None
    programs = [contexts.load(build, path, 1, policy) for policy in ((), ("--padded-results", "zero"), ("--passes=-pack_sequences",))]
    worst, where = {"default": 0.0, "zero": 0.0, "default, onnxruntime": 0.0, "zero, onnxruntime": 0.0}, {}
    for what, inputs, mask in feeds(path):
        results = []
        for program in programs:
            try:  # an exporter may have taken the length for a number
                program.set(inputs)
                program.run()
                results.append(program.outputs())
            except contexts.Error as fault:
                results.append(str(fault))
        if any(isinstance(one, str) for one in results):
            if len({isinstance(one, str) for one in results}) > 1:
                where["error"] = next(one for one in results if isinstance(one, str))
                worst["default"] = float("inf")
            continue
        try:
            theirs = peer and peer.run(None, inputs)
        except Exception:
            theirs = None
        for name, actual, expected, kept in (("default", results[0], results[2], None), ("zero", results[1], results[2], mask), ("default, onnxruntime", results[0], theirs, mask),
                                             ("zero, onnxruntime", results[1], theirs, mask)):
            if expected is None:
                continue
            apart = difference(actual, expected, kept)
            if not apart <= worst[name]:
                worst[name], where[name] = apart, what
    return worst, where


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--why", action="store_true")
    parser.add_argument("--no-run", action="store_true")
    arguments = parser.parse_args()
    names = arguments.names or sorted(name[:-5] for name in os.listdir(arguments.folder) if name.endswith(".onnx"))
    wrong = 0
    for name in names:
        path = os.path.join(arguments.folder, name + ".onnx")
        (default, said), (zero, said_zero) = why(arguments.build, path, ()), why(arguments.build, path, ("--padded-results", "zero"))
        line = f"{name:36} {'-' if default is None else default:>3} {'-' if zero is None else zero:>3}"
        if not arguments.no_run and default is not None:
            worst, where = check(arguments.build, path)
            line += "".join(f" {value:9.1e}" for value in worst.values())
            bad = {key: what for key, what in where.items() if key == "error" or not worst[key] <= TOLERANCE}
            wrong += bool(bad)
            line += f"  {bad}" if bad else ""
        print(line, flush=True)
        if arguments.why or default is None:
            for more in said:
                print("    " + more)
            if said_zero != said and zero != default:
                print("    with zeros:")
                for more in said_zero:
                    print("    " + more)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
