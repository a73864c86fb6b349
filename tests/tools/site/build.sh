#!/usr/bin/env bash
# The documentation as a site in build/site: ./dev docs. Once it makes an environment with mkdocs in build/docs_python, for which the package index must answer.
# Usage: build.sh [--serve [ADDRESS:PORT] | --made | --setup]
#   --serve  serves it and builds again when a page changes
#   --made   builds it, or exits with 77 where there is no environment yet (the test docs.site)
#   --setup  makes the environment and nothing else (./dev setup test)
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="$(cd "$HERE/../../.." && pwd)"
PLACE="$ROOT/build/docs_python" WANTED="$HERE/packages.txt" PINNED="$HERE/../python_constraints.txt" LOG="$ROOT/build/docs_setup.log"
PIP=(-m pip --disable-pip-version-check --retries 1 --timeout 15)
MOST_SECONDS="${DYN_INDEX_SECONDS:-300}"

say() { printf 'dev: %s\n' "$*" >&2; }

make_environment() {
  python3 -m venv "$PLACE" && timeout "$MOST_SECONDS" "$PLACE/bin/python" "${PIP[@]}" install --quiet --only-binary=:all: -r "$WANTED" -c "$PINNED"
}

is_ready() { cat "$WANTED" "$PINNED" | cmp -s - "$PLACE/ready"; }

action=(build)
case "${1:-}" in
  "") ;;
  --made) is_ready || { echo "skipped: ./dev docs makes the environment"; exit 77; } ;;
  --serve) action=(serve --dev-addr "${2:-127.0.0.1:8000}") ;;
  --setup) action=() ;;
  *) say "docs takes --serve [ADDRESS:PORT], and not $1"; exit 2 ;;
esac
mkdir -p "$ROOT/build"
exec 9>"$ROOT/build/docs_setup.lock"
flock 9
if ! is_ready; then
  rm -rf "$PLACE"
  say "make build/docs_python with $(paste -sd ' ' "$WANTED")"
  if ! make_environment >"$LOG" 2>&1; then
    tail -n 3 "$LOG" >&2
    rm -rf "$PLACE"
    say "no site: it needs these Python packages, and the package index does not answer, or python3-venv is missing (build/docs_setup.log)"
    exit 1
  fi
  cat "$WANTED" "$PINNED" >"$PLACE/ready"
fi
[[ ${#action[@]} -gt 0 ]] || exit 0
cd "$ROOT"
export NO_MKDOCS_2_WARNING=1
if [[ ${action[0]} == serve ]]; then
  exec 9>&-
  exec "$PLACE/bin/python" -m mkdocs "${action[@]}" --config-file mkdocs.yml
fi
# Not --quiet: what it does not print it does not count as a fault.
if ! "$PLACE/bin/python" -m mkdocs "${action[@]}" --config-file mkdocs.yml >"$ROOT/build/docs.log" 2>&1; then
  grep -v '^INFO' "$ROOT/build/docs.log" >&2
  say "no site: the faults are named above"
  exit 1
fi
say "build/site/index.html: open it in a browser"
