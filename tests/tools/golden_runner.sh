#!/usr/bin/env bash
# golden_runner.sh [--update] FILE...: runs golden files and compares what their command prints.
#
# A golden file is the input of a command, and below a line of four dashes what the command prints:
#
#     # run: dynrepl inspect %s --ir graph        (first line; the comment sign is #, // or ;)
#     # needs: llvm                               (optional, second line: skipped where the build lacks a part)
#     fn main(x: Tensor[(n), f32]) ...
#     ----
#     ... expected standard output; then "[exit 3]" when the command does not end with 0
#
# The command is a line of bash: pipes and 2>&1 work. The programs of the build come first in PATH (DYN_BIN, default
# build/release/bin). It runs in an empty folder that holds the input, and in the command and in what it prints
#   %s  the input, as a file called like the golden file without ".txt" ("fuse.txt" becomes "fuse.dyn",
#       "loop.asm.txt" becomes "loop.asm"), so that messages name "fuse.dyn:3:7"; all lines keep their numbers
#   %t  an empty folder for results        %r  the root of the repository
# --update writes what was printed into the file; read the diff before you commit it.
# Exit: 0 as expected, 1 not, 77 skipped.
set -uo pipefail
# Memory that nobody wrote holds no zeros by chance: what shows it differs from run to run.
export MALLOC_PERTURB_=165

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
bin="$(realpath -m "${DYN_BIN:-$root/build/release/bin}")"
parts=" ${DYN_PARTS:-} "  # what the build has: "llvm qt onnx"
export PATH="$bin:$PATH" LC_ALL=C.UTF-8 QT_QPA_PLATFORM="${QT_QPA_PLATFORM:-offscreen}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# header KEY FILE: the value of a "# KEY: value" line among the first two lines.
header() { sed -n -E "1,2s@^(#|//|;)[[:space:]]*$1:[[:space:]]*(.*)\$@\2@p" "$2" | head -1; }

# run_golden FILE: 0, 1 or 77; prints only what a person needs.
run_golden() {
  local golden command need program name code
  golden="$(realpath "$1")"
  command="$(header run "$golden")"
  if [[ -z $command ]]; then
    echo "$1:1: the first line must be a comment 'run: COMMAND'"
    return 1
  fi
  if ! grep -q -x -e '----' "$golden" && [[ $update == no ]]; then
    echo "$1: has no line ---- with the expected output below; to write it: tests/tools/golden_runner.sh --update $1"
    return 1
  fi
  # With one that no build has the file would be skipped for ever.
  for need in $(header needs "$golden"); do
    if [[ " llvm onnx qt simcuda " != *" $need "* ]]; then echo "$1:2: no part of a build is called $need"; return 1; fi
  done
  for need in $(header needs "$golden"); do
    if [[ $parts != *" $need "* ]]; then echo "skipped: this build has no $need"; return 77; fi
  done
  program="${command%% *}"
  if [[ " dynrepl dynstudio vmrun " == *" $program "* && ! -x $bin/$program ]]; then
    echo "skipped: this build has no $program"
    return 77
  fi

  name="$(basename "$golden" .txt)"
  [[ $name == *.* ]] || name="$name.dyn"
  rm -rf "$work/in" "$work/out"
  mkdir "$work/in" "$work/out"
  sed '/^----$/,$d' "$golden" >"$work/in/$name"
  sed '1,/^----$/d' "$golden" >"$work/expected"
  command="${command//%s/$name}"
  command="${command//%t/$work/out}"
  command="${command//%r/$root}"
  (cd "$work/in" && timeout --kill-after=5 "${DYN_GOLDEN_SECONDS:-120}" bash -o pipefail -c "$command") \
    >"$work/stdout" 2>"$work/stderr" </dev/null
  code=$?
  sed -e "s@$work/out@%t@g" -e "s@$work/in/@@g" -e "s@$root@%r@g" "$work/stdout" >"$work/actual"
  if [[ -s $work/actual && -n "$(tail -c 1 "$work/actual")" ]]; then echo >>"$work/actual"; fi
  if [[ $code -ne 0 ]]; then echo "[exit $code]" >>"$work/actual"; fi
  if cmp -s "$work/expected" "$work/actual" && grep -q -x -e '----' "$golden"; then return 0; fi

  if [[ $update == yes ]]; then
    { cat "$work/in/$name"; echo '----'; cat "$work/actual"; } >"$work/new" && cat "$work/new" >"$golden"
    echo "updated $1"
    return 0
  fi
  echo "$1: not as expected (- expected, + printed)"
  diff -u --label expected --label printed "$work/expected" "$work/actual"
  if [[ -s $work/stderr ]]; then echo "standard error was:"; head -c 4000 "$work/stderr"; fi
  echo "if the new output is right: tests/tools/golden_runner.sh --update ${golden#"$root"/}"
  return 1
}

update=no
if [[ "${1:-}" == --update ]]; then update=yes; shift; fi
if [[ $# -eq 0 ]]; then echo "usage: golden_runner.sh [--update] FILE..." >&2; exit 2; fi
worst=0
for file in "$@"; do
  run_golden "$file"
  code=$?
  if [[ $code -eq 1 || ( $code -eq 77 && $worst -eq 0 ) ]]; then worst=$code; fi
done
exit "$worst"
