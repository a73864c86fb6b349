#!/usr/bin/env bash
# exports_test.sh BUILD SOURCE: a package, an executable and libraries made with --device cuda, without a driver, run on the device where one is, and
# their code for the host, with one notice, where none is.
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

# An executable: what it gives on the device is what the model gives, and without one what the package gives.
"$DYNREPL" export "$model" --device cuda --kind exe -o bert --quiet >/dev/null || fail "export --kind exe"
rm -f trace
DYN_CUDA_DRIVER=$DRIVER DYN_SIMCUDA_TRACE=trace ./bert "${inputs[@]}" --output-dir exe_there >/dev/null 2>err || fail "the executable on the device: $(cat err)"
(( $(grep -c '^launch' trace) > 30 )) || fail "the executable launches nothing"
[[ $(notices err) == 0 ]] && diff -r device exe_there || fail "the executable gives other results on the device: $(cat err)"
./bert "${inputs[@]}" --output-dir exe_here >/dev/null 2>err || fail "the executable without a driver: $(cat err)"
[[ $(notices err) == 1 ]] && diff -r here exe_here || fail "the executable gives other results without a driver: $(cat err)"

# Libraries: two models in one program, of either kind.
ssd="$SOURCE/samples/models/ssd/model.onnx" ssd_set="$SOURCE/samples/models/ssd/test_data_set_1"
DYN_CUDA_DRIVER=$DRIVER "$DYNREPL" --device cuda run "$ssd" --input "image=@$ssd_set/input_0.pb" --threads 1 --output-dir device --quiet --json >ssd.json || fail "ssd"
"$DYNREPL" compile "$ssd" --device cuda -o ssd.dynpkg --quiet >/dev/null || fail "compile ssd"
"$DYNREPL" run ssd.dynpkg --input "image=@$ssd_set/input_0.pb" --threads 1 --output-dir here --quiet >/dev/null 2>&1 || fail "ssd.dynpkg"
"$DYNREPL" run bert.dynpkg "${inputs[@]}" --quiet --json >bert.json 2>/dev/null || fail "the sizes of bert"
dim_of() { grep -oE "\"$2\":[0-9]+" "$1" | head -1 | cut -d: -f2; }
batch=$(dim_of bert.json batch) seq=$(dim_of bert.json seq) h=$(dim_of ssd.json h) w=$(dim_of ssd.json w)
tail -c $((8 * batch * seq)) "$set/input_0.pb" >input_ids.bin
tail -c $((8 * batch * seq)) "$set/input_1.pb" >attention_mask.bin
tail -c $((12 * h * w)) "$ssd_set/input_0.pb" >image.bin
npy_bytes() { tail -c +$((11 + $(od -An -t u2 -j 8 -N 2 "$1" | tr -d ' '))) "$1"; }
for kind in static shared; do
  mkdir -p $kind
  for name in bert ssd; do
    "$DYNREPL" export "$SOURCE/samples/models/$name/model.onnx" --device cuda --kind $kind -o $kind/$name --quiet >/dev/null || fail "export --kind $kind of $name"
  done
  libraries=(static/libbert.a static/libssd.a)
  [[ $kind == static ]] || libraries=(-Lshared -lbert -lssd "-Wl,-rpath,$WORK/shared")
  cc -std=c11 "$SOURCE/tests/samples/two_models.c" -I$kind -o program_$kind "${libraries[@]}" -lm -pthread -ldl || fail "$kind libraries do not link"
  for driver in "$DRIVER" "$NONE"; do
    rm -f trace ./*.out
    DYN_CUDA_DRIVER=$driver DYN_SIMCUDA_TRACE=trace ./program_$kind $batch $seq $h $w 2>err || fail "$kind libraries with $driver: $(cat err)"
    expected=here
    if [[ $driver == "$DRIVER" ]]; then
      expected=device
      (( $(grep -c '^launch' trace) > 60 )) || fail "$kind libraries launch nothing"
      [[ $(notices err) == 0 ]] || fail "$kind libraries: a notice though there is a device"
    else
      # Each library has a runtime of its own, which says it once.
      [[ $(notices err) == 2 ]] || fail "$kind libraries without a driver: the notices: $(cat err)"
    fi
    for output in last_hidden_state boxes scores classes; do
      npy_bytes "$expected/$output.npy" | cmp - "$output.out" || fail "$kind libraries with $driver: $output is not what dynrepl run gives"
    done
  done
done

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
# Results are called what the text calls them, not what their copies are called.
for result in c v p s z; do [[ -f chosen_here/$result.npy ]] || fail "chosen: no result $result in: $(ls chosen_here)"; done
echo "exports_test: ok"
