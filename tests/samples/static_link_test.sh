#!/usr/bin/env bash
# static_link_test.sh BUILD SOURCE: executables of `export --kind exe --static-link` need no file but themselves: they run in
# an empty folder as their root, and give every bit of what the others give.
set -euo pipefail
BUILD="${1:?usage: static_link_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "static_link_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"
mlp="$SOURCE/samples/01_any_shape/mlp.dyn"
if [[ ! -x $BUILD/bin/dynrun-static ]]; then
  code=0
  "$DYNREPL" export "$mlp" --kind exe --static-link -o program --quiet >/dev/null 2>err || code=$?
  [[ $code == 4 ]] && grep -q "unsupported: .*libc6-dev" err && [[ ! -e program ]] || fail "without the static C library: $code, $(cat err)"
  echo "skipped: the static C library (packages libc6-dev, libstdc++-12-dev) was not there when Dyn was built, or this is not a release build"
  exit 77
fi
code=0
"$DYNREPL" export "$mlp" --kind shared --static-link -o none --quiet >/dev/null 2>err || code=$?
[[ $code == 4 ]] && grep -q unsupported err || fail "a shared library, statically linked: $code, $(cat err)"

enter=()
if chroot / true 2>/dev/null; then enter=(chroot root); elif unshare -r chroot / true 2>/dev/null; then enter=(unshare -r chroot root); fi
for row in "bert:--dim batch=2 --dim seq=7" "ssd:--dim h=33 --dim w=35" "lstm_loop:--dim seq=5 --dim batch=2" "gpt2:--dim batch=1 --dim seq=2 --dim past=3" "treelstm:"; do
  name="${row%%:*}"
  read -ra sizes <<<"${row#*:} --quiet --threads 2"
  model="$SOURCE/samples/models/$name/model.onnx"
  # Baseline code calls functions of the C library where later processors have instructions.
  for target in host x86-64-v1; do
    [[ $target == host || "$(uname -m)" == x86_64 ]] || continue
    rm -rf root there
    mkdir root
    "$DYNREPL" export "$model" --kind exe --target "$target" -o program --quiet >/dev/null
    "$DYNREPL" export "$model" --kind exe --target "$target" --static-link -o root/program --quiet >/dev/null
    [[ "$(ldd root/program 2>&1 || true)" == *"not a dynamic executable"* ]] || fail "$name: ldd says $(ldd root/program)"
    ran=0
    ./program "${sizes[@]}" --output-dir there >/dev/null 2>err || ran=$?
    code=0
    if (( ${#enter[@]} > 0 )); then
      "${enter[@]}" /program "${sizes[@]}" --output-dir /there >/dev/null 2>err2 || code=$?
    else
      (cd root && env -i ./program "${sizes[@]}" --output-dir there >/dev/null 2>../err2) || code=$?
    fi
    [[ $code == "$ran" ]] && diff err err2 || fail "$name for $target: exit code $code, not $ran"
    [[ $ran != 0 ]] || diff -r there root/there || fail "$name for $target: other results than with shared libraries"
    [[ $ran == 0 || $name == treelstm ]] || fail "$name for $target: exit code $ran: $(cat err)"
  done
done
(( ${#enter[@]} > 0 )) || { echo "skipped: chroot is not allowed here; run in a folder of its own instead"; exit 77; }
echo "static_link_test: ok"
