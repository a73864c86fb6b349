#!/usr/bin/env bash
# readme_test.sh BIN_FOLDER: what README.md says is so. Its commands run and print what stands below them; its lines of C
# are those of samples/13_c/first.c, which runs where the runtime is built, those of Python of samples/15_python/first.py
# (python.package runs it); the shell's block of docs/shell.md may be
# pasted, as it stands and without the prompts.
set -euo pipefail
BIN="$(cd "${1:?usage: readme_test.sh BIN_FOLDER}" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
"$(tests/tools/python.sh)" tests/tools/doc_blocks.py "$BIN" . README.md

lines_of() { awk -v from="$2" '$0 ~ from { found = 1 } found && /^```/ { if (inside) exit; inside = 1; next } inside' "$1"; }
code="$(lines_of README.md '^```c$')"
[[ $(wc -l <<<"$code") -eq 6 ]] || { echo "readme_test: README.md has no block of six lines of C" >&2; exit 1; }
while IFS= read -r line; do
  grep -qF -- "$line" samples/13_c/first.c || { echo "readme_test: samples/13_c/first.c lacks: $line" >&2; exit 1; }
done <<<"$code"
code="$(lines_of README.md '^```python$')"
[[ $(wc -l <<<"$code") -eq 6 ]] || { echo "readme_test: README.md has no block of six lines of Python" >&2; exit 1; }
while IFS= read -r line; do
  grep -qxF -- "$line" samples/15_python/first.py || { echo "readme_test: samples/15_python/first.py lacks: $line" >&2; exit 1; }
done <<<"$code"
if [[ -f $BIN/../lib/libdynvm.so ]]; then
  "$BIN/dynrepl" --quiet compile samples/models/bert/model.onnx -o "$WORK/bert.dynpkg" >/dev/null
  cc -std=c99 -Wall -Wextra -Werror -I vm/include samples/13_c/first.c -L "$BIN/../lib" -ldynvm -Wl,-rpath,"$BIN/../lib" -o "$WORK/first"
  [[ "$("$WORK/first" "$WORK/bert.dynpkg" | wc -l)" -eq 3 ]]
fi

block="$(lines_of docs/shell.md '^```text' | grep '^dyn> ')"
[[ $(wc -l <<<"$block") -ge 4 ]] || { echo "readme_test: docs/shell.md has no block of the shell" >&2; exit 1; }
for form in 's/^//' 's/^dyn> //'; do
  said="$(sed "$form" <<<"$block" | "$BIN/dynrepl" 2>&1)" || { echo "$said" >&2; exit 1; }
  if grep -n 'error\[' <<<"$said"; then exit 1; fi
done
