#!/usr/bin/env bash
# library_test.sh BUILD SOURCE: products by cuBLASLt (policy matmul=cublaslt), here by the simulated one: in models, packages and graphs, in any order of
# what runs, with a workspace; what is said where it is not there, and what its errors and the device's become.
set -euo pipefail
BUILD="${1:?usage: library_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
fail() { echo "library_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR="$WORK/cache"
unset DYN_CUDA_DRIVER DYN_CUBLASLT
bert="$SOURCE/samples/models/bert/model.onnx"
sizes=(--dim batch=2 --dim seq=7 --threads 1)
policy=(--policy matmul=cublaslt)
ends() {  # CODE WORDS COMMAND...: the command ends with that code, and says these words
  local wanted="$1" words="$2" code=0
  shift 2
  "$@" >out 2>&1 || code=$?
  [[ $code == "$wanted" ]] || fail "$* ends with $code, not $wanted: $(cat out)"
  grep -qE -- "$words" out || fail "$* does not say '$words': $(cat out)"
}
products() { grep -c '^product ' "$1" || true; }

# Models against their records, with products of the library in them.
for model in bert gpt2 lstm_loop; do
  DYN_SIMCUDA_TRACE=trace ends 0 'passed' "$DYNREPL" --device simcuda verify "$SOURCE/samples/models/$model" --rtol 1e-4 --atol 1e-5 "${policy[@]}"
  (($(products trace) > 0)) || fail "$model: no product is the library's"
done
"$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}" --quiet --output-dir library >/dev/null || fail "run"
# Without the policy none is.
DYN_SIMCUDA_TRACE=trace "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" --quiet --output-dir own >/dev/null || fail "run"
[[ $(products trace) == 0 ]] || fail "a product is the library's though nobody asked for that"

# A profile names the version that each launch took.
"$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}" --quiet --profile profile.json >/dev/null || fail "profile"
grep -q '"version":"cublaslt"' profile.json && grep -q '"version":"thread_narrow"' profile.json || fail "the profile names no versions"

# Any order of lanes, blocks and commands gives the same bits, and so do launches that come again as graphs.
for seed in 1 2 3; do
  DYN_SIMCUDA_SEED=$seed "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}" --quiet --output-dir "library.$seed" >/dev/null || fail "seed $seed"
  diff -r library "library.$seed" || fail "seed $seed gives other bits"
done
DYN_SIMCUDA_TRACE=trace "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}" --repeat 4 --quiet --output-dir graphs >/dev/null || fail "graphs"
grep -q '^launch graph' trace || fail "no graph was launched"
diff -r library graphs || fail "a graph gives other bits"

# Its products stand among what is ordered: of the waits between streams that are left out, some let a product and a copy meet.
met=0
for wait in 1 2 3 4 5 6; do
  DYN_SIMCUDA_SKIP=cuStreamWaitEvent:$wait "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}" --quiet >out 2>&1 || true
  ! grep -q 'product' out || met=$((met + 1))
done
cat >plain.dyn <<'DYN'
fn @main(%a: Tensor[(m, k), f32], %w: Tensor[(k, n), f32]) {
  %y = matmul(%a, %w)
  return %y
}
DYN
for wait in 1 2 3; do
  code=0
  DYN_SIMCUDA_SKIP=cuStreamWaitEvent:$wait "$DYNREPL" --device simcuda run plain.dyn --dim m=5 --dim k=64 --dim n=7 "${policy[@]}" --quiet >out 2>&1 || code=$?
  [[ $code == 0 ]] || met=$((met + 1))
done
((met > 0)) || fail "no wait that is left out is noticed"

# A workspace is the device's memory, within its limit.
DYN_SIMCUDA_TRACE=trace ends 0 y "$DYNREPL" --device simcuda run plain.dyn --dim m=200 --dim k=64 --dim n=300 "${policy[@]}"
grep -q '^product .* with a workspace' trace || fail "no workspace"
ends 1 '480000 bytes for the workspace of cuBLASLt' "$DYNREPL" --device simcuda run plain.dyn --dim m=200 --dim k=64 --dim n=300 "${policy[@]}" --device-mem-limit 600000

# Where it is not there.
export DYN_CUBLASLT=/nowhere/libcublasLt.so.13
ends 4 'unavailable: version cublaslt: there is no cuBLASLt here' "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}"
ends 0 'cublaslt \(unavailable: there is no cuBLASLt here' "$DYNREPL" --device cuda inspect "$bert" --kernels
ends 0 'cublaslt \(unavailable: the epilogue of the product' "$DYNREPL" --device cuda inspect "$bert" --kernels
ends 0 last_hidden_state "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}"
unset DYN_CUBLASLT
ends 0 'by cuBLASLt|cublaslt \(by policy\)' env DYN_CUBLASLT="$BUILD/simcuda/libcublasLt.so.13" "$DYNREPL" --device cuda inspect "$bert" --kernels "${policy[@]}"
DYN_SIMCUBLASLT_FAIL=cublasLtCreate:1 ends 4 'unavailable: version cublaslt: cuBLASLt cannot be used here: CUBLAS_STATUS_NOT_INITIALIZED' \
  "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}"
ends 2 'goes with --device cuda' "$DYNREPL" run "$bert" "${sizes[@]}" "${policy[@]}"
ends 2 'is a version for the host' "$DYNREPL" --device cuda inspect "$bert" --kernels --policy matmul=onednn
ends 2 'is a version for the host' "$DYNREPL" --device cuda inspect "$bert" --kernels --policy conv=direct

# What it cannot do the kernels do; what fails names kernel and node.
DYN_SIMCUBLASLT_FAIL=cublasLtMatmulAlgoGetHeuristic:15 DYN_SIMCUDA_TRACE=trace "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}" --quiet --output-dir refused >/dev/null || fail "not supported"
[[ $(products trace) == 0 ]] || fail "refused products were done"
diff -r own refused || fail "the kernels give other bits where the library refuses"
DYN_SIMCUBLASLT_FAIL=cublasLtMatmulAlgoGetHeuristic:14 ends 1 'kernel dyn_kernel_[0-9]+ by cuBLASLt: CUBLAS_STATUS_INTERNAL_ERROR \(14\)' \
  "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}"
for n in 1 3; do
  DYN_SIMCUDA_FAIL=cublasLtMatmul:$n ends 1 'kernel dyn_kernel_[0-9]+ by cuBLASLt: CUBLAS_STATUS_EXECUTION_FAILED \(13\)' \
    "$DYNREPL" --device simcuda run "$bert" "${sizes[@]}" "${policy[@]}"
  grep -q 'node \/inner\/encoder' out || fail "the node is not named: $(cat out)"
done

# A package that was compiled so: by the library where it is, by its kernels with a word where it is not.
"$DYNREPL" compile "$bert" --device cuda "${policy[@]}" -o bert.dynpkg --quiet >/dev/null || fail "compile"
export DYN_CUDA_DRIVER="$BUILD/simcuda/libcuda.so.1"
DYN_SIMCUDA_TRACE=trace "$DYNREPL" run bert.dynpkg "${sizes[@]}" --quiet --output-dir packed >/dev/null || fail "package"
(($(products trace) > 0)) || fail "the package's products are not the library's"
diff -r library packed || fail "the package gives other bits"
DYN_CUBLASLT=/nowhere/libcublasLt.so.13 DYN_SIMCUDA_TRACE=trace ends 0 'there is no cuBLASLt here .*kernels of the program do the products' \
  "$DYNREPL" run bert.dynpkg "${sizes[@]}" --output-dir alone
[[ $(products trace) == 0 ]] || fail "a product of a library that is not there"
diff -r own alone || fail "the package gives other bits without the library"
echo "library_test: ok"
