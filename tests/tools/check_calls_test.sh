#!/usr/bin/env bash
# check_calls_test.sh CC AR: libraries of layers, of a circle of three, and of objects that know nothing of each other.
set -euo pipefail
cc="${1:?usage: check_calls_test.sh CC AR}" ar="${2:?usage: check_calls_test.sh CC AR}"
checker="$(cd "$(dirname "$0")" && pwd)/check_calls.sh"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# library NAME FILE=TEXT...
library() {
  local name="$1" row objects=()
  shift
  for row in "$@"; do
    printf '%s\n' "${row#*=}" >"${row%%=*}.c"
    "$cc" -c "${row%%=*}.c" -o "${row%%=*}.o"
    objects+=("${row%%=*}.o")
  done
  "$ar" rc "$name.a" "${objects[@]}"
}

library layers 'low=int low(void) { return 1; }' 'middle=int low(void); int middle(void) { return low(); }' \
  'high=int low(void), middle(void); int high(void) { return low() + middle(); }'
"$checker" layers.a || { echo "FAILED: layers were refused"; exit 1; }
library circle 'a=int b(void); int a(void) { return b(); }' 'b=int c(void); int b(void) { return c(); }' \
  'c=int a(void); int c(void) { return a(); }' 'd=int a(void); int d(void) { return a(); }'
if out="$("$checker" circle.a)"; then echo "FAILED: a circle was accepted"; exit 1; fi
[[ "$(LC_ALL=C sort <<<"$out")" == $'circle.a: in a circle of calls: a.o\ncircle.a: in a circle of calls: b.o\ncircle.a: in a circle of calls: c.o' ]] ||
  { echo "FAILED: a circle of three gave '$out'"; exit 1; }
library strangers 'e=int e(void) { return 1; }' 'f=int f(void) { return 2; }'
if "$checker" strangers.a 2>/dev/null; then echo "FAILED: a library without calls was accepted"; exit 1; fi
