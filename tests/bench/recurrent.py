#!/usr/bin/env python3
"""LSTM, GRU and RNN over batches, widths, layers and directions beside onnxruntime, and beside the steps in f64.

    ./dev bench recurrent [--kind lstm|gru|gru_before|rnn ...] [--batch N ...] [--hidden N ...] [--steps N ...] [--layers N ...] [--directions N ...]
                          [--lengths] [--threads N] [--math fp32|bf16] [--seconds S] [--cpu-time] [--below R] [--predict]

One model for each kind, width, layers and directions (batch and steps open, input as wide as the state, weights constant), run at each batch and number of steps, ours and onnxruntime in turn.
gru: the reset gate behind the product (as PyTorch), gru_before: before it. --lengths: with sequence_lens, of random lengths. Printed: us per step (of the lower
quartile of the runs), the ratio onnxruntime / ours (above 1 Dyn is faster), the rate at which the recurrent weights are read (once a step and layer), and the largest error against the sums in f64, of ours and of onnxruntime; with --predict what
`:predict` says of time and memory over what is measured. Needs numpy, onnx and onnxruntime.
"""
import argparse
import os
import sys
import tempfile
import time

import numpy as np

import contexts
import measuring
import peers
import predict

GATES = {"lstm": 4, "gru": 3, "gru_before": 3, "rnn": 1}
OPERATORS = {"lstm": "LSTM", "gru": "GRU", "gru_before": "GRU", "rnn": "RNN"}


def weights_of(kind, width, hidden, directions, random):
    gates, scale = GATES[kind] * hidden, 1 / np.sqrt(hidden)
    shapes = ((directions, gates, width), (directions, gates, hidden), (directions, 2 * gates))
    return [random.uniform(-scale, scale, shape).astype(np.float32) for shape in shapes]


