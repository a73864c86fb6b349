"""`./dev bench operators --all`: every row of operator_rows.py at its sizes, beside onnxruntime in one process, in turn."""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

import contexts
import measuring
import operator_rows
import peers

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOW, BAD = 0.8, 0.5


def conformance_maker():
    """The maker of models from rows, which the sweep for right results has."""
    folder = ROOT / "tests" / "conformance"
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("conformance_sweep", folder / "operator_sweep.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Maker()


def cases():
    """(title, row, element type, attributes): one model each."""
    for row in operator_rows.TABLE:
        first = (row["dtypes"] or [""])[0]
        plan = [(dtype, row["attributes"][0]) for dtype in row["dtypes"] or [""]] + [(first, more) for more in row["attributes"][1:]]
        for dtype, attributes in plan:
            shown = " ".join(f"{k}={v if not isinstance(v, list) or len(v) < 9 else '[...]'}" for k, v in attributes.items())
            inputs = re.sub(r"(=\w*:?)\[[^]]{40,}\]", r"\1[...]", row["inputs"])
            yield " ".join(part for part in (row["op"], dtype, shown, f"({inputs})") if part).replace(" ,", ","), row, dtype, attributes


def elements(maker, row, name, kind, shape, sizes, random):
    """As the sweep for right results fills them, but quickly: what is random repeats after a prime number of elements."""
    dtype, count = maker.dtype(kind), int(np.prod(shape, dtype=np.int64))
    base = min(count, 65_537)
    fill = row["fills"].get(name)
    if fill:
        low, high = (float(text) if "." in text else maker.bound(text, sizes) for text in fill.split())
        values = random.uniform(low, high, base) if dtype.kind == "f" else random.integers(low, high + 1, base)
    elif dtype.kind == "f":
        values = random.standard_normal(base)
    else:
        values = random.integers(0, 2 if dtype.kind == "b" else 6, base)
    return np.resize(values.astype(dtype), count).reshape(shape)


def with_own_names(inputs):
    """The inputs with another name for each dim of each: "n" of b's first axis is "n.b0". Weights stay as they are."""
    return [(name, kind, [f"{d}.{name}{axis}" if isinstance(d, str) else d for axis, d in enumerate(dims)] if kind else dims) for name, kind, dims in inputs]


def difference(ours, theirs, dtype, unordered):
    """As measuring.difference, but for what a type can hold; bytes may be one apart (rounding). `unordered`: values of the first result in any order."""
    worst = 0.0
    if unordered is not None:
        ours, theirs = ([np.sort(results[0], unordered)] for results in (ours, theirs))
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if not a.size:
            continue
        a, b = a.reshape(-1)[:200_000].astype(np.float64), b.reshape(-1)[:200_000].astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        unit = 2e-2 * np.abs(b) + 1e-2 if dtype == "f16" else 1.0 + 0 * b if dtype in ("u8", "i8") else 1e-3 * np.abs(b) + 1e-4 * np.nanmax(np.abs(b), initial=10, where=np.isfinite(b))
        with np.errstate(invalid="ignore"):
            worst = max(worst, float(np.max(np.where(same, 0.0, np.abs(a - b) / unit))))
    return worst


def time_one(module, session, feed, seconds, threads):
    """Lower quartiles of both, in turn: [ours, theirs] in ns. With one thread it is the processor's time: others may be at work on the machine."""
    clock = time.process_time_ns if threads == 1 else time.perf_counter_ns
    module.set(feed)
    module.run()
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    theirs = lambda: session.run_with_iobinding(binding)
    theirs()
    # Short ones several times at once: a clock is read in a part of a microsecond.
    estimate = measuring.clock(module.run) + measuring.clock(theirs)
    repeats = max(1, min(50, int(100_000 / max(1, estimate))))
    begin = time.monotonic()
    times, end, patience = ([], []), begin + seconds, begin + 10 * seconds
    while not times[0] or (len(times[0]) < 5 and time.monotonic() < patience) or (time.monotonic() < end and len(times[0]) < 200):
        for mine, run in zip(times, (module.run, theirs)):
            start = clock()
            for _ in range(repeats):
                run()
            mine.append((clock() - start) / repeats)
    return [float(np.percentile(t, 25)) for t in times]


class Sweep:
    def __init__(self, arguments):
        self.arguments, self.maker = arguments, conformance_maker()
        self.runtime = contexts.package(arguments.build)
        self.results, self.refused, self.wrong = [], [], []

    def compile(self, folder, models):
        """Packages of all models, compiled two at a time."""
        def start(index):
            command = [f"{self.arguments.build}/bin/dynrepl", "compile", f"{folder}/{index}.onnx", "-o", f"{folder}/{index}.dynpkg", "--quiet"]
            if self.arguments.target:
                command += ["--target", self.arguments.target]
            return index, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        running, failures = [], {}
        for index in [*models, None]:
            while running and (index is None or len(running) == 2):
                done, process = running.pop(0)
                _, text = process.communicate()
                if process.returncode:
                    failures[done] = text.decode().strip().splitlines()[-1][:160] if text.strip() else f"exit {process.returncode}"
            if index is not None:
                running.append(start(index))
        return failures

    def chosen(self):
        """Cases that --only names, and of those the ones of --part: neighbours are of one operator, so each part takes every Nth."""
        only = re.compile(self.arguments.only) if self.arguments.only else None
        part, parts = self.arguments.part
        return [case for case in cases() if only is None or only.search(case[0])][part - 1::parts]

    def run(self):
        chosen = self.chosen()
        with tempfile.TemporaryDirectory() as folder:
            plans = {}
            for index, (title, row, dtype, attributes) in enumerate(chosen):
                inputs = list(self.maker.parse(row, dtype))
                if self.arguments.own_names:
                    inputs = with_own_names(inputs)
                path = f"{folder}/{index}.onnx"
                pathlib.Path(path).write_bytes(self.maker.model(row, inputs, attributes).SerializeToString())
                try:
                    session = peers.peer_session(path, self.arguments.threads)
                except Exception as error:  # classes that onnxruntime does not export
                    self.refused.append(f"{title}: onnxruntime: {str(error).splitlines()[0][:120]}")
                    continue
                plans[index] = (title, row, dtype, attributes, inputs, session)
            failures = self.compile(folder, list(plans))
            for index, (title, row, dtype, attributes, inputs, session) in plans.items():
                if index in failures:
                    self.wrong.append(f"{title}: {failures[index]}")
                    continue
                self.measure(title, row, dtype, attributes, inputs, session, f"{folder}/{index}.dynpkg")
                os.unlink(f"{folder}/{index}.dynpkg")
                plans[index] = None  # its memory

    def shape(self, sizes, dims, is_last):
        if self.arguments.own_names == "ones" and is_last:
            return [1 if isinstance(d, str) else d for d in dims]
        return [sizes.get(d.split(".")[0], d) if isinstance(d, str) else d for d in dims]

    def measure(self, title, row, dtype, attributes, inputs, session, package):
        module = contexts.opened(self.runtime, package, self.arguments.threads)
        given = [(name, kind, dims) for name, kind, dims in inputs if kind]
        for number, sizes in enumerate(row["sizes"]):
            size = operator_rows.SIZE_NAMES[number]
            if self.arguments.sizes and size not in self.arguments.sizes:
                continue
            random = np.random.default_rng(zlib.crc32(title.encode()) + number)
            feed = {name: elements(self.maker, row, name, kind, self.shape(sizes, dims, name == given[-1][0]), sizes, random) for name, kind, dims in given}
            name = f"{title} {size}"
            try:
                wanted = session.run(None, feed)
            except Exception as error:
                self.refused.append(f"{name}: onnxruntime: {str(error).splitlines()[0][:120]}")
                continue
            try:
                module.set(feed)
                module.run()
                error = difference(module.outputs(), wanted, dtype, attributes.get("axis", -1) if attributes.get("sorted") == 0 and row["op"] == "TopK" else None)
                del wanted
                ours, theirs = time_one(module, session, feed, self.arguments.seconds, self.arguments.threads)
            except contexts.Error as error:
                self.wrong.append(f"{name}: {str(error).splitlines()[0][:160]}")
                continue
            if error > 1:
                self.wrong.append(f"{name}: differs by {error:.2g}")
            result = {"name": name, "op": row["op"], "size": size, "ours_ns": ours, "peer_ns": theirs, "ratio": theirs / ours, "error": error}
            self.results.append(result)
            if not self.arguments.json:
                print(f"{result['ratio']:7.2f}  {ours / 1000:>11.1f} us  {theirs / 1000:>11.1f} us   {name}", flush=True)


def reason(name):
    return next((why for pattern, why in operator_rows.REASONS.items() if re.search(pattern, name)), None)


def mean(results):
    return float(np.exp(np.mean([np.log(r["ratio"]) for r in results]))) if results else 0.0


class Kept:
    """Results of earlier runs in a JSON file, which those of a later run replace by name, so that parts add up to the whole."""

    def __init__(self, path):
        self.results, self.refused, self.wrong = [], [], []
        if path and os.path.exists(path):
            with open(path) as text:
                held = json.load(text)
            self.results, self.refused, self.wrong = held["rows"], held["refused"], held["wrong"]

    def add(self, sweep, titles):
        ours = lambda text: any(text.startswith((title + " ", title + ":")) for title in titles)
        measured = {r["name"] for r in sweep.results}
        self.results = [r for r in self.results if r["name"] not in measured] + sweep.results
        self.refused = [line for line in self.refused if not ours(line)] + sweep.refused
        self.wrong = [line for line in self.wrong if not ours(line)] + sweep.wrong


def as_json(arguments, kept, missing, stale):
    rows = [r | {"reason": reason(r["name"])} for r in kept.results]
    return json.dumps({"schema": 1, "command": "bench operators --all", "threads": arguments.threads, "cpu": measuring.cpu_name(), "geometric_mean": mean(rows),
                       "rows": rows, "refused": kept.refused, "wrong": kept.wrong, "missing": missing, "stale": stale})


def report(sweep, missing, stale):
    results = sweep.results
    bad = sorted((r for r in results if r["ratio"] < BAD), key=lambda r: r["ratio"])
    low = sorted((r for r in results if BAD <= r["ratio"] < LOW), key=lambda r: r["ratio"])
    for title, rows in ((f"below {BAD}", bad), (f"below {LOW}", low)):
        print(f"\n{len(rows)} {title}:")
        for r in rows:
            why = reason(r["name"])
            print(f"{r['ratio']:7.2f}  {r['name']}{'   reason: ' + why if why else ''}")
    for title, lines in (("not run by onnxruntime", sweep.refused), ("wrong or refused by Dyn", sweep.wrong), ("operators without a row", missing),
                         ("rows or reasons of operators that are not there", stale)):
        if lines:
            print(f"\n{len(lines)} {title}:\n" + "\n".join(f"  {line}" for line in lines))
    print()
    for size in operator_rows.SIZE_NAMES:
        rows = [r for r in results if r["size"] == size]
        print(f"geometric mean, {size}: {mean(rows):.2f} of {len(rows)}")
    unexplained = sum(1 for r in low + bad if not reason(r["name"]))
    planned = sum(len(row["sizes"]) for _, row, _, _ in cases())
    print(f"geometric mean: {mean(results):.2f} of {len(results)} ({planned} in the table); {len(bad)} below {BAD}, {len(low)} below {LOW} ({unexplained} without a reason)")


def main(arguments):
    missing, stale = operator_rows.walk(ROOT / "compiler/ops/ops.def")
    kept = Kept(arguments.append)
    if not arguments.report:
        sweep = Sweep(arguments)
        if not arguments.json:
            import onnxruntime
            print(f"{arguments.threads} thread(s), {measuring.cpu_name()}, onnxruntime {onnxruntime.__version__}\n  ratio           ours           theirs")
        sweep.run()
        kept.add(sweep, [case[0] for case in sweep.chosen()])
        if arguments.append:
            with open(arguments.append, "w") as text:
                text.write(as_json(arguments, kept, missing, stale))
    if arguments.json:
        print(as_json(arguments, kept, missing, stale))
    else:
        report(kept, missing, stale)
    return 3 if kept.wrong else 1 if missing or stale or not kept.results else 0
