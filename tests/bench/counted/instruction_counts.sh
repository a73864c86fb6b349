#!/usr/bin/env bash
# instruction_counts.sh BUILD COMPILER: instructions that one run of a few models takes, start and compilation not counted, against instruction_counts.txt.
#
# Counted by callgrind, on the CPU that valgrind shows to programs (AVX2), so that machines agree where clocks do not; compilers don't, so the list names
# the one it is of. Models are those of samples/models, and those of one node beside this file, whose rows (rows.txt) need not be in the list
# yet: the next update records them. A run that takes a tenth more than was recorded fails; one that takes a tenth less asks to be recorded anew: DYN_UPDATE=1 writes the
# list. Exit: 0 as recorded, 1 not, 77 without valgrind, AVX2 or that compiler.
set -euo pipefail
build="$(realpath -m "${1:-build/release}")"
compiler="${2:-unknown}"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)"
list="$root/tests/bench/counted/instruction_counts.txt"
command -v valgrind >/dev/null || { echo "instruction counts: skipped: valgrind is not installed"; exit 77; }
grep -q avx2 /proc/cpuinfo || { echo "instruction counts: skipped: this CPU has no AVX2"; exit 77; }
recorded_with="$(sed -n 's/^# compiler: //p' "$list")"
if [[ -z "${DYN_UPDATE:-}" && "$recorded_with" != "$compiler" ]]; then
  echo "instruction counts: skipped: they are of $recorded_with, this build of $compiler"
  exit 77
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Code that the CPU which valgrind shows can run; so can this machine, which compiles it twenty times faster than valgrind would.
counted_target=x86-64-v3

# command_of REPEATS MODEL DIM...: sets `command`, the process that is counted.
command_of() {
  local repeats="$1" model="$2" dim path
  shift 2
  path="$root/tests/bench/counted/$model.onnx"
  [[ -f $path ]] || path="$root/samples/models/$model/model.onnx"
  command=("$build/bin/dynrepl" run "$path" --threads 1 --quiet --seed 1 --target "$counted_target" --cache-dir "$work/cache"
    --repeat "$repeats")
  for dim in "$@"; do command+=(--dim "$dim"); done
}

# collected REPEATS MODEL DIM...: instructions of a whole process.
collected() {
  command_of "$@"
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "${command[@]}" 2>"$work/log" >/dev/null ||
    { cat "$work/log" >&2; return 1; }
  sed -n -E 's/.*Collected : ([0-9]+).*/\1/p' "$work/log"
}

# rows: those of the list; for an update also those of counted models that it does not have yet.
rows() {
  grep -v '^#' "$list"
  [[ -n "${DYN_UPDATE:-}" ]] || return 0
  while read -r model dims; do
    grep -q "^$model $dims " "$list" || echo "$model $dims 0"
  done <"$root/tests/bench/counted/rows.txt"
}

runs=50  # so many that what differs between two starts of a process does not count
fault=0 lines=("# model, dims, instructions of a run (instruction_counts.sh)" "# compiler: $compiler")
while read -r model dims recorded; do
  command_of 1 "$model" ${dims//,/ }
  "${command[@]}" >/dev/null  # compiles, and fills the cache
  collected 1 "$model" ${dims//,/ } >/dev/null  # packs the weights for the CPU that valgrind shows: later processes read and check them
  few="$(collected 2 "$model" ${dims//,/ })"
  many="$(collected $((2 + runs)) "$model" ${dims//,/ })"
  now=$(((many - few) / runs))
  lines+=("$model $dims $now")
  verdict="as recorded"
  if ((recorded > 0 && now * 10 > recorded * 11)); then verdict="MORE than recorded" fault=1; fi
  if ((now * 10 < recorded * 9)); then verdict="less than recorded: record it with DYN_UPDATE=1"; fi
  printf '%-12s %-24s %12d instructions, %d recorded: %s\n' "$model" "$dims" "$now" "$recorded" "$verdict"
done < <(rows)
if [[ -n "${DYN_UPDATE:-}" ]]; then
  printf '%s\n' "${lines[@]}" >"$list"
  echo "instruction counts: recorded"
  exit 0
fi
exit "$fault"
