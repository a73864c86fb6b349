#!/usr/bin/env bash
# custom_kernels_test.sh BUILD SOURCE: kernels of the user in C, wherever a model runs: in dynrepl, in packages, in executables and
# libraries; a model whose kernel is not there says so.
set -euo pipefail
BUILD="${1:?usage: custom_kernels_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl" DYNRUN="$BUILD/bin/dynrun" SAMPLE="$SOURCE/samples/19_custom_operators"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "custom_kernels_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"
code_of() { local code=0; "$@" >out 2>err || code=$?; echo "$code"; }
compile=(cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -fPIC -I "$SOURCE/vm/include" -c)
"${compile[@]}" "$SAMPLE/kernels.c" -o kernels.o
cc -shared kernels.o -o libkernels.so -lm
cat >scale.c <<'C'
#include <abi/dyn_custom_kernel.h>
static int32_t scale(const DynBuiltinCall* call) {
  const DynTensorView *x = call->arguments, *y = call->results;
  for (int64_t i = 0; i < x->elements; ++i) ((float*)y->data)[i] = ((const float*)x->data)[i] * FACTOR;
  return DYN_OK;
}
DYN_CUSTOM_KERNELS({"test_scale", {NULL, scale}})
C
for factor in 2 3; do
  "${compile[@]}" -DFACTOR=$factor scale.c -o scale$factor.o
  cc -shared scale$factor.o -o libscale$factor.so
  ar rc scale$factor.a scale$factor.o
done
c++ -x c++ -std=c++20 -Wall -Wextra -Werror -DFACTOR=2 -I "$SOURCE/vm/include" -c scale.c -o /dev/null || fail "the header in C++"
echo 'fn @main(x: Tensor[(n, 4), f32]) { y = custom_call(x, shape(x), kernel = "test_scale") return y + 1.0 }' >scale.dyn

ops=(--ops "$SAMPLE/mmcv.dyn" --ops "$SAMPLE/contrib.dyn")
# The sample: results whose sizes the kernel finds, strings, and the same from the reference evaluation and every step.
"$DYNREPL" run "$SAMPLE/detect.onnx" "${ops[@]}" --ops libkernels.so --input 'boxes=[[0,0,2,2],[0,0,2,2],[5,5,6,6]]' \
  --input 'scores=[0.5,0.9,0.3]' --input 'names=["a","größe",""]' --quiet >out || fail "the sample: $(cat out)"
grep -q 'places = i64\[3\] \[1, 2, 0\]' out && grep -q '0.067668' out && grep -q 'lengths = i64\[3\] \[1, 5, 0\]' out || fail "the sample: $(cat out)"
for sizes in "n=0 k=0" "n=1 k=1" "n=17 k=3"; do
  # shellcheck disable=SC2086  # words
  "$DYNREPL" bisect "$SAMPLE/detect.onnx" $sizes "${ops[@]}" --ops libkernels.so --quiet >out || fail "bisect $sizes: $(cat out)"
done
"$DYNREPL" inspect "$SAMPLE/detect.onnx" "${ops[@]}" --why lengths.0 --quiet | grep -q "dim 0 of input 'names'" || fail "why"

# What is not there, what is no library, and what may not run.
[[ $(code_of "$DYNREPL" run scale.dyn n=2) == 4 ]] && grep -q 'no library that was loaded has the custom kernel test_scale' err || fail "no kernel: $(cat err)"
[[ $(code_of "$DYNREPL" run scale.dyn n=2 --ops libabsent.so) == 1 ]] && grep -q libabsent.so err || fail "no file: $(cat err)"
cc -shared -x c /dev/null -o libempty.so
[[ $(code_of "$DYNREPL" run scale.dyn n=2 --ops libempty.so) == 1 ]] && grep -q 'no kernels are in it' err || fail "no kernels: $(cat err)"
[[ $(code_of "$DYNREPL" run scale.dyn n=2 --ops libscale2.so --no-native) == 4 ]] && grep -q 'machine code' err || fail "--no-native: $(cat err)"
[[ $(code_of "$DYNREPL" run "$SAMPLE/detect.onnx" n=2 k=1 "${ops[@]}" --ops libkernels.so --input 'boxes=[[1,2,3,4]]') == 1 ]] || fail "sizes that differ"
request() { printf '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "%s", "arguments": %s}}\n' "$1" "$2"; }
{ request set '{"name": "ops", "value": "libscale2.so"}'; request load '{"model": "scale.dyn"}'; request run '{"dim": ["n=2"]}'; } >requests
"$DYNREPL" mcp <requests >answers 2>/dev/null
grep -q 'machine code' answers && ! grep -q 'out0 = ' answers || fail "an assistant ran a library of kernels: $(cat answers)"

