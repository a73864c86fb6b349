#!/usr/bin/env python3
"""Decoding step by step with a cache of keys and values, Dyn beside onnxruntime: each step's outputs are the next one's inputs.

    ./dev bench decode MODEL.onnx --shape batch=1,seq=1,past=1000 [--steps N] [--threads N]

Outputs present* are handed on as inputs past*: by Dyn as growing values (dyn_value_growing), which it appends to in place, and, in a second context, as
dense values, which it copies; by onnxruntime through its IO binding. The three take turns step by step. Printed: medians of a step, the ratio of
onnxruntime's to ours, and whether the last outputs agree. Needs numpy and onnxruntime.
"""
import argparse
import sys

import numpy as np

import contexts
import feeds
import measuring
import peers


def pairs_of(module_inputs, outputs):
    """(input, output) names that belong together: past_key_0 and present_key_0."""
    pairs = [(name, name.replace("past", "present")) for name, _, _ in module_inputs if name.startswith("past")]
    missing = [b for _, b in pairs if b not in outputs]
    if not pairs or missing:
        sys.exit(f"decode: the model has no inputs past* with outputs present*{': ' + ', '.join(missing) if missing else ''}")
    return pairs


class Ours:
    def __init__(self, arguments, inputs, pairs, growing):
        self.module = contexts.load(arguments.build, arguments.model, arguments.threads)
        self.module.set(inputs)
        self.links = dict(pairs)
        if growing:
            for name in self.links:
                self.module.set_growing(name, inputs[name], growing[name], inputs[name].shape[growing[name]] + arguments.steps + 1)

    def step(self):
        self.module.run()
        self.module.feed_back(self.links)

    def logits(self, index):
        return self.module.output(index)


class Theirs:
    def __init__(self, arguments, inputs, pairs):
        self.session = peers.peer_session(arguments.model, arguments.threads)
        self.binding = self.session.io_binding()
        for name, array in inputs.items():
            self.binding.bind_cpu_input(name, array)
        self.pairs = pairs
        self.names = [o.name for o in self.session.get_outputs()]

    def step(self):
        for name in self.names:
            self.binding.bind_output(name)
        self.session.run_with_iobinding(self.binding)
        values = dict(zip(self.names, self.binding.get_outputs()))
        for a, b in self.pairs:
            self.binding.bind_ortvalue_input(a, values[b])
        self.last = values

    def logits(self, name):
        return self.last[name].numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--shape", default="")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    try:
        import onnxruntime
    except ImportError:
        sys.exit("decode: skipped: onnxruntime is not installed (pip install onnxruntime)")
    probe = contexts.load(arguments.build, arguments.model, 1)
    inputs = feeds.feed(probe.inputs, measuring.parse_shape(arguments.shape))
    outputs = [o.name for o in peers.peer_session(arguments.model, 1).get_outputs()]
    pairs = pairs_of(probe.inputs, outputs)
    past = dict((name, shape) for name, _, shape in probe.inputs)
    axes = {}
    for a, _ in pairs:  # the axis whose size is the past's own
        axes[a] = next(i for i, d in enumerate(past[a]) if isinstance(d, str) and "past" in d)
    runners = {"growing": Ours(arguments, inputs, pairs, axes), "copied": Ours(arguments, inputs, pairs, None),
               "onnxruntime": Theirs(arguments, inputs, pairs)}
    times = {name: [] for name in runners}
    for _ in range(arguments.steps):
        for name, runner in runners.items():
            times[name].append(measuring.clock(runner.step))
    first = outputs[0]
    error = measuring.difference([runners["growing"].logits(0)], [runners["onnxruntime"].logits(first)])
    same = np.array_equal(runners["growing"].logits(0), runners["copied"].logits(0))
    median = {name: float(np.median(t[3:] or t)) for name, t in times.items()}
    print(f"{arguments.model}, {arguments.shape}, {arguments.steps} steps, {arguments.threads} thread(s), {measuring.cpu_name()}, onnxruntime {onnxruntime.__version__}")
    for name, ns in median.items():
        print(f"{name:14}{ns / 1000:>12.1f} us a step   ratio {median['onnxruntime'] / ns:5.2f}")
    print(f"allocations of a step: {runners['growing'].module.statistics.allocations_count} growing, "
          f"{runners['copied'].module.statistics.allocations_count} copied; "
          f"{first}: growing and copied {'the same bits' if same else 'DIFFER'}, error beside onnxruntime {error:.2g}{'' if error <= 1 else '  DIFFERS'}")
    return 3 if error > 1 or not same else 0


if __name__ == "__main__":
    sys.exit(main())
