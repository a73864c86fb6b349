#!/usr/bin/env bash
# cases_test.sh DYNREPL SOURCE CASES FOLDER: cases of the ONNX backend suite whose operators scan, scatter, sort and select (CASES, as
# conformance.unpack leaves them), with every dim of every input a symbol, on the simulated GPU; and that they do run there.
set -euo pipefail
DYNREPL="${1:?usage: cases_test.sh DYNREPL SOURCE CASES FOLDER}" SOURCE="${2:?}" CASES="${3:?}" FOLDER="${4:?}"
fail() { echo "cases_test: $*" >&2; exit 1; }
unset DYN_CUDA_DRIVER
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

"$("$SOURCE/tests/tools/python.sh")" "$SOURCE/tests/conformance/onnx_cases.py" open --cases "$CASES" --folder "$FOLDER" >/dev/null
shopt -s nullglob
chosen=()
for name in cumsum cumprod scatter scatternd top_k nonzero compress gather gathernd tensorscatter unique nonmaxsuppression; do
  chosen+=("$FOLDER"/node/test_"${name}"_* "$FOLDER"/node/test_"$name")
done
found=()
for case in "${chosen[@]}"; do [[ -f "$case/model.onnx" ]] && found+=("$case"); done
[[ ${#found[@]} -ge 60 ]] || fail "only ${#found[@]} cases in $FOLDER"
"$DYNREPL" --cache-dir none --device simcuda verify "${found[@]}" --jobs 2 >"$WORK/out" 2>&1 || fail "$(cat "$WORK/out")"
grep -q ' 0 wrong, 0 crashed, 0 timeout, 0 unsupported, 0 failed' "$WORK/out" || fail "$(cat "$WORK/out")"

# They are kernels of the device.
for name in cumsum_1d cumprod_1d scatter_elements_with_reduction_max top_k nonzero_example compress_0 unique_sorted_with_axis_3d; do
  "$DYNREPL" --device cuda inspect "$FOLDER/node/test_$name/model.onnx" --ir placed >"$WORK/out" 2>&1 || fail "$name: $(cat "$WORK/out")"
  grep -q 'device = "cuda"' "$WORK/out" || fail "$name: nothing of it is on the device: $(cat "$WORK/out")"
done
echo "cases_test: ok (${#found[@]} cases)"
