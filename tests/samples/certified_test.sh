#!/usr/bin/env bash
# certified_test.sh BUILD SOURCE: samples whose packages carry a certificate with nothing open.
set -euo pipefail
dynrepl="$1/bin/dynrepl" samples="$2/samples"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
failed=0
for model in 01_any_shape/mlp.dyn 02_loop/power.dyn 03_tree/{sentences,sum}.dyn 12_ragged/encoder.dyn \
  18_many/{detector,early_exit,experts,greedy,gru,lstm,mv_rnn,nested_rnn,tree_lstm}.dyn \
  models/{anomaly,bert,bert_new,dagrnn,early_exit,encoder,espcn,gpt2,gru,keyword,lstm,lstm_list}/model.onnx \
  models/{lstm_loop,mvrnn,quantised,ragged,ssd,stackrnn,switch,treefc,treegru,treelstm,treelstm_binary,treelstm_childsum}/model.onnx; do
  "$dynrepl" --cache-dir none compile "$samples/$model" --certify -o "$folder/a.dynpkg" >"$folder/out"
  grep -qx certified "$folder/out" || { echo "$model: $(tail -n 1 "$folder/out")"; failed=1; }
  "$dynrepl" verify-package "$folder/a.dynpkg" >"$folder/out" 2>&1 || { echo "$model: refused"; cat "$folder/out"; failed=1; }
done
exit $failed
