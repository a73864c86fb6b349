#!/usr/bin/env python3
"""Trees a level at a time: our build beside our own without the pass (-batch_levels), onnxruntime's Loop tree by tree, NumPy and PyTorch (where it is installed) node by node, and agenda batching over NumPy, in one process, in turn, on the same inputs.

    ./dev bench trees --trees FOLDER [--model NAME]... [--width N]... [--batch N]... [--threads N] [--seconds S] [--wall-time] [--json]

FOLDER holds sst_dev.txt: a tree a line, the parents of its nodes in post-order, -1 at the root. Models are those of tests/models/make_tree_models.py, wider. Trees are taken one after the other
from the file; ours gets those of a batch behind each other, in one run. The agenda, too, gets the batch at once. onnxruntime runs each tree on its own, and, as the second of its figures, the batch behind each other. Times are those
of the processor, since others may use it. Printed: medians of a batch's time, how many times faster ours is. Needs numpy and onnx; onnxruntime is left out where it is missing.
`--linearizer` measures how many nodes a second get their levels (`levels` alone). `--arrays` measures how many nodes a second become an input by flat arrays (vm/include/dyn_trees.h), and with an object for each node.
`--chains` takes chains of 1 to 39 inner nodes instead of the file's trees: each level has one node then, which is the worst case.
"""
import argparse
import json
import os
import sys
import tempfile
import time

# NumPy's products take as many threads as ours: its library reads this once.
os.environ.setdefault("OPENBLAS_NUM_THREADS", sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv[:-1] else "1")

import numpy as np
import onnx

import contexts
import measuring

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import make_tree_models  # noqa: E402

MODELS = ("treelstm_binary", "treegru", "treefc", "treelstm_childsum", "mvrnn")


def made(name, width):
    maker = make_tree_models.MODELS[name]
    return maker(width) if name in ("treefc", "treegru", "mvrnn") else maker(width, width, 2) if name == "treelstm_childsum" else maker(width, width)


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


def agenda(name, model):
    """The binary Tree-LSTM of all trees by agenda: operations that are ready wait in a list of their kind, and the kind whose operations are the least deep on average runs next, all of them at once, in NumPy.
    What DyNet does, over NumPy's kernels; None for other models."""
    if name != "treelstm_binary":
        return None
    w = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def run(inputs):
        x, left, right = inputs["x"], inputs["left"], inputs["right"]
        leaves, inner = len(x), len(left)
        width = w["U"].shape[0] // 2
        h, c = np.empty((leaves + inner, width), np.float32), np.empty((leaves + inner, width), np.float32)
        gates = np.empty((leaves + inner, 5 * width), np.float32)
        depth, missing, parents = [0] * (leaves + inner), [2] * inner, [[] for _ in range(leaves + inner)]
        for i, (a, b) in enumerate(zip(left.tolist(), right.tolist())):
            parents[a].append(i)
            parents[b].append(i)
        ready = {"word": list(range(leaves)), "leaf": [], "gates": [], "cell": []}

        def done(nodes):
            for n in nodes:
                for i in parents[n]:
                    missing[i] -= 1
                    depth[leaves + i] = max(depth[leaves + i], depth[n] + 2)
                    if missing[i] == 0:
                        ready["gates"].append(leaves + i)

        while True:
            waiting = [kind for kind in ready if ready[kind]]
            if not waiting:
                return [h]
            kind = min(waiting, key=lambda k: sum(depth[n] + (k in ("leaf", "cell")) for n in ready[k]) / len(ready[k]))
            nodes, ready[kind] = ready[kind], []
            at = np.array(nodes)
            if kind == "word":
                gates[at, :3 * width] = x[at] @ w["Wx"] + w["bx"]
                ready["leaf"] += nodes
            elif kind == "gates":
                a, b = left[at - leaves], right[at - leaves]
                gates[at] = np.concatenate([h[a], h[b]], axis=1) @ w["U"] + w["bu"]
                ready["cell"] += nodes
            elif kind == "leaf":
                i, o, v = np.split(gates[at, :3 * width], 3, axis=1)
                c[at] = sigmoid(i) * np.tanh(v)
                h[at] = sigmoid(o) * np.tanh(c[at])
                done(nodes)
            else:
                i, fa, fb, o, v = np.split(gates[at], 5, axis=1)
                c[at] = sigmoid(i) * np.tanh(v) + sigmoid(fa) * c[left[at - leaves]] + sigmoid(fb) * c[right[at - leaves]]
                h[at] = sigmoid(o) * np.tanh(c[at])
                done(nodes)
    return run


