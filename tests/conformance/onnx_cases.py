#!/usr/bin/env python3
"""The cases of the ONNX backend suite against dynrepl.

unpack    puts the recorded cases into a folder of the build, once for each archive.
open      writes the cases of single operators again with every dim of every input a symbol of its own.
optimise  writes them again as onnxruntime's optimiser saves them; needs onnxruntime.
run       lets `dynrepl verify` run them, each case in a process of its own, and compares with the expected list.
          With --update (or DYN_UPDATE=1) it writes the list instead; read the difference before you commit it.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import open_dims

HEADER = """\
# What the cases of the ONNX suite end with, where that is not `passed`: status, case.
# Written by: tests/conformance/onnx_cases.py run --update (see README.md beside this file).
"""


def unpack(archive: pathlib.Path, folder: pathlib.Path) -> None:
    stamp = folder / "archive.sha256"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # The window of the compressor is larger than what zstd grants unasked.
    zstd = subprocess.Popen(["zstd", "-q", "-d", "--long=27", "-c", archive], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-xf", "-", "-C", folder], stdin=zstd.stdout, check=True)
    if zstd.wait() != 0:
        sys.exit(f"{archive} cannot be unpacked")
    stamp.write_text(digest)


def node_cases(cases: pathlib.Path):
    return sorted(path for path in (cases / "node").iterdir() if (path / "model.onnx").exists())


def write_case(case: pathlib.Path, folder: pathlib.Path, model: bytes) -> None:
    """The case with another model: its data sets are links."""
    place = folder / "node" / case.name
    place.mkdir(parents=True)
    (place / "model.onnx").write_bytes(model)
    for data in case.glob("test_data_set_*"):
        (place / data.name).symlink_to(data.resolve())


def open_cases(cases: pathlib.Path, folder: pathlib.Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    total = 0
    for case in node_cases(cases):
        model, count = open_dims.opened((case / "model.onnx").read_bytes())
        write_case(case, folder, model)
        total += count
    print(f"{total} dims opened")
    return 0 if total > 1000 else 1


def optimise_cases(cases: pathlib.Path, folder: pathlib.Path) -> int:
    import onnxruntime
    shutil.rmtree(folder, ignore_errors=True)
    saved = folder / "saved.onnx"
    refused, written = [], 0
    for case in node_cases(cases):
        folder.mkdir(parents=True, exist_ok=True)
        options = onnxruntime.SessionOptions()
        # Above this level models hold what only the machine that saved them can run.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(saved)
        options.log_severity_level = 4
        try:
            onnxruntime.InferenceSession(str(case / "model.onnx"), options, ["CPUExecutionProvider"])
            write_case(case, folder, saved.read_bytes())
            written += 1
        except Exception as error:  # classes that onnxruntime does not export: what it has no kernel for
            refused.append(f"{case.name}: {str(error).splitlines()[0][:160]}")
        saved.unlink(missing_ok=True)
    (folder / "refused.txt").write_text("\n".join(refused) + "\n")
    print(f"{written} models saved by onnxruntime {onnxruntime.__version__}, {len(refused)} refused by it (refused.txt)")
    return 0 if written > 1000 else 1


def verify(dynrepl: pathlib.Path, suite: pathlib.Path, jobs: int, device: str = "cpu") -> list:
    """The results of all cases of one suite, as `verify --json` reports them."""
    command = [dynrepl, "--cache-dir", "none", "--device", device, "verify", suite, "--json", "--quiet", "--jobs", str(jobs)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{suite.name}: dynrepl verify ended with {done.returncode} and no report")
    if "cases" not in report:
        sys.exit(f"{suite.name}: {report.get('error')}")
    return report["cases"]


def read_expected(path: pathlib.Path) -> dict:
    expected = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            status, name = line.split()
            expected[name] = status
    return expected


def write_expected(path: pathlib.Path, results: dict) -> None:
    lines = [f"{case['status']:<12}{name}\n" for name, case in sorted(results.items()) if case["status"] != "passed"]
    path.write_text(HEADER + "".join(lines))


def compare(results: dict, expected: dict, update_command: str) -> int:
    problems = []
    for name, case in sorted(results.items()):
        wanted = expected.get(name, "passed")
        if case["status"] != wanted:
            reason = f": {case.get('reason', '')}" if case["status"] != "passed" else ""
            problems.append(f"{name} is {case['status']}, expected {wanted}{reason}")
    problems += [f"{name} is expected to be {expected[name]}, but there is no such case"
                 for name in sorted(expected.keys() - results.keys())]
    if not problems:
        return 0
    print("\n".join(problems))
    print(f"\n{len(problems)} cases differ from the expected list. One of them alone:\n"
          f"  build/release/bin/dynrepl verify build/release/tests/conformance/cases/SUITE/CASE\n"
          f"If the new results are right, write them down and read the difference:\n  {update_command}")
    return 1


def run(arguments: argparse.Namespace) -> int:
    results = {}
    for suite in sorted(path for path in arguments.cases.iterdir() if path.is_dir()):
        start = time.monotonic()
        cases = verify(arguments.dynrepl, suite, arguments.jobs, arguments.device)
        counts = {}
        for case in cases:
            results[f"{suite.name}/{case['name']}"] = case
            counts[case["status"]] = counts.get(case["status"], 0) + 1
        text = ", ".join(f"{count} {status}" for status, count in sorted(counts.items(), key=lambda row: -row[1]))
        print(f"{suite.name}: {text} of {len(cases)} in {time.monotonic() - start:.0f} s", flush=True)
    if arguments.report:
        arguments.report.write_text("".join(
            f"{case['status']:<12}{name}  {case.get('op', '')}  {case.get('reason', '')}\n"
            for name, case in sorted(results.items()) if case["status"] != "passed"))
    if not arguments.again and (arguments.update or os.environ.get("DYN_UPDATE") == "1"):
        write_expected(arguments.expected, results)
        print(f"written: {arguments.expected}")
        return 0
    expected = read_expected(arguments.expected)
    if arguments.again:
        expected.update(read_expected(arguments.again))
        expected = {name: status for name, status in expected.items() if name in results}
        return compare(results, expected, f"change {arguments.again.name} or {arguments.expected.name} by hand")
    return compare(results, expected, "DYN_UPDATE=1 ./dev test conformance")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    unpacking = verbs.add_parser("unpack")
    unpacking.add_argument("--archive", type=pathlib.Path, required=True)
    unpacking.add_argument("--cases", type=pathlib.Path, required=True)
    for name in ("open", "optimise"):
        writing = verbs.add_parser(name)
        writing.add_argument("--cases", type=pathlib.Path, required=True)
        writing.add_argument("--folder", type=pathlib.Path, required=True)
    running = verbs.add_parser("run")
    running.add_argument("--dynrepl", type=pathlib.Path, required=True)
    running.add_argument("--cases", type=pathlib.Path, required=True)
    running.add_argument("--expected", type=pathlib.Path, required=True)
    running.add_argument("--again", type=pathlib.Path, help="the cases are others' models: what ends otherwise than in --expected")
    running.add_argument("--report", type=pathlib.Path, help="what did not pass, with reasons")
    running.add_argument("--device", default="cpu", help="as dynrepl takes it")
    running.add_argument("--jobs", type=int, default=os.cpu_count())
    running.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if arguments.verb == "unpack":
        unpack(arguments.archive, arguments.cases)
        return 0
    if arguments.verb == "open":
        return open_cases(arguments.cases, arguments.folder)
    if arguments.verb == "optimise":
        return optimise_cases(arguments.cases, arguments.folder)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
