#!/usr/bin/env bash
# linked_rows_test.sh BUILD SOURCE: an export holds the hand-written kernels that its program calls, and no others; a program that calls what is not there is not linked.
set -euo pipefail
BUILD="${1:?usage: linked_rows_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "linked_rows_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"
symbols() { nm -C --defined-only "$1" 2>/dev/null | cut -c18- >symbols; }
rows() { sed -n 's/^. dyn_row_//p' symbols | sort | tr '\n' ' '; }

# The runtime that libraries are made of has all rows; each is one that programs can name.
symbols "$BUILD/lib/dynmodel.o"
all="$(sed -n -E 's/^DYN_CALL\((\w+),.*/\1/p' "$SOURCE/vm/shared/dyn_builtin_calls.def" | sort | tr '\n' ' ')"
[[ "$(rows)" == "$all" ]] || fail "dynmodel.o has the rows $(rows)"
families='kernels::(gemm|attention|conv|pool|resize|dft|sort|nonzero|stringSplit|regexFullMatch|tfidf|bytegemm|nbitsgemm|scatterNd)\('
[[ $(grep -cE "$families" symbols) -ge 14 ]] || fail "dynmodel.o has not the functions that this test looks for"

cat >relu.dyn <<<'fn @main(%x: Tensor[(n, 4), f32]) { %y = relu(%x) return %y }'
cat >spectrum.dyn <<<'fn @main(%x: Tensor[(n, 16, 1), f32]) { %a = constant() {value = i64[] 1} %n = constant() {value = i64[] 16} %y = dft(%x, %n, %a) return %y }'
cat >text.dyn <<<'fn @main(%x: Tensor[(n), string]) { %y = regex_full_match(%x) {pattern = "a+b"} return %y }'
"$DYNREPL" export relu.dyn --kind static -o relu --quiet >/dev/null
symbols librelu.a
[[ -z "$(rows)" ]] || fail "an elementwise model has the rows $(rows)"
grep -qE "$families" symbols && fail "an elementwise model has $(grep -m 3 -E "$families" symbols)"
"$DYNREPL" export spectrum.dyn --kind static -o spectrum --quiet >/dev/null
symbols libspectrum.a
[[ "$(rows)" == "Dft " ]] || fail "a spectrum has the rows $(rows)"
[[ "$(grep -oE "$families" symbols | sort -u)" == 'kernels::dft(' ]] || fail "a spectrum has $(grep -oE "$families" symbols | sort -u)"
"$DYNREPL" export "$SOURCE/samples/models/bert/model.onnx" --kind static -o bert --quiet >/dev/null
symbols libbert.a
[[ "$(rows)" == *"Attention "*"Gemm "* ]] || fail "BERT has the rows $(rows)"
others="$(grep -oE "$families" symbols | sort -u | grep -vE 'gemm|attention' || true)"
[[ -z "$others" ]] || fail "BERT has $others, which it does not call"

# Executables have no names left; each row tells its meaning.
declare -A meaning=([gemm]='C\[batch..., M, N\] from a' [attention]='Z = P v, where P is' [regex]='the whole element matches' [dft]='Y \[..., bins' [sort]='sorted along the axis. Stable')
for case in "relu.dyn:" "text.dyn:regex" "$SOURCE/samples/models/bert/model.onnx:gemm attention"; do
  "$DYNREPL" export "${case%:*}" --kind exe -o program --quiet >/dev/null
  for row in "${!meaning[@]}"; do
    expected=0 found=0
    [[ " ${case##*:} " == *" $row "* ]] && expected=1
    grep -qa "${meaning[$row]}" program && found=1
    [[ $found == "$expected" ]] || fail "the executable of ${case%:*}: $row is there: $found"
    grep -qa "${meaning[$row]}" "$BUILD/bin/dynrun" || fail "dynrun does not have the meaning of $row that this test looks for"
  done
  [[ $case != text* ]] || { ./program --input 'x=["aab","b"]' --json --quiet >out && grep -q '"runs_ns"\|"runs"' out || fail "the text program: $(cat out)"; }
done

# A runtime without a row that the program calls: the linker says so, and nothing is written.
mkdir -p part/bin part/lib
cp "$DYNREPL" part/bin/dynrepl
objcopy --redefine-sym dyn_row_Gemm=dyn_row_Gone "$BUILD/lib/dynrun.o" part/lib/dynrun.o
code=0
./part/bin/dynrepl export "$SOURCE/samples/models/bert/model.onnx" --kind exe -o none --quiet >out 2>err || code=$?
[[ $code != 0 && ! -e none ]] || fail "a program without a row that it calls was linked: $(cat out err)"
echo "linked_rows_test: ok"
