#!/usr/bin/env python3
"""Builds the Python package over a libdyn.so and runs the tests beside this file.

    package_test.py --library build/release/lib/libdyn.so --source . --build build/release/python_package [TEST...]

TEST names one as unittest does: test_call.Inputs.test_fortran_order. What is built already is not built again. With
--asan the extension has AddressSanitizer (gcc's), in a folder of its own; the library is as it is, but its use of the
heap is watched, too. Exit 77 (skipped) where Python's headers or nanobind are missing."""
import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def missing():
    headers = pathlib.Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").is_file():
        return "there is no Python.h in %s (package python3-dev)" % headers
    if importlib.util.find_spec("nanobind") is None:
        return "%s has no nanobind (./dev setup test installs it in build/python)" % sys.executable
    return None


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit("failed: %s\n%s%s" % (" ".join(map(str, command)), done.stdout, done.stderr))


def build(library, source, folder, includes=("app/library/include", "vm/include"), more=()):
    """Configures again only where another library or another Python is asked for; the rest is the build's to know."""
    wanted = "%s\n%s\n%s\n" % (library, source, sys.executable)
    mark = folder / "configured_for"
    if not mark.is_file() or mark.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        run(["cmake", *generator, "-S", source / "python", "-B", folder, "-DDYN_LIBRARY=%s" % library,
             "-DDYN_INCLUDE=%s" % ";".join(str(source / one) for one in includes),
             "-DPython_EXECUTABLE=%s" % sys.executable, *more])
        mark.write_text(wanted)
    run(["cmake", "--build", folder])


ASAN = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS=-fsanitize=address -fno-omit-frame-pointer -O1 -g1"]


def asan_environment():
    """Python itself is built without, so the sanitizer's library comes first, and that of C++ with it: the sanitizer
    looks for its exceptions when it starts. Leaks are not asked for: an interpreter that ends leaves much behind."""
    libraries = [subprocess.run(["g++", "-print-file-name=" + name], capture_output=True, text=True, check=True).stdout.strip()
                 for name in ("libasan.so", "libstdc++.so")]
    return {"LD_PRELOAD": " ".join(libraries), "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1"}


def built(release):
    """The folder of the package over the libdyn of a build folder; both are built where they are not up to date."""
    release, source = release.resolve(), HERE.parents[1]
    folder = release / "python_package"
    run(["cmake", "--build", release, "--target", "dyn"])
    build((release / "lib/libdyn.so").resolve(), source, folder)
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--asan", action="store_true")
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    why = missing()
    if why:
        print("skipped: %s" % why)
        return 77
    source, folder = given.source.resolve(), given.build.resolve()
    if given.asan:
        folder = folder.with_name(folder.name + "_asan")
    build(given.library.resolve(), source, folder, more=ASAN if given.asan else ())
    with tempfile.TemporaryDirectory() as home:  # nobody's cache is read or written
        os.environ.update(HOME=home, XDG_CACHE_HOME=home, DYN_TEST_SOURCE=str(source),
                          PYTHONPATH=os.pathsep.join([str(folder), str(HERE)]), PYTHONDONTWRITEBYTECODE="1",
                          **(asan_environment() if given.asan else {}))
        command = ["-m", "unittest", *given.tests] if given.tests else ["-m", "unittest", "discover", "-s", str(HERE)]
        return subprocess.run([sys.executable, "-W", "error::ResourceWarning", *command], cwd=HERE).returncode


if __name__ == "__main__":
    sys.exit(main())
