#!/usr/bin/env python3
"""Padded batches without their padding: our build beside our own padded one (-pack_sequences) and onnxruntime, in one process, in turn, on the same inputs.

    ./dev bench ragged --lengths FOLDER [--model encoder|bert|lstm|gru] [--set NAME]... [--batch N]... [--layers N] [--threads N] [--micro N]... [--seconds S] [--cpu-time] [--json]

FOLDER holds a file of lengths for each set, NAME.txt, one a line. The models are made here, with random weights: `encoder` (512 wide, 8 heads, 2048 within, lengths as an input,
--padded-results zero) and `bert` (768 wide, 12 heads, 3072 within, embeddings and an attention mask, the result of a sequence is that of its first position: exact).
`lstm` and `gru` are two layers of both directions, 256 wide and 256 within, over `sequence_lens` (exact).
Batches are taken one after the other from the file. Printed: medians of a batch's time, the ratios to our padded build and to onnxruntime, the ceiling (arithmetic padded / exact)
and what is reached of it. Needs numpy and onnx; onnxruntime is left out where it is missing.
With --micro N the sequences of a batch are also run sorted by length and in N batches, each padded to its own longest, by our padded build and by onnxruntime: what a user may do without
any compiler. Their time is the sum of the N runs.
With --text the encoder is a text module over ragged tensors (docs/ragged.md) with the same weights, which takes the sequences as rows and lengths.
"""
import argparse
import json
import os
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import contexts
import measuring

SIZES = {"encoder": {"width": 512, "heads": 8, "within": 2048, "layers": 6}, "bert": {"width": 768, "heads": 12, "within": 3072, "layers": 12},
         "lstm": {"width": 256, "within": 256, "layers": 2}, "gru": {"width": 256, "within": 256, "layers": 2}}
GATES = {"lstm": 4, "gru": 3}
VOCABULARY, POSITIONS = 1000, 512


