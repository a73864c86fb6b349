#!/usr/bin/env bash
# processors_test.sh BUILD SOURCE: executables for levels of x86-64 run on processors of that level and above, with the
# right results and no illegal instruction; on lesser ones they say what is missing; x86-64-multi takes the best there is.
set -euo pipefail
BUILD="${1:?usage: processors_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "processors_test: $*" >&2; exit 1; }
command -v qemu-x86_64 >/dev/null || { echo "skipped: qemu-x86_64 (package qemu-user) is not installed"; exit 77; }
[[ "$(uname -m)" == x86_64 ]] || { echo "skipped: this is not x86-64"; exit 77; }
export DYN_CACHE_DIR=none
cd "$WORK"

# Two that differ in what they have, and one with all that qemu has: AVX2, but no AVX-512.
declare -A HAS=([qemu64]="x86_64" [Nehalem]="x86_64 x86_64:v2" [Haswell]="x86_64 x86_64:v2 x86_64:v3")
declare -A CODE=([x86-64-v1]="x86_64" [x86-64-v2]="x86_64:v2" [x86-64-v3]="x86_64:v3" [x86-64-v4]="x86_64:v4")
on() {  # CPU PROGRAM OPTION...
  local cpu="$1"
  shift
  # Not by a pipe: what filters it might still write when the caller reads.
  local code=0
  qemu-x86_64 -cpu "$cpu" "$@" 2>said || code=$?
  grep -v "TCG doesn't support" said >&2 || true
  return "$code"
}

# Largest difference of two files of f32 elements, which end at the same size; what is equal is 0.
near() {  # A.npy B.npy
  cmp -s "$1" "$2" && return 0
  paste <(tail -c +129 "$1" | od -An -v -w4 -t f4) <(tail -c +129 "$2" | od -An -v -w4 -t f4) |
    awk '{ d = $1 - $2; if (d < 0) d = -d; s = $1 < 0 ? -$1 : $1; if (NF != 2 || !(d <= 2e-4 * (1 + s))) { print $1, $2; bad = 1; exit } } END { exit bad || NR == 0 }'
}

# Which code runs, and where none does.
model="$SOURCE/samples/models/bert/model.onnx"
sizes=(--dim batch=2 --dim seq=7 --quiet --threads 1)
"$DYNREPL" run "$model" "${sizes[@]}" --output-dir host >/dev/null
for level in x86-64-v1 x86-64-v2 x86-64-v3 x86-64-v4; do
  "$DYNREPL" export "$model" --kind exe --target "$level" -o program --quiet >/dev/null
  for cpu in "${!HAS[@]}"; do
    code=0
    on "$cpu" ./program "${sizes[@]}" --output-dir there --json >out 2>err || code=$?
    if [[ " ${HAS[$cpu]} " == *" ${CODE[$level]} "* ]]; then
      [[ $code == 0 ]] || fail "$level on $cpu: exit code $code: $(cat err)"
      near host/last_hidden_state.npy there/last_hidden_state.npy || fail "$level on $cpu: other results"
      on "$cpu" ./program --describe | grep -qx "code    ${CODE[$level]}" || fail "$level on $cpu: other code"
    else
      [[ $code == 4 ]] || fail "$level on $cpu: exit code $code: $(cat err)"
      grep -q "(${CODE[$level]}), this processor lacks " err || fail "$level on $cpu says: $(cat err)"
      [[ $level != x86-64-v4 || $cpu != Haswell ]] || grep -q "lacks avx512f, avx512bw, avx512cd, avx512dq, avx512vl:" err || fail "v4 on Haswell says: $(cat err)"
    fi
    rm -rf there
  done
done
"$DYNREPL" export "$model" --kind exe --target x86-64-multi -o program --quiet >/dev/null
for cpu in "${!HAS[@]}"; do
  best=x86_64
  [[ $cpu != Haswell ]] || best=x86_64:v3
  on "$cpu" ./program --describe | grep -qx "code    $best" || fail "multi on $cpu takes $(on "$cpu" ./program --describe | grep code)"
done
if grep -q avx512vl /proc/cpuinfo; then ./program --describe | grep -qx "code    x86_64:v4" || fail "multi here takes $(./program --describe | grep code)"; fi