def save(path, kind, hidden, layers, directions, lengths, random):
    """The model, and the weights of each layer."""
    from onnx import TensorProto, helper, numpy_helper, save as write
    nodes, constants, kept, x = [], [numpy_helper.from_array(np.array([0, 0, -1], np.int64), "joined")], [], "x"
    for layer in range(layers):
        kept.append(weights_of(kind, hidden if layer == 0 else hidden * directions, hidden, directions, random))
        names = [f"{name}{layer}" for name in "wrb"]
        constants += [numpy_helper.from_array(array, name) for name, array in zip(names, kept[-1], strict=True)]
        more = {"linear_before_reset": 1} if kind == "gru" else {}
        nodes.append(helper.make_node(OPERATORS[kind], [x, *names, *(["lengths"] if lengths else [])], [f"y{layer}", f"h{layer}"], hidden_size=hidden,
                                      direction="bidirectional" if directions == 2 else "forward", **more))
        nodes.append(helper.make_node("Transpose", [f"y{layer}"], [f"t{layer}"], perm=[0, 2, 1, 3]))
        x = f"x{layer + 1}"
        nodes.append(helper.make_node("Reshape", [f"t{layer}", "joined"], [x]))
    nodes.append(helper.make_node("Identity", [x], ["out"]))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["steps", "batch", hidden])]
    if lengths:
        inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, ["batch"]))
    outputs = [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["steps", "batch", hidden * directions]),
               helper.make_tensor_value_info(f"h{layers - 1}", TensorProto.FLOAT, [directions, "batch", hidden])]
    graph = helper.make_graph(nodes, "recurrent", inputs, outputs, constants)
    write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return kept


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell_in_f64(kind, gates, h, c, r, bias):
    """One step: `gates` are those of the inputs with their bias, `bias` that of the state."""
    n = h.shape[1]
    part = lambda x, k: x[:, k * n:(k + 1) * n]
    own = h @ r.T + bias
    if kind == "lstm":
        i, o, f, g = (part(gates + own, k) for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if kind == "rnn":
        return np.tanh(gates + own), c
    z, reset = (sigmoid(part(gates, k) + part(own, k)) for k in (0, 1))
    inner = reset * part(own, 2) if kind == "gru" else (reset * h) @ r[2 * n:].T + bias[2 * n:]
    return (1 - z) * np.tanh(part(gates, 2) + inner) + z * h, c


def in_f64(kind, layers, x, lengths):
    x = x.astype(np.float64)
    for w, r, b in layers:
        directions, gates, hidden = r.shape
        steps, batch, _ = x.shape
        y, last = np.zeros((steps, batch, directions, hidden)), np.zeros((directions, batch, hidden))
        for d in range(directions):
            products = x @ w[d].astype(np.float64).T + b[d][:gates]
            h = c = np.zeros((batch, hidden))
            for t in reversed(range(steps)) if d else range(steps):
                runs = (t < lengths)[:, None]
                now, cell = cell_in_f64(kind, products[t], h, c, r[d].astype(np.float64), b[d][gates:])
                h, c = np.where(runs, now, h), np.where(runs, cell, c)
                y[t, :, d] = np.where(runs, now, 0)
            last[d] = h
        x = y.reshape(steps, batch, directions * hidden)
    return [x, last]


def error_of(found, wanted):
    return max((float(np.max(np.abs(a - b), initial=0)) if a.shape == b.shape else float("inf") for a, b in zip(found, wanted, strict=True)), default=0.0)


def feed_of(hidden, batch, steps, lengths, random):
    feed = {"x": random.standard_normal((steps, batch, hidden)).astype(np.float32)}
    if lengths:
        feed["lengths"] = random.integers(0, steps + 1, batch).astype(np.int32)
        feed["lengths"][:1] = steps
    return feed


def quartiles(runs, seconds, clock):
    """The lower quartile of each: what other work on the machine takes away is not theirs."""
    times, end = [[] for _ in runs], time.monotonic() + seconds
    while len(times[0]) < 5 or time.monotonic() < end:
        for kept, run in zip(times, runs, strict=True):
            start = clock()
            run()
            kept.append(clock() - start)
    return [float(np.percentile(kept, 25)) for kept in times]


def measure(arguments, module, session, kind, layers, feed):
    module.set(feed)
    module.run()
    x = feed["x"]
    wanted = in_f64(kind, layers, x, feed.get("lengths", np.full(x.shape[1], x.shape[0])))
    errors = [error_of(found, wanted) for found in (module.outputs(), session.run(None, feed))]
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    times = quartiles((module.run, lambda: session.run_with_iobinding(binding)), arguments.seconds,
                    time.process_time_ns if arguments.cpu_time else time.perf_counter_ns)
    return times, errors


def rows_of(arguments, path, kind, hidden, layers, directions, random):
    kept = save(path, kind, hidden, layers, directions, arguments.lengths, random)
    module = contexts.load(arguments.build, path, arguments.threads, ("--math", arguments.math))
    session = peers.peer_session(path, arguments.threads)
    shapes = [(batch, steps) for batch in arguments.batch for steps in arguments.steps]
    told = predict.predictions(arguments.build, path, [{"batch": b, "steps": s} for b, s in shapes], arguments.threads) if arguments.predict else []
    for at, (batch, steps) in enumerate(shapes):
        times, errors = measure(arguments, module, session, kind, kept, feed_of(hidden, batch, steps, arguments.lengths, random))
        read = sum(r.nbytes for _, r, _ in kept) * steps / (2 if arguments.math == "bf16" else 1)
        row = {"name": f"{kind:11}{batch:>6}{hidden:>7}{layers:>7}{directions:>11}{steps:>6}", "times": times, "steps": steps, "errors": errors,
               "rate": read / times[0], "told": ""}
        if told and (prediction := told[at].get("prediction")):
            row["told"] = f"{prediction['time_ns'] / times[0]:>8.2f}{prediction['peak_bytes'] / module.statistics.peak_bytes:>8.2f}"
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", nargs="+", choices=GATES, default=["lstm", "gru"])
    for name, default in (("batch", [1, 2, 8, 32]), ("hidden", [128, 256, 512, 1024]), ("steps", [50]), ("layers", [1]), ("directions", [1])):
        parser.add_argument(f"--{name}", nargs="+", type=int, default=default)
    parser.add_argument("--lengths", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--math", default="fp32", help="of our build: fp32 or bf16")
    parser.add_argument("--seconds", type=float, default=0.5, help="per figure")
    parser.add_argument("--cpu-time", action="store_true", help="time of the processor, not of the clock")
    parser.add_argument("--below", type=float, default=float("inf"), help="only rows under this ratio")
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError as missing:
        sys.exit(f"recurrent: skipped: {missing.name} is not installed (./dev setup test)")
    print(f"{arguments.threads} thread(s), {measuring.cpu_name()}, onnxruntime {onnxruntime.__version__}, --math {arguments.math}")
    print("kind        batch hidden layers directions steps   us/step    theirs   ratio   GB/s   error  theirs" + ("    time  memory" if arguments.predict else ""))
    ratios, wrong, random = {}, 0, np.random.default_rng(5)
    allowed = 1e-4 if arguments.math == "fp32" else 0.05
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "recurrent.onnx")
        for kind, hidden, layers, directions in ((k, h, l, d) for k in arguments.kind for l in arguments.layers for d in arguments.directions for h in arguments.hidden):
            for row in rows_of(arguments, path, kind, hidden, layers, directions, random):
                (ours, theirs), ratio = row["times"], row["times"][1] / row["times"][0]
                ratios.setdefault((kind, int(row["name"].split()[1])), []).append(ratio)
                wrong += row["errors"][0] > allowed
                if ratio < arguments.below or row["errors"][0] > allowed:
                    print(f"{row['name']}{ours / row['steps'] / 1e3:>10.2f}{theirs / row['steps'] / 1e3:>10.2f}{ratio:>8.2f}{row['rate']:>7.1f}"
                          + "".join(f"{e:>8.1e}" for e in row["errors"]) + row["told"] + ("  WRONG" if row["errors"][0] > allowed else ""), flush=True)
    for (kind, batch), found in ratios.items():
        print(f"{kind}, batch {batch}: geometric mean of {len(found)} {np.exp(np.mean(np.log(found))):.2f}, least {min(found):.2f}")
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
