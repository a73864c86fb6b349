#!/usr/bin/env bash
# check_format.sh ROOT: fails and names each source that clang-format 14 would change. Exit 77 (skipped) without it.
set -euo pipefail
if ! command -v clang-format-14 >/dev/null; then
  echo "skipped: clang-format-14 is not installed (./dev setup format)"
  exit 77
fi
cd "$1"
unformatted="$(tests/tools/list_sources.sh . | while IFS= read -r file; do
  clang-format-14 --dry-run -Werror "$file" >/dev/null 2>&1 || echo "$file"
done)"
if [[ -n $unformatted ]]; then
  echo "$unformatted"
  echo "these files are not formatted; run: ./dev format"
  exit 1
fi
