"""arm_compiler.py BUILD SOURCE: the compiler itself on 64-bit ARM, cross-built (./dev build --target aarch64 compiler) and run by qemu-aarch64: sample models
that it compiles there give what `dynrepl run` gives here, the recorded outputs among them; the shell answers over a pipe; an executable that it exports for
itself runs; a C program compiles a model by libdyn.so; random programs give compiled what they give interpreted. Skipped (77) without qemu or the cross-built
compiler. With DYN_TEST_ALL all models and data sets, else a few of both."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

from emulator import SKIPPED, attempt, differences, emulator, empty, everything, run

COMPILER = "aarch64-linux-gnu-gcc"
MODELS = ("keyword", "treelstm")  # of the short form: convolutions and a product, a loop over a tree
PROGRAMS = 3  # random ones of the short form: under an emulator each is compiled for many seconds
ALL_PROGRAMS = 50


def cases_of(shell, model, sets, work):
    """A file with a run for each data set, and the folders of results."""
    inputs = [port["name"] for port in json.loads(run(shell, "inspect", model / "model.onnx", "--json", "--quiet"))["inputs"]]
    lines, folders = [], []
    for data in sets:
        given = {name: f"@{data}/input_{i}.pb" for i, name in enumerate(inputs)}
        folders.append(work / data.name)
        lines.append(json.dumps({"inputs": given, "output_dir": str(folders[-1])}))
    file = work / "cases"
    file.write_text("\n".join(lines) + "\n")
    return file, folders


def main():
    build, source = map(pathlib.Path, sys.argv[1:3])
    arm, why = emulator(build)
    if arm and not arm.program("dynrepl").exists():
        arm, why = None, "skipped: no compiler for aarch64 (./dev build --target aarch64 compiler)"
    if not arm:
        print(why)
        return SKIPPED
    here, compared, models = build / "bin" / "dynrepl", 0, 0
    work = pathlib.Path(tempfile.mkdtemp())

    def there(program, *words, processor=""):
        turn, pages, threads = arm.next()
        options = ("--threads", threads) if program == "dynrepl" and words[0] != "-e" else ()
        return run(*arm.compiler_words(processor or turn, pages, arm.program(program), *words, *options))

    try:
        for model in sorted((source / "samples" / "models").iterdir()):
            if not everything() and model.name not in MODELS:
                continue
            sets = sorted(model.glob("test_data_set_*"))
            results = {}
            for name in ("ours", "theirs"):
                (work / name).mkdir()
                file, results[name] = cases_of(here, model, sets if everything() else sets[:2], work / name)
                words = ("run", model / "model.onnx", "--cases", file, "--quiet")
                run(here, *words, "--threads", 1) if name == "ours" else there("dynrepl", *words)
            for ours, theirs in zip(results["ours"], results["theirs"]):
                fault, count = differences(ours, theirs)
                if fault:
                    sys.exit(f"{model.name}, {ours.name}: {fault}")
                compared += count
            for name in ("ours", "theirs"):
                shutil.rmtree(work / name)
            models += 1

        # The shell, its commands over a pipe.
        square = work / "square.dyn"
        square.write_text("fn @main(%x: Tensor[(n), f32]) { %y = mul(%x, %x) return %y }\n")
        said = subprocess.run([str(word) for word in arm.compiler_words("max", 4096, arm.program("dynrepl"), "--no-init")],
                              input=f":load {square}\n:run --input x=[1,2,3]\n", capture_output=True, text=True,
                              env={**os.environ, "DYN_CACHE_DIR": "none"})
        if said.returncode != 0 or "[1., 4., 9.]" not in said.stdout:
            sys.exit(f"the shell ends with {said.returncode}: {said.stdout}{said.stderr}")
        if "fmul\tv" not in there("dynrepl", "inspect", square, "--ir", "asm", "--quiet").replace(" ", "\t"):
            sys.exit("the kernels are not of vectors of this processor")

        # What it exports for itself: made on the least processor it runs on all, made on the greatest it is refused on the least.
        made = work / "square"
        there("dynrepl", "export", square, "--kind", "exe", "-o", made, "--quiet", processor=arm.processors[0])
        for processor in arm.processors:
            run(*arm.words(processor, 4096, made, "--input", "x=[3,4]", "--output-dir", empty(work / "y"), "--quiet"))
            if numpy.load(work / "y" / "y.npy").tolist() != [9, 16]:
                sys.exit(f"the executable on {processor}: {numpy.load(work / 'y' / 'y.npy')}")
        there("dynrepl", "export", square, "--kind", "exe", "-o", made, "--quiet", processor=arm.processors[-1])
        refused = attempt(*arm.words(arm.processors[0], 4096, made, "--input", "x=[3,4]", "--quiet"))
        if refused.returncode != 4 or "this processor lacks fp16" not in refused.stderr:
            sys.exit(f"an executable for another processor ends with {refused.returncode}: {refused.stderr}")
        there("dynrepl", "export", square, "--kind", "static", "-o", work / "library" / "square", "--quiet")

        # A C program with libdyn.so.
        if shutil.which(COMPILER):
            library, program = arm.runtime / "lib", work / "first"
            run(COMPILER, "-std=c11", f"-I{source}/app/library/include", f"-I{source}/vm/include", source / "samples/14_compile/first.c",
                f"-L{library}", "-ldyn", f"-Wl,-rpath,{library}", "-Wl,--unresolved-symbols=ignore-in-shared-libs", "-o", program)
            bert = source / "samples/models/bert/model.onnx"
            said = run(*arm.compiler_words("max", 4096, program, bert))
            for line in ("8 positions: 32 numbers each", "128 positions: 32 numbers each", "seq"):
                if line not in said:
                    sys.exit(f"the program with libdyn.so says: {said}")
        else:
            print(f"left out: no {COMPILER}")

        count = ALL_PROGRAMS if everything() else PROGRAMS
        for processor in ("cortex-a53", "max") if everything() else ("max",):
            said = run(*arm.compiler_words(processor, 4096, arm.program("differential"), "--count", count, "--output", work / "failures"))
        print(said.strip().split("\n")[-1])
    finally:
        shutil.rmtree(work)
    print(f"arm_compiler: ok on {', '.join(arm.processors)}: {models} models, {compared} elements compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
