#!/usr/bin/env bash
# Plants faults in a copy of the pages and sees that build.sh names each. Exit 77 where there is no environment yet.
set -euo pipefail
HERE="$(cd "$(dirname "$0")" && pwd)"
ROOT="$(cd "$HERE/../../.." && pwd)"
[[ -f "$ROOT/build/docs_python/ready" ]] || { echo "skipped: ./dev docs makes the environment"; exit 77; }
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
for entry in "$ROOT"/* "$ROOT/.git"; do
  case "${entry##*/}" in
    docs | build) ;;
    *) ln -s "$entry" "$tree" ;;
  esac
done
cp -r "$ROOT/docs" "$tree/docs"
mkdir "$tree/build"
ln -s "$ROOT/build/docs_python" "$tree/build/docs_python"
printf '\n[gone](gone.md) [source](../vm/gone.h) [heading](glossary.md#gone)\n' >>"$tree/docs/style.md"
printf '# New\n' >"$tree/docs/new.md"
if "$tree/tests/tools/site/build.sh" --made >"$tree/said" 2>&1; then echo "a site with faults was built"; exit 1; fi
for fault in "'gone.md'" "vm/gone.h" "glossary.md#gone" "new.md"; do
  grep -qF -- "$fault" "$tree/said" || { echo "not named: $fault"; cat "$tree/said"; exit 1; }
done
