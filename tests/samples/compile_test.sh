#!/usr/bin/env bash
# compile_test.sh BUILD SOURCE: samples/14_compile and samples/17_server, in C and in C++, and samples/18_generate in C, over models of
# samples/models; libdyn.so shows the
# names of libdyn.symbols, and no other. DYN_UPDATE=1 writes that list anew.
set -euo pipefail
BUILD="${1:?usage: compile_test.sh BUILD SOURCE}" SOURCE="${2:?}"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "compile_test: $*" >&2; exit 1; }
MODEL="$SOURCE/samples/models/bert/model.onnx" SAMPLE="$SOURCE/samples/14_compile" LIB="$BUILD/lib"
export HOME="$WORK" XDG_CACHE_HOME="$WORK"

nm -D --defined-only "$LIB/libdyn.so" | awk '$2 ~ /[TDBR]/ { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort >"$WORK/symbols"
LIST="$SOURCE/tests/samples/libdyn.symbols"
if [[ ${DYN_UPDATE:-} == 1 ]]; then cp "$WORK/symbols" "$LIST"; fi
diff -u "$LIST" "$WORK/symbols" >&2 || fail "libdyn.so shows other names than tests/samples/libdyn.symbols: what is gone breaks programs"

flags=(-Wall -Wextra -Werror -I "$SOURCE/app/library/include" -I "$SOURCE/vm/include")
link=(-L "$LIB" -ldyn "-Wl,-rpath,$LIB")
cc -std=c11 "${flags[@]}" "$SAMPLE/first.c" "${link[@]}" -o "$WORK/first"
c++ -std=c++17 "${flags[@]}" "$SAMPLE/first.cpp" "${link[@]}" -o "$WORK/first_cpp"
[[ $(wc -l <"$SAMPLE/first.c") -le 40 ]] || fail "first.c has more than 40 lines"
for program in first first_cpp; do
  "$WORK/$program" "$MODEL" >"$WORK/said" || fail "$program"
  for line in '8 positions: 32 numbers each' '32 positions: 32 numbers each' '128 positions: 32 numbers each' 'seq'; do
    grep -qF "$line" "$WORK/said" || { cat "$WORK/said" >&2; fail "$program does not say: $line"; }
  done
  if "$WORK/$program" "$WORK/absent.onnx" 2>"$WORK/said"; then fail "$program takes a file that is not there"; fi
  grep -q 'absent.onnx' "$WORK/said" || fail "$program does not name the file: $(cat "$WORK/said")"
done
grep -qE 'will take [1-9][0-9]* bytes' <("$WORK/first_cpp" "$MODEL") || fail "first_cpp predicts no memory"

SERVER="$SOURCE/samples/17_server"
cc -std=c11 "${flags[@]}" "$SERVER/server.c" "${link[@]}" -o "$WORK/server"
c++ -std=c++17 "${flags[@]}" "$SERVER/server.cpp" "${link[@]}" -o "$WORK/server_cpp"
[[ $(wc -l <"$SERVER/server.c") -le 60 ]] || fail "server.c has more than 60 lines"
for program in server server_cpp; do
  "$WORK/$program" "$MODEL" >"$WORK/said" || fail "$program"
  grep -qF 'requests are joined along batch, of different seq by attention_mask' "$WORK/said" ||
    fail "$program: $(cat "$WORK/said")"
  grep -qE '^24 requests in [0-9]+ runs$' "$WORK/said" || fail "$program: $(cat "$WORK/said")"
  if "$WORK/$program" "$WORK/absent.onnx" 2>"$WORK/said"; then fail "$program takes a file that is not there"; fi
  grep -q 'absent.onnx' "$WORK/said" || fail "$program does not name the file: $(cat "$WORK/said")"
done

GENERATE="$SOURCE/samples/18_generate"
cc -std=c11 "${flags[@]}" "$GENERATE/generate.c" "${link[@]}" -o "$WORK/generate"
[[ $(wc -l <"$GENERATE/generate.c") -le 40 ]] || fail "generate.c has more than 40 lines"
GPT="$SOURCE/samples/models/gpt2/model.onnx"
"$WORK/generate" "$GPT" "$GENERATE/tokenizer.json" "Shapes are" "One" "One" >"$WORK/said" || fail "generate: $(cat "$WORK/said")"
for line in 0 1 2; do [[ $(grep -c "^$line: " "$WORK/said") == 8 ]] || fail "generate: $(cat "$WORK/said")"; done
# The last two are of equal lengths.
grep -qE '^24 tokens in (8|9|1[0-6]) steps$' "$WORK/said" || fail "generate: $(cat "$WORK/said")"
if "$WORK/generate" "$MODEL" "$GENERATE/tokenizer.json" x 2>"$WORK/said"; then fail "generate takes a model that is no decoder"; fi
grep -q 'the model is no decoder' "$WORK/said" || fail "generate does not say that it is no decoder: $(cat "$WORK/said")"

# An executable, by what lies beside the library.
if [[ -x $BUILD/bin/dynrun ]]; then
  printf 'fn @main(%%x: Tensor[(n), f32]) { %%y = mul(%%x, %%x) return %%y }\n' >"$WORK/square.dyn"
  cat >"$WORK/write.cpp" <<'CODE'
#include <dyn.hpp>
int main(int, char** arguments) { dynapi::Model(arguments[1], {{"dim", "n=1..8"}}).exportTo("exe", arguments[2]); }
CODE
  c++ -std=c++17 "${flags[@]}" "$WORK/write.cpp" "${link[@]}" -o "$WORK/write"
  "$WORK/write" "$WORK/square.dyn" "$WORK/square" || fail "no executable"
  [[ "$("$WORK/square" --input x=[3] --quiet)" == *'y: Tensor[(1), f32]'* ]] || fail "the executable"
fi
echo "compile_test: passed"
