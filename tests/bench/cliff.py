#!/usr/bin/env python3
"""Does some size fall off a cliff? Every size of one dim, or random sizes of several, each beside its neighbours; and the first run at a new shape beside
the ones after it.

    ./dev bench cliff MODEL.onnx --vary seq=1..512 [--vary ...] [--shape batch=1] [--count 64] [--threads N] [--json]

With one --vary all its sizes are run, and a time is compared with the line through the sizes within 8 of it. With several, --count random shapes are run,
and the time per element is compared with that of the 8 shapes nearest in size. Times are the least of several runs, spread over the whole measurement.
Needs numpy.
"""
import argparse
import json
import sys

import numpy as np

import contexts
import feeds
import measuring

ROUNDS, RUNS, NEIGHBOURS = 5, 3, 8


def shapes_of(arguments):
    ranges = measuring.parse_ranges(arguments.vary)
    fixed = measuring.parse_shape(arguments.shape)
    if len(ranges) == 1:
        (name, (low, high)), = ranges.items()
        return [fixed | {name: size} for size in range(low, high + 1)], lambda dims: dims[name]
    random = np.random.default_rng(1)
    shapes = [fixed | {name: int(random.integers(low, high + 1)) for name, (low, high) in ranges.items()} for _ in range(arguments.count)]
    return shapes, lambda dims: float(np.prod([dims[name] for name in ranges]))


def trend(sizes, times, index):
    """What the shapes nearest in size, without this one, say its time would be: by a line through them."""
    nearest = [i for i in np.argsort(np.abs(sizes - sizes[index]), kind="stable") if i != index][:2 * NEIGHBOURS]
    x, y = sizes[nearest], times[nearest]
    if np.ptp(x) == 0:
        return float(np.median(y))
    slope, offset = np.polyfit(x, y, 1)
    return float(max(slope * sizes[index] + offset, np.min(y)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--vary", action="append", required=True, metavar="NAME=LOW..HIGH")
    parser.add_argument("--shape", default="", metavar="NAME=N,...")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    shapes, size_of = shapes_of(arguments)
    module = contexts.load(arguments.build, arguments.model, arguments.threads)
    sizes = np.array([float(size_of(dims)) for dims in shapes])
    times, first_over_next = np.full(len(shapes), np.inf), []
    random = np.random.default_rng(0)
    for _ in range(ROUNDS):
        for index in random.permutation(len(shapes)):  # so that the shape before is another one
            module.set(feeds.feed(module.inputs, shapes[index]))
            measured = [measuring.clock(module.run) for _ in range(1 + RUNS)]
            times[index] = min(times[index], *measured)
            first_over_next.append(measured[0] / np.median(measured[1:]))
    over = np.array([times[i] / trend(sizes, times, i) for i in range(len(shapes))])
    worst = np.argsort(-over)[:5]
    result = {"schema": 1, "command": "bench cliff", "model": arguments.model, "threads": arguments.threads, "cpu": measuring.cpu_name(),
              "shapes_count": len(shapes), "worst_over_trend": float(over.max()), "p99_over_trend": float(np.percentile(over, 99)),
              "first_over_next_median": float(np.median(first_over_next)),
              "worst": [{"dims": shapes[i], "time_ns": float(times[i]), "over_trend": float(over[i])} for i in worst]}
    if arguments.json:
        print(json.dumps(result))
        return 0
    print(f"{arguments.model}, {arguments.threads} thread(s), {result['cpu']}: {len(shapes)} shapes")
    print(f"over the local trend: worst {result['worst_over_trend']:.2f}, 99th percentile {result['p99_over_trend']:.2f}")
    print(f"first run at a shape / the next ones: median {result['first_over_next_median']:.2f}")
    for row in result["worst"]:
        print(f"  {row['dims']}: {row['time_ns'] / 1000:.1f} us, {row['over_trend']:.2f} of the trend")
    return 0


if __name__ == "__main__":
    sys.exit(main())
