#!/usr/bin/env bash
# no_heap_test.sh BUILD SOURCE: libraries without heap refer to nothing but a few functions that need none, and take the memory
# that they say; what has no bound, or wants what their runtime does not have, is refused and named.
set -euo pipefail
BUILD="${1:?usage: no_heap_test.sh BUILD SOURCE}" SOURCE="${2:?}"
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "no_heap_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"
code_of() { local code=0; "$@" >out 2>err || code=$?; echo "$code"; }
allowed='^(memcpy|memmove|memset|_GLOBAL_OFFSET_TABLE_)$'
others() { nm -u "$@" | awk 'NF == 2 { print $2 }' | sed 's/@.*//' | grep -vE "$allowed" | grep -vE '^(_ITM_.*|__gmon_start__|__cxa_finalize)$' || true; }

"$DYNREPL" export "$SOURCE/samples/01_any_shape/mlp.dyn" --kind static --no-heap --dim rows=0..16 -o mlp --json --quiet >mlp.json
[[ -z "$(others libmlp.a)" ]] || fail "libmlp.a refers to $(others libmlp.a)"
[[ -z "$(nm -g --defined-only libmlp.a 2>/dev/null | awk 'NF == 3 { print $3 }' | grep -v '^mlp_' || true)" ]] || fail "libmlp.a shows other names"
grep -q "\"ram_bound_bytes\":$(grep -oE 'RAM_BOUND_BYTES [0-9]+' mlp.h | cut -d' ' -f2)," mlp.json || fail "the header and the JSON have other bounds"
cc -std=c11 -Wall -Wextra -Werror "$HERE/no_heap.c" -I. -o program libmlp.a
./program >said || fail "the program ends with $?: $(cat said)"
grep -q 'dim rows is 17, allowed is 0 to 16' said || fail "beyond the bound: $(cat said)"
"$DYNREPL" export "$SOURCE/samples/01_any_shape/mlp.dyn" --kind shared --no-heap --dim rows=0..16 -o mlp --quiet >/dev/null
[[ -z "$(others -D libmlp.so)" ]] || fail "libmlp.so refers to $(others -D libmlp.so)"
cc -std=c11 "$HERE/no_heap.c" -I. -o shared -L. -lmlp "-Wl,-rpath,$WORK" && ./shared >/dev/null || fail "the shared library"
# A branch on values: the most of both ways.
"$DYNREPL" export "$SOURCE/samples/models/early_exit/model.onnx" --kind static --no-heap --dim seq=1..8 -o early --quiet >/dev/null \
  || fail "early exit"
[[ -z "$(others libearly.a)" ]] || fail "libearly.a refers to $(others libearly.a)"

for row in "01_any_shape/mlp.dyn:has no bound" "02_loop/power.dyn:ends by values"; do
  [[ $(code_of "$DYNREPL" export "$SOURCE/samples/${row%%:*}" --kind static --no-heap $([[ $row == 02* ]] && echo "--dim n=1..4") -o none --quiet) == 4 ]] || fail "$row: $(cat out err)"
  grep -q "${row#*:}" err || fail "$row says: $(cat err)"
done
echo 'fn @main(x: Tensor[(n, k, k), f32]) { y = det(x) return y }' >det.dyn
[[ $(code_of "$DYNREPL" export det.dyn --kind static --no-heap --dim n=1..4 --dim k=1..4 -o none --quiet) == 4 ]] && grep -q 'det is a hand-written kernel' err || fail "det: $(cat out err)"
# Boxes whose number depends on values; rows that are scattered to the experts that values choose.
for row in "ssd --dim h=8..12 --dim w=8..12" "switch --dim tokens=1..6"; do
  # shellcheck disable=SC2086  # words
  "$DYNREPL" export "$SOURCE/samples/models/${row%% *}/model.onnx" ${row#* } --kind static --no-heap -o sized --json --quiet >sized.json || fail "$row"
  grep -qE '"ram_bound_bytes":[1-9]' sized.json && [[ -z "$(others libsized.a)" ]] || fail "$row: $(cat sized.json) $(others libsized.a)"
done
[[ $(code_of "$DYNREPL" export "$SOURCE/samples/01_any_shape/mlp.dyn" --kind image --target cortex-m4 --dim rows=2 -o none --quiet) == 2 ]] || fail "no board: $(cat err)"
if [[ -e $BUILD/lib/dynimage-thumbv6m.o ]]; then
  [[ $(code_of "$DYNREPL" export "$SOURCE/samples/models/bert/model.onnx" --kind image --target cortex-m0 --board microbit --dim batch=1 --dim seq=64 -o none --quiet) == 4 ]] \
    && grep -qE 'needs [0-9]+ KiB of flash, of 256 KiB there, and [0-9]+ KiB of RAM \(with 3 KiB of stack\), of 16 KiB there' err || fail "too large for a board: $(cat out err)"
fi
[[ -z "$(ls | grep none || true)" ]] || fail "something is left"
echo "no_heap_test: ok"
