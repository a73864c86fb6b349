#!/usr/bin/env bash
# Models by onnxruntime's quantizer agree with onnxruntime. Skipped without numpy, onnx and onnxruntime.
# Usage: quantised_models_test.sh DYNREPL
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
PYTHON="$("$HERE/../python.sh")"
"$PYTHON" -c 'import numpy, onnx, onnxruntime.quantization' 2>/dev/null || exit 77
"$PYTHON" "$HERE/quantised_models.py" --dynrepl "$1"
