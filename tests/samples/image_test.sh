#!/usr/bin/env bash
# image_test.sh BUILD SOURCE: images of the models below, for this machine, for aarch64 and riscv64 under qemu-user and for Cortex-M0, M4
# and M55 under qemu-system-arm, give what dynrepl run gives within 1e-5 (integers and bytes: just that), and take the memory that was
# said. Where qemu is missing its targets are skipped, which is said.
set -euo pipefail
BUILD="${1:?usage: image_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "image_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"
rows="mlp:--dim:rows=7 lstm:--dim:seq=5:--dim:batch=2 gru:--dim:seq=3:--dim:batch=2
  espcn:--dim:batch=1:--dim:h=5:--dim:w=6 encoder:--dim:batch=1:--dim:seq=4 bert:--dim:batch=2:--dim:seq=5
  ssd:--dim:h=32:--dim:w=32 switch:--dim:tokens=5
  keyword:--dim:time=13 anomaly:--dim:batch=3:--dim:sensors=1 anomaly:--dim:batch=2:--dim:sensors=64 lstm_loop:--dim:seq=4:--dim:batch=2
  lstm_list:--dim:seq=5:--dim:batch=2 early_exit:--dim:seq=4 quantised:--dim:h=13:--dim:w=11 ragged:--dim:batch=3:--dim:time=5:--input:lengths=[2,5,1]"
# A micro:bit's 16 KB are not enough for these; a board with a Cortex-M3 runs an M0's code.
large="bert ssd"
# What these take depends on values; said is the most.
varies="ssd"
model_of() { if [[ $1 == mlp ]]; then echo "$SOURCE/samples/01_any_shape/mlp.dyn"; else echo "$SOURCE/samples/models/$1/model.onnx"; fi; }
# Elements, one a line, of the outputs in an image's JSON. Integers are equal or not.
elements() {
  grep -oE '"dtype": "[a-z0-9]*", "shape": \[[^]]*\], "hex": "[0-9a-f]*"' "$1" | while IFS= read -r row; do
    dtype=$(cut -d'"' -f4 <<<"$row") hex=$(sed 's/.*"hex": "\(.*\)"/\1/' <<<"$row")
    printf '%b' "$(sed 's/../\\x&/g' <<<"$hex")" >bytes
    case $dtype in f32) od -An -v -w4 -t f4 bytes ;; i64) od -An -v -w8 -t d8 bytes ;; u8) od -An -v -w1 -t u1 bytes ;; *) fail "dtype $dtype" ;; esac
  done
}
expected() {  # FOLDER NAME...: of the .npy files, in the order of the names
  local output file head form
  for output in "${@:2}"; do
    file="$1/$output.npy" head=$(($(od -An -t u2 -j 8 -N 2 "$1/$output.npy" | tr -d ' ') + 10))
    case $(head -c "$head" "$file" | grep -aoE "'descr': '[^']*'") in *f4*) form="-w4 -t f4" ;; *i8*) form="-w8 -t d8" ;; *u1*) form="-w1 -t u1" ;; *) fail "$file" ;; esac
    # shellcheck disable=SC2086  # words
    tail -c +$((head + 1)) "$file" | od -An -v $form
  done
}
targets="host"
for pair in aarch64:qemu-aarch64 riscv64:qemu-riscv64 cortex-m0:qemu-system-arm cortex-m4:qemu-system-arm cortex-m55:qemu-system-arm; do
  if ! command -v "${pair#*:}" >/dev/null; then echo "skipped: ${pair%%:*} without ${pair#*:} (./dev setup test)"; continue; fi
  case ${pair%%:*} in aarch64 | riscv64) processor=${pair%%:*} ;; cortex-m0) processor=thumbv6m ;; cortex-m4) processor=thumbv7em ;; *) processor=thumbv8.1m.main ;; esac
  if [[ ! -e "$BUILD/lib/dynimage-$processor.o" ]]; then echo "skipped: ${pair%%:*}, as its runtime was not built (no clang)"; continue; fi
  targets+=" ${pair%%:*}"
done
count=0
for row in $rows; do
  name=${row%%:*} model=$(model_of "${row%%:*}")
  IFS=: read -ra dims <<<"${row#*:}"
  "$DYNREPL" run "$model" "${dims[@]}" --output-dir "ours_$name" --threads 1 --quiet --json >run.json || fail "run of $name"
  for target in $targets; do
    case $target in host) runs="" board="" ;; cortex-m0) name_of=microbit; [[ " $large " != *" $name "* ]] || name_of=mps2-an385; board="--board $name_of" runs="qemu-system-arm -M $name_of" ;;
      cortex-m4) board="--board mps2-an386" runs="qemu-system-arm -M mps2-an386" ;;
      cortex-m55) board="--board mps3-an547" runs="qemu-system-arm -M mps3-an547" ;; *) board="" runs="qemu-$target" ;; esac
    # shellcheck disable=SC2086  # words
    "$DYNREPL" export "$model" "${dims[@]}" --kind image --target $target $board -o "image" --json --quiet >export.json 2>err \
      || fail "$name for $target: $(cat err)"
    case $runs in
      qemu-system-arm*) timeout 60 $runs -nographic -semihosting-config enable=on,target=native -kernel image >out.json 2>&1 || fail "$name on $target: $(cat out.json)" ;;
      *) env -i $(command -v ${runs:-env} || true) ./image >out.json || fail "$name on $target: $(cat out.json)" ;;
    esac
    bound=$(grep -oE '"ram_bound_bytes":[0-9]+' export.json | cut -d: -f2) taken=$(grep -oE '"ram_bytes": [0-9]+' out.json | grep -oE '[0-9]+')
    [[ $taken -le $bound ]] && [[ $((bound - taken)) -lt 128 || " $varies " == *" $name "* ]] || fail "$name on $target takes $taken bytes, said were $bound"
    # shellcheck disable=SC2046  # one word a name
    expected "ours_$name" $(grep -oE '"name": "[^"]*"' out.json | cut -d'"' -f4) >expected.txt
    elements out.json >actual.txt
    [[ -s actual.txt && $(wc -l <actual.txt) == $(wc -l <expected.txt) ]] || fail "$name on $target: other shapes"
    paste actual.txt expected.txt | awk '{ d = $1 - $2; if (d < 0) d = -d; a = $2 < 0 ? -$2 : $2; if (!(d <= 1e-5 * (1 + a))) { print "element " NR ": " $1 ", expected " $2; exit 1 } }' \
      || fail "$name on $target differs"
    count=$((count + 1))
  done
done
echo "image_test: ok, $count images on: $targets"
