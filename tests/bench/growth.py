#!/usr/bin/env python3
"""Does what a compilation takes grow faster than the model? One number of a model grows, tenfold in three steps; everything else stays.

    ./dev bench growth [NAME,...] [--scale SHARE] [--seconds S] [--json]

NAMEs are classes of tests/models/growing_models.py (all without any), which needs onnx. Each is compiled from nothing and run once at a tenth, a third and
the whole of its largest number (--scale 0.1: of a tenth of it). Printed: CPU time and memory at each, and how fast both grow: 1 is in proportion, 2 is the square, fixed costs
taken off. Marked: time or memory that grows faster than the power 1.3, what ends in an error, or takes longer than --seconds. Exit 3 where one is marked.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST_POWER, SHARES = 1.3, (0.1, 0.316, 1.0)


def maker_of_models():
    try:
        import onnx  # noqa: F401
    except ImportError:
        sys.exit("growth: needs onnx (./dev setup test, or pip install onnx)")
    sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
    import growing_models
    return growing_models


def measured(command, seconds):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(["timeout", str(seconds)] + command, stdout=out, stderr=err)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        wrong = "" if child.returncode == 0 else err.read().decode(errors="replace").strip().splitlines()[-1:] or ["?"]
        return {"status": child.returncode, "cpu_s": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024, "error": wrong[0][:140] if wrong else ""}


def measure(dynrepl, model, seconds):
    path, dims = model
    with open(path + ".jsonl", "w") as cases:
        cases.write(json.dumps({"dims": dims, "inputs": {}}) + "\n")
    row = measured([dynrepl, "run", path, "--cache-dir", "none", "--tuning", "none", "--threads", "1", "--cases", path + ".jsonl", "--json", "--quiet"], seconds)
    if row["status"] == 124:
        row["error"] = f"longer than {seconds:g} s"
    return row


def power(few, many, base, key):
    """log of the growth by log of the number's growth; small differences are no growth."""
    low, high = max(few[key] - base[key], 1e-9), max(many[key] - base[key], 1e-9)
    least = {"cpu_s": 0.05, "mb": 10}[key]
    if high < 3 * least:
        return 0.0
    return math.log(high / max(low, least)) / math.log(many["count"] / few["count"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="?", default="", metavar="NAME,...")
    parser.add_argument("--scale", type=float, default=1, help="a share of each class's largest number")
    parser.add_argument("--seconds", type=float, default=60, help="a model that takes longer is ended")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    maker = maker_of_models()
    chosen = [n for n in arguments.names.split(",") if n] or list(maker.CLASSES)
    unknown = [n for n in chosen if n not in maker.CLASSES]
    if unknown:
        sys.exit(f"growth: no class {', '.join(unknown)}; there are {', '.join(maker.CLASSES)}")
    dynrepl = os.path.join(arguments.build, "bin", "dynrepl")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        base = measure(dynrepl, maker.write(folder, "elementwise", 2), arguments.seconds)
        for name in chosen:
            rows = []
            for share in SHARES:
                count = max(2, int(maker.CLASSES[name][1] * arguments.scale * share))
                rows.append(measure(dynrepl, maker.write(folder, name, count), arguments.seconds) | {"count": count})
                if rows[-1]["status"]:
                    break
            result = {"name": name, "rows": rows, "error": rows[-1]["error"], "powers": {}}
            if len(rows) > 1:
                result["powers"] = {key: power(rows[-2], rows[-1], base, key) for key in ("cpu_s", "mb")}
            result["marked"] = bool(result["error"]) or any(p > MOST_POWER for p in result["powers"].values())
            results.append(result)
            if not arguments.json:
                cells = "".join(f"{r['count']:>9}:{r['cpu_s']:7.2f} s{r['mb']:6.0f} MB" for r in rows)
                powers = " ".join(f"{p:5.2f}" for p in result["powers"].values())
                print(f"{name:22}{cells}   {powers}{'  MARKED ' + result['error'] if result['marked'] else ''}", flush=True)
    bad = [r for r in results if r["marked"]]
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench growth", "base": base, "rows": results}))
    else:
        print(f"{len(results)} classes, {len(bad)} marked; one small model: {base['cpu_s']:.2f} s, {base['mb']:.0f} MB")
    return 3 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
