#!/usr/bin/env bash
# signatures_test.sh BUILD SOURCE: a package that is signed is taken by its key, and no other one is. Without native code the package's machine code never runs. Skipped without openssl or libsodium.
set -euo pipefail
BUILD="${1:?usage: signatures_test.sh BUILD SOURCE}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "signatures_test: $*" >&2; exit 1; }
export XDG_CACHE_HOME="$WORK/cache"
cd "$WORK"
command -v openssl >/dev/null || { echo "skipped: no openssl"; exit 77; }
exit_of() { local code=0; "$@" >out 2>err || code=$?; echo "$code"; }
for name in key other; do openssl genpkey -algorithm ed25519 -out $name.pem 2>/dev/null && openssl pkey -in $name.pem -pubout -out $name.pub; done
printf 'fn @main(%%x: Tensor[(n), f32]) { %%y = mul(%%x, %%x) %%z = add(%%y, %%x) return %%z }\n' >square.dyn
printf 'fn @main(%%x: Tensor[(n, 4), f32]) { %%w = f32[4, 2] [[1, 2], [3, 4], [5, 6], [7, 8]] %%y = matmul(%%x, %%w) return %%y }\n' >product.dyn
if [[ $(exit_of "$DYNREPL" compile square.dyn -o signed.dynpkg --sign key.pem) == 4 ]]; then
  grep -q 'unsupported: .*libsodium' err || fail "without libsodium: $(cat err)"
  echo "skipped: $(cat err)"
  exit 77
fi
"$DYNREPL" compile square.dyn -o plain.dynpkg --quiet >/dev/null
refused() {  # WORDS PACKAGE KEY: exit 1, saying these words
  [[ $(exit_of "$DYNREPL" run "$2" --dim n=3 --verify-key "$3") == 1 ]] || fail "$2 by $3: $(cat out err)"
  grep -q "$1" err || fail "$2 by $3 says: $(cat err)"
}
"$DYNREPL" run signed.dynpkg --dim n=3 --verify-key key.pub --quiet >/dev/null || fail "the key that signed it"
"$DYNREPL" run signed.dynpkg --dim n=3 --quiet >/dev/null || fail "a signed package without a key"
refused 'is not signed' plain.dynpkg key.pub
refused 'signed by another key' signed.dynpkg other.pub
refused 'no public key' signed.dynpkg key.pem
[[ $(exit_of "$DYNREPL" compile square.dyn -o x.dynpkg --sign key.pub) == 1 ]] && grep -q 'no secret key' err || fail "--sign key.pub: $(cat err)"
[[ $(exit_of "$DYNREPL" compile square.dyn --sign key.pem) == 2 ]] || fail "--sign without -o: $(cat err)"
[[ $(exit_of "$DYNREPL" export square.dyn --kind exe -o x --sign key.pem) == 2 ]] || fail "--sign of a program: $(cat err)"
"$DYNREPL" compile square.dyn -o again.dynpkg --sign key.pem --quiet >/dev/null && cmp signed.dynpkg again.dynpkg || fail "signed twice, and not the same"
"$DYNREPL" export square.dyn --kind package -o exported.dynpkg --sign key.pem --quiet >/dev/null
"$DYNREPL" run exported.dynpkg --dim n=3 --verify-key key.pub --quiet >/dev/null || fail "an exported package"

# Without native code.
[[ $(exit_of "$DYNREPL" run plain.dynpkg --dim n=3 --no-native) == 4 ]] && grep -q 'machine code alone' err || fail "--no-native: $(cat out err)"
"$DYNREPL" compile product.dyn -o product.dynpkg --quiet >/dev/null
if "$DYNREPL" inspect product.dynpkg --json | grep -q '"kernels":\[\]'; then
  "$DYNREPL" run product.dynpkg --dim n=1 --input x=ones --no-native --quiet | grep -q '16' || fail "a package without kernels"
fi
"$DYNREPL" run square.dyn --dim n=3 --no-native --quiet >/dev/null || fail "--no-native is of packages"
echo "signatures_test: ok"
