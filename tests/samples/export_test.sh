#!/usr/bin/env bash
# export_test.sh BUILD SOURCE: exported executables, alone in an empty folder, give every bit of what dynrepl run
# gives of the model and of its package.
set -euo pipefail
BUILD="${1:?usage: export_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "export_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"

code_of() { local code=0; "$@" >out 2>err || code=$?; echo "$code"; }

for row in "bert input_ids attention_mask" "ssd image"; do
  read -r name inputs <<<"$row"
  model="$SOURCE/samples/models/$name/model.onnx"
  "$DYNREPL" export "$model" --kind exe --interpret -o "$name.interpreted" --quiet >/dev/null
  "$DYNREPL" export "$model" --kind exe -o "$name" --json --quiet >"$name.json"
  "$DYNREPL" compile "$model" -o "$name.dynpkg" --quiet >/dev/null
  grep -q '"ram_bound_bytes":null' "$name.json" || fail "$name: no bound was given"
  grep -q "\"bytes\":$(stat -c %s "$name")}" "$name.json" || fail "$name: its size is not in the JSON"
  [[ -z "$(ldd "$name" | grep -vE 'vdso|ld-linux|libc\.so|libm\.so' || true)" ]] || fail "$name needs more than the system's libraries"
  for set in "$SOURCE/samples/models/$name"/test_data_set_*; do
    options=() at=0
    # The inputs stand in the order of the model's.
    for input in $("$DYNREPL" inspect "$model" --json --quiet | tr '{' '\n' | sed -n '/"inputs"/,/"outputs"/p' | grep -oE '^"name":"[^"]*"' | cut -d'"' -f4); do
      options+=(--input "$input=@$set/input_$at.pb")
      at=$((at + 1))
    done
    (( at > 0 )) || fail "$name: no inputs"
    rm -rf alone ours packed
    mkdir alone && cp "$name" alone/program
    "$DYNREPL" run "$model" "${options[@]}" --output-dir ours --threads 1 --quiet >/dev/null
    "$DYNREPL" run "$name.dynpkg" "${options[@]}" --output-dir packed --threads 1 --quiet >/dev/null
    (cd alone && env -i ./program "${options[@]}" --output-dir theirs --threads 1 --json --quiet >run.json)
    diff -r packed alone/theirs || fail "$name: results of $set differ from those of the package"
    "./$name.interpreted" "${options[@]}" --output-dir alone/interpreted --threads 1 --json --quiet >interpreted.json
    diff -r alone/interpreted alone/theirs || fail "$name: results of $set differ from those of the interpreted program"
    diff -r ours alone/theirs || fail "$name: results of $set differ from those of the model"
    for field in dims outputs load_ns compile_ns kernels_compiled_after_load_count runs peak_bytes predicted_peak_bytes allocations_count; do
      grep -q "\"$field\":" alone/run.json || fail "$name: the JSON has no $field"
    done
  done
done

# What it says of itself, and how it fails.
./bert --describe | grep -q 'input   input_ids' || fail "--describe"
./bert --help | grep -q -- --mem-limit || fail "--help"
./bert --version | grep -q dynrun || fail "--version"
[[ $(code_of ./bert --dim batch=1) == 1 ]] || fail "a dim is missing: $(cat err)"
[[ $(code_of ./bert --nonsense) == 2 ]] || fail "an unknown option"
[[ $(code_of ./bert --dim batch=1 --dim seq=64 --mem-limit 1KB --json) == 1 ]] || fail "the limit: $(cat err)"
grep -q '"error":' out || fail "the error is not in the JSON"
./bert --dim batch=2 --dim seq=5 --profile trace.json --repeat 3 --warmup 1 --quiet >/dev/null && grep -q traceEvents trace.json || fail "--profile"

