#!/usr/bin/env bash
# forest_test.sh BUILD SOURCE: vm/include/dyn_trees.h in a program of plain C (C99, no warnings), linked with libdynvm.so alone.
set -euo pipefail
BUILD="${1:?usage: forest_test.sh BUILD SOURCE}" SOURCE="${2:?}"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
# The trees are counted besides being encoded: a loop over levels is not all that is done with them.
sed 's/  return scores$/  count = list_length(trees)\n  first = match(list_at(trees, 0), count) case Word(word, count) { return word } case Phrase(a, b, count) { return count }\n  return scores, first/' \
  "$SOURCE/samples/03_tree/sentences.dyn" >twice.dyn
grep -q 'match(list_at' twice.dyn
"$BUILD/bin/dynrepl" --cache-dir none compile "$SOURCE/samples/03_tree/sentences.dyn" -o sentences.dynpkg --quiet >/dev/null
"$BUILD/bin/dynrepl" --cache-dir none compile twice.dyn -o twice.dynpkg --quiet >/dev/null
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -O1 -I "$SOURCE" "$SOURCE/tests/samples/forest.c" -o forest -L "$BUILD/lib" -ldynvm -lm -Wl,-rpath,"$BUILD/lib"
./forest sentences.dynpkg twice.dynpkg
