#!/usr/bin/env bash
# list_sources.sh ROOT: the C++ sources below ROOT, one a line, relative to it: those git tracks or would take;
# where there is no usable git checkout, all outside build/.
set -euo pipefail
cd "$1"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1 && [[ -z "$(git rev-parse --show-prefix)" ]]; then
  git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' '*.c'
else
  find . -path ./build -prune -o -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print | sed 's,^\./,,'
fi | LC_ALL=C sort -u | while IFS= read -r file; do
  if [[ -f $file ]]; then echo "$file"; fi  # deleted, but not yet for git
done