# A damaged one is refused, by name.
head -c $(($(stat -c %s bert) - 5000)) bert >cut && chmod +x cut
[[ $(code_of ./cut --dim batch=1 --dim seq=4) == 1 ]] || fail "a truncated executable ran"
cp bert flipped && printf '\377' | dd of=flipped bs=1 seek=$(($(stat -c %s bert) - 5000)) conv=notrunc status=none
[[ $(code_of ./flipped --dim batch=1 --dim seq=4) == 1 ]] || fail "a damaged executable ran"
[[ $(code_of "$BUILD/bin/dynrun" --describe) == 1 ]] || fail "dynrun without a model"
# The runner by itself takes a package; what holds a model takes none.
"$BUILD/bin/dynrun" bert.dynpkg --dim batch=2 --dim seq=5 --seed 3 --output-dir by_runner --quiet >/dev/null || fail "dynrun with a package"
./bert --dim batch=2 --dim seq=5 --seed 3 --output-dir by_program --quiet >/dev/null && diff -r by_runner by_program || fail "dynrun gives other results"
[[ $(code_of ./bert bert.dynpkg --dim batch=2 --dim seq=5) == 2 ]] || fail "an executable took a package: $(cat err)"
[[ $(code_of "$BUILD/bin/dynrun" none.dynpkg --dim batch=2 --dim seq=5) == 1 ]] || fail "dynrun with a file that is not there: $(cat err)"

# What is not there says so, and leaves nothing behind.
model="$SOURCE/samples/models/bert/model.onnx"
for options in "static --static-link" "exe --no-heap" "static --no-heap" "static --board mps2-an386" \
    "exe --target riscv64" "static --target riscv64" "static --target cortex-m4" "static --no-heap --dim batch=1..2 --dim seq=1..4 --target x86-64-multi"; do
  # shellcheck disable=SC2086  # words
  [[ $(code_of "$DYNREPL" export "$model" --quiet -o none --kind $options) == 4 ]] || fail "--kind $options: $(cat out err)"
  grep -q unsupported err || fail "--kind $options says: $(cat err)"
done
# Executables and libraries for ARM want the cross-built runtime, and say how to make it (with one: tests/arm).
mkdir -p alone/bin && cp "$DYNREPL" alone/bin/dynrepl
for kind in exe static shared; do
  [[ $(code_of alone/bin/dynrepl export "$model" --quiet -o none --kind $kind --target cortex-a72) == 4 ]] || fail "$kind for cortex-a72: $(cat out err)"
  grep -q unsupported err && grep -q 'dev build --target aarch64' err || fail "$kind for cortex-a72 says: $(cat err)"
done
[[ $(code_of "$DYNREPL" export "$model" -o none --kind nonsense) == 2 ]] || fail "an unknown kind: $(cat err)"
[[ $(code_of "$DYNREPL" export "$model" -o err/none --kind exe --quiet) == 1 ]] || fail "a folder that cannot be made: $(cat err)"
[[ ! -e none && -z "$(ls | grep tmp || true)" ]] || fail "something is left: $(ls)"

# A package, by the same command.
"$DYNREPL" export "$model" --kind package -o bert.dynpkg --quiet >/dev/null
"$DYNREPL" run bert.dynpkg --dim batch=1 --dim seq=4 --quiet >/dev/null || fail "the package"

# The same model gives the same bytes from every folder, and nothing says where it lay.
mkdir -p one one/more/folders
cp "$SOURCE/samples/models/early_exit/model.onnx" one/model.onnx
cp "$SOURCE/samples/models/early_exit/model.onnx" one/more/folders/model.onnx
for row in "package:" "exe:" "static:" "shared:" "static:--no-heap --dim seq=1..8" "image:--dim seq=3"; do
  kind="${row%%:*}"
  read -ra options <<<"${row#*:} --quiet"
  for folder in one one/more/folders; do
    mkdir "made" && "$DYNREPL" export "$PWD/$folder/model.onnx" --kind "$kind" "${options[@]}" -o made/model >/dev/null || fail "--kind $row"
    ! grep -rqa "$PWD" made || fail "--kind $row tells the folder of the model"
    rm -rf "made.$(basename "$folder")" && mv made "made.$(basename "$folder")"
  done
  diff -r made.one made.folders || fail "--kind $row: the bytes depend on the folder"
done
echo "export_test: ok"
