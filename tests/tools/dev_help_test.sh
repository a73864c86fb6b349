#!/usr/bin/env bash
# ./dev VERB --help says what the verb does, and does none of it.
#   dev_help_test.sh SOURCE
set -u
source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$source/dev" "$work/dev"
mkdir "$work/build"
faults=0
fault() { echo "$*"; faults=$((faults + 1)); }
verbs=$("$work/dev" help | awk '/^  [a-z]/ { print $1 }' | sort -u)
for verb in $verbs; do
  case $verb in run | studio) continue ;; esac  # they pass it on
  for option in -h --help; do
    said=$("$work/dev" "$verb" $option) || fault "./dev $verb $option ends with $?"
    [[ "$said" == "  $verb "* ]] || fault "./dev $verb $option says: $said"
  done
done
said=$("$work/dev" nothing --help 2>&1) && fault "./dev nothing --help ends well: $said"
[[ "$(ls -A "$work")" == $'build\ndev' ]] || fault "left behind: $(ls -A "$work")"
echo "$(wc -w <<<"$verbs") verbs, $faults faults"
exit $((faults > 0))
