#!/usr/bin/env bash
# Plants wide lines in a tree of its own and sees that check_width.py names those that are wrong, and only those.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
PYTHON="$("$here/python.sh")"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tests/tools" "$tree/vm"
cp "$here/list_sources.sh" "$tree/tests/tools/"
long="$(printf 'word %.0s' {1..30})"
{
  echo "// short"
  echo "// $long"
  echo "//   an example: $long"
  echo "int x;  // $long"
  echo "const char* program = R\"(fn $long"
  echo "$long)\";  // after it"
  echo "// $(printf '→ %.0s' {1..50})"
  echo "// $long"
} >"$tree/vm/a.h"
echo "// $long" >"$tree/vm/b.inc"
out="$("$PYTHON" "$here/check_width.py" "$tree" || true)"
expected="$(printf 'vm/a.h:%s\n' 2 4 8)
vm/b.inc:1"
if [[ "$(head -4 <<<"$out")" != "$expected" || "$(wc -l <<<"$out")" -ne 5 ]]; then
  echo "check_width.py said '$out' and not the four lines '$expected'"
  exit 1
fi
printf '// short\n' >"$tree/vm/a.h"
rm "$tree/vm/b.inc"
"$PYTHON" "$here/check_width.py" "$tree" || { echo "a tree without wide lines was refused"; exit 1; }
