#!/usr/bin/env bash
# padded_test.sh BUILD SOURCE: lists of sequences for padded programs (vm/include/dyn_ragged.h) from plain C (C99, no warnings), linked with libdynvm.so alone.
set -euo pipefail
BUILD="${1:?usage: padded_test.sh BUILD SOURCE}" SOURCE="${2:?}"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
# Rows, steps first, and a length that is filled up.
cat >rows.dyn <<'EOF'
dim steps in 0..16 multiple 4
fn @main(%x: Tensor[(steps, batch, 8), f32], %z: Tensor[(steps, batch), f32], %lengths: Tensor[(batch), i32]) {
  %all = unsqueeze(range(i64[] 0, gather(shape(%x), i64[] 0), i64[] 1), i64[1] [1])
  %held = less(%all, cast(%lengths) {to = i64})
  %kept = where(unsqueeze(%held, i64[1] [2]), %x, f32[] 8)
  return add(%kept, unsqueeze(%z, i64[1] [2]))
}
EOF
"$BUILD/bin/dynrepl" --cache-dir none compile rows.dyn -o rows.dynpkg --quiet >/dev/null
for model in bert_hidden lstm_layers_lengths; do
  "$BUILD/bin/dynrepl" --cache-dir none --padded-results zero compile "$SOURCE/tests/models/padded_$model/model.onnx" -o $model.dynpkg --quiet >/dev/null
done
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -O1 -I "$SOURCE" "$SOURCE/tests/samples/padded.c" -o padded -L "$BUILD/lib" -ldynvm -lm -Wl,-rpath,"$BUILD/lib"
./padded bert_hidden.dynpkg rows.dynpkg lstm_layers_lengths.dynpkg
