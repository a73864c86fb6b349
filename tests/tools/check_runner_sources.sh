#!/usr/bin/env bash
# check_runner_sources.sh MAP LIST: of our libraries other than the runtime, dynrun is linked from the sources of LIST
# (app/runner/linked_sources.txt) alone. MAP is GNU ld's map of it. What else the linker took is printed; exit 1 then. On x86-64
# such a file is found in an archive, while the cross build, which compiles the list and nothing else, does not link.
set -euo pipefail
map="${1:?usage: check_runner_sources.sh MAP LIST}" list="${2:?usage: check_runner_sources.sh MAP LIST}"
# "/path/libdyn_dims.a(dim.cpp.o)" at the begin of a line, the file that wanted it in the next one.
awk -v list="$list" '
  BEGIN {
    while ((getline line <list) > 0)
      if (line ~ /cpp$/) { sub(/^.*\//, "", line); listed[line ".o"] }
  }
  /^Archive member included/ { members = 1 }
  /^(Discarded input|Merging|Memory Config|There are no discarded)/ { members = 0 }
  members && /^[^ ].*libdyn_[a-z_]*\.a\(/ {
    library = member = $1
    sub(/\(.*/, "", library); sub(/^.*\//, "", library)
    sub(/^[^(]*\(/, "", member); sub(/\)$/, "", member)
    if (library ~ /^libdyn_vm/) next
    count++
    # Files that are compiled together are so apart from others (dyn_unity): unity_..._runner_0_cxx.cxx.o
    if (member ~ /_runner_[0-9]+_cxx\.cxx\.o$/ || member in listed) next
    if (NF > 1) { wanted = $0 } else { getline wanted }
    sub(/^.*\(/, "(", wanted)
    print "dynrun takes " member " of " library ", which " list " does not list; wanted by " wanted
    wrong = 1
  }
  END {
    if (count == 0) { print "check_runner_sources: no member of an archive of ours is in the map"; exit 1 }
    exit wrong
  }' "$map"
