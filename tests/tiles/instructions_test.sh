#!/usr/bin/env bash
# The kernels for tiles are made of their instructions, nothing else has any, and only the choice of families, which asks whether
# they may be used, names these kernels. Skipped without objdump and nm.
# Usage: instructions_test.sh libdyn_vm.a
set -euo pipefail
LIBRARY="$1"
command -v objdump nm > /dev/null || exit 77
fail() { echo "$1" >&2; exit 1; }

# MEMBER INSTRUCTION COUNT
FOUND="$(objdump -d --no-show-raw-insn "$LIBRARY" |
  awk '/file format/ { sub(/:.*/, ""); member = $0 }
       $2 ~ /^(ldtilecfg|sttilecfg|tile[a-z0-9]+|tdp[a-z0-9]+)$/ { ++count[member " " $2] }
       END { for (key in count) print key, count[key] }' | sort)"
for row in "bf16_kernel_amx.cpp.o tdpbf16ps" "byte_kernel_amx.cpp.o tdpbusd"; do
  read -r member product <<< "$row"
  for instruction in ldtilecfg tileloadd tilestored tilerelease "$product"; do
    grep -q "^$member $instruction " <<< "$FOUND" || fail "$member has no $instruction:"$'\n'"$FOUND"
  done
done
OTHERS="$(grep -vE '^(bf16|byte)_kernel_amx\.cpp\.o ' <<< "$FOUND" || true)"
[[ -z "$OTHERS" ]] || fail "instructions of tiles outside of their kernels:"$'\n'"$OTHERS"

# Their only entry is the family, which only the choice reads; no function of theirs is another file's.
USERS="$(nm -A "$LIBRARY" 2> /dev/null | awk -F: '/ U .*(bf16FamilyAmx|byteGemmAmx)/ { print $2 }' | sort -u | tr '\n' ' ')"
[[ "$USERS" == "bf16_gemm.cpp.o byte_gemm_family.cpp.o " ]] || fail "kernels of tiles are named by: $USERS"
SHARED="$(nm -A "$LIBRARY" 2> /dev/null | grep -E '(bf16|byte)_kernel_amx\.cpp\.o:' | grep -E ' [TW] ' || true)"
[[ -z "$SHARED" ]] || fail "functions that others could be given:"$'\n'"$SHARED"
