"""arm_models.py BUILD MODELS: each sample model, compiled here for 64-bit ARM, run there by qemu-aarch64 as a package (dynrun) and some as executables,
gives on its data sets what `dynrepl run` gives here: floats within 1e-4, anything else the same. Skipped (77) without qemu or the cross-built runtime.
With DYN_TEST_ALL all data sets on all processors below; else the first and the last data set, each on the next processor in turn. Numbers of threads
and sizes of pages take turns as well."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

PROCESSORS = ("cortex-a53", "cortex-a72", "neoverse-n1", "max")
PAGES = (4096, 16384, 65536)
TARGETS = ("aarch64", "cortex-a72")
EXECUTABLES = {"bert": ("",), "keyword": ("", "--static-link"), "ssd": ("",), "quantised": ("",)}
SKIPPED = 77


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env={**os.environ, "DYN_CACHE_DIR": "none"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def compare(ours, theirs, what):
    """How many elements the folders' .npy files have, all of them near."""
    count = 0
    names = sorted(file.name for file in ours.iterdir())
    if not names or names != sorted(file.name for file in theirs.iterdir()):
        sys.exit(f"{what}: other outputs than {names}")
    for name in names:
        expected, actual = numpy.load(ours / name), numpy.load(theirs / name)
        if expected.dtype != actual.dtype or expected.shape != actual.shape:
            sys.exit(f"{what}: {name} is {actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}")
        if expected.dtype.kind == "f":
            near = numpy.allclose(actual, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
        else:
            near = numpy.array_equal(actual, expected)
        if not near:
            sys.exit(f"{what}: {name} differs: {actual.ravel()[:8]}, not {expected.ravel()[:8]}")
        count += expected.size
    return count


def main():
    build, models = map(pathlib.Path, sys.argv[1:3])
    runtime, everything = build / "lib" / "aarch64", "DYN_TEST_ALL" in os.environ
    if not shutil.which("qemu-aarch64"):
        print("skipped: no qemu-aarch64 (./dev setup test)")
        return SKIPPED
    if not (runtime / "bin" / "dynrun").exists():
        print("skipped: no runtime for aarch64 (./dev build --target aarch64)")
        return SKIPPED
    known = run("qemu-aarch64", "-cpu", "help").split()
    processors = [name for name in PROCESSORS if name in known]
    for name in PROCESSORS:
        if name not in known:
            print(f"skipped: this qemu has no {name}")
    shell, turn, runs, elements = build / "bin" / "dynrepl", 0, 0, 0

    def emulated(processor, pages, *words):
        return run("qemu-aarch64", "-cpu", processor, "-p", pages, "-L", "/usr/aarch64-linux-gnu", *words)

    work = pathlib.Path(tempfile.mkdtemp())
    try:
        if "neon" not in emulated(processors[0], PAGES[0], runtime / "bin" / "vmrun", "kernels"):
            sys.exit("the runtime has no NEON kernels")
        for model in sorted(models.iterdir()):
            file = model / "model.onnx"
            inputs = [port["name"] for port in json.loads(run(shell, "inspect", file, "--json", "--quiet"))["inputs"]]
            programs = []
            for target in TARGETS if everything else TARGETS[:1]:
                package = work / f"{model.name}_{target}.dynpkg"
                run(shell, "compile", file, "--target", target, "-o", package, "--quiet")
                programs.append((runtime / "bin" / "dynrun", package))
            for option in EXECUTABLES.get(model.name, ()):
                made = work / f"{model.name}{option}"
                run(shell, "export", file, "--kind", "exe", "--target", "aarch64", *option.split(), "-o", made, "--quiet")
                programs.append((made,))
            sets = sorted(model.glob("test_data_set_*"))
            for data in sets if everything else (sets[0], sets[-1]):
                given = [f"--input={name}=@{data}/input_{i}.pb" for i, name in enumerate(inputs)]
                ours = work / "ours"
                shutil.rmtree(ours, ignore_errors=True)
                run(shell, "run", file, *given, "--output-dir", ours, "--threads", "1", "--quiet")
                for program in programs:
                    for processor in processors if everything else (processors[turn % len(processors)],):
                        theirs = work / "theirs"
                        shutil.rmtree(theirs, ignore_errors=True)
                        threads, pages = 1 + turn % 2, PAGES[turn % len(PAGES)]
                        emulated(processor, pages, *program, *given, "--output-dir", theirs, "--threads", threads, "--quiet")
                        what = f"{model.name}, {data.name}, {program[-1].name} on {processor}, {threads} threads, pages of {pages}"
                        elements += compare(ours, theirs, what)
                        runs, turn = runs + 1, turn + 1
    finally:
        shutil.rmtree(work)
    print(f"arm_models: ok, {runs} runs on {', '.join(processors)}, pages of {', '.join(map(str, PAGES))}; {elements} elements compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
