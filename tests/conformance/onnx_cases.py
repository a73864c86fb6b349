#!/usr/bin/env python3
"""The cases of the ONNX backend suite against dynrepl.

unpack  puts the recorded cases into a folder of the build, once for each archive.
run     lets `dynrepl verify` run them, each case in a process of its own, and compares with the expected list.
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
        sys.exit(f"{archive} can not be unpacked")
    stamp.write_text(digest)


def verify(dynrepl: pathlib.Path, suite: pathlib.Path, jobs: int) -> list:
    """The results of all cases of one suite, as `verify --json` reports them."""
    command = [dynrepl, "--cache-dir", "none", "verify", suite, "--json", "--quiet", "--jobs", str(jobs)]
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
        cases = verify(arguments.dynrepl, suite, arguments.jobs)
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
    if arguments.update or os.environ.get("DYN_UPDATE") == "1":
        write_expected(arguments.expected, results)
        print(f"written: {arguments.expected}")
        return 0
    return compare(results, read_expected(arguments.expected), "DYN_UPDATE=1 ./dev test conformance")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    unpacking = verbs.add_parser("unpack")
    unpacking.add_argument("--archive", type=pathlib.Path, required=True)
    unpacking.add_argument("--cases", type=pathlib.Path, required=True)
    running = verbs.add_parser("run")
    running.add_argument("--dynrepl", type=pathlib.Path, required=True)
    running.add_argument("--cases", type=pathlib.Path, required=True)
    running.add_argument("--expected", type=pathlib.Path, required=True)
    running.add_argument("--report", type=pathlib.Path, help="what did not pass, with reasons")
    running.add_argument("--jobs", type=int, default=os.cpu_count())
    running.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if arguments.verb == "unpack":
        unpack(arguments.archive, arguments.cases)
        return 0
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
