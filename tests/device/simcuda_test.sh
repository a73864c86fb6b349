#!/usr/bin/env bash
# simcuda_test.sh DYNREPL SOURCE: what scripts may rely on of `--device simcuda`: the counters of a run, in text, JSON and trace; the codes of
# kernels and the placed graph; that it says so where it was not built.
set -euo pipefail
DYNREPL="${1:?usage: simcuda_test.sh DYNREPL SOURCE}" SOURCE="${2:?}"
PYTHON="$("$SOURCE/tests/tools/python.sh")"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
fail() { echo "simcuda_test: $*" >&2; exit 1; }
MODEL="$SOURCE/samples/models/bert/model.onnx"
unset DYN_CUDA_DRIVER

"$DYNREPL" --cache-dir none --device simcuda run "$MODEL" --dim batch=1 --dim seq=5 --profile trace.json --json --quiet >run.json || fail "run: $(cat run.json)"
"$PYTHON" - <<'PY' || fail "counters"
import json
run, trace = json.load(open("run.json")), json.load(open("trace.json"))
rows = run["device_counters"]
assert len(rows) > 3, rows
assert all(r["warp_instructions_count"] > 0 and r["launches_count"] > 0 and r["kernel"] for r in rows), rows
assert all(1 <= r["sectors_per_request"] <= 32 for r in rows if r["global_requests_count"]), rows
assert all(0 < r["active_lanes"] <= 32 for r in rows)
assert any(r["barriers_count"] > 0 and r["shared_requests_count"] > 0 for r in rows), "no kernel of blocks"
events = [e for e in trace["traceEvents"] if e.get("cat") == "kernel" and "warp_instructions" in e.get("args", {})]
assert sum(r["launches_count"] for r in rows) == len(events) > 0, (rows, len(events))
total = sum(e["args"]["warp_instructions"] for e in events)
assert total == sum(r["warp_instructions_count"] for r in rows)
# The device has a lane of its own on the time axis of the host: each launch, in order, one after the other, within the run.
lanes = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
device = [e for e in trace["traceEvents"] if e.get("cat") == "device"]
assert len(device) == len(events) and {lanes[e["tid"]] for e in device} == {"cuda:0"}, lanes
assert {e["tid"] for e in device}.isdisjoint(e["tid"] for e in events)
assert [e["args"]["index"] for e in device] == [e["args"]["index"] for e in events], "in another order"
assert [e["args"]["place"] for e in device] == [e["args"]["place"] for e in events]
assert all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(device, device[1:])), "two at once in one stream"
main = max((e for e in trace["traceEvents"] if e.get("cat") == "function"), key=lambda e: e["dur"])
assert all(main["ts"] <= e["ts"] and e["ts"] + e["dur"] <= main["ts"] + main["dur"] for e in device), "not within the run"
assert any(e["dur"] > 0 for e in device)
PY
"$DYNREPL" --cache-dir none --device simcuda run "$MODEL" --dim batch=1 --dim seq=5 --quiet | grep -q 'sectors: of 32 bytes' || fail "the table of counters"

# An update in place of what a loop carries copies in no turn: the loop is handed a state of its own.
cat >updates.dyn <<'DYN'
fn @main(%t: Tensor[(), i64], %x: Tensor[(n, m), f32], %i: Tensor[(k, 1), i64], %u: Tensor[(k, m), f32]) {
  %y = loop(%t, _, %x, %i, %u) {carried = 1} body (%j, %c, %k, %v) {
    %go = constant() {value = bool[] true}
    return %go, scatter_nd(%c, %k, %v) {reduction = "add"}
  }
  return %y
}
DYN
for turns in 1 2; do
  "$DYNREPL" --cache-dir none --device simcuda run updates.dyn --dim n=200 --dim m=8 --input t=$turns --input "i=[[3],[150],[-1]]" --json --quiet >turns.$turns || fail "$(cat turns.$turns)"
