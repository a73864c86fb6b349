#!/usr/bin/env bash
# The comparison passes a model that is right and finds one whose outputs are a percent off. Needs numpy, onnx and onnxruntime (with_python.sh).
# Usage: compare_test.sh DYNREPL
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
PYTHON="$("$HERE/../python.sh")"
PLACE="$(mktemp -d)"
trap 'rm -rf "$PLACE"' EXIT
compare() { "$PYTHON" "$HERE/compare_with_onnxruntime.py" "$HERE/../../../samples/models/lstm" --count 6 --dynrepl "$@"; }

compare "$1"

cat >"$PLACE/wrong" <<WRONG
#!$(command -v "$PYTHON")
import glob, os, subprocess, sys
import numpy
done = subprocess.run(["$1", *sys.argv[1:]])
for line in open(sys.argv[sys.argv.index("--cases") + 1]) if "--cases" in sys.argv else []:
    folder = line.split('"output_dir": "')[1].split('"')[0]
    for path in glob.glob(folder + "/*.npy"):
        numpy.save(path, numpy.load(path) * numpy.float32(1.01))
sys.exit(done.returncode)
WRONG
chmod +x "$PLACE/wrong"
code=0
compare "$PLACE/wrong" || code=$?
[[ $code == 3 ]] || { echo "outputs a percent off were not found: exit $code"; exit 1; }
