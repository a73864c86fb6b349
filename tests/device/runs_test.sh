#!/usr/bin/env bash
# runs_test.sh BUILD SOURCE [--update]: what runs on the device copy, launch and wait for, as goldens in traces/ (the driver's own
# account, counted).
set -euo pipefail
BUILD="${1:?usage: runs_test.sh BUILD SOURCE [--update]}" SOURCE="${2:?}" UPDATE="${3:-}"
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "runs_test: $*" >&2; exit 1; }
export DYN_CUDA_DRIVER="${DYN_CUDA_DRIVER:-$BUILD/simcuda/libcuda.so.1}"
cd "$WORK"

# Lines of the trace by what they do, with the bytes of copies summed up.
summary() {
  sed -E "s/ #[0-9]+//; s/ stream [0-9]+$//" "$1" | awk '{ key = $1; for (i = 2; i <= NF && $i !~ /^[0-9]/; ++i) key = key " " $i; n[key]++; if (match($0, /[0-9]+ bytes/)) b[key] += substr($0, RSTART, RLENGTH) + 0 }
       END { for (key in n) print key ": " n[key] (key in b ? ", " b[key] " bytes" : "") }' | LC_ALL=C sort
}

while read -r name model dims; do
  # shellcheck disable=SC2086  # words
  DYN_SIMCUDA_TRACE=$name.trace "$DYNREPL" --cache-dir none --device cuda run "$SOURCE/$model" $dims >/dev/null || fail "$name"
  summary $name.trace >$name.txt
  [[ "$UPDATE" == --update ]] && cp $name.txt "$HERE/traces/$name.txt"
  diff -u "$HERE/traces/$name.txt" $name.txt || fail "$name: what it copies and launches changed"
done <"$HERE/runs.txt"
# Inputs go ahead of what is launched, results follow while more is launched, and nobody waits in between.
awk '/^launch/ { launched++; if (pulled && !waited) ok = 1 } /^copy host to device/ && launched && $5 > 64 { late++ } /^copy device to host [0-9]+ bytes/ && $5 > 8 { pulled = 1; waited = 0 } /^synchronize/ { waited = 1 }
     END { exit !(ok && !late) }' gpt2.trace || fail "gpt2: a copy waits, or comes late"
# Without a driver: said in one line, and no crash.
code=0
DYN_CUDA_DRIVER=/nowhere/libcuda.so.1 "$DYNREPL" --cache-dir none --device cuda run "$SOURCE/samples/models/lstm_loop/model.onnx" --dim seq=4 --dim batch=3 >out 2>&1 || code=$?
[[ $code == 4 ]] && grep -q 'error\[E0502\]: unavailable: there is no CUDA driver here' out || fail "without a driver ($code): $(cat out)"
echo "runs_test: ok"
