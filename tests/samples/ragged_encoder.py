#!/usr/bin/env python3
"""The encoder of samples/12_ragged over sequences of different lengths, beside onnxruntime over the padded ONNX model of the same weights.

    ragged_encoder.py DYNREPL SAMPLES

Compares position by position, within 1e-5.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

TOLERANCE = 1e-5


def ragged(program, samples, folder, sequences):
    """The results for each sequence: a file for each goes in, rows and lengths come out."""
    names = []
    for i, sequence in enumerate(sequences):
        names.append("@%s/%d.npy" % (folder, i))
        np.save(names[-1][1:], sequence)
    command = [program, "--cache-dir", "none", "run", samples + "/12_ragged/encoder.dyn", "--input",
               "x=" + ",".join(names) + ("," if len(names) == 1 else ""), "--output-dir", folder, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(command), done.stdout + done.stderr))
    files = {o["name"]: o["file"] for o in json.loads(done.stdout)["outputs"]}
    rows, lengths = (np.load(f) for f in (next(f for n, f in files.items() if not n.endswith(".lengths")),
                                          next(f for n, f in files.items() if n.endswith(".lengths"))))
    assert list(lengths) == [len(s) for s in sequences], (lengths, [len(s) for s in sequences])
    return np.split(rows, np.cumsum(lengths)[:-1])


def main():
    program, samples = sys.argv[1], sys.argv[2]
    session = onnxruntime.InferenceSession(samples + "/models/encoder/model.onnx", providers=["CPUExecutionProvider"])
    random = np.random.default_rng(7)
    batches = [[5, 0, 1, 3], [1], [7], [0], [17, 2, 0, 31, 1, 1], [1, 1, 1], [0, 4]]
    batches += [list(random.integers(0, 24, random.integers(1, 7))) for _ in range(4)]
    worst = 0.0
    for lengths in batches:
        sequences = [random.standard_normal((n, 32)).astype(np.float32) for n in lengths]
        padded = np.zeros((len(lengths), max(max(lengths), 1), 32), np.float32)
        for i, sequence in enumerate(sequences):
            padded[i, :len(sequence)] = sequence
        expected = session.run(None, {"x": padded, "lengths": np.array(lengths, np.int64)})[0]
        with tempfile.TemporaryDirectory() as folder:
            actual = ragged(program, samples, folder, sequences)
        for i, n in enumerate(lengths):
            if n:
                worst = max(worst, float(np.abs(actual[i] - expected[i, :n]).max()))
        if worst > TOLERANCE:
            sys.exit("lengths %s: %g apart, more than %g" % (lengths, worst, TOLERANCE))
    print("%d batches, at most %.2g apart" % (len(batches), worst))


if __name__ == "__main__":
    main()
