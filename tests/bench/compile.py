#!/usr/bin/env python3
"""What does compiling cost, and does some model fall off a cliff? Every model at hand, compiled from nothing.

    ./dev bench compile [PATH...] [--large [NAME,...]] [--seconds S] [--json]

PATH: .onnx or .dyn files, and folders, which are searched; without any, samples/models and tests/models. --large adds models as large as real ones (48 layers of BERT, a whole
Swin, 5,000 random nodes), written by tests/models/large_models.py, which needs onnx.

Each model is compiled once with one thread and no cache. Printed: operations (those in bodies too), CPU time, time per operation, the shares of reading, passes, lowering and
machine code, the dearest passes, and the steps of the dim solver. A model is marked that takes more than 5 s (of up to 5,000 operations, more in proportion), or per operation
more than 3 times the median model. Small models have fixed costs: what a model of one operation costs is measured first and taken off each time, and a model of fewer than 100
operations is not judged per operation, as one operation may be a whole LSTM. Exit 3 where one is marked or fails.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST_SECONDS, MOST_OPERATIONS, MOST_TIMES, FEWEST_JUDGED = 5.0, 5000, 3.0, 100
ONE_OPERATION = "fn @main(%x: Tensor[(n), f32]) {\n  %y = neg(%x)\n  return %y\n}\n"


def models_below(paths):
    found = []
    for path in paths:
        if os.path.isfile(path):
            found.append(path)
        for folder, folders, files in os.walk(path):
            folders.sort()
            found += [os.path.join(folder, name) for name in sorted(files) if name.endswith((".onnx", ".dyn"))]
    return found


def name_of(path):
    folder, file = os.path.split(path)
    stem = os.path.splitext(file)[0]
    return os.path.basename(folder) if stem == "model" else stem


def large_models(folder, names):
    try:
        import onnx  # noqa: F401
    except ImportError:
        sys.exit("compile: --large needs onnx (pip install onnx)")
    sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
    import large_models as maker
    unknown = [n for n in names if n not in maker.MODELS]
    if unknown:
        sys.exit(f"compile: --large knows no {', '.join(unknown)}; it knows {', '.join(maker.MODELS)}")
    return maker.write(folder, names)


def ended(command, seconds):
    """(exit status, CPU seconds, what it wrote) of a command of its own; status 124 where it took too long."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(["timeout", str(seconds)] + command, stdout=out, stderr=err)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        return child.returncode, used.ru_utime + used.ru_stime, out.read().decode(), err.read().decode(errors="replace")


def measure(dynrepl, path, folder, seconds):
    fixed = ["--cache-dir", "none", "--tuning", "none", "--threads", "1", "--json"]
    row = {"model": path, "name": name_of(path)}
    status, total, text, wrong = ended([dynrepl, "compile", path, "-o", os.path.join(folder, "out.dynpkg")] + fixed, seconds)
    row |= {"status": status, "cpu_s": total}
    if status:
        row["error"] = f"longer than {seconds:g} s" if status == 124 else (wrong.strip().splitlines() or ["?"])[0][:100]
        return row
    told = json.loads(text)
    status, _, text, _ = ended([dynrepl, "inspect", path] + fixed, seconds)
    passes = json.loads(text)["passes"] if status == 0 else []
    operations = passes[0]["ops_count"] if passes else 0
    dearest = sorted((p for p in passes if p["kind"] == "pass"), key=lambda p: -p["time_ns"])[:2]
    phases = {"read": sum(p["time_ns"] for p in passes if p["kind"] == "import"), "passes": told["passes_ns"], "lowering": told["lower_ns"], "code": told["compile_ns"]}
    return row | {"operations": operations, "phases_ns": phases, "kernels": told["kernels_count"], "dearest": {p["name"]: p["time_ns"] for p in dearest},
                  "solver_steps": sum(p.get("solver_steps", 0) for p in passes)}


def judge(rows, base):
    """Adds the time per operation without what one operation costs, and the marks."""
    for row in rows:
        row["marks"] = []
        if row["status"]:
            continue
        row["s_per_operation"] = max(row["cpu_s"] - base, 0) / max(row["operations"], 1)
        if row["cpu_s"] > MOST_SECONDS * max(1, row["operations"] / MOST_OPERATIONS):
            row["marks"].append(f"over {MOST_SECONDS:g} s")
    judged = [r for r in rows if not r["status"] and r["operations"] >= FEWEST_JUDGED]
    median = statistics.median(r["s_per_operation"] for r in judged) if judged else None
    for row in judged:
        if row["s_per_operation"] > MOST_TIMES * median:
            row["marks"].append(f"{row['s_per_operation'] / median:.1f} times the median per operation")
    return median


def show(row):
    if row["status"]:
        print(f"{row['name']:28}  {row['error']}", flush=True)
        return
    whole = sum(row["phases_ns"].values()) or 1
    shares = " ".join(f"{100 * ns / whole:4.0f}%" for ns in row["phases_ns"].values())
    dearest = ", ".join(f"{name} {ns / 1e6:.0f}" for name, ns in row["dearest"].items())
    print(f"{row['name']:28}{row['operations']:>7}{row['kernels']:>8}{1e3 * row['cpu_s']:>9.0f}{1e3 * row['s_per_operation']:>9.2f}  {shares}{row['solver_steps']:>11}   {dearest}"
          f"{'   ' + '; '.join(row['marks']).upper() if row['marks'] else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--large", nargs="?", const="", metavar="NAME,...")
    parser.add_argument("--seconds", type=float, default=120, help="a model that takes longer is ended")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    dynrepl = os.path.join(arguments.build, "bin", "dynrepl")
    paths = arguments.paths or ([] if arguments.large else [os.path.join(ROOT, "samples", "models"), os.path.join(ROOT, "tests", "models")])
    with tempfile.TemporaryDirectory() as folder:
        models = models_below(paths)
        if arguments.large is not None:
            models += large_models(os.path.join(folder, "large"), [n for n in arguments.large.split(",") if n])
        if not models:
            sys.exit("compile: no .onnx or .dyn file below " + ", ".join(paths))
        one = os.path.join(folder, "one.dyn")
        with open(one, "w") as file:
            file.write(ONE_OPERATION)
        base = min(measure(dynrepl, one, folder, arguments.seconds)["cpu_s"] for _ in range(3))
        rows = []
        for path in models:
            rows.append(measure(dynrepl, path, folder, arguments.seconds))
            if not arguments.json:
                print(f"\r\033[K{rows[-1]['name']}" if sys.stderr.isatty() else "", end="", file=sys.stderr, flush=True)
        median = judge(rows, base)
    bad = [r for r in rows if r["status"] or r["marks"]]
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench compile", "one_operation_s": base, "median_s_per_operation": median, "rows": rows}))
        return 3 if bad else 0
    print(f"\rone operation: {1e3 * base:.0f} ms, taken off each time per operation; median per operation {1e3 * (median or 0):.2f} ms")
    print(f"{'model':28}{'ops':>7}{'kernels':>8}{'ms':>9}{'ms/op':>9}   read pass lower code{'solver':>10}   dearest passes, ms")
    for row in sorted(rows, key=lambda r: (bool(r["status"]), -r["cpu_s"])):
        show(row)
    print(f"{len(rows)} models, {len(bad)} marked")
    return 3 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
