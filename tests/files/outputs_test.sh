#!/usr/bin/env bash
# outputs_test.sh BUILD SOURCE: every option of every batch command that names an output refuses (exit 2) to write over what the command
# reads, under its name, by a symbolic link and by a hard link, and the input is as it was.
set -euo pipefail
BUILD="${1:?usage: outputs_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "outputs_test: $*" >&2; exit 1; }
export XDG_CACHE_HOME="$WORK/cache"
cd "$WORK"
cp "$SOURCE/samples/models/anomaly/model.onnx" model.onnx
printf 'fn @main(%%x: Tensor[(n), f32]) { %%y = mul(%%x, %%x) return %%y }\n' >square.dyn
"$DYNREPL" run square.dyn --input x=[1,2] --output-dir . --quiet >/dev/null  # y.npy
"$DYNREPL" compile square.dyn -o square.dynpkg --quiet >/dev/null
printf '{"inputs": {"x": "@y.npy"}, "output_dir": "."}\n' >cases.jsonl
count=0
exit_of() { local code=0; "$@" >out 2>err || code=$?; echo "$code"; }
# kept FILE COMMAND...: @OUT in the command stands for FILE and links to it.
kept() {
  local file="$1" name sum
  shift
  sum=$(sha256sum <"$file")
  rm -f symbolic hard
  ln -s "$file" symbolic
  ln "$file" hard
  for name in "$file" symbolic hard "./$file"; do
    [[ $(exit_of "${@//@OUT/$name}") == 2 ]] || fail "${*//@OUT/$name} does not end with 2: $(cat out err)"
    grep -qE 'not overwritten|does not end with .onnx|does not end with .html|does not end with .svg|does not write' err || fail "${*//@OUT/$name} says: $(cat err)"
    [[ $(sha256sum <"$file") == "$sum" && -L symbolic ]] || fail "${*//@OUT/$name} changed $file"
    count=$((count + 1))
  done
}
declare -A rows=(
  ["run --output-dir"]="run square.dyn --input x=@y.npy --output-dir ."
  ["run --profile"]="run square.dyn --dim n=2 --profile @OUT"
  ["compile -o"]="compile square.dyn -o @OUT"
  ["export -o"]="export square.dyn --kind exe -o @OUT"
  ["save -o"]="save model.onnx -o @OUT"
  ["bench -o"]="bench square.dyn --dim n=2 --seconds 0.01 -o @OUT"
  ["latency -o"]="latency square.dyn --dim n=1..16 --seconds 0.01 -o @OUT"
  ["serve-bench --plot"]="serve-bench square.dyn --dim n=2 --rate 50 --seconds 0.02 --plot @OUT"
  ["infer -o"]="infer model.onnx -o @OUT"
  ["generalise -o"]="generalise model.onnx --at input.0=n -o @OUT"
  ["extract -o"]="extract model.onnx -o @OUT"
  ["quantise -o"]="quantise model.onnx --weights int8 -o @OUT"
  ["report -o"]="report square.dyn --no-run -o @OUT"
  ["bisect -o"]="bisect square.dyn --dim n=2 -o @OUT"
  ["tune -o"]="tune square.dyn --dim n=2 -o @OUT"
)
# The walk: a command that gets an output has a row here.
for command in $("$DYNREPL" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'); do
  for option in $("$DYNREPL" "$command" --help | grep -oE '^ +(-o|--output[a-z-]*|--profile|--plot)' | tr -d ' ' || true); do
    row="${rows["$command $option"]:-}"
    [[ -n $row ]] || fail "$command $option has no row in this test"
    file=square.dyn
    case $command in save | infer | generalise | extract | quantise) file=model.onnx ;; esac
    [[ $option == --output-dir ]] && file=y.npy
    # shellcheck disable=SC2086  # words
    kept "$file" "$DYNREPL" $row
    unset "rows[$command $option]"
  done
done
[[ ${#rows[@]} == 0 ]] || fail "no such options: ${!rows[*]}"
# Other inputs than the model, and files whose names follow from an argument.
kept y.npy "$DYNREPL" run square.dyn --input x=@y.npy --profile @OUT
kept y.npy "$DYNREPL" run square.dyn --cases cases.jsonl
kept square.dynpkg "$DYNREPL" run square.dynpkg --dim n=2 --profile @OUT
for kind in exe static shared package; do kept square.dyn "$DYNREPL" export square.dyn --kind $kind -o @OUT; done
echo ':load square.dyn
:compile -o script.dyns' >script.dyns
kept script.dyns "$DYNREPL" script script.dyns
kept script.dyns "$DYNREPL" -e ':source script.dyns'
"$DYNREPL" export square.dyn --kind exe -o program --quiet >/dev/null
kept program ./program --dim n=2 --profile @OUT
kept y.npy ./program --input x=@y.npy --output-dir .
kept y.npy ./program --input x=@y.npy --profile @OUT
if [[ -x $BUILD/bin/dynstudio ]]; then
  export QT_QPA_PLATFORM=offscreen
  kept square.dyn "$BUILD/bin/dynstudio" --headless --state @OUT square.dyn
fi
# Packages are not called as models of another kind.
for name in new.onnx new.dyn; do
  [[ $(exit_of "$DYNREPL" compile square.dyn -o $name) == 2 && ! -e $name ]] || fail "compile -o $name: $(cat out err)"
done
"$DYNREPL" compile square.dyn -o deep/er/noext --quiet >/dev/null && "$DYNREPL" run deep/er/noext --dim n=2 --quiet >/dev/null || fail "noext"
"$DYNREPL" compile square.dyn 2>&1 >/dev/null | grep -q 'nothing is written' || fail "compile without -o says nothing"

echo "outputs_test: $count refused"
