#!/usr/bin/env bash
# The golden runner on golden files of its own: it accepts, refuses, skips and updates.
set -uo pipefail
runner="$(cd "$(dirname "$0")" && pwd)/golden_runner.sh"
here="$(mktemp -d)"
trap 'rm -rf "$here"' EXIT
export DYN_BIN="$here/bin" DYN_PARTS="onnx qt"
failures=0

# expect CODE TEXT FILE [OPTION]: the runner's exit code for FILE, and a piece of what it prints.
expect() {
  local out code
  out="$("$runner" ${4:+"$4"} "$here/$3" 2>&1)"
  code=$?
  if [[ $code -ne $1 || "$out" != *"$2"* ]]; then
    echo "FAILED: $3: exit $code, wanted $1 and '$2'; it printed: $out"
    failures=$((failures + 1))
  fi
}
golden() {
  local file="$here/$1"
  shift
  printf '%s\n' "$@" >"$file"
}

golden right.txt '# run: cat %s' 'one' 'two' ---- '# run: cat %s' one two
expect 0 '' right.txt
golden wrong.txt '// run: cat %s' 'one' ---- '// run: cat %s' 'two'
expect 1 '+one' wrong.txt
expect 1 'golden_runner.sh --update' wrong.txt
expect 0 updated wrong.txt --update
expect 0 '' wrong.txt
golden name.txt '; run: echo %s %t %r; pwd >&2; echo %t/x' ---- 'name.dyn %t %r' '%t/x'
expect 0 '' name.txt
golden loop.asm.txt '# run: ls' ---- 'loop.asm'
expect 0 '' loop.asm.txt
golden exit.txt '# run: echo out; echo err >&2; exit 3' ---- out '[exit 3]'
expect 0 '' exit.txt
golden ends_well.txt '# run: echo out' ---- out '[exit 3]'
expect 1 '-[exit 3]' ends_well.txt
golden ends_badly.txt '# run: echo out; echo reason >&2; false' ---- out
expect 1 'reason' ends_badly.txt
golden pipe.txt '# run: false | true' ---- '[exit 1]'
expect 0 '' pipe.txt
golden none.txt 'fn main() {}' ---- ''
expect 1 'first line must be a comment' none.txt
golden open.txt '# run: echo new'
expect 1 'no line ----' open.txt
expect 0 updated open.txt --update
expect 0 '' open.txt
golden llvm.txt '# run: echo x' '# needs: onnx llvm' ---- y
expect 77 'no llvm' llvm.txt
golden cpu.txt '# run: echo x' '# needs: llvm cpu' ---- x
expect 1 'no part of a build is called cpu' cpu.txt
golden onnx.txt '# run: echo x' '# needs: onnx' ---- y
expect 1 '+x' onnx.txt
golden program.txt '# run: dynrepl run %s' ---- y
expect 77 'no dynrepl' program.txt
golden unknown.txt '# run: dynrpel run %s' ---- y
expect 1 'not found' unknown.txt
golden slow.txt '# run: sleep 60' ---- ''
DYN_GOLDEN_SECONDS=0.2 expect 1 '[exit 124]' slow.txt

if [[ $failures -gt 0 ]]; then exit 1; fi
