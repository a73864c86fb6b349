#!/usr/bin/env bash
# cached_weights_test.sh BUILD SOURCE: weights in the cache whose bytes were changed give an error and no result, and the run after it is
# right; `cache` lists, verifies and clears what is there; -v says why a cache is not used.
set -euo pipefail
BUILD="${1:?usage: cached_weights_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "cached_weights_test: $*" >&2; exit 1; }
cd "$WORK"
awk 'BEGIN {
  printf "fn @main(%%x: Tensor[(n, 256), f32]) { %%w = f32[256, 256] ["
  for (i = 0; i < 256; ++i) { printf "%s[", i ? ", " : ""; for (j = 0; j < 256; ++j) printf "%s%d", j ? ", " : "", (i * 7 + j * 3) % 11; printf "]" }
  print "] %e = exp(%x) %y = matmul(%e, %w) return %y }"
}' >product.dyn
exit_of() { local code=0; "$@" >out 2>err || code=$?; echo "$code"; }
run() { "$DYNREPL" run product.dyn --dim n=2 --input x=range --cache-dir cache --output-dir "$1" "${@:2}"; }
run first --quiet >/dev/null
ls cache/*.dynweights >/dev/null 2>&1 || fail "nothing is cached: $(ls cache)"
run second >/dev/null && cmp first/y.npy second/y.npy || fail "from the cache"
"$DYNREPL" cache list --cache-dir cache | grep -qE 'weights +[1-9]' || fail "list: $("$DYNREPL" cache list --cache-dir cache)"
"$DYNREPL" cache verify --cache-dir cache | grep -q 'all files are whole' || fail "verify"
flip() { printf '\x5a' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
weights=$(ls cache/*.dynweights | head -1)
flip "$weights" 100000
[[ $(exit_of run third) == 1 ]] && grep -q 'are damaged' err || fail "damaged weights: $(cat out err)"
[[ ! -e $weights && ! -e third/y.npy ]] || fail "the damaged file or the result is still there"
run fourth >/dev/null && cmp first/y.npy fourth/y.npy || fail "after it was removed"
# The shell goes on, too.
flip "$weights" 200000
"$DYNREPL" --cache-dir cache --keep-going -e ':load product.dyn; :run --dim n=2 --input x=range; :reload; :run --dim n=2 --input x=range --output-dir fifth' >out 2>err || true
grep -q 'are damaged' err && cmp first/y.npy fifth/y.npy || fail "in the shell: $(cat out err)"
flip "$weights" 5000
flip "$(ls cache/*.dynobj | head -1)" 200
[[ $(exit_of "$DYNREPL" cache verify --cache-dir cache --json) == 1 ]] || fail "verify: $(cat out err)"
[[ $(grep -o '"damaged":\[[^]]*\]' out | grep -o dyn | wc -l) -ge 2 && ! -e $weights ]] || fail "verify --json: $(cat out)"
touch cache/tuning.json
"$DYNREPL" -e ':set cache-dir cache; :cache clear' | grep -q 'removed' || fail "clear"
left() { ls cache | grep -cE "dynobj|dynweights|dyntmp" || true; }
[[ -e cache/tuning.json && $(left) == 0 ]] || fail "after clear: $(ls cache)"
[[ $(exit_of "$DYNREPL" cache wipe) == 2 ]] || fail "cache wipe: $(cat out err)"
chmod 777 cache
run sixth -v >out 2>err; grep -q 'nothing is cached in cache: everybody may write to it' err || fail "-v: $(cat err)"
[[ $(left) == 0 ]] || fail "it was used all the same"
echo "cached_weights_test: ok"
