#!/usr/bin/env bash
# with_python.sh skips for want of a module with the system's Python only; and no test runs a Python of its own choice.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="$(cd "$HERE/../.." && pwd)"
PLACE="$(mktemp -d)"
trap 'rm -rf "$PLACE"' EXIT
mkdir -p "$PLACE/tests/tools"
cp "$HERE/with_python.sh" "$HERE/python.sh" "$PLACE/tests/tools"
RUN="$PLACE/tests/tools/with_python.sh"  # its root has no build/python
echo 'import sys; print("by", sys.executable, *sys.argv[1:])' >"$PLACE/script.py"
printf '#!/bin/sh\necho "with $DYN_PYTHON"\n' >"$PLACE/script.sh"
chmod +x "$PLACE/script.sh"
expect() {  # CODE TEXT COMMAND...
  local code="$1" text="$2" ended=0 said
  shift 2
  said="$("$@" 2>&1)" || ended=$?
  [[ $ended == "$code" && "$said" == *"$text"* ]] || { echo "expected $code and '$text', got $ended: $said"; exit 1; }
}
own="$(command -v python3)"
expect 77 "skipped: ModuleNotFoundError: No module named 'no_such_module'" env -u DYN_PYTHON "$RUN" --needs no_such_module "$PLACE/script.py"
expect 77 skipped env -u DYN_PYTHON "$RUN" --needs json,no_such_module "$PLACE/script.py"
expect 1 "lacks a module" env DYN_PYTHON="$own" "$RUN" --needs no_such_module "$PLACE/script.py"
expect 0 "by $(python3 -c 'import sys; print(sys.executable)') one two" env DYN_PYTHON="$own" "$RUN" --needs json,os.path "$PLACE/script.py" one two
expect 0 "with $own" env DYN_PYTHON="$own" "$RUN" "$PLACE/script.sh"
expect 2 "no script" "$RUN" --needs json
mkdir -p "$PLACE/build/python/bin"
touch "$PLACE/build/python/ready"
ln -s "$own" "$PLACE/build/python/bin/python"
expect 1 "build/python/bin/python is the Python of the tests" env -u DYN_PYTHON "$RUN" --needs no_such_module "$PLACE/script.py"

# A test that names python3, or starts a .py file itself, would miss that environment.
cd "$ROOT"
scripts="$(grep -rnE '(^|[;&|(! ])python3 |^ *"[^"]*\.py" ' tests --include=*.sh | grep -vE '^tests/tools/(python_setup|with_python|with_python_test|site/build)\.sh' || true)"
lists="$(find tests -name CMakeLists.txt -exec awk -v 'RS=)' '/add_test\(/ && /\.py[ \n]|\.py$|python3/ { print FILENAME ": " $0 }' {} +)"
[[ -z "$scripts$lists" ]] || { echo "$scripts$lists"; echo "these choose a Python: use dyn_python_test (tests/CMakeLists.txt) or python.sh"; exit 1; }
echo "with_python_test: ok"
