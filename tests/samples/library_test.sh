#!/usr/bin/env bash
# library_test.sh BUILD SOURCE: exported libraries, static and shared, alone and two in one program, give every bit of what
# dynrepl run gives; the sample projects build against them; what cannot be says so and leaves nothing behind.
set -euo pipefail
BUILD="${1:?usage: library_test.sh BUILD SOURCE}" SOURCE="${2:?}"
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "library_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"
code_of() { local code=0; "$@" >out 2>err || code=$?; echo "$code"; }
export_as() {  # KIND FOLDER
  mkdir -p "$2"
  for name in bert ssd; do
    "$DYNREPL" export "$SOURCE/samples/models/$name/model.onnx" --kind "$1" --interpret -o "$2/$name" --json --quiet >"$2/$name.json" \
      || fail "--kind $1 of $name"
    for file in $(grep -oE '"path":"[^"]*"' "$2/$name.json" | cut -d'"' -f4); do
      grep -q "\"path\":\"$file\",\"bytes\":$(stat -c %s "$file")}" "$2/$name.json" || fail "$file: its size is not in the JSON"
    done
    grep -q "\"entry_points\":\\[\"${name}_create\"" "$2/$name.json" || fail "$name: the entry points are not in the JSON"
  done
}
export_as static static
export_as shared shared
# The same input gives the same bytes.
cp -r static first && export_as static static && diff -r first static || fail "a second export differs"

# Nothing of the runtime is seen.
for library in static/libbert.a shared/libbert.so; do
  option=$([[ $library == *.so ]] && echo -D || echo -g)
  [[ -z "$(nm $option --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $3 }' | grep -v '^bert_' || true)" ]] || fail "$library shows other names"
done

# Two models in one program, of either kind, and one of each.
npy_bytes() { tail -c +$((11 + $(od -An -t u2 -j 8 -N 2 "$1" | tr -d ' '))) "$1"; }
dim_of() { grep -oE "\"$2\":[0-9]+" "$1" | head -1 | cut -d: -f2; }
bert_set="$SOURCE/samples/models/bert/test_data_set_1" ssd_set="$SOURCE/samples/models/ssd/test_data_set_1"
"$DYNREPL" run "$SOURCE/samples/models/bert/model.onnx" --input "input_ids=@$bert_set/input_0.pb" --input "attention_mask=@$bert_set/input_1.pb" \
  --output-dir ours --threads 1 --quiet --json >bert_run.json
