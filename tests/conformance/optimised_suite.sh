#!/usr/bin/env bash
# optimised_suite.sh DYNREPL CASES FOLDER: the node cases as onnxruntime's optimiser saves them, run and compared; with the Python that has onnxruntime
# (DYN_PYTHON), 77 where none has.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
"${DYN_PYTHON:-python3}" "$HERE/onnx_cases.py" optimise --cases "$2" --folder "$3"
exec "$HERE/onnx_cases.py" run --dynrepl "$1" --cases "$3" --expected "$HERE/expected.txt" --again "$HERE/expected_optimised.txt" --report "$3/not_passed.txt"
