#!/usr/bin/env bash
# gpu_report_test.sh BUILD SOURCE: what `./dev gpu` does without a driver, and its report with the simulated GPU as the driver.
set -euo pipefail
BUILD="${1:?usage: gpu_report_test.sh BUILD SOURCE}" SOURCE="${2:?}"
PYTHON="$("$SOURCE/tests/tools/python.sh")"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "gpu_report_test: $*" >&2; exit 1; }
code=0
"$PYTHON" "$SOURCE/tests/device/gpu_report.py" --build "$BUILD" --driver /nowhere/libcuda.so.1 --output "$WORK/none.md" >"$WORK/out" 2>&1 || code=$?
[[ $code == 4 && ! -e $WORK/none.md ]] && grep -q '^unavailable: there is no CUDA driver here' "$WORK/out" || fail "without a driver ($code): $(cat "$WORK/out")"

printf '# Results\n\nWords.\n\n## An older section\n\nfigures\n' >"$WORK/RESULTS.md"
for again in --no-bench ""; do
  # shellcheck disable=SC2086  # no word where it is empty
  "$PYTHON" "$SOURCE/tests/device/gpu_report.py" --build "$BUILD" --driver "$BUILD/simcuda/libcuda.so.1" --quick $again --output "$WORK/RESULTS.md" >"$WORK/out" 2>&1 || fail "report: $(cat "$WORK/out")"
done
report="$WORK/RESULTS.md"
[[ $(grep -c '^<!-- gpu' "$report") == 1 ]] || fail "the second report must take the first one's place: $(cat "$report")"
grep -q '^## An older section' "$report" && [[ $(head -n 1 "$report") == "# Results" ]] || fail "what stood there is gone"
grep -q '| sample models against their records | 2 of 2 |' "$report" || fail "samples: $(cat "$report")"
grep -q '| the same with products by cuBLASLt | 2 of 2 |' "$report" || fail "products by cuBLASLt: $(cat "$report")"
grep -q '| bits beside the simulated GPU | equal: lstm_loop, early_exit |' "$report" || fail "bits: $(cat "$report")"
grep -Eq '^\| compute-sanitizer.*(unavailable|clean|FAILED)' "$report" || fail "compute-sanitizer: $(cat "$report")"
grep -Eq '^\| 16 \| [0-9]+ \| ' "$report" || fail "no product was timed: $(cat "$report")"
grep -q 'times mean nothing' "$report" || fail "it does not say that the driver is simulated"
# What differs is seen: a driver whose third call fails.
code=0
DYN_SIMCUDA_FAIL=200 "$PYTHON" "$SOURCE/tests/device/gpu_report.py" --build "$BUILD" --driver "$BUILD/simcuda/libcuda.so.1" --quick --no-bench --output "$WORK/wrong.md" >"$WORK/out" 2>&1 || code=$?
[[ $code == 3 ]] || fail "a failing driver ends with $code: $(cat "$WORK/out")"
echo "gpu_report_test: ok"
