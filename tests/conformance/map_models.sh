#!/usr/bin/env bash
# map_models.sh DYNREPL FOLDER: map_models.py with the Python that has onnxruntime (tests/tools/python.sh), 77 where none has.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
exec "$("$HERE/../tools/python.sh")" "$HERE/map_models.py" "$1" "$2"
