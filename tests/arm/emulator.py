"""What the tests of 64-bit ARM share: programs of this machine, programs of the other one under qemu-aarch64, and results beside results."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy

# Armv8.0, in order and out of order; Armv8.2 with dot products, and with all that qemu has.
PROCESSORS = ("cortex-a53", "cortex-a72", "cortex-a76", "neoverse-n1", "max")
PAGES = (4096, 16384, 65536)
SYSTEM = "/usr/aarch64-linux-gnu"
# A dry run reserves addresses, as many as there are: qemu keeps a table of their pages.
ADDRESSES = "16G"
SKIPPED = 77


def everything():
    """Is it the long form of the tests (./dev check arm)?"""
    return "DYN_TEST_ALL" in os.environ


def attempt(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env={**os.environ, "DYN_CACHE_DIR": "none"})


def run(*words):
    done = attempt(*words)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Emulator:
    """Programs of the cross-built runtime on processors, page sizes and numbers of threads in turn."""

    def __init__(self, build):
        self.runtime = pathlib.Path(build) / "lib" / "aarch64"
        sysroot = self.runtime.resolve().parent / "sysroot-aarch64"
        self.libraries = f"LD_LIBRARY_PATH={sysroot}/usr/lib/aarch64-linux-gnu:{sysroot}/lib/aarch64-linux-gnu"
        self.turn = 0
        known = attempt("qemu-aarch64", "-cpu", "help").stdout.split()  # its status is 1
        self.processors = [name for name in PROCESSORS if name in known]
        for name in PROCESSORS:
            if name not in known:
                print(f"skipped: this qemu has no {name}")

    def program(self, name):
        return self.runtime / "bin" / name

    @staticmethod
    def words(processor, pages, *words):
        return ("qemu-aarch64", "-cpu", processor, "-R", ADDRESSES, "-p", pages, "-L", SYSTEM, *words)

    def compiler_words(self, processor, pages, *words):
        """Of a program with the compiler in it, which needs LLVM. Under qemu 7.2 LLVM's own programs end with a signal on "max" with pages of 64 KB."""
        if processor == "max":
            pages = min(pages, 16384)
        return self.words(processor, pages, "-E", self.libraries, *words)

    def next(self):
        """The processor, the size of pages and the number of threads of the next run."""
        turn = self.turn
        self.turn += 1
        return self.processors[turn % len(self.processors)], PAGES[turn % len(PAGES)], 1 + turn % 2


def emulator(build):
    """The emulator, or why there is none."""
    runtime = pathlib.Path(build) / "lib" / "aarch64"
    if not shutil.which("qemu-aarch64"):
        return None, "skipped: no qemu-aarch64 (./dev setup test)"
    if not (runtime / "bin" / "dynrun").exists():
        return None, "skipped: no runtime for aarch64 (./dev build --target aarch64)"
    return Emulator(build), ""


def differences(ours, theirs):
    """What the folders' .npy files differ in ("": floats are near, anything else is the same), and how many elements they have."""
    count = 0
    names = sorted(file.name for file in ours.iterdir())
    if not names or names != sorted(file.name for file in theirs.iterdir()):
        return f"other outputs than {names}", 0
    for name in names:
        expected, actual = numpy.load(ours / name), numpy.load(theirs / name)
        if expected.dtype != actual.dtype or expected.shape != actual.shape:
            return f"{name} is {actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}", 0
        if expected.dtype.kind in "fc":
            near = numpy.allclose(actual, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
        else:
            near = numpy.array_equal(actual, expected)
        if not near:
            return f"{name} differs: {actual.ravel()[:8]}, not {expected.ravel()[:8]}", 0
        count += expected.size
    return "", count


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    return folder
