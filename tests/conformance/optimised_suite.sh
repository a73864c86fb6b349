#!/usr/bin/env bash
# optimised_suite.sh DYNREPL CASES FOLDER: the node cases as onnxruntime's optimiser saves them, run and compared.
# Needs a Python with onnxruntime (with_python.sh).
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
PYTHON="$("$HERE/../tools/python.sh")"
"$PYTHON" "$HERE/onnx_cases.py" optimise --cases "$2" --folder "$3"
exec "$PYTHON" "$HERE/onnx_cases.py" run --dynrepl "$1" --cases "$3" --expected "$HERE/expected.txt" \
  --again "$HERE/expected_optimised.txt" --report "$3/not_passed.txt"
