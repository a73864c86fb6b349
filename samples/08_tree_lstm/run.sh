#!/usr/bin/env bash
# Both forms of the Tree-LSTM over a file of trees.
# Usage: samples/08_tree_lstm/run.sh [TREES.txt]      DYN_BUILD: the build folder (build/release)
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="$(cd "$HERE/../.." && pwd)"
BUILD="${DYN_BUILD:-$ROOT/build/release}"
PLACE="$BUILD/samples/tree_lstm"
mkdir -p "$PLACE"
"$BUILD/bin/dynrepl" compile "$HERE/tree_lstm.dyn" -o "$PLACE/recursion.dynpkg" --quiet >&2
"$BUILD/bin/dynrepl" compile "$ROOT/samples/models/treelstm/model.onnx" -o "$PLACE/loop.dynpkg" --quiet >&2
cc -O2 -Wall -Wextra -I "$ROOT/vm/include" "$HERE/trees.c" -o "$PLACE/trees" -L "$BUILD/lib" -ldynvm -lm -Wl,-rpath,"$BUILD/lib"
exec "$PLACE/trees" "$PLACE/recursion.dynpkg" "$PLACE/loop.dynpkg" "${1:-$HERE/trees.txt}"
