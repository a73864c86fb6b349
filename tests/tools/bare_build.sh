#!/usr/bin/env bash
# The preset bare, which has none of the optional packages (LLVM, onnx, oneDNN, Qt, PNG, JPEG): dynrepl, dynrun and libdynvm are built, linked and run a
# model whose operators are all builtins, as there is no code generation. A step of ./dev check.
# Usage: bare_build.sh ROOT
set -euo pipefail
ROOT="$(cd "$1" && pwd)"
BUILD="$ROOT/build/bare"
cmake -S "$ROOT" --preset bare
cmake --build "$BUILD" --target dynrepl dynrun dynvm vmrun
fail() { echo "bare: $*" >&2; exit 1; }
grep -q 'DYN_HAVE_\(LLVM\|ONNX\|PNG\|JPEG\)=1' "$BUILD/build.ninja" && fail "an optional package is there nevertheless"
FOLDER="$(mktemp -d)"
trap 'rm -rf "$FOLDER"' EXIT
cat >"$FOLDER/product.dyn" <<'MODEL'
fn @main(%a: Tensor[(n, k), f32], %b: Tensor[(k, 3), f32]) -> (Tensor[(n, 3), f32]) {
  %y = matmul(%a, %b)
  return %y
}
MODEL
cat >"$FOLDER/sum.dyn" <<'MODEL'
fn @main(%a: Tensor[(n), f32]) -> (Tensor[(n), f32]) {
  %y = tanh(add(%a, %a))
  return %y
}
MODEL
"$BUILD/bin/dynrepl" run "$FOLDER/product.dyn" --dim n=2 --dim k=5 | grep -q '2, 3' || fail "dynrepl does not run a product"
"$BUILD/bin/dynrepl" compile "$FOLDER/product.dyn" -o "$FOLDER/product.dynpkg" --quiet
"$BUILD/bin/dynrun" "$FOLDER/product.dynpkg" --dim n=2 --dim k=5 | grep -q '2, 3' || fail "dynrun does not run its package"
# What needs generated code says so.
code=0
said="$("$BUILD/bin/dynrepl" run "$FOLDER/sum.dyn" --dim n=2 2>&1)" || code=$?
[[ $code == 4 && $said == *"no code generation"* ]] || fail "a model that needs code ends with $code: $said"
echo "bare: built, and runs what needs no code generation"
