#!/usr/bin/env bash
# check_calls.sh ARCHIVE: the objects of a static library are layers: no circle among them by functions and data that one has and
# another uses. Includes say nothing of it where a header declares what several C files define (vm/freestanding/state.h). The
# objects of a circle are printed; exit 1 if there is one.
set -euo pipefail
archive="${1:?usage: check_calls.sh ARCHIVE}"
pairs="$(nm -A -P "$archive" | awk '
  {
    object = $1
    sub(/^.*\[/, "", object)
    sub(/\]:$/, "", object)
    if ($3 == "U") { used[object, $2] } else if ($3 ~ /^[A-Z]$/) { home[$2] = object }
    count++
  }
  END {
    if (count == 0) exit 1
    for (pair in used) {
      split(pair, part, SUBSEP)
      if (part[2] in home && home[part[2]] != part[1]) print part[1], home[part[2]]
    }
  }' | LC_ALL=C sort -u)" || { echo "check_calls: $archive has no symbols" >&2; exit 1; }
if [[ -z $pairs ]]; then
  echo "check_calls: no object of $archive uses another" >&2
  exit 1
fi
if ! circle="$(tsort <<<"$pairs" 2>&1 >/dev/null)"; then
  sed -n 's/^tsort: \([^ -].*[.]o\)$/\1/p' <<<"$circle" | LC_ALL=C sort -u | sed "s#^#$(basename "$archive"): in a circle of calls: #"
  exit 1
fi
