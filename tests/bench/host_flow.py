#!/usr/bin/env python3
"""The host program as machine code beside its bytecode: what a run takes outside of kernels.

    ./dev bench host-flow [MODEL.onnx --shape batch=1,seq=1,past=1000] [--repeat N]

Without a model: a GPT-2's decoding step and an LSTM by loop. Each takes turns as machine code and as bytecode, first as rehearsals, in which kernels and
builtins do nothing, then as whole runs with one thread. Printed: medians, nanoseconds for an instruction of bytecode (as a profiled run counts them), ratios.
"""
import argparse
import os
import statistics
import time

import contexts
import feeds
import measuring

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = [("samples/models/gpt2/model.onnx", "batch=1,seq=1,past=64"), ("samples/models/lstm_loop/model.onnx", "seq=200,batch=1")]


def median_of(contexts, repeat):
    """Medians of the runtime's own times of runs, taken in turns."""
    times = [[] for _ in contexts]
    for number in range(repeat + 3):
        for context, kept in zip(contexts, times):
            context.run()
            if number >= 3:
                kept.append(context.statistics.run_ns)
    return [statistics.median(kept) for kept in times]


def measure(arguments, model, shape):
    dims = measuring.parse_shape(shape)

    def context(**options):
        made = contexts.load(arguments.build, model, **options)
        made.set(feeds.feed(made.inputs, dims))
        return made

    counting = context(interpret=True)
    counting.profile()
    instructions = counting.statistics.instructions_count
    print(f"{model} {shape}: {instructions} instructions")
    for what, options in (("outside of kernels", {"dry_run": True}), ("whole run", {})):
        native, interpreted = median_of([context(**options), context(interpret=True, **options)], arguments.repeat)
        print(f"  {what:18}  native {native / 1000:9.1f} us {native / instructions:6.1f} ns an instruction   bytecode {interpreted / 1000:9.1f} us "
              f"{interpreted / instructions:6.1f} ns   ratio {native / interpreted:.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--shape", default="")
    parser.add_argument("--repeat", type=int, default=300)
    arguments = parser.parse_args()
    models = [(arguments.model, arguments.shape)] if arguments.model else MODELS
    for model, shape in models:
        measure(arguments, model if arguments.model else os.path.join(ROOT, model), shape)


if __name__ == "__main__":
    main()