def torch_eager(name, model, threads):
    """The binary Tree-LSTM node by node in PyTorch; None for other models, or without PyTorch."""
    if name != "treelstm_binary":
        return None
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(threads)
    w = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in model.graph.initializer if t.name in ("Wx", "bx", "U", "bu")}

    @torch.no_grad()
    def run(inputs):
        i, o, v = torch.addmm(w["bx"], torch.from_numpy(inputs["x"]), w["Wx"]).chunk(3, dim=1)
        leaf = torch.sigmoid(i) * torch.tanh(v)
        c, h = list(leaf), list(torch.sigmoid(o) * torch.tanh(leaf))
        for a, b in zip(inputs["left"].tolist(), inputs["right"].tolist()):
            i, fa, fb, o, v = torch.addmv(w["bu"], w["U"].t(), torch.cat([h[a], h[b]])).chunk(5)
            c.append(torch.sigmoid(i) * torch.tanh(v) + torch.sigmoid(fa) * c[a] + torch.sigmoid(fb) * c[b])
            h.append(torch.sigmoid(o) * torch.tanh(c[-1]))
        return [torch.stack(h).numpy()]
    return run


def measure(name, make, ours, plain, peer, by_tree, joined_runs, trees, batch, seconds, clock):
    random, times, error = np.random.default_rng(1), {}, 0.0
    end, rounds = time.monotonic() + seconds, 0
    while rounds < 3 or time.monotonic() < end:
        chosen = [trees[(rounds * batch + k) % len(trees)] for k in range(batch)]
        each = [inputs_of(name, make, [t], random) for t in chosen]
        joined = inputs_of(name, make, chosen, random)

        def note(what, call):
            times.setdefault(what, []).append(clock(call))

        results = []
        pair = (("ours_ns", ours), ("plain_ns", plain))
        for what, module in pair if rounds % 2 == 0 else reversed(pair):  # who runs first finds caches as others left them
            module.set(joined)
            if rounds == 0:
                module.run()
            note(what, module.run)
            results.append(module.outputs())
        if peer:
            if rounds == 0:
                peer(joined)
            note("onnxruntime_ns", lambda: [peer(i) for i in each])
            note("onnxruntime_joined_ns", lambda: results.append(peer(joined)))
        for what, call in by_tree.items():
            note(what + "_ns", lambda: [call(i) for i in each])
        for what, call in joined_runs.items():
            note(what + "_ns", lambda: results.append(call(joined)))
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
    module = contexts.load(build, path)
    module.set({"rows": np.array(count + 1, np.int64), "writes": np.arange(count, dtype=np.int64), "children": children})
    module.run()
    best = min(processor_clock(module.run) for _ in range(5))
    return {"nodes_count": count, "nodes_per_s": count / best * 1e9}


ENCODER = """type Tree { Leaf(Tensor[(), i64]), Node(Tree, Tree) }
fn @main(trees: List[Tree], e: Tensor[(words, 2), f32], w: Tensor[(2, 2), f32]) {
  y = loop(list_length(trees), _, trees, e, w) {carried = 0} body (i, trees, e, w) {
    h = @encode(list_at(trees, i), e, w)
    return true, h
  }
  return y
}
fn @encode(t: Tree, e: Tensor[(words, 2), f32], w: Tensor[(2, 2), f32]) -> (Tensor[(2), f32]) {
  h = match(t, e, w) case Leaf(i, e, w) { return gather(e, i) }
                     case Node(a, b, e, w) { return tanh((@encode(a, e, w) + @encode(b, e, w)) @ w) }
  return h
}
"""


