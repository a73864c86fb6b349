#!/usr/bin/env bash
# operator_sweep.sh DYNREPL FOLDER: operator_sweep.py with the Python that has onnxruntime (DYN_PYTHON), 77 where none has.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
exec "${DYN_PYTHON:-python3}" "$HERE/operator_sweep.py" run --dynrepl "$1" --folder "$2"
