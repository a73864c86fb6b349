#!/usr/bin/env python3
"""Do runs of a package take as long as the formula in it says? Each model is measured by `latency` for some seconds, compiled with
these runs, and the package runs at random sizes that were not measured; the formula is that of the package alone.

    tests/bench/latency/package_formula.py MODEL.onnx --vary seq=1..128 [--vary ...] [--count 20] [--threads 1] [--seconds 20] [--json]

Printed: the formula, its interval, and how many sizes' median of runs lies inside of it, and within 15 % of the formula."""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import measuring  # noqa: E402

REPEAT, WARMUP, NEAR = 15, 3, 0.15


def dynrepl(build, *arguments, text=None):
    """The JSON answer."""
    command = [f"{build}/bin/dynrepl", *map(str, arguments), "--json", "--quiet"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def unseen(ranges, measured, count):
    """Random sizes; a model of few sizes has fewer of them."""
    draw, shapes = random.Random(1), []
    for _ in range(100 * count):
        dims = {name: draw.randint(low, high) for name, (low, high) in ranges.items()}
        if len(shapes) < count and dims not in measured and dims not in shapes:
            shapes.append(dims)
    return shapes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--vary", action="append", required=True, metavar="NAME=LOW..HIGH")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--host-code", default="native", help="of the measured program, as of dynrepl; the package's is native")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    ranges = measuring.parse_ranges(arguments.vary)
    threads = ("--threads", arguments.threads, "--host-code", arguments.host_code)
    with tempfile.TemporaryDirectory() as folder:
        runs, package = pathlib.Path(folder) / "runs.json", pathlib.Path(folder) / "model.dynpkg"
        given = [word for text in arguments.vary for word in ("--dim", text)]
        fitted = dynrepl(arguments.build, "latency", arguments.model, *given, "--seconds", arguments.seconds, "-o", runs, *threads)["latency"]
        dynrepl(arguments.build, "compile", arguments.model, "--runs", runs, "-o", package, *threads)
        shapes = unseen(ranges, [size["dims"] for size in fitted["sizes"]], arguments.count)
        lines = [f":load {package}"] + [f":run --repeat {REPEAT} --warmup {WARMUP} --limit 1000s " +
                                        " ".join(f"--dim {name}={size}" for name, size in dims.items()) for dims in shapes]
        answers = dynrepl(arguments.build, "script", "-", *threads, text="\n".join(lines) + "\n")["results"][1:]
    rows = []
    for dims, answer in zip(shapes, answers, strict=True):
        told = answer["time_limit"]["predicted"]
        if told["formula_by"] != "package":
            sys.exit(f"{dims}: the formula is not that of the package")
        measured = statistics.median(run["ns"] for run in answer["runs"])
        rows.append({"dims": dims, "predicted_ns": told["time_ns"], "measured_ns": measured,
                     "inside": told["low_ns"] <= measured <= told["high_ns"], "near": abs(measured / told["time_ns"] - 1) <= NEAR})
    inside, near = (sum(row[key] for row in rows) for key in ("inside", "near"))
    if arguments.json:
        print(json.dumps({"schema": 1, "command": "bench package_formula", "model": arguments.model, "threads": arguments.threads,
                          "cpu": measuring.cpu_name(), "formula": fitted["formula"], "spread": fitted["spread"],
                          "inside_count": inside, "near_count": near, "rows": rows}))
        return 0
    for row in rows:
        print(f"  {row['dims']}: predicted {row['predicted_ns'] / 1000:.1f} us, measured {row['measured_ns'] / 1000:.1f} us"
              f"{'' if row['inside'] else ', outside'}")
    print(f"{arguments.model}: time = {fitted['formula']}; {inside} of {len(rows)} inside of the interval "
          f"(1/{fitted['spread']:.2f} to {fitted['spread']:.2f}), {near} within {100 * NEAR:.0f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
