#!/usr/bin/env bash
# Random programs give in onnxruntime, or in ONNX's own evaluator, what they give in our reference interpreter; with DYNREPL their ONNX files are compiled and
# run, too. Needs numpy, onnx and onnxruntime (with_python.sh).
# Usage: random_programs_test.sh DIFFERENTIAL [COUNT [SEED [DYNREPL]]]
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
PYTHON="$("$HERE/../python.sh")"
PLACE="$(mktemp -d)"
trap 'rm -rf "$PLACE"' EXIT
"$1" --suite "$PLACE" --count "${2:-300}" --seed "${3:-1}"
"$PYTHON" "$HERE/random_programs.py" "$PLACE" -v ${4:+--dynrepl "$4"}
