#!/usr/bin/env bash
# The lesson: fetches the model when it is not there, compiles it to a package, builds the program, which needs the runtime only, and runs it.
# Usage: samples/05_file_kinds/run.sh ARGUMENT      DYN_BUILD: the build folder (build/release)
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
BUILD="${DYN_BUILD:-$ROOT/build/release}"
PLACE="$BUILD/samples/file_kinds"
mkdir -p "$PLACE"
if [[ ! -f "$PLACE/magika.onnx" ]]; then python3 "$ROOT/samples/fetch_model.py" magika "$PLACE"; fi
if [[ ! -f "$PLACE/magika.dynpkg" ]]; then "$BUILD/bin/dynrepl" compile "$PLACE/magika.onnx" -o "$PLACE/magika.dynpkg" --quiet; fi
cc -O2 -Wall -Wextra -I "$ROOT/vm/include" "$ROOT/samples/05_file_kinds/file_kinds.c" -o "$PLACE/file_kinds" -L "$BUILD/lib" -ldynvm -Wl,-rpath,"$BUILD/lib"
exec "$PLACE/file_kinds" "$PLACE/magika.dynpkg" "$PLACE/labels.txt" "${1:-$ROOT/samples/models/bert}"
