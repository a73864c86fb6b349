#!/usr/bin/env bash
# readme_test.sh DYNREPL: the README's block for the shell is pasted, as it stands and with the prompts of a terminal; no line of it may fail.
set -euo pipefail
DYNREPL="${1:?usage: readme_test.sh DYNREPL}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
block="$(awk '/^\*\*The shell\*\*/ { found = 1 } found && /^```/ { if (inside) exit; inside = 1; next } inside' README.md)"
[[ $(wc -l <<<"$block") -ge 4 ]] || { echo "readme_test: README.md has no block after '**The shell**'" >&2; exit 1; }
for form in 's/^//' 's/^/dyn> /'; do
  said="$(sed "$form" <<<"$block" | "$DYNREPL" 2>&1)" || { echo "$said" >&2; exit 1; }
  if grep -n 'error\[' <<<"$said"; then exit 1; fi
done
echo "readme_test: $(wc -l <<<"$block") lines, twice"
