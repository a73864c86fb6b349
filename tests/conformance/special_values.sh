#!/usr/bin/env bash
# special_values.sh DYNREPL: special_values.py with the Python that has onnxruntime (tests/tools/python.sh), 77 where none has.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
exec "$("$HERE/../tools/python.sh")" "$HERE/special_values.py" --dynrepl "$1"
