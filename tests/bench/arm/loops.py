#!/usr/bin/env python3
"""Main loops of kernels for 64-bit ARM: cycles per multiply-add beside the processor's bound, by static analysis (llvm-mca), which knows no cache.

    ./dev bench arm/loops [--processor NAME]...       default: cortex-a55, cortex-a76, neoverse-n1, neoverse-v1

Of each function the innermost loop with most multiply-adds; the bound is what as many of them take that wait for nothing. Needs the cross-built runtime
(./dev build --target aarch64), aarch64-linux-gnu-objdump and llvm-mca.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
OBJECTS = ROOT / "build/aarch64/vm/CMakeFiles/dyn_vm_objects.dir/kernels"
PROCESSORS = ("cortex-a55", "cortex-a76", "neoverse-n1", "neoverse-v1")
# What it is, the object (None: of the compiler), the function, the multiply-add, one that waits for nothing.
FLOATS = (r"\tfmla\t", "fmla v{0}.4s, v30.4s, v31.s[0]")
BYTES = (r"\tsdot\t", "sdot v{0}.4s, v30.16b, v31.4b[0]")
LOOPS = [
    ("products of f32, 8 rows", None, r"^dyn_gemm_f32_r8$", *FLOATS),
    ("products of f32, 4 rows", None, r"^dyn_gemm_f32_r4$", *FLOATS),
    ("products of f32, 1 row", None, r"^dyn_gemm_f32_r1$", *FLOATS),
    ("convolutions, 8 positions", "cpu/micro_kernel_neon", r"positionKernel<8, 2>", *FLOATS),
    ("convolutions, 8 filters", "cpu/micro_kernel_neon", r"filterKernel<8>", *FLOATS),
    ("depthwise 3x3, channels last", "cpu/micro_kernel_neon", r"windowKernel<3, 1>", *FLOATS),
    ("bytes, 4 rows, dot products", "byte/byte_kernel_dot", r"microKernel<4>", *BYTES),
    ("4 bits, 1 row, dot products", "nbits/nbits_rounded_dot", r"\bdots\(", r"\tsdot\t", "sdot v{0}.4s, v30.16b, v31.16b"),
    ("4 bits, 4 rows, dot products", "nbits/nbits_rounded_dot", r"\btile<4>", *BYTES),
]


def functions_of(path):
    listing = subprocess.run(["aarch64-linux-gnu-objdump", "-dC", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    for text in re.split(r"\n\n(?=[0-9a-f]+ <)", listing):
        head, *lines = text.split("\n")
        if name := re.match(r"[0-9a-f]+ <(.*)>:", head):
            yield name[1], [line for line in lines if re.match(r"\s*[0-9a-f]+:\t", line)]


def main_loop(lines, multiply):
    """The instructions of the innermost loop with most multiply-adds."""
    places = {int(line.split(":")[0], 16): i for i, line in enumerate(lines)}
    best = []
    for end, line in enumerate(lines):
        target = re.search(r"\t(?:b\.\w+|cbn?z)\t(?:\w+, )?([0-9a-f]+) <", line)
        begin = places.get(int(target[1], 16)) if target else None
        if begin is None or begin >= end:
            continue
        loop = lines[begin:end + 1]
        if sum(bool(re.search(r"\t(?:b|b\.\w+|cbn?z|tbn?z|bl)\t", one)) for one in loop) == 1:
            best = max(best, loop, key=lambda loop: sum(bool(re.search(multiply, one)) for one in loop))
    return [re.sub(r"[0-9a-f]+ <.*", "top", line.split("\t", 1)[1].split("//")[0]) for line in best]


def cycles(lines, processor, times=200):
    """Of one round."""
    done = subprocess.run([shutil.which("llvm-mca-19") or "llvm-mca", "-mtriple=aarch64-linux-gnu", f"-mcpu={processor}", "-mattr=+dotprod", f"-iterations={times}"],
                          input="top:\n" + "\n".join(lines) + "\n", capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return int(re.search(r"Total Cycles:\s+(\d+)", done.stdout)[1]) / times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processor", action="append", default=[])
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    processors = arguments.processor or PROCESSORS
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "product.dyn"
        model.write_text("fn @main(x: Tensor[(n, 64), f32], w: Tensor[(64, 64), f32]) { return matmul(x, w) }\n")
        subprocess.run([f"{arguments.build}/bin/dynrepl", "export", model, "--kind", "static", "--target", "aarch64", "-o", f"{folder}/product.a", "--quiet"],
                       check=True, capture_output=True)
        bound = {}
        print("| Loop | instructions | multiply-adds |" + "".join(f" {name} |" for name in processors))
        print("|---|---|---|" + "---|" * len(processors))
        for title, path, function, multiply, alone in LOOPS:
            file = next(pathlib.Path(folder).glob("*.a")) if path is None else OBJECTS / f"{path}.cpp.o"
            loops = [main_loop(lines, multiply) for name, lines in functions_of(file) if re.search(function, name)]
            count = lambda loop: sum(bool(re.search(multiply, "\t" + one)) for one in loop)
            loop = max(loops, key=count, default=[])
            if not loop:
                sys.exit(f"{title}: no loop in {file}")
            cells = []
            for processor in processors:
                if (alone, processor) not in bound:
                    bound[alone, processor] = cycles([alone.format(i) for i in range(24)], processor) / 24
                cells.append(f" {bound[alone, processor] * count(loop) / cycles(loop, processor):.2f} |")
            print(f"| {title} | {len(loop)} | {count(loop)} |" + "".join(cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
