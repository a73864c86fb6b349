#!/usr/bin/env bash
# Runs a script of a test with the Python of the tests (python.sh): a .py file by it, any other with DYN_PYTHON naming it.
# Usage: with_python.sh [--needs MODULE,...] SCRIPT [ARGUMENT]...
# Where a module is missing: exit 77 (skipped) if this is the system's own Python. An environment that was made for the tests has
# all of them, so there it is a failure.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
needs=""
if [[ "${1:-}" == --needs ]]; then
  needs="${2:?--needs wants modules}"
  shift 2
fi
[[ $# -ge 1 ]] || { echo "with_python.sh: no script is given" >&2; exit 2; }
PYTHON="$("$HERE/python.sh")"
if [[ -n "$needs" ]] && ! missing="$("$PYTHON" -c "import ${needs}" 2>&1)"; then
  missing="$(tail -n 1 <<<"$missing")"
  if [[ "$PYTHON" == python3 ]]; then
    echo "skipped: $missing (./dev setup test makes an environment with all that tests need)"
    exit 77
  fi
  echo "failed: $PYTHON is the Python of the tests, and it lacks a module: $missing" >&2
  exit 1
fi
export DYN_PYTHON="$PYTHON"
if [[ "$1" == *.py ]]; then exec "$PYTHON" "$@"; fi
exec "$@"
