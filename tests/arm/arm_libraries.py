"""arm_libraries.py BUILD SOURCE: libraries of models, static and shared, with a heap and without, made here for 64-bit ARM: a C program that a cross
compiler links with them gives under qemu-aarch64 what the same program gives here. Skipped (77) without qemu, the cross compiler or the cross-built
runtime."""
import pathlib
import shutil
import sys
import tempfile

import numpy

from emulator import SKIPPED, emulator, run

COMPILER = "aarch64-linux-gnu-gcc"


def numbers(text):
    """The lines that are a number: others name sizes of memory, which are a machine's own."""
    rows = []
    for line in text.split("\n"):
        try:
            rows.append(float(line))
        except ValueError:
            continue
    return numpy.array(rows, numpy.float32)


def main():
    build, source = map(pathlib.Path, sys.argv[1:3])
    arm, why = emulator(build)
    if not arm or not shutil.which(COMPILER):
        print(why or f"skipped: no {COMPILER}")
        return SKIPPED
    shell, compared = build / "bin" / "dynrepl", 0
    work = pathlib.Path(tempfile.mkdtemp())

    def program(folder, compiler, kind, name, code):
        """The C program with the library that lies in the folder."""
        linked = [folder / f"lib{name}.a"] if kind == "static" else [f"-L{folder}", f"-l{name}"]
        run(compiler, "-std=c11", code, f"-I{folder}", "-o", folder / "program", *linked, "-lm", "-pthread")
        return folder / "program"

    def made(kind, target, model, name, *options):
        folder = work / f"{name}_{kind}_{target}"
        folder.mkdir()
        run(shell, "export", model, "--kind", kind, "--target", target, *options, "-o", folder / name, "--quiet")
        return folder

    bert, mlp = source / "samples/models/bert/model.onnx", source / "samples/01_any_shape/mlp.dyn"
    bert_code, mlp_code = source / "samples/10_library/bert.c", source / "tests/samples/no_heap.c"
    bound = ("--no-heap", "--dim", "rows=0..16")
    try:
        here = made("static", "host", bert, "bert")
        expected = numbers(run(program(here, "cc", "static", "bert", bert_code), "2", "5"))
        if expected.size < 100:
            sys.exit(f"the program gives {expected.size} numbers here")
        for kind in ("static", "shared"):
            folder = made(kind, "aarch64", bert, "bert")
            code = program(folder, COMPILER, kind, "bert", bert_code)
            for processor in arm.processors:
                words = arm.words(processor, 4096, "-E", f"LD_LIBRARY_PATH={folder}", code, "2", "5")
                actual = numbers(run(*words))
                if actual.shape != expected.shape or not numpy.allclose(actual, expected, rtol=1e-4, atol=1e-5):
                    sys.exit(f"{kind}, {processor}: {actual[:8]}, not {expected[:8]}")
                compared += actual.size
            # It checks its results and the memory that it may take by itself.
            folder = made(kind, "aarch64", mlp, "mlp", *bound)
            code = program(folder, COMPILER, kind, "mlp", mlp_code)
            said = run(*arm.words(arm.processors[0], 4096, "-E", f"LD_LIBRARY_PATH={folder}", code))
            if "dim rows is 17" not in said:
                sys.exit(f"{kind}, without heap: {said}")
    finally:
        shutil.rmtree(work)
    print(f"arm_libraries: ok on {', '.join(arm.processors)}; {compared} numbers compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
