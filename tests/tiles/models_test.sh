#!/usr/bin/env bash
# Whole models by the model of tiles, beside the same without tiles: BERT in bf16 close to it, and to its recorded outputs, with the
# same bits for every number of threads; BERT with bytes (by onnxruntime's quantizer, where it is installed) the same to the bit.
# Skipped where the processor has no products of pairs and quads, whose panels tiles read.
# Usage: models_test.sh DYNREPL SOURCES
set -euo pipefail
DYNREPL="$1" SOURCES="$2"
BERT="$SOURCES/samples/models/bert"
grep -q avx512_bf16 /proc/cpuinfo && grep -q avx512_vnni /proc/cpuinfo || exit 77
FOLDER="$(mktemp -d)"
trap 'rm -rf "$FOLDER"' EXIT
fail() { echo "$1" >&2; exit 1; }

# run TILES THREADS MODEL OPTION...: outputs in a folder of that name, the trace beside it
run() {
  local tiles="$1" threads="$2" model="$3"
  shift 3
  DYN_TILES="$tiles" "$DYNREPL" --cache-dir none --quiet --threads "$threads" --seed 5 run "$model" --dim batch=3 --dim seq=43 \
    --output-dir "$FOLDER/$tiles$threads" --profile "$FOLDER/$tiles$threads.json" "$@" > /dev/null
}
# same FOLDER FOLDER: their outputs, and that there are some
same() {
  ls "$FOLDER/$1"/*.npy > /dev/null
  diff -r "$FOLDER/$1" "$FOLDER/$2" > /dev/null || fail "$3"
}
names() { grep -q "$2" "$FOLDER/$1.json" || fail "the trace of $1 does not name '$2'"; }

DYN_TILES=model "$DYNREPL" --cache-dir none --quiet --math bf16 verify "$BERT" --rtol 3e-2 --atol 3e-2
for threads in 1 3; do run model "$threads" "$BERT/model.onnx" --math bf16; done
run off 1 "$BERT/model.onnx" --math bf16
names model1 "bf16 by tile-model"
names off1 "bf16 by avx512-bf16"
same model1 model3 "BERT in bf16: bits differ with the number of threads"

PYTHON="$("$SOURCES/tests/tools/python.sh")"
"$SOURCES/tests/tools/with_python.sh" --needs numpy,onnx,onnxruntime.quantization true || exit $?
"$PYTHON" - "$FOLDER" "$BERT/model.onnx" << 'PY'
import sys
import numpy
from onnxruntime.quantization import QuantType, quantize_dynamic
folder, model = sys.argv[1:]
one, other = (numpy.load(f"{folder}/{run}/last_hidden_state.npy") for run in ("model1", "off1"))
assert one.shape == (3, 43, 32) and numpy.abs(one - other).max() < 2e-2, numpy.abs(one - other).max()
quantize_dynamic(model, f"{folder}/bytes.onnx", weight_type=QuantType.QInt8, per_channel=True)
PY
rm -r "$FOLDER/model1" "$FOLDER/model3" "$FOLDER/off1"
for threads in 1 3; do run model "$threads" "$FOLDER/bytes.onnx"; done
run off 1 "$FOLDER/bytes.onnx"
names model1 "bytes by tile-model"
names off1 "bytes by avx512-vnni"
same model1 off1 "BERT in bytes: bits differ by tiles"
same model1 model3 "BERT in bytes: bits differ with the number of threads"