# Pictures: the kernels of ImageDecoder, which dynrepl has, and which libdyn_pictures.so brings to a program of the runtime alone.
{ printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (17,), }"; printf 'P6 2 1 255\n\x01\x02\x03\x04\x05\x06'; } >picture.npy
cat >picture.dyn <<'TEXT'
fn @main(x: Tensor[(n), u8]) {
  size = custom_call(x, [2], kernel = "dyn_picture_size", dtypes = ["i64"])
  return custom_call(x, 1, concat(size, [3], axis = 0), kernel = "dyn_picture")
}
TEXT
picture='u8[1, 2, 3] [[[3, 2, 1], [6, 5, 4]]]'
"$DYNREPL" run picture.dyn --input x=@picture.npy --quiet >out && tr -s '\n ' ' ' <out | grep -qF "$picture" || fail "a picture: $(cat out)"
"$DYNREPL" compile picture.dyn -o picture.dynpkg --quiet >/dev/null
"$DYNRUN" picture.dynpkg --input x=@picture.npy --ops "$BUILD/lib/libdyn_pictures.so" --output-dir picture --quiet >/dev/null || fail "a picture in a package"
[[ $(tail -c 6 picture/out0.npy | od -An -tu1 | tr -s ' ') == " 3 2 1 6 5 4" ]] || fail "a picture in a package: $(tail -c 6 picture/out0.npy | od -An -tu1)"
[[ $(code_of "$DYNRUN" picture.dynpkg --input x=@picture.npy) == 4 ]] && grep -q 'custom kernel dyn_picture_size' err || fail "no pictures: $(cat err)"

# Packages, executables, libraries.
"$DYNREPL" run scale.dyn --input 'x=[[1,2,3,4]]' --ops libscale2.so --quiet >out && grep -q '\[\[3., 5., 7., 9.\]\]' out || fail "run: $(cat out)"
"$DYNREPL" compile scale.dyn -o scale.dynpkg --quiet >/dev/null
"$DYNRUN" scale.dynpkg --input 'x=[[1,2,3,4]]' --ops libscale3.so --output-dir package --quiet >/dev/null || fail "dynrun"
[[ $(code_of "$DYNRUN" scale.dynpkg n=2) == 4 ]] || fail "dynrun without the kernel: $(cat err)"
"$DYNREPL" export scale.dyn --kind exe --link scale3.a -o linked --quiet >/dev/null
./linked --input 'x=[[1,2,3,4]]' --output-dir linked_out --quiet >/dev/null && cmp linked_out/out0.npy package/out0.npy || fail "an executable with kernels"
"$DYNREPL" export scale.dyn --kind exe -o loads --quiet >/dev/null
./loads --input 'x=[[1,2,3,4]]' --ops libscale3.so --output-dir loads_out --quiet >/dev/null && cmp loads_out/out0.npy package/out0.npy || fail "an executable that loads kernels"
# Two models with kernels of the same name in one program: each has its own.
cp scale.dyn two.dyn && cp scale.dyn three.dyn
"$DYNREPL" export two.dyn --kind shared --link scale2.o -o two --quiet >/dev/null
"$DYNREPL" export three.dyn --kind shared --link scale3.o -o three --quiet >/dev/null
[[ -z "$(nm -D --defined-only libtwo.so | awk '{ print $3 }' | grep -v '^two_' || true)" ]] || fail "libtwo.so shows other names"
cat >program.c <<'C'
#include <stdio.h>
#include "three.h"
#include "two.h"
int main(void) {
  const float x[4] = {1, 2, 3, 4};
  float y[4], z[4];
  two_model* two;
  three_model* three;
  if (two_create(NULL, &two) || three_create(NULL, &three)) return 1;
  const two_dims dims = {1};
  const three_dims same = {1};
  const two_inputs in = {x};
  const three_inputs in3 = {x};
  const two_outputs out = {{y, sizeof y}};
  const three_outputs out3 = {{z, sizeof z}};
  if (two_run(two, &dims, &in, &out, NULL)) return puts(two_last_error()), 1;
  if (three_run(three, &same, &in3, &out3, NULL)) return puts(three_last_error()), 1;
  printf("%g %g\n", y[3], z[3]);
  two_release(two);
  three_release(three);
  return 0;
}
C
cc -std=c11 -Wall -Werror program.c -I. -o shared -L. -ltwo -lthree "-Wl,-rpath,$WORK"
[[ "$(./shared)" == "9 13" ]] || fail "two shared libraries: $(./shared)"
"$DYNREPL" export two.dyn --kind static -o two --quiet >/dev/null
cc -std=c11 -Wall -Werror program.c -I. scale2.o libtwo.a -o static -L. -lthree "-Wl,-rpath,$WORK" -lm -pthread
[[ "$(./static)" == "9 13" ]] || fail "a static library: $(./static)"
for kind in "static --no-heap --dim n=1..4:hand-written kernel" "static --link scale2.o:it is of --kind exe and shared" "package --link scale2.o:it is of --kind"; do
  # shellcheck disable=SC2086  # words
  [[ $(code_of "$DYNREPL" export scale.dyn --kind ${kind%%:*} -o none --quiet) == 4 ]] && grep -q "${kind#*:}" err || fail "--kind ${kind%%:*}: $(cat err)"
done
[[ $(code_of "$DYNREPL" export scale.dyn --kind exe --link absent.o -o none --quiet) != 0 && ! -e none ]] || fail "--link of nothing"
echo "custom_kernels_test: ok"
