"""Runs a program with Dyn in place of onnxruntime: python -m dyn.compat [-m MODULE | SCRIPT] ARGUMENT..."""

import os
import runpy
import sys

from ._finder import install


def main() -> int:
    given = sys.argv[1:]
    if not given or given[0] in ("-h", "--help") or given == ["-m"]:
        print(__doc__)
        return 0 if given and given != ["-m"] else 2
    install()
    if given[0] == "-m":
        sys.argv = given[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(given[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = given
        sys.path.insert(0, os.path.dirname(os.path.abspath(given[0])))
        runpy.run_path(given[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
