#!/usr/bin/env python3
"""How would a model run on more cores than there are? Its kernels are cut into tasks for so many threads; the tasks run one after the other, and each launch
counts as its longest task and what starting the others takes (vm/include/dyn_cores.h).

    ./dev bench scale MODEL.onnx --shape seq=128 [--cores 1,2,4,8,16,32,64] [--bandwidth GB/S] [--rounds 5] [--real 2] [--json]

Printed: milliseconds and speed-up for each number of cores, the share of the ceiling (as many times as fast), and which kernels keep the largest of them from it:
microseconds that they take there beyond their time on one core divided by the cores. With --bandwidth no operation is faster than its operands' bytes at that rate:
the floor a shared memory sets where nothing of them is in a cache. --real N also runs N threads, in turn with one. Needs numpy.
"""
import argparse
import json
import sys
import time

import numpy as np

import contexts
import feeds
import measuring

ROWS = 10


def simulated(module):
    module.simulate_threads()
    return module


def spans(module, bytes_per_ns):
    """Of a profiled run: {(what, where it stands in the program): (nanoseconds, its name)}, floors kept."""
    trace = json.loads(module.profile(1, "trace"))
    found = {}
    for event in trace["traceEvents"]:
        if event.get("ph") != "X" or event.get("cat") not in ("kernel", "builtin"):
            continue
        arguments = event.get("args", {})
        key = (event["name"], f'{arguments["place"]} ({arguments["position"]})')
        ns = event["dur"] * 1000
        if bytes_per_ns:
            ns = max(ns, arguments.get("bytes", 0) / bytes_per_ns)
        found[key] = found.get(key, 0) + ns
    return found


def measure(module, cores, rounds, bytes_per_ns):
    """The least of a few runs: what others do on the machine only adds to it. Operations each at their least."""
    module.run()
    times, least = [], {}
    for _ in range(rounds):
        began = time.thread_time_ns()
        module.run()
        times.append(module.statistics.run_ns if cores > 1 else time.thread_time_ns() - began)
        for key, ns in spans(module, bytes_per_ns if cores > 1 else 0).items():
            least[key] = min(ns, least.get(key, ns))
    total = min(times)
    if bytes_per_ns and cores > 1:  # what the floors add is not in the run's own time; one core's has its memory in it
        total = max(total, sum(least.values()))
    return total, least


def losses(one, last):
    """What kernels of a name take beyond their share: [(ns beyond, now, on one core, launches, name, the worst place)], most first."""
    rows = {}
    for key, ns in last[2].items():
        before = one[2].get(key, ns)
        beyond = ns - before * one[0] / last[0]
        row = rows.setdefault(key[0], [0, 0, 0, 0, 0, ""])
        row[:4] = row[0] + beyond, row[1] + ns, row[2] + before, row[3] + 1
        if beyond > row[4]:
            row[4:] = beyond, key[1]
    return sorted(((r[0], r[1], r[2], r[3], name, r[5]) for name, r in rows.items()), reverse=True)[:ROWS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--shape", default="", help="NAME=SIZE,...")
    parser.add_argument("--cores", default="1,2,4,8,16,32,64")
    parser.add_argument("--bandwidth", type=float, default=0, metavar="GB/S")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--real", type=int, default=0, metavar="N")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    dims, counts = measuring.parse_shape(arguments.shape), [int(count) for count in arguments.cores.split(",")]
    rows, one, last = [], None, None
    for count in counts:
        module = contexts.load(arguments.build, arguments.model, count, options=("--threads", str(count)))
        module.set(feeds.feed(module.inputs, dims))
        if count > 1:
            simulated(module)
        total, each = measure(module, count, arguments.rounds, arguments.bandwidth)
        one = one or (count, total, each)
        last = (count, total, each)
        rows.append({"cores": count, "ns": total, "speedup": one[1] / total * one[0], "share": one[1] * one[0] / total / count})
    lost = losses(one, last)
    real = None
    if arguments.real:
        pair = [contexts.load(arguments.build, arguments.model, count, options=("--threads", str(count))) for count in (1, arguments.real)]
        for module in pair:
            module.set(feeds.feed(module.inputs, dims))
        times = [[measuring.clock(module.run) for module in pair] for _ in range(4 * arguments.rounds + 2)][2:]
        real = {"cores": arguments.real, "speedup": float(np.median([a / b for a, b in times])), "best": min(a for a, _ in times) / min(b for _, b in times)}
    result = {"schema": 1, "command": "bench scale", "model": arguments.model, "dims": dims, "cpu": measuring.cpu_name(), "rows": rows, "real": real,
              "lost": [{"name": name, "launches_count": count, "place": place, "ns": ns, "one_core_ns": before, "lost_ns": beyond}
                       for beyond, ns, before, count, name, place in lost]}
    if arguments.json:
        print(json.dumps(result))
        return 0
    print(f"{arguments.model} {arguments.shape}, simulated, {result['cpu']}")
    print(f"{'cores':>6} {'ms':>10} {'speed-up':>9} {'of ceiling':>10}")
    for row in rows:
        print(f"{row['cores']:6} {row['ns'] / 1e6:10.3f} {row['speedup']:9.2f} {row['share']:10.2f}")
    if real:
        print(f"real threads: {real['cores']}, {real['speedup']:.2f} times as fast (median of pairs; the least of each: {real['best']:.2f})")
    if len(counts) > 1:
        print(f"with {last[0]} cores, microseconds beyond their share (now, on {one[0]}), launches, name, the worst place:")
        for beyond, ns, before, count, name, place in lost:
            print(f"{beyond / 1e3:9.1f}  ({ns / 1e3:.1f}, {before / 1e3:.1f})  {count} x {name}  {place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