"$DYNREPL" run "$SOURCE/samples/models/ssd/model.onnx" --input "image=@$ssd_set/input_0.pb" --output-dir ours --threads 1 --quiet --json >ssd_run.json
batch=$(dim_of bert_run.json batch) seq=$(dim_of bert_run.json seq) h=$(dim_of ssd_run.json h) w=$(dim_of ssd_run.json w)
# The elements stand at the end of the files.
tail -c $((8 * batch * seq)) "$bert_set/input_0.pb" >input_ids.bin
tail -c $((8 * batch * seq)) "$bert_set/input_1.pb" >attention_mask.bin
tail -c $((12 * h * w)) "$ssd_set/input_0.pb" >image.bin
cc -std=c11 -Wall -Wextra -Werror "$HERE/two_models.c" -Istatic -o both_static static/libbert.a static/libssd.a -lm -pthread
cc -std=c11 "$HERE/two_models.c" -Ishared -o both_shared -Lshared -lbert -lssd "-Wl,-rpath,$WORK/shared"
cc -std=c11 "$HERE/two_models.c" -Istatic -o mixed static/libbert.a -Lshared -lssd "-Wl,-rpath,$WORK/shared" -lm -pthread
# C++, which brings a C++ library of its own; and a program without shared libraries.
command -v c++ >/dev/null && c++ -x c++ - -x none -std=c++17 -Istatic -o cpp static/libbert.a static/libssd.a <<<'#include <bert.h>
#include <ssd.h>
#include <iostream>
#include <stdexcept>
int main() { bert_model* m; try { if (bert_create(nullptr, &m)) throw std::runtime_error(bert_last_error()); throw 1; } catch (int) { std::cout << "ok\n"; } bert_release(m); }'
[[ ! -e cpp || "$(./cpp)" == ok ]] || fail "the C++ program"
programs="both_static both_shared mixed"
if cc -static -std=c11 "$HERE/two_models.c" -Istatic -o alone static/libbert.a static/libssd.a -lm -pthread 2>log; then programs+=" alone"; fi
for program in $programs; do
  rm -f ./*.out
  "./$program" $batch $seq $h $w || fail "$program"
  for output in last_hidden_state boxes scores classes; do
    npy_bytes "ours/$output.npy" | cmp - "$output.out" || fail "$program: $output is not what dynrepl run gives"
  done
done
[[ -s scores.out ]] || fail "no box was found: the test says nothing"

# The sample projects, each from its own sources only.
command -v pkg-config >/dev/null && {
  cp -r "$SOURCE/samples/10_library" make_sample
  make -s -C make_sample PREFIX="$WORK/static"
  ./make_sample/bert 2 5 >numbers
  [[ $(wc -l <numbers) == 321 && "$(head -1 numbers)" == *"within 1 MiB: seq up to"* ]] || fail "samples/10_library: $(head -3 numbers)"
  ./make_sample/lists >rows
  [[ $(wc -l <rows) == 7 && "$(tail -1 rows)" == "text 2, word 1: "* ]] || fail "samples/10_library/lists: $(head -3 rows)"
}
for kind in static shared; do
  cp -r "$SOURCE/samples/11_library_cmake" "cmake_$kind"
  { cmake -S "cmake_$kind" -B "built_$kind" -Dssd_DIR="$WORK/$kind" && cmake --build "built_$kind"; } >log 2>&1 || { cat log >&2; fail "samples/11_library_cmake"; }
  ./built_$kind/detector 64 48 >"boxes_$kind"
  grep -qE '^[0-9]+ boxes$' "boxes_$kind" || fail "the detector says: $(cat "boxes_$kind")"
done
cmp boxes_static boxes_shared || fail "the detector, static and shared, differ"

# A bound on memory where each dim has one: the most that any allowed size needs.
mkdir bounded
"$DYNREPL" export "$SOURCE/samples/models/bert/model.onnx" --kind static --dim batch=1..2 --dim seq=1..24 -o bounded/bert --json --quiet >bounded/json
bound="$(grep -oE '"ram_bound_bytes":[0-9]+' bounded/json | cut -d: -f2)"
grep -q "define BERT_RAM_BOUND_BYTES $bound\$" bounded/bert.h || fail "the bound $bound is not in the header"
cc -std=c11 -x c - -x none -Ibounded -o most bounded/libbert.a -lm -pthread <<<'#include <bert.h>
#include <stdio.h>
int main(void) {
  bert_model* model;
  uint64_t most = 0, bytes = 0;
  if (bert_create(NULL, &model)) return 1;
  for (int64_t batch = 1; batch <= 2; batch++)
    for (int64_t seq = 1; seq <= 24; seq++) {
      if (bert_peak_bytes(model, &(bert_dims){batch, seq}, &bytes)) return 2;
      if (bytes > most) most = bytes;
    }
  if (bert_peak_bytes(model, &(bert_dims){2, 25}, &bytes) != BERT_BAD_INPUT) return 3;
  printf("%llu\n", (unsigned long long)most);
  bert_release(model);
}'
[[ "$(./most)" == "$bound" ]] || fail "the bound is $bound, the most $(./most)"

# Names: of files and of C.
"$DYNREPL" export "$SOURCE/samples/models/bert/model.onnx" --kind static --interpret -o 'names/lib2-int.a' --quiet >out 2>err || fail "a folder that is made: $(cat err)"
cat >odd.dyn <<<'fn @main(%int: Tensor[(class), f32], %x: Tensor[(class, 2), f32]) { %y = mul(%int, %int) return %y }'
if "$DYNREPL" export odd.dyn --kind static --interpret -o names/odd --quiet >out 2>err; then
  for header in names/*.h; do echo "#include \"$header\"" | cc -std=c11 -Wall -Wextra -Werror -I. -fsyntax-only -x c - || fail "$header"; done
else
  fail "odd names: $(cat err)"
fi

# What cannot be says so, and leaves nothing behind.
model="$SOURCE/samples/models/bert/model.onnx"
[[ $(code_of "$DYNREPL" export "$model" --kind static --interpret -o out/bert --quiet) == 1 && -f out ]] && grep -q "Not a directory" err || fail "a folder that cannot be made: $(cat err)"
mkdir tools none && [[ $(code_of env PATH="$WORK/tools" "$DYNREPL" export "$model" --kind shared --interpret -o none/bert --quiet) == 4 ]] || fail "no linker: $(cat err)"
grep -q 'unsupported.*ld.bfd' err || fail "no linker: $(cat err)"
[[ -z "$(ls -A none)" ]] || fail "something is left: $(ls none)"
[[ $(code_of "$DYNREPL" export "$model" --kind static --interpret --no-heap -o none/bert --quiet) == 4 ]] || fail "--no-heap: $(cat err)"
[[ -z "$(ls -A none)" ]] || fail "something is left: $(ls none)"
echo "library_test: ok"
