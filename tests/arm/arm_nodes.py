"""arm_nodes.py BUILD CASES: cases of the ONNX suite's single operators, compiled here for 64-bit ARM and run there by qemu-aarch64, give on the recorded
inputs what `dynrepl run` gives here: floats within 1e-4, anything else the same. Cases that do not compile here are left out. A share of the cases, one in
SHARE; with DYN_TEST_ALL all. Each runs on the next processor in turn. Skipped (77) without qemu, the cross-built runtime or the unpacked cases."""
import json
import pathlib
import shutil
import sys
import tempfile

from emulator import SKIPPED, attempt, differences, emulator, empty, everything, run

SHARE = 30
MOST_LEFT_OUT = 0.15  # of the cases that do not compile here: more than that and the test says nothing


def main():
    build, cases = map(pathlib.Path, sys.argv[1:3])
    arm, why = emulator(build)
    if not arm:
        print(why)
        return SKIPPED
    if not (cases / "node").exists():
        print(f"skipped: no cases at {cases} (the test conformance.unpack)")
        return SKIPPED
    names = sorted(case for case in (cases / "node").iterdir() if (case / "model.onnx").exists())
    if not everything():
        names = names[::SHARE]
    shell, left_out, runs, elements, faults = build / "bin" / "dynrepl", [], 0, 0, []
    work = pathlib.Path(tempfile.mkdtemp())
    try:
        for case in names:
            file, package = case / "model.onnx", work / "case.dynpkg"
            data = case / "test_data_set_0"
            told = attempt(shell, "inspect", file, "--json", "--quiet")
            if told.returncode != 0:
                left_out.append(case.name)
                continue
            inputs = [port["name"] for port in json.loads(told.stdout)["inputs"]]
            given = [f"--input={name}=@{data}/input_{i}.pb" for i, name in enumerate(inputs)
                     if (data / f"input_{i}.pb").exists()]
            ours, theirs = empty(work / "ours"), empty(work / "theirs")
            if attempt(shell, "run", file, *given, "--output-dir", ours, "--threads", "1", "--quiet").returncode != 0:
                left_out.append(case.name)
                continue
            made = attempt(shell, "compile", file, "--target", "aarch64", "-o", package, "--quiet")
            processor, pages, threads = arm.next()
            done = made if made.returncode != 0 else attempt(*arm.words(
                processor, pages, arm.program("dynrun"), package, *given, "--output-dir", theirs, "--threads", threads, "--quiet"))
            fault, count = (f"ends with {done.returncode}: {done.stdout}{done.stderr}", 0)
            if done.returncode == 0:
                fault, count = differences(ours, theirs)
            if fault:
                faults.append(f"{case.name} on {processor}, {threads} threads: {fault}")
            elements += count
            runs += 1
    finally:
        shutil.rmtree(work)
    for fault in faults:
        print(fault)
    print(f"arm_nodes: {runs} cases on {', '.join(arm.processors)}, {len(faults)} differ; {elements} elements compared; "
          f"{len(left_out)} left out: {' '.join(left_out)}")
    return 1 if faults or len(left_out) > MOST_LEFT_OUT * len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
