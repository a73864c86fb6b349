#!/usr/bin/env python3
"""`dynrepl why` on runs with a fault, or a size, whose cause is known because it was put there.

    seeded_faults.py --dynrepl PATH --samples DIR [--count 40] [--seed 1] [--show]

Each case draws a fault: sizes beyond a table, an index out of range, inputs of different lengths, sizes that do not
broadcast, a shape given as values, a NaN in an input, elements of a mask that are counted, a loop that stops at an
element or at a count. The culprit must be named in all of them. In 95 % a change must be found, verified by a run and
as small as one can be; this program makes the changed inputs by itself and runs the model with them. --count 200 is
the whole test.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

RIGHT_LEAST = 0.95
COUNT = """fn @main(mask: Tensor[(b, s), {dtype}], x: Tensor[(b, s, 3), f32]) {{
  flat = transpose(mask) {{perm = [1, 0]}}
  kept = nonzero({kept})
  y = tanh(gather_nd(transpose(x) {{perm = [1, 0, 2]}}, transpose(kept) {{perm = [1, 0]}}))
  return y
}}
"""
STOP = """fn @main(x: Tensor[(n), f32], most: Tensor[(), i64]) {
  s, y = loop(most, _, f32[] 0.0, x) {carried = 1} body (i, s: Tensor[(), f32], x) {
    v = gather(x, i)
    return less(v, f32[] 2.5), s + v, v
  }
  return y
}
"""
RESHAPE = """fn @main(x: Tensor[(n), f32], target: Tensor[(2), i64]) {
  y = reshape(relu(x), target)
  return y
}
"""
# Text of the two sides, their sizes by n and m, and whether a size of 1 fits too.
BROADCASTS = [
    ("x + y", lambda n: n, lambda m: m, True),
    ("concat(x, x) {axis = 0} * y", lambda n: 2 * n, lambda m: m, True),
    ("relu(x) - concat(y, y, y) {axis = 0}", lambda n: n, lambda m: 3 * m, True),
    ("concat(x, f32[1, 4] [[0, 0, 0, 0]]) {axis = 0} + y", lambda n: n + 1, lambda m: m, True),
    ("transpose(x) {perm = [1, 0]} @ y", lambda n: n, lambda m: m, False),
    ("concat(x, y) {axis = 1}", lambda n: n, lambda m: m, False),
]


class Case:
    """A model, its inputs and dims, the question, and what the answer must hold."""

    def __init__(self, kind, model, question, inputs=None, dims=None, want=None):
        self.kind, self.model, self.question = kind, model, question
        self.inputs, self.dims, self.want = inputs or {}, dims or {}, want
        self.culprits = []  # all must be named: ("axis", input, axis), ("element", input, index), ("elements", input)
        self.distance = None  # of the smallest change; None: any that runs
        self.finite = False  # the outputs must be finite with the change


class Runner:
    def __init__(self, dynrepl, folder):
        self.dynrepl, self.folder = dynrepl, folder

    def arguments(self, inputs, dims):
        words = []
        for name, value in inputs.items():
            path = os.path.join(self.folder, f"{name}.npy")
            np.save(path, value)
            words += ["--input", f"{name}=@{path}"]
        for name, value in dims.items():
            words += ["--dim", f"{name}={value}"]
        return words

    def call(self, verb, model, *words):
        done = subprocess.run([self.dynrepl, verb, model, *words, "--json", "-q"], capture_output=True, text=True, timeout=120)
        try:
            return done.returncode, json.loads(done.stdout)
        except json.JSONDecodeError:
            sys.exit(f"{verb} {model}: no JSON: {done.stdout[:200]} {done.stderr[:400]}")

    def run(self, model, inputs, dims):
        return self.call("run", model, *self.arguments(inputs, dims), "--output-dir", self.folder)

    def outputs(self, answer):
        return [np.load(os.path.join(self.folder, os.path.basename(out["file"]))) for out in answer["outputs"]]

    def text(self, name, text):
        path = os.path.join(self.folder, name + ".dyn")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


def bert_ids(random, batch, seq):
    return random.integers(0, 200, (batch, seq))


def beyond_table(random, runner, samples):
    seq = int(random.integers(513, 700))
    case = Case("sizes beyond a table", f"{samples}/bert/model.onnx", "failure", dims={"batch": int(random.integers(1, 3)), "seq": seq})
    case.culprits = [("axis", "input_ids", 1)]
    case.distance = seq - 512
    return case


def index_out_of_range(random, runner, samples):
    which = random.integers(0, 4)
    if which < 2:
        batch, seq = int(random.integers(1, 4)), int(random.integers(1, 14))
        name, rows = [("bert", 200), ("gpt2", 211)][which]
        ids = random.integers(0, rows, (batch, seq))
        at = (int(random.integers(batch)), int(random.integers(seq)))
        ids[at] = rows + random.integers(0, 40000) if random.integers(2) else -rows - 1 - random.integers(0, 99)
        case = Case("index out of range", f"{samples}/{name}/model.onnx", "failure", {"input_ids": ids})
        if name == "gpt2":
            case.dims = {"past": 0}
        case.culprits = [("element", "input_ids", at)]
        case.nearest = ("input_ids", at, rows - 1 if ids[at] > 0 else -rows)
        return case
    name = ["treelstm", "treegru"][which - 2]
    leaves = int(random.integers(2, 6))
    inner = leaves - 1
    left, right = np.arange(0, 2 * inner, 2), np.arange(1, 2 * inner + 1, 2)
    side = ["left", "right"][random.integers(2)]
    at = int(random.integers(inner))
    width = {"treelstm": 12, "treegru": 8}[name]
    inputs = {"x": random.normal(size=(leaves, width)).astype(np.float32), "left": left, "right": right}
    inputs[side] = inputs[side].copy()
    inputs[side][at] = leaves + inner + random.integers(0, 50)
    case = Case("index out of range", f"{samples}/{name}/model.onnx", "failure", inputs)
    case.culprits = [("element", side, (at,))]
    case.nearest = (side, (at,), leaves + inner - 1)
    return case


def different_lengths(random, runner, samples):
    batch, seq = int(random.integers(2, 5)), int(random.integers(2, 14))
    axis = int(random.integers(2))
    which = random.integers(3)
    if which == 0:
        shape = [batch, seq]
        shape[axis] += int(random.choice([-1, 1, 2, 5]))
        inputs = {"input_ids": bert_ids(random, batch, seq), "attention_mask": np.ones(shape, np.int64)}
        case = Case("different lengths", f"{samples}/bert/model.onnx", "failure", inputs)
        case.culprits = [("axis", "attention_mask", axis)]
        case.distance = abs(shape[axis] - [batch, seq][axis])
    elif which == 1:
        more = int(random.choice([-1, 1, 3]))
        inputs = {"x": random.normal(size=(batch, seq, 32)).astype(np.float32), "lengths": np.full(batch + more, seq)}
        case = Case("different lengths", f"{samples}/encoder/model.onnx", "failure", inputs)
        case.culprits, case.distance = [("axis", "lengths", 0)], abs(more)
    else:
        inner = int(random.integers(2, 6))
        inputs = {"x": random.normal(size=(inner + 1, 8)).astype(np.float32), "left": np.zeros(inner, np.int64),
                  "right": np.ones(inner - 1, np.int64)}
        case = Case("different lengths", f"{samples}/treegru/model.onnx", "failure", inputs)
        case.culprits, case.distance = [("axis", "right", 0)], 1
    return case


def not_broadcast(random, runner, samples):
    while True:
        text, left, right, one = BROADCASTS[random.integers(len(BROADCASTS))]
        n, m = (int(size) for size in random.integers(1, 40, 2))

        def fits(a, b):
            return left(a) == right(b) or one and 1 in (left(a), right(b))
        if not fits(n, m):
            break
    model = runner.text("broadcast", f"fn @main(x: Tensor[(n, 4), f32], y: Tensor[(m, 4), f32]) {{\n  z = {text}\n  return z\n}}\n")
    case = Case("sizes that do not fit", model, "failure", dims={"n": n, "m": m})
    case.culprits = [("axis", "x", 0), ("axis", "y", 0)]
    case.distance = min(abs(a - n) + abs(b - m) for a in range(1, 150) for b in range(1, 150) if fits(a, b))
    return case


def shape_of_values(random, runner, samples):
    target = random.integers(2, 9, 2)
    inputs = {"x": random.normal(size=int(target.prod())).astype(np.float32), "target": target.copy()}
    at = int(random.integers(2))
    inputs["target"][at] += int(random.choice([-1, 1, 2, 5]))
    case = Case("a shape of values", runner.text("reshape", RESHAPE), "failure", inputs)
    case.culprits = [("element", "target", (at,))]
    case.distance = 1
    return case


NAN_MODELS = {"lstm": (("x", (5, 2, 12)), "y"), "gru": (("x", (4, 3, 12)), "y"), "espcn": (("image", (1, 1, 5, 6)), "large"),
              "keyword": (("frames", (1, 1, 24, 8)), "word"), "lstm_loop": (("x", (4, 2, 12)), "y"),
              "switch": (("x", (3, 16)), "y"), "encoder": (("x", (2, 5, 32)), "y"), "early_exit": (("x", (3, 16)), "y"),
              "treefc": (("x", (3, 8)), "h"), "dagrnn": (("x", (4, 12)), "h")}


def not_finite(random, runner, samples):
    while True:
        name = sorted(NAN_MODELS)[random.integers(len(NAN_MODELS))]
        (port, shape), output = NAN_MODELS[name]
        x = random.normal(size=shape).astype(np.float32)
        at = tuple(int(random.integers(size)) for size in shape)
        x[at] = [np.nan, np.inf][random.integers(2)] if name != "dagrnn" else np.nan
        inputs = {port: x}
        if name == "treefc":
            inputs.update(left=np.array([0, 3]), right=np.array([1, 2]))
        if name == "dagrnn":
            inputs.update(children=np.array([[0, 0], [1, 0], [1, 2], [3, 2]]))
        model = f"{samples}/{name}/model.onnx"
        code, answer = runner.run(model, inputs, {})
        if code == 0 and not np.isfinite(runner.outputs(answer)[0]).all():
            break
    case = Case("not finite", model, f"{output}[nan]", inputs)
    case.culprits = [("element", port, at)]
    case.finite = True
    return case


def counted(random, runner, samples):
    batch, seq = (int(size) for size in random.integers(1, 8, 2))
    dtype, kept = [("i64", "flat"), ("bool", "flat"), ("f32", "greater(flat, f32[] 0.5)"), ("i64", "equal(flat, i64[] 3)")][
        random.integers(4)]
    mask = random.integers(0, 2, (batch, seq))
    if "equal" in kept:
        mask = random.integers(2, 5, (batch, seq))
    count = int((mask == 3).sum() if "equal" in kept else mask.sum())
    numpy_type = {"i64": np.int64, "bool": bool, "f32": np.float32}[dtype]
    change = int(random.choice([-3, -2, -1, 1, 2, 3]))
    want = min(max(count + change, 0), batch * seq)
    model = runner.text("count", COUNT.format(dtype=dtype, kept=kept))
    case = Case("elements that are counted", model, "y.0", {"mask": mask.astype(numpy_type)}, want=want)
    case.culprits = [("elements", "mask", None)]
    case.distance = abs(want - count)
    return case


def stopped(random, runner, samples):
    n = int(random.integers(3, 12))
    x = random.uniform(0, 2, n).astype(np.float32)
    stop = int(random.integers(1, n))
    x[stop] = 4
    model = runner.text("stop", STOP)
    if random.integers(2):  # by the count
        most = int(random.integers(1, stop + 1))
        case = Case("a loop's count", model, "y.0", {"x": x, "most": np.array(most)}, want=int(random.integers(1, stop + 1)))
        case.culprits = [("element", "most", ())]
        case.distance = 1 if case.want != most else 0
    else:
        case = Case("a loop's end", model, "y.0", {"x": x, "most": np.array(n)}, want=n if random.integers(2) else int(random.integers(1, stop + 1)))
        case.culprits = [("element", "x", (stop,))]
        case.distance = 1 if case.want != stop + 1 else 0
    return case


KINDS = [beyond_table, index_out_of_range, different_lengths, not_broadcast, shape_of_values, not_finite, counted, stopped]


def names(culprit, wanted):
    kind, name, at = wanted
    if culprit["name"] != name:
        return False
    if kind == "axis":
        return culprit["kind"] == "axis" and culprit["axis"] == at
    if kind == "elements":
        return culprit["kind"] == "elements"
    return culprit["kind"] == "elements" and list(at) in culprit["indices"]


def resized(value, axis, size):
    index = np.minimum(np.arange(size), value.shape[axis] - 1)
    return np.take(value, index, axis=axis)


def changed_inputs(case, change):
    inputs, dims = dict(case.inputs), dict(case.dims)
    dims.update(change["dims"])
    for axis in change["axes"]:
        inputs[axis["input"]] = resized(inputs[axis["input"]], axis["axis"], axis["to"])
    for element in change["elements"]:
        value = inputs[element["input"]].copy()
        to = element["to"]
        value[tuple(element["index"])] = to == "true" if to in ("true", "false") else float(to)
        inputs[element["input"]] = value
    return inputs, dims


def is_right(case, causes, runner):
    """Why the change is wrong; None: it is right."""
    if case.want is not None and case.distance == 0:
        return None if not causes["changes"] else "a change where none is needed"
    if not causes["changes"]:
        return "no change: " + "; ".join(causes["notes"])
    change = causes["changes"][0]
    if not change["verified"]:
        return "the change is not verified"
    if case.distance is not None and change["distance"] != case.distance:
        return f"a change by {change['distance']}, {case.distance} is enough: {change['text']}"
    if hasattr(case, "nearest"):
        name, at, value = case.nearest
        to = [(e["input"], tuple(e["index"]), int(e["to"])) for e in change["elements"]]
        if to != [(name, tuple(at), value)]:
            return f"{change['text']}, {value} is nearest"
    inputs, dims = changed_inputs(case, change)
    code, answer = runner.run(case.model, inputs, dims)
    if code != 0:
        return f"with the change ({change['text']}) the run fails: {answer['error']['message']}"
    if case.finite and not all(np.isfinite(out).all() for out in runner.outputs(answer)[:1]):
        return f"with the change ({change['text']}) the output is not finite"
    if case.want is not None and answer["outputs"][0]["shape"][0] != case.want:
        return f"with the change ({change['text']}) the size is {answer['outputs'][0]['shape'][0]}, not {case.want}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dynrepl", required=True)
    parser.add_argument("--samples", required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    named, right, times, by_kind = 0, 0, [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(given.dynrepl, folder)
        for number in range(given.count):
            case = KINDS[number % len(KINDS)](random, runner, given.samples)
            words = runner.arguments(case.inputs, case.dims) + ([] if case.want is None else ["--want", str(case.want)])
            start = time.monotonic()
            code, answer = runner.call("why", case.model, case.question, *words)
            times.append(time.monotonic() - start)
            title = f"{number}: {case.kind}: {os.path.basename(os.path.dirname(case.model))} {case.question}"
            if code != 0:
                print(f"{title}: exit {code}: {answer['error']['message']}")
                continue
            causes = answer["causes"]
            missing = [w for w in case.culprits if not any(names(c, w) for c in causes["culprits"])]
            wrong = is_right(case, causes, runner)
            named += not missing
            right += wrong is None
            by_kind[case.kind] += 1
            if missing:
                print(f"{title}: NOT NAMED {missing}: {[c['text'] for c in causes['culprits']]}")
            if wrong:
                print(f"{title}: WRONG: {wrong}")
            if given.show:
                print(f"{title}: {[c['text'] for c in causes['culprits']]} {[c['text'] for c in causes['changes']]}")
    print(f"{named} of {given.count} culprits named, {right} changes right; slowest {max(times):.2f} s, "
          f"median {sorted(times)[len(times) // 2]:.2f} s; {dict(by_kind)}")
    sys.exit(0 if named == given.count and right >= RIGHT_LEAST * given.count else 1)


if __name__ == "__main__":
    main()
