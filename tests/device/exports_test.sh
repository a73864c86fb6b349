#!/usr/bin/env bash
# exports_test.sh BUILD SOURCE: a package made with --device cuda runs on the device where a driver is, and its code for the host,
# with one notice, where none is.
set -euo pipefail
BUILD="${1:?usage: exports_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl" DRIVER="$BUILD/simcuda/libcuda.so.1" NONE=/nowhere/libcuda.so.1
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "exports_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none DYN_CUDA_DRIVER=$NONE
cd "$WORK"
# The one line that says why it is the host.
notices() { grep -c 'there is no CUDA driver here.*; the program runs its code for the host' "$1" || true; }

# It is made without a driver.
model="$SOURCE/samples/models/bert/model.onnx" set="$SOURCE/samples/models/bert/test_data_set_1"
"$DYNREPL" compile "$model" --device cuda -o bert.dynpkg --quiet >/dev/null || fail "compile"
inputs=(--input "input_ids=@$set/input_0.pb" --input "attention_mask=@$set/input_1.pb" --threads 1)
DYN_CUDA_DRIVER=$DRIVER "$DYNREPL" --device cuda run "$model" "${inputs[@]}" --output-dir device --quiet >/dev/null || fail "the model"
DYN_CUDA_DRIVER=$DRIVER DYN_SIMCUDA_TRACE=trace "$DYNREPL" run bert.dynpkg "${inputs[@]}" --output-dir there >/dev/null 2>err || fail "on the device: $(cat err)"
(( $(grep -c '^launch' trace) > 30 )) || fail "nothing was launched on the device"
[[ $(notices err) == 0 ]] || fail "a notice though there is a device"
diff -r device there || fail "the package gives other results than the model"
rm -f trace
env -u DYN_CUDA_DRIVER LD_LIBRARY_PATH="$BUILD/simcuda" DYN_SIMCUDA_TRACE=trace "$DYNREPL" run bert.dynpkg "${inputs[@]}" >/dev/null || fail "LD_LIBRARY_PATH"
(( $(grep -c '^launch' trace) > 30 )) || fail "a driver that is found by name: nothing was launched"
"$DYNREPL" run bert.dynpkg "${inputs[@]}" --output-dir here >/dev/null 2>err || fail "without a driver: $(cat err)"
[[ $(notices err) == 1 ]] || fail "without a driver: the notice: $(cat err)"

# Kernels that are written in statements are one text for either side.
cat >chosen.dyn <<'TEXT'
fn @main(%x: Tensor[(n, m), f32], %k: Tensor[(1), i64], %i: Tensor[(j, 1), i64], %u: Tensor[(j, m), f32]) {
  %a = constant() {value = i64[] 1}
  %c = cumsum(%x, %a)
  %v, %p = topk(%c, %k)
  %s = scatter_nd(%x, %i, %u) {reduction = "add"}
  %z = nonzero(relu(%s))
  return %c, %v, %p, %s, %z
}
TEXT
"$DYNREPL" compile chosen.dyn --device cuda -o chosen.dynpkg --quiet >/dev/null || fail "compile chosen.dyn"
inputs=(--dim n=70 --dim m=5 --input "k=[2]" --input "i=[[1],[1],[-1]]")
rm -f trace
DYN_CUDA_DRIVER=$DRIVER DYN_SIMCUDA_TRACE=trace "$DYNREPL" run chosen.dynpkg "${inputs[@]}" --output-dir chosen_there >/dev/null 2>err || fail "chosen: $(cat err)"
(( $(grep -c '^launch' trace) >= 6 )) || fail "chosen: not on the device: $(cat trace)"
"$DYNREPL" run chosen.dynpkg "${inputs[@]}" --output-dir chosen_here >/dev/null 2>err || fail "chosen without a driver: $(cat err)"
diff -r chosen_there chosen_here || fail "chosen: other results without a driver"
echo "exports_test: ok"