done
cat >copied.dyn <<'DYN'
fn @main(%x: Tensor[(n, m), f32], %i: Tensor[(k, 1), i64], %u: Tensor[(k, m), f32]) {
  %y = scatter_nd(%x, %i, %u) {reduction = "add"}
  return %y
}
DYN
"$DYNREPL" --cache-dir none --device simcuda run copied.dyn --dim n=200 --dim m=8 --input "i=[[3],[150],[-1]]" --json --quiet >turns.copied || fail "$(cat turns.copied)"
"$PYTHON" - <<'PY' || fail "updates in place"
import json
one, two, copied = (sum(r["warp_instructions_count"] for r in json.load(open(f"turns.{n}"))["device_counters"]) for n in (1, 2, "copied"))
assert two == 2 * one and one < copied / 2, (one, two, copied)
PY

# Indices are checked where the result has no elements, too, as on the host.
cat >nothing.dyn <<'DYN'
fn @main(%x: Tensor[(n, m), f32], %i: Tensor[(k, 1), i64], %u: Tensor[(k, m), f32], %e: Tensor[(n), f32], %j: Tensor[(k), i64],
         %v: Tensor[(k), f32], %which: Tensor[(), bool]) {
  %y = if(%which, %x, %i, %u, %e, %j, %v) then (%a, %b, %c, %d, %f, %g) {
    %r = scatter_nd(%a, %b, %c)
    return reduce_sum(%r) {keepdims = 0}
  } else (%a, %b, %c, %d, %f, %g) {
    %r = scatter_elements(%d, %f, %g) {axis = 0}
    return reduce_sum(%r) {keepdims = 0}
  }
  return %y
}
DYN
for device in cpu simcuda; do
  for sizes in "n=0 m=2 true" "n=1 m=0 true" "n=0 m=1 false"; do
    read -r n m which <<<"$sizes"
    code=0
    "$DYNREPL" --cache-dir none --device "$device" run nothing.dyn --dim "$n" --dim "$m" --input "i=[[1]]" --input "j=[1]" \
      --input "which=$which" --quiet >nothing.out 2>&1 || code=$?
    [[ $code == 1 ]] && grep -q 'index 1' nothing.out || fail "$device, $sizes: $code, $(cat nothing.out)"
  done
done

# A list that a loop carries and hands on as it is stays on the host.
cat >list.dyn <<'DYN'
fn @main(%x: Tensor[(b), f32], %t: Tensor[(), i64]) {
  %l = list(%x, %x)
  %m = loop(%t, _, %l, %x) {carried = 1} body (%i, %c, %k) {
    %go = constant() {value = bool[] true}
    return %go, %c
  }
  %y = list_length(%m)
  %z = tanh(%x)
  return %y, %z
}
DYN
"$DYNREPL" --cache-dir none --device simcuda run list.dyn --dim b=3 --input t=2 --quiet >list.out 2>&1 || fail "a list that a loop carries: $(cat list.out)"

# The code of kernels: --device need not be said, as no other device has PTX.
"$DYNREPL" --cache-dir none inspect "$MODEL" --ir ptx >ptx.txt || fail "--ir ptx"
grep -q '^.visible .entry dyn_kernel_' ptx.txt && grep -q '^// kernel 0: ' ptx.txt || fail "--ir ptx has no PTX"
"$DYNREPL" --cache-dir none --device cuda inspect "$MODEL" --ir placed >placed.txt || fail "--ir placed"
grep -q 'device_copy' placed.txt || fail "--ir placed shows no copies"
code=0
"$DYNREPL" --cache-dir none -e ":load $MODEL; :ir --level ptx" >out 2>&1 || code=$?
[[ $code == 2 ]] && grep -q 'compiled for the cpu' out || fail "ptx of a cpu ($code): $(cat out)"

# Where it was not built: a program that finds it nowhere.
mkdir bin
cp "$DYNREPL" bin/dynrepl
code=0
DYN_SIMCUDA_FOLDER=/nowhere ./bin/dynrepl --cache-dir none --device simcuda run "$MODEL" >out 2>&1 || code=$?
[[ $code == 4 ]] && grep -q 'unsupported: simcuda was not built' out || fail "not built ($code): $(cat out)"
echo "simcuda_test: ok"
