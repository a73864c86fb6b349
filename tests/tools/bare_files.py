#!/usr/bin/env python3
"""The preset bare, in its cheapest form.  bare_files.py ROOT BUILD

`./dev check bare` builds it whole, for minutes. Here it is configured in BUILD/bare, and of its files those are
checked that differ from the normal build's: which name DYN_HAVE_... (the compiler reads them with the options of the
preset, and makes no code), or which include a header of a folder that the preset leaves out: that must stand between
#ifdef DYN_HAVE_... and #endif. What links is not seen."""
import json
import pathlib
import re
import shlex
import subprocess
import sys

LEFT_OUT = re.compile(r'#\s*include "(compiler/codegen/|frontends/onnx/|vm/onednn/)')


def unguarded(text):
    """Lines that include what is left out, outside of any #if about DYN_HAVE_."""
    guards = []
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*#\s*if", line):
            guards.append("DYN_HAVE_" in line)
        elif re.match(r"\s*#\s*endif", line) and guards:
            guards.pop()
        elif LEFT_OUT.match(line) and not any(guards):
            yield number, line.strip()


def main() -> int:
    root, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve() / "bare"
    made = subprocess.run(["cmake", "-S", root, "-B", build, "--preset", "bare", "-DDYN_UNITY=OFF", "-DBUILD_TESTING=OFF",
                           "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], capture_output=True, text=True, cwd=root)
    if made.returncode != 0:
        print(made.stdout + made.stderr)
        return 1
    faults, checked = [], 0
    for row in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(row["file"])
        if root not in path.parents or path.suffix != ".cpp" or build in path.parents:
            continue
        name, text = path.relative_to(root), path.read_text()
        if not str(name).startswith(("compiler/codegen/", "frontends/onnx/")):
            faults += ["%s:%d: %s: the preset bare has no such folder" % (name, *fault) for fault in unguarded(text)]
        if "DYN_HAVE_" not in text:
            continue
        words = shlex.split(row["command"])
        for option in ("-DDYN_HAVE_LLVM=1", "-DDYN_HAVE_ONNX=1"):
            if option in words:
                faults.append("%s:1: the preset bare compiles it with %s" % (name, option))
        compiler = next(i for i, word in enumerate(words) if re.search(r"(c\+\+|g\+\+|clang\+\+)[-\d.]*$", word))
        words = [word for word in words[compiler:] if word != "-Winvalid-pch"]
        words[words.index("-c"):words.index("-c") + 1] = ["-fsyntax-only"]
        if "-o" in words:
            del words[words.index("-o"):words.index("-o") + 2]
        said = subprocess.run(words, capture_output=True, text=True, cwd=row["directory"])
        checked += 1
        if said.returncode != 0:
            faults.append("%s:1: does not compile without the optional packages\n%s" % (name, said.stderr))
    print("\n".join(faults))
    print("%d files are compiled with the options of the preset bare" % checked)
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