class Graph:
    """Nodes and weights as an exporter writes them, each node's one output named by its number."""

    def __init__(self, seed=0):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(seed)

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        name = f"constant_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, scale=None):
        return self.constant((self.random.standard_normal(shape) * (scale or shape[0] ** -0.5)).astype(np.float32))

    def linear(self, x, rows, columns):
        return self.op("Add", self.op("MatMul", x, self.weight(rows, columns)), self.weight(columns, scale=0.02))

    def norm(self, x, width):
        ones = self.constant(np.ones(width, np.float32))
        return self.op("LayerNormalization", x, ones, self.weight(width, scale=0.02), axis=-1, epsilon=1e-5)

    def layer(self, x, size, masked):
        width, heads = size["width"], size["heads"]
        split = self.constant(np.array([0, 0, heads, width // heads]))
        q, k, v = (self.op("Reshape", self.linear(x, width, width), split) for _ in range(3))
        q, v = (self.op("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
        scores = self.op("Div", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 2, 3, 1])), self.constant(np.float32((width // heads) ** 0.5)))
        z = self.op("Transpose", self.op("MatMul", self.op("Softmax", masked(scores), axis=-1), v), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", z, self.constant(np.array([0, 0, width])))
        x = self.norm(self.op("Add", x, self.linear(joined, width, width)), width)
        inner = self.linear(x, width, size["within"])
        if size["activation"] == "Relu":
            inner = self.op("Relu", inner)
        else:
            half = self.op("Mul", inner, self.constant(np.float32(0.5)))
            inner = self.op("Mul", half, self.op("Add", self.op("Erf", self.op("Div", inner, self.constant(np.float32(2 ** 0.5)))), self.constant(np.float32(1))))
        return self.norm(self.op("Add", x, self.linear(inner, size["within"], width)), width)


def make_encoder(path, size):
    g = Graph()
    size = size | {"activation": "Relu"}
    length = g.op("Gather", g.op("Shape", "x"), g.constant(np.int64(1)))
    row = g.op("Unsqueeze", g.op("Range", g.constant(np.int64(0)), length, g.constant(np.int64(1))), g.constant(np.array([0])))
    keep = g.op("Unsqueeze", g.op("Less", row, g.op("Unsqueeze", "lengths", g.constant(np.array([1])))), g.constant(np.array([1, 2])))
    fill = g.constant(np.float32(-1e9))
    x = "x"
    for _ in range(size["layers"]):
        x = g.layer(x, size, lambda scores: g.op("Where", keep, scores, fill))
    g.nodes[-1].output[0] = "y"
    save(path, g, [("x", TensorProto.FLOAT, ["batch", "seq", size["width"]]), ("lengths", TensorProto.INT64, ["batch"])],
         [("y", TensorProto.FLOAT, ["batch", "seq", size["width"]])])


def make_bert(path, size):
    g = Graph()
    size = size | {"activation": "Gelu"}
    width = size["width"]
    length = g.op("Gather", g.op("Shape", "input_ids"), g.constant(np.int64(1)))
    position = g.op("Unsqueeze", g.op("Range", g.constant(np.int64(0)), length, g.constant(np.int64(1))), g.constant(np.array([0])))
    words = g.op("Gather", g.weight(VOCABULARY, width, scale=0.5), "input_ids")
    places = g.op("Gather", g.weight(POSITIONS, width, scale=0.5), position)
    x = g.norm(g.op("Add", words, places), width)
    mask = g.op("Cast", g.op("Unsqueeze", "attention_mask", g.constant(np.array([1, 2]))), to=TensorProto.FLOAT)
    bias = g.op("Mul", g.op("Sub", g.constant(np.float32(1)), mask), g.constant(np.float32(np.finfo(np.float32).min)))
    for _ in range(size["layers"]):
        x = g.layer(x, size, lambda scores: g.op("Add", scores, bias))
    first = g.op("Gather", x, g.constant(np.int64(0)), axis=1)
    g.op("Tanh", g.linear(first, width, width))
    g.nodes[-1].output[0] = "y"
    save(path, g, [("input_ids", TensorProto.INT64, ["batch", "seq"]), ("attention_mask", TensorProto.INT64, ["batch", "seq"])],
         [("y", TensorProto.FLOAT, ["batch", width])])


def make_recurrent(path, size, kind):
    g = Graph()
    within, gates, rows = size["within"], GATES[kind], size["width"]
    x = g.op("Transpose", "x", perm=[1, 0, 2])
    for _ in range(size["layers"]):
        weights = [g.weight(2, gates * within, columns, scale=columns ** -0.5) for columns in (rows, within)]
        y, _ = g.op(kind.upper(), x, *weights, g.weight(2, 2 * gates * within, scale=0.02), "lengths", outputs=2, hidden_size=within, direction="bidirectional")
        rows = 2 * within
        x = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.constant(np.array([0, 0, rows])))
    g.op("Transpose", x, perm=[1, 0, 2])
    g.nodes[-1].output[0] = "y"
    save(path, g, [("x", TensorProto.FLOAT, ["batch", "seq", size["width"]]), ("lengths", TensorProto.INT32, ["batch"])], [("y", TensorProto.FLOAT, ["batch", "seq", rows])])


def save(path, g, inputs, outputs):
    graph = helper.make_graph(g.nodes, "ragged", [helper.make_tensor_value_info(*i) for i in inputs], [helper.make_tensor_value_info(*o) for o in outputs], g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def write_text(model, path):
    """The encoder as a text module, x: Tensor[(b, len[b], width), f32]: its mask is what the type says, and left out."""
    graph = onnx.load(model).graph
    weights = {w.name: w for w in graph.initializer}
    dtypes = {TensorProto.FLOAT: "f32", TensorProto.INT64: "i64"}
    mask = {"Shape", "Gather", "Range", "Unsqueeze", "Less"}
    width = graph.input[0].type.tensor_type.shape.dim[2].dim_value
    lines, same = [], {}
    for name, w in weights.items():
        sizes = ", ".join(str(d) for d in w.dims)
        lines.append(f"  %{name} = constant() {{value = {dtypes[w.data_type]}[{sizes}] <weight \"{name}\">}}")
    for node in graph.node:
        inputs = [same.get(i, i) for i in node.input]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type in mask:
            continue
        if node.op_type == "Where":  # the scores under the mask
            same[node.output[0]] = inputs[1]
            continue
        kind = {"LayerNormalization": "layer_norm"}.get(node.op_type, node.op_type.lower())
        words = ", ".join(f"{name} = {value}" for name, value in attributes.items())
        lines.append(f"  %{node.output[0]} = {kind}({', '.join('%' + i for i in inputs)})" + (f" {{{words}}}" if words else ""))
    with open(path, "w") as text:
        text.write(f'weights "{os.path.basename(model)}"\nfn @main(%x: Tensor[(b, len[b], {width}), f32]) {{\n' + "\n".join(lines) + f"\n  return %{graph.output[0].name}\n}}\n")


def as_rows(inputs):
    lengths = inputs["lengths"]
    return {"x": np.concatenate([sequence[:n] for sequence, n in zip(inputs["x"], lengths)]), "len": lengths}


def feed(model, lengths, size, random):
    batch, seq = len(lengths), max(lengths)
    if model != "bert":
        return {"x": random.standard_normal((batch, seq, size["width"])).astype(np.float32), "lengths": np.array(lengths, np.int64 if model == "encoder" else np.int32)}
    mask = (np.arange(seq)[None] < np.array(lengths)[:, None]).astype(np.int64)
    return {"input_ids": random.integers(0, VOCABULARY, (batch, seq)) * mask, "attention_mask": mask}


def arithmetic(model, lengths, size):
    width, within = size["width"], size["within"]
    if model in GATES:
        return sum(lengths)  # as much for each step
    return sum(n * (4 * width * width + 2 * width * within) + 2 * n * n * width for n in lengths)


def load_peer(path, threads):
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def kept(model, outputs, lengths):
    """What is compared: of hidden states the kept positions."""
    return [np.concatenate([outputs[0][i, :n] for i, n in enumerate(lengths)])] if model != "bert" else outputs


def processor_clock(call):
    start = time.process_time_ns()
    call()
    return time.process_time_ns() - start


def after_rest(clock):
    def rested(call):
        measuring.wake(call, 3)
        return clock(call)
    return rested


def in_parts(inputs, lengths, count):
    """The inputs of `count` batches of neighbours in length, each as long as its longest."""
    order = np.argsort(lengths, kind="stable")
    for part in np.array_split(order, min(count, len(order))):
        longest = max(lengths[i] for i in part)
        yield {name: value[part] if value.ndim == 1 else value[part][:, :longest] for name, value in inputs.items()}


def run_parts(parts, run, clock):
    """The time of all of them; making their inputs is not counted."""
    return sum(clock(lambda: run(inputs)) for inputs in parts)


def measure(model, ours, padded, peer, batches, size, seconds, clock, text, micro):
    times = {"ours_ns": [], "padded_ns": [], "onnxruntime_ns": []} | {f"{who}_in_{n}_ns": [] for n in micro for who in ("padded", "onnxruntime")}

    def run_padded(inputs):
        padded.set(inputs)
        padded.run()
    random, error, end = np.random.default_rng(1), 0.0, time.monotonic() + seconds
    exact = full = 0
    for at, lengths in enumerate(batches):
        if at >= 2 and time.monotonic() > end:
            break
        inputs = feed(model, lengths, size, random)
        ours.set(as_rows(inputs) if text else inputs)
        padded.set(inputs)
        if at == 0:
            ours.run(), padded.run()
        times["ours_ns"].append(clock(ours.run))
        times["padded_ns"].append(clock(padded.run))
        results = [ours.outputs() if text else kept(model, ours.outputs(), lengths), kept(model, padded.outputs(), lengths)]
        error = max(error, measuring.difference(*results))
        if peer:
            times["onnxruntime_ns"].append(clock(lambda: peer(inputs)))
        for n in micro:
            parts = list(in_parts(inputs, lengths, n))
            times[f"padded_in_{n}_ns"].append(run_parts(parts, run_padded, clock))
            if peer:
                times[f"onnxruntime_in_{n}_ns"].append(run_parts(parts, peer, clock))
        exact += arithmetic(model, lengths, size)
        full += arithmetic(model, [max(lengths)] * len(lengths), size)
    sums = {name: float(sum(all)) for name, all in times.items() if all}
    row = {name: total / len(times["ours_ns"]) for name, total in sums.items()}
    row |= {"batches_count": len(times["ours_ns"]), "error": error, "ceiling": full / exact, "ratio": sums["padded_ns"] / sums["ours_ns"]}
    row["reached"] = row["ratio"] / row["ceiling"]
    if peer:
        row["peer_ratio"] = sums["onnxruntime_ns"] / sums["ours_ns"]
    row |= {f"{name[:-3]}_ratio": sums[name] / sums["ours_ns"] for name in sums if "_in_" in name}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", required=True, help="folder of NAME.txt")
    parser.add_argument("--model", choices=sorted(SIZES), default="encoder")
    parser.add_argument("--set", action="append", help="default: all of the folder")
    parser.add_argument("--batch", type=int, action="append", help="default: 8 and 32")
    parser.add_argument("--text", action="store_true", help="ours is a text module over ragged tensors")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--micro", type=int, action="append", default=[], help="also sorted by length and run in so many batches")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each row, after its second batch")
    parser.add_argument("--cpu-time", action="store_true", help="the time on the processor, not that of the clock: for one thread on a busy machine")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.text and arguments.model != "encoder":
        parser.error("--text is the encoder")
    if any(n < 1 for n in arguments.micro):
        parser.error("--micro is 1 or more")
    clock = processor_clock if arguments.cpu_time else measuring.clock
    if arguments.threads > 1:
        clock = after_rest(clock)
    size = dict(SIZES[arguments.model])
    size["layers"] = arguments.layers or size["layers"]
    sets = arguments.set or sorted(name[:-4] for name in os.listdir(arguments.lengths) if name.endswith(".txt"))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        if arguments.model in GATES:
            make_recurrent(path, size, arguments.model)
        else:
            {"encoder": make_encoder, "bert": make_bert}[arguments.model](path, size)
        policy = ("--padded-results", "zero" if arguments.model == "encoder" else "exact")
        if arguments.text:
            write_text(path, os.path.join(folder, "model.dyn"))
            ours = contexts.load(arguments.build, os.path.join(folder, "model.dyn"), arguments.threads)
        else:
            ours = contexts.load(arguments.build, path, arguments.threads, policy)
        padded = contexts.load(arguments.build, path, arguments.threads, ("--passes=-pack_sequences",))
        peer = load_peer(path, arguments.threads)
        if not arguments.json:
            print(f"{arguments.model}, {size['layers']} layers, {arguments.threads} thread(s), {measuring.cpu_name()}")
            print(f"{'set':10}{'batch':>6}{'ours ms':>10}{'padded ms':>11}{'onnxrt ms':>11}{'ratio':>8}{'ceiling':>9}{'reached':>9}{'to onnxrt':>11}"
                  + "".join(f"{f'in {n}':>8}{f'onnxrt':>8}" for n in arguments.micro) + f"{'batches':>9}")
        for name in sets:
            with open(os.path.join(arguments.lengths, name + ".txt")) as text:
                lengths = [max(1, int(line)) for line in text.read().split()]
            for batch in arguments.batch or (8, 32):
                batches = [lengths[i:i + batch] for i in range(0, len(lengths) - batch + 1, batch)]
                row = {"set": name, "batch": batch} | measure(arguments.model, ours, padded, peer, batches, size, arguments.seconds,
                                                                 clock, arguments.text, arguments.micro)
                rows.append(row)
                if not arguments.json:
                    theirs = f"{row['onnxruntime_ns'] / 1e6:>11.1f}" if peer else f"{'-':>11}"
                    ratio = f"{row['peer_ratio']:>11.2f}" if peer else f"{'-':>11}"
                    print(f"{name:10}{batch:>6}{row['ours_ns'] / 1e6:>10.1f}{row['padded_ns'] / 1e6:>11.1f}{theirs}{row['ratio']:>8.2f}{row['ceiling']:>9.2f}"
                          f"{row['reached']:>9.2f}{ratio}"
                          + "".join(f"{row[f'{who}_in_{n}_ratio']:>8.2f}" if f"{who}_in_{n}_ratio" in row else f"{'-':>8}" for n in arguments.micro for who in ("padded", "onnxruntime"))
                          + f"{row['batches_count']:>9}{'' if row['error'] <= 1 else '  DIFFERS'}", flush=True)
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench ragged", "model": arguments.model, "layers": size["layers"], "threads": arguments.threads,
                          "cpu": measuring.cpu_name(), "rows": rows}))
    return 3 if any(row["error"] > 1 for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