# Hand-written kernels, too, keep to what there is: samples with products, convolutions, loops, sorting.
for row in "ssd:--dim h=33 --dim w=35" "lstm:--dim seq=5 --dim batch=2" "lstm_loop:--dim seq=5 --dim batch=2" "gpt2:--dim batch=1 --dim seq=2 --dim past=3"; do
  name="${row%%:*}"
  read -ra sizes <<<"${row#*:} --quiet --threads 1"
  model="$SOURCE/samples/models/$name/model.onnx"
  rm -rf host
  "$DYNREPL" run "$model" "${sizes[@]}" --output-dir host >/dev/null
  "$DYNREPL" export "$model" --kind exe --target x86-64-multi -o program --quiet >/dev/null
  for cpu in "${!HAS[@]}"; do
    code=0
    on "$cpu" ./program "${sizes[@]}" --output-dir there >out 2>err || code=$?
    [[ $code == 0 ]] || fail "$name on $cpu: exit code $code: $(cat err)"
    for output in host/*.npy; do
      # Boxes and their numbers: equal or not, as elements are no f32.
      near "$output" "there/${output#host/}" || fail "$name on $cpu: ${output#host/} differs"
    done
    rm -rf there
  done
done

# Of libraries: the code is chosen when a model is made (library_test.sh runs them here).
"$DYNREPL" export "$SOURCE/samples/01_any_shape/mlp.dyn" --kind static --target x86-64-v2 -o mlp --quiet >/dev/null || fail "a library for v2"
cat >main.c <<'C'
#include <stdio.h>
#include "mlp.h"
int main(void) {
  mlp_model* model = NULL;
  const int code = mlp_create(NULL, &model);
  if (code != 0) printf("%d %s\n", code, mlp_last_error());
  mlp_release(model);
  return code != 0;
}
C
if command -v cc >/dev/null; then
  "$DYNREPL" export "$SOURCE/samples/01_any_shape/mlp.dyn" --kind static --target x86-64-v3 -o mlp --quiet >/dev/null
  cc main.c -o main libmlp.a -lm -pthread
  on Haswell ./main || fail "the library on Haswell"
  if on Nehalem ./main >out; then fail "the library of v3 on Nehalem"; fi
  grep -q "this processor lacks avx, avx2" out || fail "the library of v3 on Nehalem says: $(cat out)"
  # Code for several: each of them is there once, under no name that others see, and each processor takes what
  # it has: the sums differ from those of a library for one in nothing.
  cat >sums.c <<'C'
#include <stdio.h>
#include "mlp.h"
int main(void) {
  static float x[3 * 4], w1[4 * 8], b1[8], w2[8 * 3], y[3 * 3];
  for (int i = 0; i < 32; ++i) x[i % 12] = (float)(i % 7) - 3.1f, w1[i] = (float)(i % 5) * 0.3f - 0.7f, w2[i % 24] = (float)(i % 3) * 0.21f;
  const mlp_dims dims = {3};
  const mlp_inputs inputs = {x, w1, b1, w2};
  const mlp_outputs outputs = {{y, sizeof y}};
  mlp_model* model = NULL;
  int code = mlp_create(NULL, &model);
  if (code == 0) code = mlp_run(model, &dims, &inputs, &outputs, NULL);
  if (code != 0) printf("%d %s\n", code, mlp_last_error());
  for (int i = 0; code == 0 && i < 9; ++i) printf("%a\n", (double)y[i]);
  mlp_release(model);
  return code;
}
C
  for level in x86-64-v1 x86-64-v3; do
    "$DYNREPL" export "$SOURCE/samples/01_any_shape/mlp.dyn" --kind static --target "$level" -o mlp --quiet >/dev/null
    cc sums.c -o "sums.$level" libmlp.a -lm -pthread
  done
  for kind in static shared; do
    rm -f libmlp.a libmlp.so
    "$DYNREPL" export "$SOURCE/samples/01_any_shape/mlp.dyn" --kind "$kind" --target x86-64-multi -o mlp --quiet >/dev/null || fail "a $kind library for several"
    cc sums.c -o sums -L. -lmlp -lm -pthread -Wl,-rpath,"$PWD"
    on Nehalem ./sums >out && on Nehalem ./sums.x86-64-v1 | cmp - out || fail "the $kind library for several on Nehalem: $(cat out)"
    on Haswell ./sums >out && on Haswell ./sums.x86-64-v3 | cmp - out || fail "the $kind library for several on Haswell: $(cat out)"
    ./sums >out || fail "the $kind library for several here: $(cat out)"
    ! nm -g --defined-only libmlp.* | grep -vE ' mlp_|^$|:$' || fail "the $kind library shows more than its entry points"
  done
fi
echo "processors_test: ok"
