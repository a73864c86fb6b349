#!/usr/bin/env bash
# executable_test.sh BUILD SOURCE: an exported executable beside `dynrepl run`: the same options, fields, errors and exit
# codes, but for those named here; Ctrl-C, SIGTERM and limits; what it says of its dims and memory.
set -euo pipefail
BUILD="${1:?usage: executable_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "executable_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"

# Of a compiler: an executable has nothing to choose, no operators to learn, and no other file to trust. --cases: one call a process. --max-spread and
# --seconds: an executable repeats as often as --repeat says. --limit, --runs: by formulas of the time, which an executable has none of. The others say
# how text looks.
ONLY_RUN=" bucket cache-dir cases certified data-root many no-native ops verify-key explain host-code lengths limit math max-spread padded-results passes place policy runs seconds static tuning variant target color progress verbose help-all "
ONLY_EXECUTABLE="describe version"
MODEL="$SOURCE/samples/models/bert/model.onnx"
"$DYNREPL" export "$MODEL" --kind exe -o program --quiet >/dev/null
"$DYNREPL" compile "$MODEL" -o program.dynpkg --quiet >/dev/null

options_of() { "$@" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u | sed 's/^--//'; }
for option in $(comm -23 <(options_of "$DYNREPL" run) <(options_of ./program)); do
  [[ "$ONLY_RUN" == *" $option "* ]] || fail "dynrepl run has --$option, an executable has not"
done
for option in $(comm -13 <(options_of "$DYNREPL" run) <(options_of ./program)); do
  [[ " $ONLY_EXECUTABLE " == *" $option "* ]] || fail "an executable has --$option, dynrepl run has not"
done
for option in $(options_of ./program); do
  grep -qF -- "\\-\\-${option//-/\\-}" "$SOURCE/docs/man/dynrun.1" || fail "docs/man/dynrun.1 lacks --$option"
done

# Times apart, and the name of the model, and advice to give commands of the shell, the documents are equal.
fields() {
  sed -E 's/"model":"[^"]*",//; s/"notes":\[":limit [^]]*\]/"notes":[]/; s/"load_ns":[0-9]+/"load_ns":0/; s/"ns":[0-9]+/"ns":0/g; s/"share":[0-9.e+-]+/"share":0/g; s/"([a-z_]*_ns)":[0-9]+/"\1":0/g; s/"kernels":\[/&\n/; s/\],"profile_file/\n&/'
}

# Both are given the options; what differs but for fields() is a fault.
same() {
  local ours=0 theirs=0
  rm -rf results ours.results
  "$DYNREPL" run program.dynpkg "$@" --json >ours.json 2>ours.err || ours=$?
  [[ ! -d results ]] || mv results ours.results
  ./program "$@" --json >theirs.json 2>theirs.err || theirs=$?
  [[ "$ours" == "$theirs" ]] || fail "$*: exit codes $ours and $theirs"
  # Kernels stand in the order of their times.
  diff <(fields <ours.json | sed 's/},*/\n/g' | sort) <(fields <theirs.json | sed 's/},*/\n/g' | sort) || fail "$*: the JSON differs"
  # Notes are the same lines; errors have their ids in the one, not in the other.
  [[ "$ours" != 0 ]] || diff ours.err theirs.err || fail "$*: the notes differ"
  [[ ! -d ours.results ]] || diff -r ours.results results || fail "$*: the results differ"
  code=$ours
}
sizes=(--dim batch=2 --dim seq=7)
ids='--input=input_ids=[[1,2,3],[4,5,6]]'
same "${sizes[@]}" --threads 1
same "${sizes[@]}" --threads 1 --output-dir results
same "${sizes[@]}" --threads 1 --seed 7 --quiet --output-dir results
same "${sizes[@]}" --threads 1 --repeat 3 --warmup 2
same "${sizes[@]}" --threads 2 --repeat 2
same batch=2 seq=7 --threads 1
same batch=2,seq=7 --threads 1 --output-dir results
same "$ids" --input attention_mask=ones --threads 1 --output-dir results
same "${sizes[@]}" --input input_ids=random:3 --input attention_mask=zeros --threads 1 --output-dir results
same "${sizes[@]}" --threads 1 --profile trace.json
same "${sizes[@]}" --threads 1 --mem-limit 512MB --time-limit 100
[[ $code == 0 ]] || fail "the last ones did not run"
wrong() {  # EXIT OPTION...
  local wanted="$1"
  shift
  same "$@"
  [[ $code == "$wanted" ]] || fail "$*: exit code $code"
  grep -q '"error":' ours.json || fail "$*: no error"
  [[ ! -e results ]] || fail "$*: something is left"
}
wrong 1 --dim batch=2
wrong 1 "$ids" --dim seq=4
wrong 1 "${sizes[@]}" --input input_ids=@absent.npy
wrong 1 "${sizes[@]}" --input 'input_ids=[[99999999,1,1,1,1,1,1],[1,1,1,1,1,1,1]]' --threads 1
wrong 1 "${sizes[@]}" --output-dir program/results
# More than loading takes: what a process grows by is looked at too, whenever a thread gets to it.
wrong 1 --dim batch=64 --dim seq=500 --mem-limit 64MB --threads 1
wrong 2 --dim batch=two
wrong 2 --dim nonsense=2
wrong 2 nonsense=2
for words in "one another" "--nonsense"; do
  code=0
  # shellcheck disable=SC2086  # two words, two arguments
  ./program batch=2 seq=7 $words --json >theirs.json 2>theirs.err || code=$?
  [[ $code == 2 ]] && grep -q '"name":"usageError"' theirs.json && grep -qF -- "${words##* }" theirs.err || fail "$words: $code, $(cat theirs.err)"
