#!/usr/bin/env bash
# devices_test.sh BUILD SOURCE: several devices by index, a limit of memory of the device apart from the host's, and launches without graphs; the
# same options where a package runs.
set -euo pipefail
BUILD="${1:?usage: devices_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
fail() { echo "devices_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR="$WORK/cache" DYN_SIMCUDA_DEVICES=2
unset DYN_CUDA_DRIVER
model="$SOURCE/samples/models/bert/model.onnx"
sizes=(--dim batch=2 --dim seq=7 --threads 1)
# ends CODE WORDS COMMAND...: the command ends with that code, and says these words.
ends() {
  local wanted="$1" words="$2" code=0
  shift 2
  "$@" >out 2>&1 || code=$?
  [[ $code == "$wanted" ]] || fail "$* ends with $code, not $wanted: $(cat out)"
  grep -qE -- "$words" out || fail "$* does not say '$words': $(cat out)"
}

# Each device gives the same; kernels that met memory of another one would end in a fault.
for index in 0 1; do
  DYN_SIMCUDA_TRACE=trace.$index "$DYNREPL" --device simcuda:$index run "$model" "${sizes[@]}" --quiet --output-dir results.$index --profile profile.$index.json >/dev/null \
    || fail "simcuda:$index"
  grep -q "^retain context of device $index\$" trace.$index || fail "simcuda:$index runs elsewhere"
  [[ $(grep -c '^retain context' trace.$index) == 1 ]] || fail "simcuda:$index takes other devices, too"
  grep -q "\"thread_name\",\"args\":{\"name\":\"cuda:$index\"}" profile.$index.json || fail "simcuda:$index: the profile has no lane of it"
done
diff -r results.0 results.1 || fail "the second device gives other bits"
ends 0 '1 passed|passed: 1' "$DYNREPL" --device simcuda:1 verify "$SOURCE/samples/models/early_exit" --rtol 1e-4 --atol 1e-5
ends 0 'p50' "$DYNREPL" --device simcuda:1 bench "$model" "${sizes[@]}" --repeat 2 --seconds 0.01

# An index that is none says how many there are.
ends 4 'unavailable: there is no device cuda:2: the CUDA driver has cuda:0 to cuda:1' "$DYNREPL" --device simcuda:2 run "$model" "${sizes[@]}"
DYN_SIMCUDA_DEVICES=1 ends 4 'the CUDA driver has cuda:0 alone' "$DYNREPL" --device simcuda:1 run "$model" "${sizes[@]}"
DYN_CUDA_DRIVER="$BUILD/simcuda/libcuda.so.1" ends 4 'cuda:0 to cuda:1' "$DYNREPL" --device cuda:5 run "$model" "${sizes[@]}"
for wrong in cuda: cuda:x cuda:-1 cuda:1x cuda:+1 simcuda:1:0 gpu cuda:64 cuda:99999999999999999999; do
  ends 2 "there is no device '${wrong//+/\\+}'" "$DYNREPL" --device $wrong run "$model" "${sizes[@]}"
done
# What compiles only wants none.
ends 0 device_copy "$DYNREPL" --device cuda:7 inspect "$model" --ir placed

# The device's limit is its own: the host may take more, and the other way round.
ends 1 'the run would need [0-9]+ bytes on the device with batch = 2, seq = 7, the limit is 2000' "$DYNREPL" --device simcuda run "$model" "${sizes[@]}" --device-mem-limit 2000
ends 0 last_hidden_state "$DYNREPL" --device simcuda run "$model" "${sizes[@]}" --device-mem-limit 8MB
ends 2 '--device-mem-limit' "$DYNREPL" --device simcuda run "$model" "${sizes[@]}" --device-mem-limit much
# --mem-limit (here the setting, which looks at the plan alone) bounds each memory, not their sum: 1.6 MB of the device, 0.8 MB of the host.
cat >tanh.dyn <<'DYN'
fn @main(%x: Tensor[(n), f32]) {
  %y = tanh(%x)
  return %y
}
DYN
limits() {
  code=0
  "$DYNREPL" --device simcuda -e ":load tanh.dyn; :set mem-limit $1; :set device-mem-limit $2; :run --dim n=200000" >out 2>&1 || code=$?
  [[ $3 == fits ]] && { [[ $code == 0 ]] || fail "limits $1 and $2: $(cat out)"; return; }
  [[ $code == 1 ]] && grep -qE "the run would need [0-9]+ bytes $3 with n = 200000, the limit is" out || fail "limits $1 and $2 do not say '$3' ($code): $(cat out)"
}
limits 2MB 0 fits
limits 1MB 0 'on the device'
limits 1MB 8MB fits
limits 500KB 8MB 'of the host'
limits 0 1MB 'on the device'
# A tensor whose size values decide is asked for by its node. (Of whole numbers that it is given, the plan knows what follows.)
cat >values.dyn <<'DYN'
fn @main(%x: Tensor[(n), f32], %k: Tensor[(), f32]) {
  %zero = constant() {value = i64[] 0}
  %one = constant() {value = i64[] 1}
  %many = cast(%k) {to = i64}
  %r = range(%zero, %many, %one)
  %f = cast(%r) {to = f32}
  %y = tanh(%f)
  return %y, %x
}
DYN
ends 1 "^values.dyn:[0-9]+.*[48]000000 bytes are needed on cuda:0" "$DYNREPL" --device simcuda run values.dyn --dim n=3 --input k=1000000 --device-mem-limit 1MB
ends 1 '[48]000000 bytes are needed on cuda:1, where [0-9]+ of 1000000 are in use' "$DYNREPL" --device simcuda:1 run values.dyn --dim n=3 --input k=1000000 --device-mem-limit 1000000

# Launches that come again are one graph, or not.
for option in "" --no-graphs; do
  # shellcheck disable=SC2086  # no word where it is empty
  DYN_SIMCUDA_TRACE=graphs$option "$DYNREPL" --device simcuda run "$model" "${sizes[@]}" --repeat 4 --quiet --output-dir "results$option" $option >/dev/null || fail "$option"
done
grep -q '^launch graph' graphs || fail "no graph was launched"
! grep -q 'graph' graphs--no-graphs || fail "--no-graphs: graphs are made"
diff -r results results--no-graphs || fail "--no-graphs gives other bits"
diff -r results results.0 || fail "a graph gives other bits"

# A package and an executable run where one says; one that was made for the cpu says that it has nothing for a GPU.
export DYN_CUDA_DRIVER="$BUILD/simcuda/libcuda.so.1"
"$DYNREPL" compile "$model" --device cuda -o bert.dynpkg --quiet >/dev/null || fail "compile"
"$DYNREPL" export "$model" --device cuda --kind exe -o bert --quiet >/dev/null || fail "export"
for program in "$DYNREPL run bert.dynpkg" ./bert; do
  for device in cuda:1 cpu; do
    # shellcheck disable=SC2086  # words
    DYN_SIMCUDA_TRACE=trace $program "${sizes[@]}" --device $device --quiet --output-dir there >/dev/null || fail "$program on $device"
    launched=$(cat trace 2>/dev/null | grep -c '^launch' || true)
    [[ $device == cpu ]] && { [[ $launched == 0 ]] || fail "$program on the cpu launches"; }
    [[ $device == cuda:1 ]] && { grep -q '^retain context of device 1$' trace && ((launched > 30)) || fail "$program is not on the second device"; diff -r results there || fail "$program: other bits"; }
    rm -rf there trace
  done
  # shellcheck disable=SC2086
  ends 4 'cuda:0 to cuda:1' $program "${sizes[@]}" --device cuda:2
  # shellcheck disable=SC2086
  ends 1 'would need [0-9]+ bytes on the device' $program "${sizes[@]}" --device-mem-limit 2000
  # shellcheck disable=SC2086
  ends 2 "there is no device 'gpu'" $program "${sizes[@]}" --device gpu
  # shellcheck disable=SC2086
  DYN_SIMCUDA_TRACE=trace ends 0 last_hidden_state $program "${sizes[@]}" --repeat 4 --no-graphs
  ! grep -q graph trace || fail "$program --no-graphs: graphs are made"
  # A device that is asked for is not given up silently.
  # shellcheck disable=SC2086
  DYN_CUDA_DRIVER=/nowhere/libcuda.so.1 ends 4 'there is no CUDA driver here' $program "${sizes[@]}" --device cuda
done
"$DYNREPL" compile "$SOURCE/samples/models/early_exit/model.onnx" -o host.dynpkg --quiet >/dev/null
ends 2 'no code for a GPU' "$DYNREPL" run host.dynpkg --dim seq=3 --device cuda
ends 0 '' "$DYNREPL" run host.dynpkg --dim seq=3 --device cpu
ends 2 'chosen by compile' "$DYNREPL" run bert.dynpkg "${sizes[@]}" --device cuda --place softmax=cpu
echo "devices_test: ok"
