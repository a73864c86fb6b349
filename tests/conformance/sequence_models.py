#!/usr/bin/env python3
"""Models in ONNX's text form with sequences and bodies, beside onnxruntime, at sizes 1 and odd ones.

    sequence_models.py DYNREPL FOLDER

A row is a name, the graph, and the feeds. One program serves all feeds of a row (`run --cases`).
Needs numpy, onnx, onnxruntime.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime

HEADER = '<ir_version: 8, opset_import: ["" : 18]>\n'
DRAWS = np.random.default_rng(0)
MATRICES = [{"x": DRAWS.standard_normal(shape, np.float32)} for shape in ((4, 3), (1, 1), (7, 5), (2, 11))]
RELU = "SequenceMap <body = b (float[k,m] e) => (float[k,m] f) { f = Relu(e) }>"


def filled_by_a_loop(beginning):
    """A loop from the optional sequence `o`, which each iteration fills."""
    return f"""g (float[n,m] x) => (float[p,m] y) {{
        l = Shape <start=0, end=1> (x) t = Squeeze(l) c = Constant <value = bool {{1}}> () {beginning}
        s = Loop (t, c, o) <body = b (int64 i, bool ci, optional(seq(float[k,m])) oi) => (bool co, seq(float[k,m]) so) {{
            co = Identity(ci) has = OptionalHasElement(oi)
            q = If (has) <then_branch = a () => (seq(float[k,m]) u) {{ u = OptionalGetElement(oi) }},
                          else_branch = e () => (seq(float[k,m]) w) {{ w = SequenceEmpty <dtype=1> () }}>
            so = SequenceInsert(q, x) }}>
        y = ConcatFromSequence <axis=0> (s) }}"""


MODELS = {
    # The sequence of SequenceMap comes from each operator that gives one.
    "map_of_pieces": ("""g (float[n,m] x) => (float[p,m] y) {
        one = Constant <value_int=1> () s = SplitToSequence <axis=0> (x, one) r = RELU(s)
        y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    "map_of_rows": ("""g (float[n,m] x) => (float[p,m] y) {
        s = SplitToSequence <axis=0> (x) r = RELU(s) y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    "map_of_unequal_pieces": ("""g (float[n,m] x) => (float[p,m] y) {
        three = Constant <value_int=3> () s = SplitToSequence <axis=0> (x, three) r = RELU(s)
        y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    "map_of_construct": ("""g (float[n,m] x) => (float[p,m] y) {
        s = SequenceConstruct(x, x) r = RELU(s) y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    "map_of_insert_and_erase": ("""g (float[n,m] x) => (float[p,m] y) {
        s = SequenceConstruct(x) t = SequenceInsert(s, x) z = Constant <value_int=0> () u = SequenceInsert(t, x, z)
        v = SequenceErase(u) r = RELU(v) y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    "map_of_map": ("""g (float[n,m] x) => (float[p,m] y) {
        s = SplitToSequence <axis=0> (x) r = RELU(s)
        t, w = SequenceMap <body = c (float[1,m] e, float[1,m] h, float[n,m] a) => (float[1,m] f, float[1,m] g) {
            q = ReduceMax <keepdims=0> (a) f = Add(e, q) g = Sub(h, q) }> (r, s, x)
        t2 = ConcatFromSequence <axis=0> (t) w2 = ConcatFromSequence <axis=0> (w) y = Concat <axis=0> (t2, w2) }""", MATRICES),
    "map_of_optional": ("""g (float[n,m] x) => (float[p,m] y, bool there) {
        s = SplitToSequence <axis=0> (x) o = Optional(s) there = OptionalHasElement(o) q = OptionalGetElement(o) r = RELU(q)
        y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    "map_of_identity": ("""g (float[n,m] x) => (float[p,m] y) {
        s = SplitToSequence <axis=0> (x) q = Identity(s) r = RELU(q) y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    "map_of_branches": ("""g (float[n,m] x) => (float[p,m] y) {
        z = Constant <value = float {0.0}> () t = ReduceSum <keepdims=0> (x) c = Greater(t, z)
        s = If (c) <then_branch = a () => (seq(float[1,m]) u) { u = SplitToSequence <axis=0> (x) },
                    else_branch = b () => (seq(float[n,m]) w) { w = SequenceConstruct(x, x) }>
        r = RELU(s) y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    "map_of_loop": ("""g (float[n,m] x) => (float[p,m] y) {
        l = Shape <start=0, end=1> (x) t = Squeeze(l) c = Constant <value = bool {1}> () s0 = SequenceEmpty <dtype=1> ()
        s = Loop (t, c, s0) <body = b (int64 i, bool ci, seq(float[k,m]) si) => (bool co, seq(float[k,m]) so) {
            co = Identity(ci) from = Constant <value_ints=[0]> () one = Constant <value_ints=[1]> () j = Unsqueeze(i, from)
            to = Add(j, one) e = Slice(x, from, to, from) so = SequenceInsert(si, e) }>
        r = RELU(s) y = ConcatFromSequence <axis=0> (r) }""", MATRICES),
    # What a loop carries is optional at its beginning, and filled by each iteration.
    "loop_fills_some": (filled_by_a_loop("s0 = SequenceConstruct(x) o = Optional(s0)"), MATRICES),
    "loop_fills_none": (filled_by_a_loop("o = Optional <type = seq(float[n,m])> ()"), MATRICES),
    # What an exporter writes for the repetition of rows by numbers: the rank of `e` follows from pieces of one element.
    "rows_by_numbers": ("""g (float[n,m] x, int64[n] k) => (float[p,m] y) {
        ks = Shape(k) one = ConstantOfShape <value = int64[1] {1}> (ks) t = Squeeze(ks) c = Constant <value = bool {1}> ()
        xs = SplitToSequence <axis=0> (x, one) rs = SplitToSequence <axis=0> (k, one) s0 = SequenceEmpty <dtype=1> ()
        s = Loop (t, c, s0) <body = b (int64 i, bool ci, seq(float[q,m]) si) => (bool co, seq(float[q,m]) so) {
            co = Identity(ci) row = SequenceAt(xs, i) r = SequenceAt(rs, i) rest = Constant <value_ints=[1]> ()
            to = Concat <axis=0> (r, rest) e = Expand(row, to) so = SequenceInsert(si, e) }>
        y = ConcatFromSequence <axis=0> (s) }""",
        [{"x": DRAWS.standard_normal((len(k), 3), np.float32), "k": np.array(k, np.int64)} for k in ([2, 0, 3], [1], [0, 5, 1, 1, 2, 0, 4])]),
    "equal_pieces": ("""g (float[n,m] x) => (float[2,m] y, float[k,m] z) {
        sizes = Constant <value_ints=[2, 2, 2]> () s = SplitToSequence <axis=0> (x, sizes) i = Constant <value_int=-1> ()
        y = SequenceAt(s, i) r = RELU(s) z = ConcatFromSequence <axis=0> (r) }""",
        [{"x": DRAWS.standard_normal((6, m), np.float32)} for m in (1, 7)]),
    "unequal_pieces": ("""g (float[n,m] x) => (float[k,m] y, float[l,m] z) {
        sizes = Constant <value_ints=[1, 0, 4]> () s = SplitToSequence <axis=0> (x, sizes) i = Constant <value_int=1> ()
        y = SequenceAt(s, i) r = RELU(s) z = ConcatFromSequence <axis=0> (r) }""",
        [{"x": DRAWS.standard_normal((5, m), np.float32)} for m in (1, 7)]),
    "pieces_with_a_rest": ("""g (float[7,m] x) => (float[k,m] y, float[7,m] z) {
        size = Constant <value_int=3> () s = SplitToSequence <axis=0> (x, size) i = Constant <value_int=-1> ()
        y = SequenceAt(s, i) z = ConcatFromSequence <axis=0> (s) }""", [{"x": DRAWS.standard_normal((7, m), np.float32)} for m in (1, 5)]),
    "pieces_without_a_rest": ("""g (float[6,m] x) => (float[3,m] y, float[6,m] z) {
        size = Constant <value_int=3> () s = SplitToSequence <axis=0> (x, size) i = Constant <value_int=0> ()
        y = SequenceAt(s, i) z = ConcatFromSequence <axis=0> (s) }""", [{"x": DRAWS.standard_normal((6, m), np.float32)} for m in (1, 5)]),
    # As the bags of an EmbeddingBag are written: the bounds of a Slice are themselves cut out of a vector, from i to i + 1.
    "bags_between_offsets": ("""g (float[n,m] x, int64[k] o) => (float[k,m] y) {
        ends = Shape <start=0, end=1> (x) all = Concat <axis=0> (o, ends) ks = Shape(o) t = Squeeze(ks) c = Constant <value = bool {1}> ()
        s0 = SequenceEmpty <dtype=1> () none = Constant <value_ints=[-1]> ()
        s = Loop (t, c, s0) <body = b (int64 i, bool ci, seq(float[1,m]) si) => (bool co, seq(float[1,m]) so) {
            co = Identity(ci) j = Reshape(i, none) one = Constant <value_int=1> () two = Constant <value_int=2> () oc = CastLike(one, j)
            j1 = Add(j, oc) j2 = Add(two, j) from = Slice(all, j, j1) to = Slice(all, j1, j2) same = Equal(from, to) zero = Constant <value_ints=[0]> ()
            e = If (same) <then_branch = p () => (float[1,m] u) { one1 = Constant <value_ints=[1]> () r = Slice(x, zero, one1) u = Sub(r, r) },
                           else_branch = q () => (float[1,m] w) { r = Slice(x, from, to) w = ReduceSum <keepdims=1> (r, zero) }>
            so = SequenceInsert(si, e) }>
        y = ConcatFromSequence <axis=0> (s) }""",
        [{"x": DRAWS.standard_normal((n, 3), np.float32), "o": np.array(o, np.int64)} for n, o in ((7, [0, 3, 3, 5]), (1, [0]), (11, [0, 0, 11]))]),
}


def differences(dynrepl, folder, name, text, feeds):
    file = folder / f"{name}.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text.replace("RELU", RELU)), file)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    cases = []
    for index, feed in enumerate(feeds):
        inputs = {}
        for key, value in feed.items():
            inputs[key] = f"@{folder / f'{name}_{index}_{key}.npy'}"
            np.save(inputs[key][1:], value)
        cases.append({"inputs": inputs, "output_dir": str(folder / f"{name}_{index}")})
    lines = folder / f"{name}.jsonl"
    lines.write_text("".join(json.dumps(case) + "\n" for case in cases))
    ran = subprocess.run([dynrepl, "run", str(file), "--cases", str(lines), "--json", "--cache-dir", "none"], capture_output=True, text=True)
    if ran.returncode != 0:
        return [f"{name}: exit {ran.returncode}: {ran.stdout[-400:]}"]
    wrong = []
    for feed, case in zip(feeds, json.loads(ran.stdout)["cases"]):
        shapes = {key: value.shape for key, value in feed.items()}
        for output, wanted in zip(case["outputs"], session.run(None, feed)):
            got = np.load(output["file"])
            if got.shape != wanted.shape or not np.allclose(got, wanted, 1e-5, 1e-6):
                wrong.append(f"{name} {shapes}: {output['name']} is {got}, onnxruntime {wanted}")
    return wrong


def main():
    dynrepl, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    wrong = [line for name, (text, feeds) in MODELS.items() for line in differences(dynrepl, folder, name, text, feeds)]
    print(f"{sum(len(feeds) for _, feeds in MODELS.values())} runs of {len(MODELS)} models with sequences, {len(wrong)} differ")
    for line in wrong:
        print(" ", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
