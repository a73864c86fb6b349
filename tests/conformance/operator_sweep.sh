#!/usr/bin/env bash
# operator_sweep.sh DYNREPL FOLDER: operator_sweep.py with the Python that has onnxruntime (tests/tools/python.sh), 77 where none has.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
exec "$("$HERE/../tools/python.sh")" "$HERE/operator_sweep.py" run --dynrepl "$1" --folder "$2"