done
wrong 1 "${sizes[@]}" --input nonsense=ones

# Ended from outside: the exit code, one document, nothing half written.
"$DYNREPL" export "$SOURCE/samples/models/lstm_loop/model.onnx" --kind exe -o loop --quiet >/dev/null
long=(--dim seq=2000 --dim batch=16 --repeat 1000000 --output-dir results --profile trace2.json --json --quiet)
for signal in INT TERM HUP; do
  ./loop "${long[@]}" >ended.json 2>ended.err &
  process=$!
  sleep 0.2
  kill -s "$signal" "$process"
  ended=0
  wait "$process" || ended=$?
  [[ $ended == 130 ]] || fail "SIG$signal: exit code $ended: $(cat ended.err)"
  grep -q '"error":{"id":"E0002"' ended.json && [[ $(wc -l <ended.json) == 1 ]] || fail "SIG$signal: $(cat ended.json)"
  [[ ! -e results && -z "$(find . -name '*tmp*' -o -name trace2.json)" ]] || fail "SIG$signal: something is left: $(ls)"
done
ended=0
./loop "${long[@]}" --time-limit 0.2 >ended.json 2>ended.err || ended=$?
[[ $ended == 124 ]] && grep -q '"id":"E0003"' ended.json || fail "--time-limit: $ended, $(cat ended.json)"
[[ ! -e results ]] || fail "--time-limit: something is left"

# What it says of its dims is what `inspect` says of the model's.
"$DYNREPL" export "$SOURCE/samples/01_any_shape/mlp.dyn" --kind exe --dim rows=8..64:8 -o bounded --json --quiet >bounded.json
./bounded --describe >described
grep -q 'rows in 8..64' described && grep -q 'rows is a multiple of 8' described || fail "facts: $(cat described)"
bound="$(grep -oE '"ram_bound_bytes":[0-9]+' bounded.json | cut -d: -f2)"
grep -q "at most $bound bytes" described || fail "RAM: $(cat described)"
./bounded --describe --json --dim rows=64 >described.json
"$DYNREPL" inspect "$SOURCE/samples/01_any_shape/mlp.dyn" --dim rows=8..64:8 --dims --json --quiet >inspected.json
dims_of() { grep -oE '"dims":\[\{[^]]*"facts":[^]]*\]' "$1"; }
[[ -n "$(dims_of described.json)" ]] || fail "no facts in the JSON: $(cat described.json)"
diff <(dims_of described.json) <(dims_of inspected.json) || fail "the facts differ"
grep -q "\"ram_bound_bytes\":$bound" described.json || fail "RAM in the JSON"
taken="$(./bounded --dim rows=64 --threads 1 --quiet --json | grep -oE '"peak_bytes":[0-9]+' | cut -d: -f2)"
./bounded --describe --json --dim rows=64 --threads 1 | grep -q "\"predicted_peak_bytes\":$taken" || fail "the memory of given sizes is not what a run takes"
echo "executable_test: ok"
