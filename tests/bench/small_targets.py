#!/usr/bin/env python3
"""Instructions that images take on other processors beside plain C of the same loops, counted by qemu.

    ./dev bench small-targets [TARGET...]        aarch64, riscv64, rv64gcv, cortex-m4, cortex-m55; without one: all

Each row is a small program and the C that one would write for it. Of both, what a program without the computation takes (start, printing) is taken off. The C is
compiled by the cross compiler where there is one (Debian: gcc-12-aarch64-linux-gnu, 60 MB), else by clang for that target; "plain" is -O2, scalar is clang -O2
without its vectoriser. Ratios above 1: the image takes fewer. Needs qemu-user and qemu-system-arm, clang and ld.lld.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

from counted import counting

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGETS = {
    "aarch64": dict(clang="--target=aarch64-linux-gnu", gcc="aarch64-linux-gnu-gcc", run=["qemu-aarch64"]),
    "riscv64": dict(clang="--target=riscv64-linux-gnu -march=rv64gc -mabi=lp64d -mno-relax", gcc="riscv64-linux-gnu-gcc", run=["qemu-riscv64"]),
    "rv64gcv": dict(clang="--target=riscv64-linux-gnu -march=rv64gcv -mabi=lp64d -mno-relax", gcc="", run=["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=128"]),
    "cortex-m4": dict(clang="--target=thumbv7em-none-eabihf -mcpu=cortex-m4", gcc="", board="mps2-an386"),
    "cortex-m55": dict(clang="--target=thumbv8.1m.main-none-eabihf -mcpu=cortex-m55", gcc="", board="mps3-an547"),
}
BOARDS = {"mps2-an386": ("4M", "4M"), "mps3-an547": ("512K", "512K")}

# Name, inputs (name, shape), which of them has the output's shape and type, the program, the C.
ROWS = [
    ("dense layer 16x64x64, relu", "x: Tensor[(16, 64), f32], w: Tensor[(64, 64), f32], b: Tensor[(64), f32], o: Tensor[(16, 64), f32]", "return relu(matmul(x, w) + b)",
     "float x[16][64], w[64][64], b[64], y[16][64];",
     "for (int i = 0; i < 16; ++i) for (int j = 0; j < 64; ++j) { float s = 0; for (int k = 0; k < 64; ++k) s += x[i][k] * w[k][j]; s += b[j]; y[i][j] = s > 0 ? s : 0; }"),
    ("convolution 3x3, 8 to 8 channels, 16x16", "x: Tensor[(1, 8, 16, 16), f32], w: Tensor[(8, 8, 3, 3), f32], o: Tensor[(1, 8, 14, 14), f32]", "return conv(x, w)",
     "float x[8][16][16], w[8][8][3][3], y[8][14][14];",
     "for (int m = 0; m < 8; ++m) for (int i = 0; i < 14; ++i) for (int j = 0; j < 14; ++j) { float s = 0; for (int c = 0; c < 8; ++c) for (int p = 0; p < 3; ++p) for (int q = 0; q < 3; ++q) "
     "s += x[c][i + p][j + q] * w[m][c][p][q]; y[m][i][j] = s; }"),
    ("depthwise 3x3, 16 channels, 16x16", "x: Tensor[(1, 16, 16, 16), f32], w: Tensor[(16, 1, 3, 3), f32], o: Tensor[(1, 16, 14, 14), f32]", "return conv(x, w) {group = 16}",
     "float x[16][16][16], w[16][3][3], y[16][14][14];",
     "for (int m = 0; m < 16; ++m) for (int i = 0; i < 14; ++i) for (int j = 0; j < 14; ++j) { float s = 0; for (int p = 0; p < 3; ++p) for (int q = 0; q < 3; ++q) "
     "s += x[m][i + p][j + q] * w[m][p][q]; y[m][i][j] = s; }"),
    ("elements: (x * a + b) * x, at least 0, 4096", "x: Tensor[(4096), f32], a: Tensor[(4096), f32], b: Tensor[(4096), f32], o: Tensor[(4096), f32]", "return relu((x * a + b) * x)",
     "float x[4096], a[4096], b[4096], y[4096];",
     "for (int i = 0; i < 4096; ++i) { float s = (x[i] * a[i] + b[i]) * x[i]; y[i] = s > 0 ? s : 0; }"),
    ("sums of columns, 64x64", "x: Tensor[(64, 64), f32], o: Tensor[(64), f32]", "a = constant() {value = i64[1] [0]}\n return reduce_sum(x, a) {keepdims = 0}",
     "float x[64][64], y[64];",
     "for (int j = 0; j < 64; ++j) { float s = 0; for (int i = 0; i < 64; ++i) s += x[i][j]; y[j] = s; }"),
    ("sums of rows, 64x64", "x: Tensor[(64, 64), f32], o: Tensor[(64), f32]", "a = constant() {value = i64[1] [1]}\n return reduce_sum(x, a) {keepdims = 0}",
     "float x[64][64], y[64];",
     "for (int j = 0; j < 64; ++j) { float s = 0; for (int i = 0; i < 64; ++i) s += x[j][i]; y[j] = s; }"),
    ("bytes: max of two, 4096", "x: Tensor[(4096), u8], z: Tensor[(4096), u8], o: Tensor[(4096), u8]", "return max(x, z)",
     "unsigned char x[4096], z[4096], y[4096];",
     "for (int i = 0; i < 4096; ++i) y[i] = x[i] > z[i] ? x[i] : z[i];"),
]


def count(counter, target, program):
    if "board" in target:
        words = ["qemu-system-arm", "-M", target["board"], "-nographic", "-semihosting-config", "enable=on,target=native", *counter.options(), "-kernel", program]
    else:
        words = [*target["run"], *counter.options(), program]
    return counter.count(words)


def image(arguments, folder, name, target, inputs, body):
    source, program = os.path.join(folder, "model.dyn"), os.path.join(folder, "image")
    with open(source, "w") as file:
        file.write(f"fn @main({inputs}) {{\n {body}\n}}\n")
    words = [os.path.join(arguments.build, "bin/dynrepl"), "--cache-dir", "none", "export", source, "--kind", "image", "--target", name, "-o", program, "--quiet"]
    done = subprocess.run(words + (["--board", target["board"]] if "board" in target else []), capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{body}: {done.stderr.decode()}")
    return program


def compiler_of(target, kind):
    """The words of a compiler, or None."""
    if kind == "cross":
        for name in (target["gcc"], target["gcc"] + "-12"):
            if target["gcc"] and shutil.which(name):
                return [name, "-O2"]
        return None
    clang = next((c for c in ("clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14", "clang") if shutil.which(c)), None)
    scalar = ["-fno-vectorize", "-fno-slp-vectorize"] if kind == "scalar" else []
    return clang and [clang, "-O2", *scalar, *target["clang"].split()]


def plain(folder, target, compiler, data, loops):
    source, program = os.path.join(folder, "plain.c"), os.path.join(folder, "plain")
    with open(source, "w") as file:
        # Elements that the compiler does not know, and results that it must make.
        file.write('#include "vm/freestanding/image.h"\n' + data + "\nvoid imageMain(void) {\n" + '__asm__ volatile("" ::: "memory");\n' + loops +
                   '\n__asm__ volatile("" :: "r"(y) : "memory");\nimageExit(0);\n}\n')
    start = "start_cortex.c" if "board" in target else "start_linux.c"
    flags = ["-std=c11", "-ffreestanding", "-fno-stack-protector", "-I" + ROOT, "-c"]
    objects = []
    for file in (source, os.path.join(ROOT, "vm/freestanding", start), os.path.join(ROOT, "vm/freestanding/support.c")):
        objects.append(os.path.join(folder, os.path.basename(file) + ".o"))
        subprocess.run([*compiler, *flags, file, "-o", objects[-1]], check=True)
    words = ["ld.lld-19" if shutil.which("ld.lld-19") else "ld.lld", "-static", "-o", program, *objects]
    if "board" in target:
        layout = os.path.join(folder, "layout.ld")
        rom, ram = BOARDS[target["board"]]
        with open(layout, "w") as file:
            file.write(f"MEMORY {{ ROM : ORIGIN = 0, LENGTH = {rom}\n RAM : ORIGIN = 0x20000000, LENGTH = {ram} }}\nSECTIONS {{ .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) }} > ROM\n"
                       f" .ARM.exidx : {{ *(.ARM.exidx*) }} > ROM\n .bss (NOLOAD) : {{ *(.bss*) *(COMMON) }} > RAM\n imageStackTop = ORIGIN(RAM) + LENGTH(RAM);\n"
                       f" imageStackEnd = ADDR(.bss) + SIZEOF(.bss); }}\n")
        words += ["--nmagic", "-T", layout]
    subprocess.run(words, check=True)
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counter = counting.Counter(folder)
        print("| target | loops | image | plain C | ratio | scalar C | ratio | C by |\n|---|---|---|---|---|---|---|---|")
        for name in arguments.targets or TARGETS:
            target = TARGETS[name]
            if not shutil.which("qemu-system-arm" if "board" in target else target["run"][0]):
                print(f"skipped: {name} without qemu")
                continue
            for row, inputs, body, data, loops in ROWS:
                ours = count(counter, target, image(arguments, folder, name, target, inputs, body)) - count(counter, target, image(arguments, folder, name, target, inputs, "return o"))
                counts, by = [], ""
                for kind in ("plain", "scalar"):
                    compiler = (compiler_of(target, "cross") or compiler_of(target, "plain")) if kind == "plain" else compiler_of(target, "scalar")
                    by = by or os.path.basename(compiler[0])
                    counts.append(count(counter, target, plain(folder, target, compiler, data, loops)) - count(counter, target, plain(folder, target, compiler, data, "")))
                print(f"| {name} | {row} | {ours} | {counts[0]} | {counts[0] / ours:.2f} | {counts[1]} | {counts[1] / ours:.2f} | {by} |", flush=True)


if __name__ == "__main__":
    main()
