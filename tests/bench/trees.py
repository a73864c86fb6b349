#!/usr/bin/env python3
"""Trees a level at a time: our build beside our own without the pass (-linearise), onnxruntime's Loop tree by tree, and NumPy node by node, in one process, in turn, on the same inputs.

    ./dev bench trees --trees FOLDER [--model NAME]... [--width N]... [--batch N]... [--threads N] [--seconds S] [--wall-time] [--json]

FOLDER holds sst_dev.txt: a tree a line, the parents of its nodes in post-order, -1 at the root. Models are those of tests/models/make_tree_models.py, wider. Trees are taken one after the other
from the file; ours gets those of a batch behind each other, in one run. onnxruntime runs each tree on its own, and, as the second of its figures, the batch behind each other. Times are those
of the processor, since others may use it. Printed: medians of a batch's time, how many times faster ours is. Needs numpy and onnx; onnxruntime is left out where it is missing.
`--linearizer` measures how many nodes a second get their levels (`levels` alone).
"""
import argparse
import json
import os
import sys
import tempfile
import time

import numpy as np
import onnx

import dynvm
import measuring

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import make_tree_models  # noqa: E402

MODELS = ("treelstm_binary", "treegru", "treefc", "treelstm_childsum")


def made(name, width):
    maker = make_tree_models.MODELS[name]
    return maker(width) if name in ("treefc", "treegru") else maker(width, width, 2) if name == "treelstm_childsum" else maker(width, width)


def read_trees(folder):
    with open(os.path.join(folder, "sst_dev.txt")) as lines:
        return [[int(n) for n in line.split()] for line in lines if line.strip()]


def inputs_of(name, make, trees, random):
    forest = [make_tree_models.children_of(t) for t in trees] if name == "treelstm_childsum" else trees
    return make(forest, random)


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


def eager(name, model, width):
    """The binary Tree-LSTM node by node in NumPy, float32; None for other models."""
    if name != "treelstm_binary":
        return None
    w = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def run(inputs):
        i, o, v = np.split(inputs["x"] @ w["Wx"] + w["bx"], 3, axis=1)
        c = list(sigmoid(i) * np.tanh(v))
        h = list(sigmoid(o) * np.tanh(np.array(c)))
        for a, b in zip(inputs["left"].tolist(), inputs["right"].tolist()):
            i, fa, fb, o, v = np.split(np.concatenate([h[a], h[b]]) @ w["U"] + w["bu"], 5)
            c.append(sigmoid(i) * np.tanh(v) + sigmoid(fa) * c[a] + sigmoid(fb) * c[b])
            h.append(sigmoid(o) * np.tanh(c[-1]))
        return [np.array(h)]
    return run


def measure(name, make, ours, plain, peer, numpy_run, trees, batch, seconds, clock):
    random, times, error = np.random.default_rng(1), {}, 0.0
    end, rounds = time.monotonic() + seconds, 0
    while rounds < 3 or time.monotonic() < end:
        chosen = [trees[(rounds * batch + k) % len(trees)] for k in range(batch)]
        each = [inputs_of(name, make, [t], random) for t in chosen]
        joined = inputs_of(name, make, chosen, random)

        def note(what, call):
            times.setdefault(what, []).append(clock(call))

        results = []
        for what, module in (("ours_ns", ours), ("plain_ns", plain)):
            module.set_inputs(joined)
            if rounds == 0:
                module.run()
            note(what, module.run)
            results.append(module.outputs())
        if peer:
            if rounds == 0:
                peer(joined)
            note("onnxruntime_ns", lambda: [peer(i) for i in each])
            note("onnxruntime_joined_ns", lambda: results.append(peer(joined)))
        if numpy_run:
            note("numpy_ns", lambda: [numpy_run(i) for i in each])
        error = max(error, *(measuring.difference(results[0], other) for other in results[1:]))
        rounds += 1
    row = {what: float(np.median(all)) for what, all in times.items()}
    row |= {"rounds_count": rounds, "error": error}
    row |= {what.replace("_ns", "_ratio"): row[what] / row["ours_ns"] for what in times if what != "ours_ns"}
    return row


LEVELS = """fn @main(%rows: Tensor[(), i64], %writes: Tensor[(n), i64], %children: Tensor[(n, 2), i64]) {
  %order, %starts = levels(%rows, %writes, %children)
  return %order, %starts
}
"""


def linearizer(build, folder, trees, nodes):
    """Nodes a second of `levels` over a forest of so many nodes."""
    path = os.path.join(folder, "levels.dyn")
    with open(path, "w") as text:
        text.write(LEVELS)
    tables, count = [], 0
    while count < nodes:
        tree = trees[len(tables) % len(trees)]
        table = np.full((len(tree), 2), -1, np.int64)
        for node, below in enumerate(make_tree_models.children_of(tree)):
            table[node, :len(below)] = below
        tables.append(np.where(table < 0, -1, table + count))
        count += len(tree)
    children = np.concatenate(tables)
    module = dynvm.load(build, path)
    module.set_inputs({"rows": np.array(count + 1, np.int64), "writes": np.arange(count, dtype=np.int64), "children": children})
    module.run()
    best = min(processor_clock(module.run) for _ in range(5))
    return {"nodes_count": count, "nodes_per_s": count / best * 1e9}


def processor_clock(call):
    start = time.process_time_ns()
    call()
    return time.process_time_ns() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", required=True, help="folder of sst_dev.txt")
    parser.add_argument("--model", action="append", choices=MODELS, help="default: treelstm_binary")
    parser.add_argument("--width", type=int, action="append", help="of a state; default: 256 and 300")
    parser.add_argument("--batch", type=int, action="append", help="default: 1, 10 and 64")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each row, after its third batch")
    parser.add_argument("--wall-time", action="store_true", help="the time of the clock, not that on the processor")
    parser.add_argument("--linearizer", action="store_true", help="nodes a second of `levels` alone")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    trees, rows = read_trees(arguments.trees), []
    clock = measuring.clock if arguments.wall_time else processor_clock
    with tempfile.TemporaryDirectory() as folder:
        if arguments.linearizer:
            for nodes in (1000, 100_000, 10_000_000):
                rows.append(linearizer(arguments.build, folder, trees, nodes))
                print(f"{rows[-1]['nodes_count']:>10} nodes  {rows[-1]['nodes_per_s'] / 1e6:8.1f} million a second", flush=True)
        for name in arguments.model or ([] if arguments.linearizer else ["treelstm_binary"]):
            for width in arguments.width or [256, 300]:
                model, _, make = made(name, width)
                path = os.path.join(folder, f"{name}_{width}.onnx")
                onnx.save(model, path)
                ours = dynvm.load(arguments.build, path, arguments.threads)
                plain = dynvm.load(arguments.build, path, arguments.threads, ("--passes=-linearise",))
                peer, numpy_run = load_peer(path, arguments.threads), eager(name, model, width)
                for batch in arguments.batch or [1, 10, 64]:
                    row = measure(name, make, ours, plain, peer, numpy_run, trees, batch, arguments.seconds, clock)
                    rows.append({"model": name, "width": width, "batch": batch} | row)
                    beside = "  ".join(f"{what[:-6]} {row[what]:.2f}x" for what in row if what.endswith("_ratio"))
                    print(f"{name:18} width {width}  batch {batch:3}  {row['ours_ns'] / 1e3:10.1f} us   {beside}   error {row['error']:.3f}", flush=True)
    if arguments.json:
        print(json.dumps({"cpu": measuring.cpu_name(), "threads": arguments.threads, "rows": rows}))
    return 1 if any(row.get("error", 0) > 1 for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
