#!/usr/bin/env bash
# seeds_test.sh DYNREPL SOURCE: eight orders of lanes, warps, blocks and commands (DYN_SIMCUDA_SEED) give the same bits as the plain one. A share
# of the models in each run, others every day (DYN_TEST_SEED says which); all with DYN_TEST_ALL.
set -euo pipefail
DYNREPL="${1:?usage: seeds_test.sh DYNREPL SOURCE}" SOURCE="${2:?}"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
# Small sizes: each model runs nine times.
rows() {
  cat <<'TABLE'
bert --dim batch=2 --dim seq=5
lstm_loop --dim seq=3 --dim batch=2
early_exit --dim seq=4
gpt2 --dim batch=1 --dim seq=2 --dim past=3
switch --dim tokens=5
lstm --dim seq=3 --dim batch=2
ssd --dim h=32 --dim w=32
TABLE
}
seed="${DYN_TEST_SEED:-$(($(date +%s) / 86400))}" number=0 compared=0
count="$(rows | wc -l)"
while read -r model dims; do
  number=$((number + 1))
  if [[ ${DYN_TEST_ALL:-0} == 0 && $(((number + seed) % count)) -gt 1 ]]; then continue; fi
  for order in 0 1 2 3 4 5 6 7 8; do
    # shellcheck disable=SC2086  # words
    DYN_SIMCUDA_SEED=$order "$DYNREPL" --cache-dir "$WORK/cache" --device simcuda run "$SOURCE/samples/models/$model/model.onnx" $dims --quiet \
      --output-dir "$WORK/$model.$order" >/dev/null || { echo "seeds_test: $model with seed $order does not run" >&2; exit 1; }
    diff -rq "$WORK/$model.0" "$WORK/$model.$order" || { echo "seeds_test: $model gives other bits in the order $order" >&2; exit 1; }
  done
  echo "$model: 8 orders, equal bits"
  compared=$((compared + 1))
done < <(rows)
[[ $compared -gt 0 ]] || { echo "seeds_test: no model was compared" >&2; exit 1; }
echo "seeds_test: ok (DYN_TEST_SEED=$seed)"
