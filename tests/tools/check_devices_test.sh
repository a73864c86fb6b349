#!/usr/bin/env bash
# check_devices_test.sh: plants one violation of each rule of check_devices.sh in a tree of its own; it, and only it, is found.
set -euo pipefail
checker="$(cd "$(dirname "$0")" && pwd)/check_devices.sh"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
plant() { mkdir -p "$tree/$(dirname "$1")"; printf '%s\n' "${@:2}" >"$tree/$1"; }
clean_tree() {
  rm -rf "${tree:?}"/*
  plant compiler/target/devices.def 'DYN_HOST(cpu, "cpu", 0)' 'DYN_DEVICE(hip, "hip", 3, "gcn", "GCN", GcnGenerator, "", nullptr, "run on a chip of cuda")'
  plant compiler/codegen/device/gcn_generator.cpp 'const DeviceGenerator kGcnGenerator = {"hip"};'
  plant app/session/x.cpp '// hip, for example' 'int chips = 3;  // of a hip' 'f(SimulatedGpu::use(), "a GPU", shipped);' '#include "vm/include/dyn_gpu.h"'
}
# finds EXPECTED LINE: with LINE in a file of app, exactly one complaint, and it contains EXPECTED.
finds() {
  local out
  clean_tree
  plant app/engine/y.cpp '// line 1' "$2"
  if out="$("$checker" "$tree" 2>/dev/null)"; then fail "accepted: $2"; fi
  [[ "$out" == "app/engine/y.cpp:2: "*"$1"* && "$(wc -l <<<"$out")" -eq 1 ]] || fail "$2 gave '$out' and not the one line '$1'"
}
clean_tree
out="$("$checker" "$tree" 2>&1)" || fail "a clean tree was refused: $out"
finds 'names a device' 'if (device == "hip") return;'
finds 'names a device' 'return DeviceKind::hip;'
finds 'names a device' 'emit(vm::kHipDevice);'
finds 'names a device' 'return "no GCN here";'
finds 'names a device' 'level == IrLevel::gcn'
finds 'asks for a GPU' 'if (isGpu(device)) return;'
finds 'asks for a GPU' 'const bool gpu = true;'
finds 'compares with the name of the host' 'if (device != "cpu") return;'
rm "$tree/compiler/target/devices.def"
if "$checker" "$tree" >/dev/null 2>&1; then fail 'a tree without the table was accepted'; fi
[[ $failures -eq 0 ]] || { echo "$failures expectations of check_devices.sh failed"; exit 1; }
