#!/usr/bin/env bash
# check_build_steps.sh NINJA BUILD TARGET MOST: building TARGET from nothing takes at most MOST steps. Ninja is asked, nothing is built.
set -euo pipefail
ninja="${1:?usage: check_build_steps.sh NINJA BUILD TARGET MOST}" build="$2" target="$3" most="$4"
steps="$("$ninja" -C "$build" -t commands "$target" | wc -l)"
[[ $steps -gt 0 ]] || { echo "ninja lists no step of $target"; exit 1; }
if [[ $steps -gt $most ]]; then
  echo "$target takes $steps steps from nothing, at most $most are meant (tests/tools/CMakeLists.txt): each is waited for in ./dev demo"
  echo "what does the shell need now that it did not before?"
  exit 1
fi
