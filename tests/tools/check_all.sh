#!/usr/bin/env bash
# All that can be checked, one after the other, whatever fails before: the tests of each preset and the differential fuzzer in the same build; a
# build without any optional package (bare_build.sh); at the end one line for each. What they said is in build/check. Not for CI: it takes a night, and the
# sanitizers' builds an hour or two.
# Usage: check_all.sh [--quick] [--seconds N] [PRESET]...      PRESET: release, bare, asan and tsan; --seconds (3600): of the fuzzer, in each; --quick: 60
#        check_all.sh arm      what qemu can say of 64-bit ARM
set -uo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
LOGS="$ROOT/build/check"
PROGRAMS=200  # of the fuzzer between two looks at the clock
SECONDS_OF_FUZZING=3600
PRESETS=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --quick) SECONDS_OF_FUZZING=60 ;;
    --seconds) SECONDS_OF_FUZZING="${2:?--seconds needs a number}"; shift ;;
    -*) echo "check: there is no option $1 (--quick, --seconds N, presets)" >&2; exit 2 ;;
    *) PRESETS+=("$1") ;;
  esac
  shift
done
[[ ${#PRESETS[@]} -gt 0 ]] || PRESETS=(release bare asan tsan)

SUMMARY=()
FAILED=no

# step NAME COMMAND...: its output goes to NAME.log. Exit code 4: unsupported on this machine.
step() {
  local name="$1" log="$LOGS/$1.log" begin=$SECONDS verdict=passed
  shift
  echo "check: $name" >&2
  local status=0
  "$@" >"$log" 2>&1 || status=$?
  case $status in
    0) ;;
    4) verdict=skipped ;;
    *) verdict=FAILED FAILED=yes ;;
  esac
  SUMMARY+=("$(printf '%-8s %-24s %6d s  %s' "$verdict" "$name" $((SECONDS - begin)) "$(said "$log")")")
  echo "${SUMMARY[-1]}" >&2
  if [[ $verdict == FAILED ]]; then SUMMARY+=("         $log"); fi
}

# What a log comes to: of tests the line that counts them and the names of those that failed, else its last line.
said() {
  if grep -q 'tests passed' "$1"; then
    grep 'tests passed' "$1" | tail -1
    sed -n '/^The following tests FAILED:/,/^$/p' "$1" | grep -E '^[[:space:]]*[0-9]+ - ' | sed 's/^[[:space:]]*/           /'
  else
    tail -1 "$1"
  fi
}

# New programs until the time is over, or one fails.
fuzz() {
  local preset="$1" begin=$SECONDS seed="${DYN_FUZZ_SEED:-1}"
  while ((SECONDS - begin < SECONDS_OF_FUZZING)); do
    DYN_PRESET="$preset" "$ROOT/dev" fuzz differential --count $PROGRAMS --seed "$seed" || return 1
    seed=$((seed + PROGRAMS))
  done
  echo "$((seed - ${DYN_FUZZ_SEED:-1})) programs, no mismatch"
}

mkdir -p "$LOGS"
for preset in "${PRESETS[@]}"; do
  if [[ $preset == bare ]]; then
    step "build.bare" "$ROOT/tests/tools/bare_build.sh" "$ROOT"
    continue
  fi
  if [[ $preset == arm ]]; then
    step "build.aarch64" "$ROOT/dev" build --target aarch64
    step "build.aarch64.compiler" "$ROOT/dev" build --target aarch64 compiler  # for the test arm.compiler
    # "max" has every form of a kernel, which the unit tests take in turn; the others choose what they have.
    for processor in max cortex-a53 cortex-a72 cortex-a76 neoverse-n1; do
      step "tests.aarch64.$processor" env QEMU_CPU=$processor "$ROOT/dev" test --preset aarch64
    done
    step "models.aarch64" "$ROOT/dev" test --all '^arm\.'
    continue
  fi
  step "tests.$preset" "$ROOT/dev" test --preset "$preset"
  step "differential.$preset" fuzz "$preset"
done
printf '\n'
printf '%s\n' "${SUMMARY[@]}"
[[ $FAILED == no ]]
