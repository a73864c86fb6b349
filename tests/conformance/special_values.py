#!/usr/bin/env python3
"""Element-wise operators at the values where functions end, beside onnxruntime: zeros of both signs, infinities, NaN, the smallest and largest numbers of
each type, integers at their limits.

    special_values.py --dynrepl PROGRAM

Operators that round once must give the same bits (any NaN is any other), functions the same NaN, infinities and signs of zero, and numbers near by.
What differs and is meant stands in SETTLED, with its reason. Exit 3 for a difference that does not.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

# (operator and type, how the difference looks, why)
SETTLED = [
    (r"Sign f16", r"nan", "Sign of NaN is NaN, as for the wider types of onnxruntime"),
    (r"Sigmoid f", r" of -(10\.0|88\.5|104\.0) ", "onnxruntime's approximation is the coarser one"),
    (r"(Elu|Celu|Selu) f32", r" of -0\.001 ", "onnxruntime takes 1 from the exponential"),
    (r"Gelu f32", r" of -3\.0 ", "a difference of two numbers near 1: both are as close"),
    (r"Gelu f", r"tanh.* of -10\.0 ", "onnxruntime loses what is left of 1 + tanh"),
    (r"Pow [iu]\d+", r"", "integers wrap; onnxruntime computes in reals and ends at the limits"),
    (r"(Min|Max) f16", r"0\.0", "which zero is not promised"),
]

TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
         "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}
FUNCTIONS = ("Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Sigmoid Softplus Softsign HardSwish Mish Elu Celu Selu "
             "HardSigmoid Gelu Pow").split()
UNARY = FUNCTIONS[:-1] + "Abs Sign Neg Floor Ceil Round Sqrt Relu LeakyRelu ThresholdedRelu Reciprocal IsNaN IsInf BitwiseNot Identity".split()
BINARY = "Add Sub Mul Div Pow Mod Min Max Equal Less LessOrEqual Greater GreaterOrEqual BitwiseAnd BitwiseOr BitwiseXor BitShift PRelu".split()
ATTRIBUTES = {"Gelu": [{}, {"approximate": "tanh"}], "Mod": [{"fmod": 1}, {}], "BitShift": [{"direction": "LEFT"}, {"direction": "RIGHT"}]}


def values(dtype):
    if np.issubdtype(dtype, np.floating):
        limits = np.finfo(dtype)
        some = np.array([0, limits.smallest_subnormal, limits.tiny, 1e-3, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 10, 88.5, 104, 710, limits.max, np.inf]).astype(dtype)
        return np.concatenate([some, -some, np.array([np.nan], dtype)])
    limits = np.iinfo(dtype)
    return np.array(sorted({0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.max // 2, limits.min, limits.min + 1, max(limits.min, -1), max(limits.min, -2)}), dtype)


def pairs(op, dtype):
    """Each value beside each; not what stops a run."""
    some = values(dtype)
    left, right = np.repeat(some, len(some)), np.tile(some, len(some))
    if not np.issubdtype(dtype, np.floating):
        if op in ("Div", "Mod"):
            right = np.where((right == 0) | (right.astype(np.float64) == -1), dtype(3), right)  # the lowest number over -1 ends onnxruntime's process
        if op == "Pow":
            right = np.clip(right, 0, 5).astype(dtype)
    return [left, right]


def model(op, attributes, arrays):
    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), ["n"]) for n, x in zip(names, arrays)]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "g", inputs, [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()


def theirs(data, arrays):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return session.run(None, {f"x{i}": x for i, x in enumerate(arrays)})[0]
    except Exception:  # it lacks this operator for this type; its exceptions share no base
        return None


def ours(dynrepl, data, arrays, folder):
    path = os.path.join(folder, "m.onnx")
    with open(path, "wb") as file:
        file.write(data)
    command = [dynrepl, "--cache-dir", "none", "run", path, "--quiet", "--threads", "1", "--output-dir", folder]
    for i, x in enumerate(arrays):
        np.save(os.path.join(folder, f"x{i}.npy"), x)
        command += ["--input", f"x{i}=@{folder}/x{i}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    return (np.load(os.path.join(folder, "y.npy")), "") if done.returncode == 0 else (None, done.stderr.split("\n")[0])


def agree(op, a, b):
    if a.dtype.kind != "f":
        return a == b
    with np.errstate(all="ignore"):
        same = (np.isnan(a) & np.isnan(b)) | ((a == b) & ((a != 0) | (np.signbit(a) == np.signbit(b))))
        if op not in FUNCTIONS:
            return same
        wide, target = a.astype(np.float64), b.astype(np.float64)
        near = np.abs(wide - target) <= (2e-3 if a.dtype == np.float16 else 1e-5) * np.abs(target) + 4 * float(np.finfo(a.dtype).tiny)
        return same | (near & np.isfinite(a) & np.isfinite(b))


def compare(dynrepl, op, name, attributes, arrays, folder):
    """Sentences about what differs; None where onnxruntime has no such operator."""
    data = model(op, attributes, arrays)
    expected = theirs(data, arrays)
    if expected is None:
        return None
    got, refusal = ours(dynrepl, data, arrays, folder)
    label = f"{op} {name}"
    if got is None:
        return [f"{label}: {refusal}"]
    if got.dtype != expected.dtype:
        return [f"{label}: {got.dtype} instead of {expected.dtype}"]
    found = []
    for i in np.flatnonzero(~agree(op, got, expected)):
        text = f"{label} {attributes or ''} of {', '.join(str(x[i]) for x in arrays)} is {got[i]}, onnxruntime says {expected[i]}"
        if not any(re.match(what, label) and re.search(how, text) for what, how, _ in SETTLED):
            found.append(text)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrepl", required=True)
    options = parser.parse_args()
    compared, found = 0, []
    with tempfile.TemporaryDirectory(prefix="dyn_special_") as folder:
        for op in UNARY + BINARY:
            for name, dtype in TYPES.items():
                arrays = [values(dtype)] if op in UNARY else pairs(op, dtype)
                for attributes in ATTRIBUTES.get(op, [{}]):
                    differences = compare(options.dynrepl, op, name, attributes, arrays, folder)
                    compared += differences is not None
                    found += (differences or [])[:5]
    for line in found:
        print(line)
    print(f"{compared} operators and types compared, {len(found)} differences")
    return 3 if found or compared < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
