#!/usr/bin/env bash
# Plants faults in pages of its own and sees that check_pages.py and doc_blocks.py name those, and only those.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
PYTHON="$("$here/python.sh")"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs" "$tree/bin" "$tree/samples" "$tree/vm"
long="$(printf 'word %.0s' {1..30})"
{
  echo '# A title: with `code`, twice'
  echo '[here](#a-title-with-code-twice) [file](docs/index.md#there) [none](docs/none.md) [no heading](docs/index.md#here)'
  echo '```'
  echo "[of a block](nothing.md) $long"
  echo '```'
  echo "$long"
  echo "| $(printf 'x%.0s' {1..81}) | b |"
  echo "| [$(printf 'x%.0s' {1..80})](docs/index.md#there) | b |"
  echo '[a label'
  echo 'of two lines](gone.md)'
} >"$tree/README.md"
printf '# There\n\n[one](one.md)\n' >"$tree/docs/index.md"
printf '%s\n| %s |\n`%s`\n```\n%s\n```\n' "$long" "$long" "$long" "$long" >"$tree/docs/one.md"
printf 'text ...\n```\nof a block ...\n```\n' >"$tree/docs/two.md"
out="$("$PYTHON" "$here/check_pages.py" "$tree" || true)"
expected='README.md:2: there is no file docs/none.md
README.md:2: docs/index.md has no heading #here
README.md:9: there is no file gone.md
docs/index.md: it has no link to docs/two.md
docs/two.md:1: the end of the line is cut
README.md:4: wider than 120 columns
README.md:6: wider than 120 columns
README.md:7: a cell is wider than 80 columns
docs/one.md:1: wider than 110 columns
docs/one.md:5: wider than 110 columns'
[[ "$out" == "$expected" ]] || { echo "check_pages.py said"; echo "$out"; echo "and not"; echo "$expected"; exit 1; }
printf '%0.s\n' {1..106} >"$tree/README.md"
printf '[one](one.md) [two](two.md)\n' >"$tree/docs/index.md"
printf 'short\n' | tee "$tree/docs/two.md" >"$tree/docs/one.md"
[[ "$("$PYTHON" "$here/check_pages.py" "$tree" || true)" == "README.md: it has 106 lines, more than 105" ]]
echo short >"$tree/README.md"
"$PYTHON" "$here/check_pages.py" "$tree" >/dev/null

# Blocks: a right one, and one of each fault.
page() { printf '%s\n' "$@" >"$tree/docs/one.md"; "$PYTHON" "$here/doc_blocks.py" "$tree/bin" "$tree" docs/one.md; }
page '```text' '$ echo a; echo b; echo 12 ms' '...' '7 us' '$ false # exit 1' '$ echo one 120 word 7.5' 'one ~100 ...' '```' >/dev/null
for wrong in '$ echo a|b' '$ echo "error[E0001]: no"|...' '$ echo a|b' '$ false|...' '$ true # exit 1|...' '$ echo 120 b|~50 b' '$ echo 120 b|~100 c'; do
  if page '```text' "${wrong%|*}" "${wrong#*|}" '```' >/dev/null; then echo "doc_blocks.py took: $wrong"; exit 1; fi
done
if page 'no block' >/dev/null; then echo "doc_blocks.py took a page without a block"; exit 1; fi
if page '```dyn' '# alone.dyn' '```' '```sh' 'true' '```' >/dev/null; then echo "doc_blocks.py took a module that nothing runs"; exit 1; fi
DYN_UPDATE=1 page '```text' '$ echo a' 'b' '$ echo c' '```' >/dev/null && exit 1
[[ "$(cat "$tree/docs/one.md")" == "$(printf '%s\n' '```text' '$ echo a' 'a' '$ echo c' 'c' '```')" ]] || { cat "$tree/docs/one.md"; exit 1; }
