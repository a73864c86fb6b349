#!/usr/bin/env bash
# saved_models.sh OPTIONS...: saved_models.py check, with the Python that has onnx and onnxruntime (tests/tools/python.sh); 77 where none has.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
exec "$("$HERE/../tools/python.sh")" "$HERE/saved_models.py" check "$@"