def arrays(build, folder, trees, nodes):
    """Nodes a second that become an input: by arrays, and as values, whose calls Python's own time is part of; and how long the runs take then."""
    path = os.path.join(folder, "encoder.dyn")
    with open(path, "w") as text:
        text.write(ENCODER)
    module = contexts.load(build, path)
    below, count = [], 0
    while count < nodes:
        tree = trees[len(below) % len(trees)]
        below += [[count + c for c in children] for children in make_tree_models.children_of(tree)]
        count = len(below)
    constructors = np.array([1 if children else 0 for children in below], np.int32)
    starts = np.concatenate([[0], np.cumsum([len(children) for children in below])]).astype(np.int64)
    children = np.array([c for all in below for c in all], np.int64)
    words = np.arange(int((constructors == 0).sum()), dtype=np.int64) % 100

    random = np.random.default_rng(1)
    module.set_some({name: random.standard_normal(shape).astype(np.float32) for name, shape in (("e", (100, 2)), ("w", (2, 2)))})

    def by_arrays():
        module.set_forest("trees", constructors, starts, children, [words])

    row = {"nodes_count": count, "arrays_nodes_per_s": count / min(processor_clock(by_arrays) for _ in range(5)) * 1e9}
    row["arrays_run_ns"] = min(processor_clock(module.run) for _ in range(5))
    result = module.output(0)

    made, leaf, inner = [], iter(words), set(children.tolist())
    for all in below:
        made.append(module.data(1, [made[c] for c in all]) if all else module.data(0, [np.array(next(leaf))]))
    module.set_data("trees", module.items([v for i, v in enumerate(made) if i not in inner]))
    row["objects_run_ns"] = min(processor_clock(module.run) for _ in range(3))
    row["error"] = 0.0 if np.array_equal(result, module.output(0)) else 2.0
    return row


def chains():
    """Parents of chains in post-order: each inner node has the one before and a leaf."""
    made = []
    for inner in range(1, 40):
        parents = [2, 2, -1]
        while len(parents) < 2 * inner + 1:
            parents[-1] = len(parents) + 1
            parents += [len(parents) + 1, -1]
        made.append(parents)
    return made


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
    parser.add_argument("--arrays", action="store_true", help="nodes a second that become an input by flat arrays")
    parser.add_argument("--chains", action="store_true", help="chains instead of the file's trees")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    trees, rows = chains() if arguments.chains else read_trees(arguments.trees), []
    clock = measuring.clock if arguments.wall_time else processor_clock
    with tempfile.TemporaryDirectory() as folder:
        if arguments.linearizer:
            for nodes in (1000, 100_000, 10_000_000):
                rows.append(linearizer(arguments.build, folder, trees, nodes))
                print(f"{rows[-1]['nodes_count']:>10} nodes  {rows[-1]['nodes_per_s'] / 1e6:8.1f} million a second", flush=True)
        for nodes in (1000, 100_000, 1_000_000) if arguments.arrays else ():
            row = arrays(arguments.build, folder, trees, nodes)
            rows.append(row)
            print(f"{row['nodes_count']:>10} nodes  {row['arrays_nodes_per_s'] / 1e6:8.1f} million a second by arrays, run {row['arrays_run_ns'] / 1e6:.2f} ms; run with an object each {row['objects_run_ns'] / 1e6:.2f} ms", flush=True)
        for name in arguments.model or ([] if arguments.linearizer or arguments.arrays else ["treelstm_binary"]):
            for width in arguments.width or [256, 300]:
                model, _, make = made(name, width)
                path = os.path.join(folder, f"{name}_{width}.onnx")
                onnx.save(model, path)
                ours = contexts.load(arguments.build, path, arguments.threads)
                plain = contexts.load(arguments.build, path, arguments.threads, ("--passes=-batch_levels",))
                peer = load_peer(path, arguments.threads)
                by_tree = {what: run for what, run in (("numpy", eager(name, model, width)), ("torch", torch_eager(name, model, arguments.threads))) if run}
                joined_runs = {what: run for what, run in (("agenda", agenda(name, model)),) if run}
                for batch in arguments.batch or [1, 10, 64]:
                    row = measure(name, make, ours, plain, peer, by_tree, joined_runs, trees, batch, arguments.seconds, clock)
                    rows.append({"model": name, "width": width, "batch": batch} | row)
                    beside = "  ".join(f"{what[:-6]} {row[what]:.2f}x" for what in row if what.endswith("_ratio"))
                    print(f"{name:18} width {width}  batch {batch:3}  {row['ours_ns'] / 1e3:10.1f} us   {beside}   error {row['error']:.3f}", flush=True)
    if arguments.json:
        print(json.dumps({"cpu": measuring.cpu_name(), "threads": arguments.threads, "rows": rows}))
    return 1 if any(row.get("error", 0) > 1 for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
