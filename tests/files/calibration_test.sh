#!/usr/bin/env bash
# calibration_test.sh BUILD SOURCE: quantise --calibration takes the same runs in each of its forms, the model runs at other sizes, and what is
# wrong with the data or the options is said with its place.
set -euo pipefail
BUILD="${1:?usage: calibration_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "calibration_test: $*" >&2; exit 1; }
export XDG_CACHE_HOME="$WORK/cache"
cd "$WORK"
cat >net.dyn <<'NET'
fn @main(%x: Tensor[(n, 4), f32], %more: Tensor[(n, 3), f32]) {
  %w = constant() {value = f32[4, 3] [0.5, -1, 0.25, 1, 2, -0.5, 0.125, 1, 1, -2, 0.5, 0.75]}
  %p = matmul(%x, %w)
  %v = constant() {value = f32[3, 2] [1, -1, 0.5, 0.25, 2, -0.5]}
  %q = matmul(%more, %v)
  %y = concat(%p, %q) {axis = 1}
  return %y
}
NET
printf 'fn @main(%%x: Tensor[(n, 4), f32], %%more: Tensor[(n, 3), f32]) { return %%x, %%more }\n' >inputs.dyn
"$DYNREPL" save net.dyn -o net.onnx -q
mkdir -p folders/first folders/second files
run() { "$DYNREPL" run inputs.dyn "$@" --output-dir made -q >/dev/null; }
run --input 'x=[[1,-2,3,4]]' --input 'more=[[0,1,2]]'
cp made/x.npy folders/first/x.npy && cp made/more.npy folders/first/more.npy && cp made/x.npy files/one.npy && cp made/more.npy more.npy
run --input 'x=[[5,0,0,0],[0,0,0,-7]]' --input 'more=[[0,1,8],[0,0,0]]'
cp made/x.npy folders/second/x.npy && cp made/more.npy folders/second/more.npy
printf '{"inputs": {"x": "@folders/first/x.npy", "more": [[0,1,2]]}}\n{"inputs": {"x": "@folders/second/x.npy", "more": "@folders/second/more.npy"}}\n' >runs.jsonl

quantise() { "$DYNREPL" quantise net.onnx --weights int8 -o made.onnx --json -q "$@"; }
PYTHON="$("$SOURCE/tests/tools/python.sh")"
ranges() { "$PYTHON" -c 'import json, sys
print(*("%s %g..%g" % (a["name"], a["low"], a["high"]) for a in json.load(sys.stdin)["activations"]))'; }
wanted="x -7..5 more 0..8"
for data in folders folders/ runs.jsonl; do
  got="$(quantise --calibration "$data" | ranges)"
  [[ $got == "$wanted" ]] || fail "$data gives $got"
done
[[ $(quantise --calibration files --input more=@more.npy | ranges) == "x -2..4 more 0..2" ]] || fail "a folder of files"
"$DYNREPL" run made.onnx n=5 -q >/dev/null || fail "the model does not run"
# ONNX data sets.
"$DYNREPL" quantise "$SOURCE/samples/models/keyword/model.onnx" --weights int8 --calibration "$SOURCE/samples/models/keyword" -o keyword.onnx -q >out || fail "data sets"
grep -q "in u8, by their ranges in 5 runs" out || fail "data sets: $(head -2 out)"
"$DYNREPL" quantise net.onnx --weights int8 --calibration folders --exclude v -o made.onnx -q >out
grep -qE "^v .*stays: excluded" out || fail "--exclude v: $(cat out)"
# A hidden file is none of the runs.
touch folders/.hidden && quantise --calibration folders >/dev/null

refused() {  # EXIT TEXT ARGUMENTS...
  local code=0 wanted="$1" text="$2"
  shift 2
  rm -f made.onnx
  "$DYNREPL" quantise net.onnx --weights int8 -o made.onnx -q "$@" >out 2>err || code=$?
  [[ $code == "$wanted" ]] || fail "$* ends with $code: $(cat out err)"
  grep -qF -- "$text" err || fail "$* says: $(cat err)"
  [[ ! -e made.onnx ]] || fail "$* wrote a file"
}
refused 2 "these are not given: x, more" --calibration files
mkdir typo empty mixed && cp made/x.npy typo/z.npy && mkdir -p typos/run mixed/run && cp made/x.npy typos/run/z.npy && cp made/x.npy mixed/x.npy
refused 2 "typos/run/z.npy: z is no input of the model; it takes x, more" --calibration typos
refused 1 "the folder empty is empty" --calibration empty
refused 2 "the runs are either of them" --calibration mixed
refused 1 "nowhere" --calibration nowhere
mkdir -p half/run && cp made/x.npy half/run/x.npy
refused 1 "no value for more" --calibration half
grep -q "in half/run" err || fail "no place: $(cat err)"
run --input 'x=[[1,2,3,nan]]' --input 'more=[[0,1,2]]'
mkdir -p nan/run && cp made/*.npy nan/run/
refused 2 "the value x has an element that is not a number" --calibration nan
refused 2 "--exclude nothing: the model's graph has no such node or weight" --calibration folders --exclude nothing
refused 2 "above 50, and at most 100" --calibration folders --percentile 20
refused 2 "goes with --calibration" --percentile 99
code=0
"$DYNREPL" quantise net.onnx --weights int4 --calibration folders -o made.onnx -q 2>err || code=$?
[[ $code == 2 ]] && grep -qF -- "--calibration goes with --weights int8" err || fail "int4 with --calibration: $(cat err)"
# Nothing is written over what is read.
sum="$(sha256sum <net.onnx)"
code=0
"$DYNREPL" quantise net.onnx --weights int8 --calibration runs.jsonl -o net.onnx -q 2>err || code=$?
[[ $code == 2 && $(sha256sum <net.onnx) == "$sum" ]] || fail "the model was written over"
echo "calibration_test: passed"
