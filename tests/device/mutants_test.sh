#!/usr/bin/env bash
# mutants_test.sh DYNREPL SOURCE: waits and events that the runtime leaves out are noticed. Each such call of a run in turn does nothing
# (DYN_SIMCUDA_SKIP); where something depended on the call the run ends in an error or gives other results. Others are made up for by the driver's
# own order or by a later wait; of each kind some must be noticed. That each single wait between streams is needed is device_streams_test.cpp's to say.
set -euo pipefail
DYNREPL="${1:?usage: mutants_test.sh DYNREPL SOURCE}" SOURCE="${2:?}"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
fail() { echo "mutants_test: $*" >&2; exit 1; }

# run OUT: what the model gives, in the folder OUT.
run() {
  "$DYNREPL" --cache-dir "$WORK/cache" --device simcuda run "$SOURCE/samples/models/$model/model.onnx" $dims --quiet --output-dir "$1" >"$1.text" 2>&1
}

noticed=0 needless=0
declare -A found=()
while read -r model dims; do
  # shellcheck disable=SC2086  # words
  run good || fail "$model: $(cat good.text)"
  for call in cuStreamSynchronize cuEventSynchronize cuStreamWaitEvent cuEventRecord; do
    for ((n = 1; n <= 60; n++)); do
      rm -rf bad
      ended=0
      DYN_SIMCUDA_SEED=1 DYN_SIMCUDA_SKIP=$call:$n DYN_SIMCUDA_TRACE=trace.txt run bad || ended=$?
      grep -q "^skipped $call:$n$" trace.txt || break  # there is no such call
      if [[ $ended -ne 0 ]] || ! diff -rq good bad >/dev/null 2>&1; then
        noticed=$((noticed + 1)) found[$call]=$((${found[$call]:-0} + 1))
      else
        needless=$((needless + 1))
      fi
    done
  done
  rm -rf good
done <<'TABLE'
early_exit --dim seq=3
lstm_loop --dim seq=2 --dim batch=1
TABLE
echo "$noticed waits and events are noticed when they are left out; of $needless the driver's own order makes up"
for call in cuStreamSynchronize cuStreamWaitEvent cuEventRecord; do
  [[ ${found[$call]:-0} -ge 1 ]] || fail "no $call that is left out is noticed"
done
echo "mutants_test: ok"
