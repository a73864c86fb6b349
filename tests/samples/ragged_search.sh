#!/usr/bin/env bash
# ragged_search.py with the Python that has onnxruntime; skipped without.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
PYTHON="$("$HERE/../tools/python.sh")"
"$PYTHON" "$HERE/ragged_search.py" "$@"
