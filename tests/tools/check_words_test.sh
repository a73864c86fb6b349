#!/usr/bin/env bash
# Plants former words in a tree of its own and sees that check_words.py names each of them, and only them.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
PYTHON="$("$here/python.sh")"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs/tutorial" "$tree/vm/include" "$tree/app/batch" "$tree/app/runner" "$tree/app/session/handlers" "$tree/compiler/support"
touch "$tree/app/runner/arguments.cpp" "$tree/app/batch/arguments.cpp" "$tree/app/session/commands.def" "$tree/app/session/option_table.cpp" \
  "$tree/app/session/handlers/handlers_values.cpp" \
  "$tree/compiler/support/diagnostics.def"
check() { "$PYTHON" "$here/check_words.py" "$tree" "$tree/words.txt"; }
printf '# a comment\nrehears\\w*\tdry run\ta rehearsal\n(is|are) none\t(a noun)\tthere is none\n' >"$tree/words.txt"
printf '| Word | Ours |\n|---|---|\n| dry run (shape only) | *former* rehearsal |\n' >"$tree/docs/glossary.md"
printf 'A dry run.\nA page without old words.\n' | tee "$tree/README.md" >"$tree/docs/tutorial/01.md"
printf '/* dry_run */\n' >"$tree/vm/include/a.h"
printf 'int rehearsal;\nadd("a dry run");\n  // a "rehearsal" of a comment\nDYN_OPTION("--dry-run | --rehearsal");\n' \
  >"$tree/app/session/command_line.def"
printf 'name("rehearsal");\nint rehearsal = 0;  // rehearsal\n' >"$tree/compiler/support/names.cpp"  # a name is no message
check || { echo "a tree without former words was refused"; exit 1; }

printf 'Two\nrehearsals, where there is\nnone.\n' >"$tree/docs/tutorial/01.md"
printf '/* of a REHEARSED run there are\n * none */\n' >"$tree/vm/include/a.h"
printf 'add("a rehearsal");\n' >>"$tree/app/session/command_line.def"
printf 'fail("a rehearsal of it");\n' >"$tree/compiler/support/text.cpp"
out="$(check || true)"
expected="docs/tutorial/01.md:2: 'rehearsals': dry run
docs/tutorial/01.md:2: 'is none': (a noun)
vm/include/a.h:1: 'REHEARSED': dry run
vm/include/a.h:1: 'are * none': (a noun)
app/session/command_line.def:5: 'rehearsal': dry run
compiler/support/text.cpp:1: 'rehearsal': dry run"
[[ "$(head -6 <<<"$out")" == "$expected" && "$(wc -l <<<"$out")" -eq 7 ]] || { echo "check_words.py said '$out' and not '$expected'"; exit 1; }

# The table: an example that its pattern does not match, a word that the glossary lacks.
printf 'unpad\tpacking\tpadded\n' >"$tree/words.txt"
out="$(check || true)"
[[ "$out" == *"does not match its example 'padded'"* && "$out" == *"does not have 'packing' in a first column"* ]] ||
  { echo "a wrong table was accepted: '$out'"; exit 1; }
