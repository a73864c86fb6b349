#!/usr/bin/env bash
# faults_test.sh BUILD SOURCE: what the driver's errors become: their kind, the kernel and the ONNX node; that the process goes on and runs on the
# host afterwards; and that no call of the driver, when it fails, ends in a crash or an error of Dyn itself.
set -euo pipefail
BUILD="${1:?usage: faults_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
PYTHON="$("$SOURCE/tests/tools/python.sh")"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
fail() { echo "faults_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR="$WORK/cache"
unset DYN_CUDA_DRIVER
model="$SOURCE/samples/models/early_exit/model.onnx"
run() { "$DYNREPL" --device simcuda run "$model" --dim seq=3 --threads 1 "$@"; }
run --quiet --output-dir good >/dev/null || fail "without a fault"

# Errors of a kernel (the third launch), each where it happened and where somebody waits for it.
while read -r code name; do
  ended=0
  DYN_SIMCUDA_FAULT=3:$code run --json >json 2>/dev/null || ended=$?
  [[ $ended == 1 ]] || fail "$code ends with $ended: $(cat json)"
  grep -q "\"error\":.*CUDA_ERROR_$name ($code)" json || fail "$code: $(cat json)"
  ended=0
  CUDA_LAUNCH_BLOCKING=1 DYN_SIMCUDA_FAULT=3:$code run --no-graphs --json >json 2>/dev/null || ended=$?
  "$PYTHON" - "$code" "$name" <<'PY' || fail "$code at its launch: $(cat json)"
import json, re, sys
error = json.load(open("json"))["error"]
assert re.search(r"kernel dyn_kernel_\w+: CUDA_ERROR_%s \(%s\)" % (sys.argv[2], sys.argv[1]), error["message"]), error
assert "one of the" not in error["message"], error
assert "node" in error["place"], error
PY
done <<'TABLE'
700 ILLEGAL_ADDRESS
716 MISALIGNED_ADDRESS
719 LAUNCH_FAILED
TABLE
# Which launch it is decides the node.
for n in 1 2 3 4 5; do
  CUDA_LAUNCH_BLOCKING=1 DYN_SIMCUDA_FAULT=$n:700 run --no-graphs --json 2>/dev/null | "$PYTHON" -c 'import json, sys; e = json.load(sys.stdin)["error"]; print(e["message"], e["place"])' >>places || true
done
[[ $(sort -u places | wc -l) -ge 2 ]] || fail "all launches are of one node: $(cat places)"

# A session says what happened, says so again, and runs on the host; on the device no more.
cat >session.dyns <<DYNS
:load $model
:set device simcuda
:run --dim seq=3
:run --dim seq=3
:set device cpu
:run --dim seq=3
DYNS
ended=0
DYN_SIMCUDA_FAULT=3:700 "$DYNREPL" script --keep-going session.dyns >out 2>&1 || ended=$?
[[ $ended == 1 || $ended == 4 ]] || fail "the session ends with $ended: $(cat out)"
grep -q 'CUDA_ERROR_ILLEGAL_ADDRESS (700)' out || fail "the session does not say what happened: $(cat out)"
grep -q 'unavailable: the device cuda:0 stopped earlier: .*CUDA_ERROR_ILLEGAL_ADDRESS (700)' out || fail "the session does not say it again: $(cat out)"
[[ $(grep -c 'error\[E' out) == 2 ]] || fail "the host does not run: $(cat out)"

# Another device is not concerned.
sed 's/^:set device cpu$/:set device simcuda:1/' session.dyns >other.dyns
DYN_SIMCUDA_DEVICES=2 DYN_SIMCUDA_FAULT=3:700 "$DYNREPL" script --keep-going other.dyns >out 2>&1 || true
[[ $(grep -c 'error\[E' out) == 2 ]] && grep -q 'cuda:0 stopped earlier' out || fail "the second device stopped with the first: $(cat out)"

# The device is lost: at a launch, and at a wait.
for call in cuLaunchKernel:3:214 cuStreamSynchronize:2:46; do
  ended=0
  DYN_SIMCUDA_FAIL=$call run >out 2>&1 || ended=$?
  [[ $ended == 4 ]] && grep -q 'unavailable: .*the device cuda:0 is lost: .*CUDA_ERROR' out || fail "$call ends with $ended: $(cat out)"
  DYN_SIMCUDA_FAIL=$call "$DYNREPL" script --keep-going session.dyns >out 2>&1 || true
  [[ $(grep -c 'error\[E' out) == 2 ]] && grep -q 'stopped earlier' out || fail "$call: the session: $(cat out)"
done

# No memory: said with the bytes and the device, which goes on.
DYN_SIMCUDA_TRACE=trace run >/dev/null 2>&1
grep '^allocate' trace >allocations
ended=0
DYN_SIMCUDA_MEMORY=9000 run --json >json 2>/dev/null || ended=$?
[[ $ended == 1 ]] && grep -qE '"error":.*[0-9]+ bytes' json || fail "no memory ends with $ended: $(cat json)"
calls=$(grep -cv pinned allocations) again=0
for ((n = 1; n <= calls + 3; n++)); do
  ended=0
  DYN_SIMCUDA_FAIL=cuMemAlloc_v2:$n "$DYNREPL" script --keep-going - >out 2>&1 <<DYNS || ended=$?
:set device simcuda
:load $model
:run --dim seq=3
:run --dim seq=3
DYNS
  [[ $ended == 0 || $ended == 1 ]] || fail "allocation $n ends with $ended: $(cat out)"
  errors=$(grep -c 'error\[E' out || true)
  [[ $errors -le 1 ]] || fail "allocation $n: the second run does not go on: $(cat out)"
  if [[ $errors == 1 ]]; then
    grep -qiE 'memory' out || fail "allocation $n: $(cat out)"
    again=$((again + 1))
  fi
done
[[ $again -ge 3 ]] || fail "hardly an allocation of $calls failed ($again)"

# Every call in turn: an error, or the right results; never a crash, never a fault of Dyn itself.
step=$([[ ${DYN_TEST_ALL:-0} == 0 ]] && echo 7 || echo 1) seed="${DYN_TEST_SEED:-$(($(date +%s) / 86400))}"
failed=0 n=$((1 + seed % step))
while :; do
  ended=0
  rm -rf bad
  DYN_SIMCUDA_FAIL=$n DYN_SIMCUDA_TRACE=trace run --quiet --output-dir bad >out 2>&1 || ended=$?
  case $ended in
    0) diff -r good bad >/dev/null || fail "call $n failed, and the results are wrong without a word" ;;
    1 | 4) failed=$((failed + 1)) ;;
    *) fail "call $n ends with $ended: $(cat out)" ;;
  esac
  grep -q "^failed call $n " trace || break  # there is no such call
  n=$((n + step))
done
[[ $failed -ge 10 ]] || fail "only $failed calls failed"
echo "faults_test: ok ($failed calls that failed, DYN_TEST_SEED=$seed)"
