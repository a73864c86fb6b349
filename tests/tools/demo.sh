#!/usr/bin/env bash
# The demo: a BERT whose batch and sequence lengths are unknown, run for three shapes from one compilation. $1: folder of the programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
BIN="${1:?usage: demo.sh BIN_FOLDER}"
MODEL=samples/models/bert/model.onnx
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. A small BERT, exported by PyTorch, with two unknown dims"
"$BIN/dynrepl" -e ":load $MODEL; :dims batch; :dims seq"

say "2. What the compiler did (a pass that changed nothing is only counted)"
"$BIN/dynrepl" -e ":load $MODEL; :passes" | awk '
  / pass  / { print; listed = 1; next }
  !listed || !/^[> ] [0-9]+ / { next }
  / changed / { print; next }
  { idle++ }
  END { printf "  %d more passes found nothing to change\n", idle }'

say "3. Six recorded cases of other shapes, from one artefact, against the outputs recorded with onnxruntime"
"$BIN/dynrepl" verify samples/models/bert --rtol 1e-4 --atol 1e-5

say "4. Three shapes, no recompilation: latency"
CASES="$(mktemp)"
trap 'rm -f "$CASES"' EXIT
printf '{"dims":{"batch":1,"seq":7}}\n{"dims":{"batch":3,"seq":59}}\n{"dims":{"batch":8,"seq":128}}\n' > "$CASES"
header=yes
for dims in "batch=1 seq=7" "batch=3 seq=59" "batch=8 seq=128"; do
  # shellcheck disable=SC2086  # two words, two options
  "$BIN/dynrepl" bench "$MODEL" $(printf -- '--dim %s ' $dims) --seconds 0.5 2>/dev/null | { [ -n "$header" ] && cat || tail -n 1; }
  header=
done
"$BIN/dynrepl" run "$MODEL" --cases "$CASES" --json 2>/dev/null | grep -o '"kernels_compiled_after_load_count":[0-9]*' | sort | uniq -c |
  sed 's/^ *\([0-9]*\) "kernels_compiled_after_load_count":\(.*\)/kernels compiled after load: \2/'

say "5. Where the time goes (batch 3, seq 59, 50 runs)"
"$BIN/dynrepl" -e ":load $MODEL; :profile --dim batch=3 --dim seq=59 --repeat 50" 2>/dev/null | sed -n '/^50 runs/,$p' | cut -c1-118 | head -14

say "Next"
echo "  the shell:   ./dev run $MODEL       then  :help"
echo "  the window:  ./dev studio $MODEL"
echo "  the lessons: samples/README.md"
