#!/usr/bin/env bash
# shapes_test.sh DYNREPL SOURCE [DEVICE]: the sample models on the simulated GPU (or DEVICE) at 12 shapes each (0, 1, primes, equal sizes, maxima, random ones),
# beside onnxruntime. Two models in each run, others every day (DYN_TEST_SEED says which); all with DYN_TEST_ALL. Needs onnxruntime.
set -euo pipefail
DYNREPL="${1:?usage: shapes_test.sh DYNREPL SOURCE [DEVICE]}" SOURCE="${2:?}" DEVICE="${3:-simcuda}"
python="$("$SOURCE/tests/tools/python.sh")"
models=("$SOURCE"/samples/models/*/model.onnx)
seed="${DYN_TEST_SEED:-$(($(date +%s) / 86400))}" share=2
if [[ -n ${DYN_TEST_ALL:-} && ${DYN_TEST_ALL:-} != 0 ]]; then share=${#models[@]}; fi
chosen=()
for ((i = 0; i < share; i++)); do chosen+=("${models[(seed * share + i) % ${#models[@]}]}"); done
echo "DYN_TEST_SEED=$seed"
exec "$python" "$SOURCE/tests/tools/compare/compare_with_onnxruntime.py" --dynrepl "$DYNREPL" --count 12 --seed "$seed" \
  "--dyn-option=--device=$DEVICE" --dyn-option=--cache-dir=none "${chosen[@]}"
