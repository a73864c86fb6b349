"""What the benchmarks beside each other share: shapes as text, the machine's name, the distance of results, a clock."""
import platform
import time

import numpy as np


def parse_shape(text):
    return {name: int(value) for name, value in (part.split("=") for part in text.split(",") if part)}


def parse_ranges(texts):
    """NAME=LOW..HIGH or NAME=SIZE, each: the name's bounds, both included."""
    ranges = {}
    for text in texts:
        name, _, bounds = text.partition("=")
        low, _, high = bounds.partition("..")
        ranges[name] = (int(low), int(high or low))
    return ranges


def cpu_name():
    with open("/proc/cpuinfo") as info:
        names = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    return names[0] if names else platform.processor()


def difference(ours, theirs):
    """The largest error, in units of (1e-5 + 1e-4 |x|): at most 1 when they agree."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if a.size:
            a, b = a.astype(np.float64), b.astype(np.float64)
            worst = max(worst, float(np.max(np.abs(a - b) / (1e-5 + 1e-4 * np.abs(b)))))
    return worst


def apart(ours, theirs):
    """The largest difference as a share of the largest element, of whatever types."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape:
            return float("inf")
        if a.size:
            a, b = a.astype(np.float64), b.astype(np.float64)
            worst = max(worst, float(np.max(np.abs(a - b)) / max(1e-30, np.max(np.abs(b)))))
    return worst


def wake(run, times=1):
    """Workers of a peer still wait for work on a core that `run` wants: they are let go to sleep, and one's own are woken by runs that do not count."""
    time.sleep(0.03)
    for _ in range(times):
        run()


def clock(call, now=time.perf_counter_ns):
    start = now()
    call()
    return now() - start
