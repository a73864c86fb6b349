#!/usr/bin/env bash
# library_lists_test.sh BUILD SOURCE: exported libraries of padded models take lists of sequences (NAME_run_lists), from plain C;
# one whose inputs are no sequences has no such call.
set -euo pipefail
BUILD="${1:?usage: library_lists_test.sh BUILD SOURCE}" SOURCE="${2:?}"
DYNREPL="$BUILD/bin/dynrepl"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "library_lists_test: $*" >&2; exit 1; }
export DYN_CACHE_DIR=none
cd "$WORK"
# Rows, steps first, and a length that is filled up.
cat >rows.dyn <<'EOF'
dim steps in 0..16 multiple 4
fn @main(%x: Tensor[(steps, batch, 8), f32], %z: Tensor[(steps, batch), f32], %lengths: Tensor[(batch), i32]) {
  %all = unsqueeze(range(i64[] 0, gather(shape(%x), i64[] 0), i64[] 1), i64[1] [1])
  %held = less(%all, cast(%lengths) {to = i64})
  %kept = where(unsqueeze(%held, i64[1] [2]), %x, f32[] 8)
  %y = add(%kept, unsqueeze(%z, i64[1] [2]))
  return %y
}
EOF
echo 'fn @main(%x: Tensor[(n), f32]) { return relu(%x) }' >plain.dyn
models="$SOURCE/tests/models"
export_as() { "$DYNREPL" --padded-results zero export "$2" --kind static --interpret -o "$1" --quiet >/dev/null || fail "export of $2"; }
export_as hidden "$models/padded_bert_hidden/model.onnx"
export_as lstm "$models/padded_lstm_layers_lengths/model.onnx"
export_as rows rows.dyn
export_as plain plain.dyn
grep -q 'hidden_list mask;  /\* of ids; results: y \*/' hidden.h || fail "the header of hidden: $(grep -n list hidden.h)"
grep -q 'rows_list lengths;  /\* of x, z; results: y \*/' rows.h || fail "the header of rows: $(grep -n list rows.h)"
[[ -z "$(grep list plain.h || true)" && -z "$(nm -g libplain.a | grep lists || true)" ]] || fail "a model without sequences has lists"
cc -std=c11 -Wall -Wextra -Wpedantic -Werror -O1 "$SOURCE/tests/samples/library_lists.c" -I. -o lists libhidden.a liblstm.a librows.a -lm -pthread
./lists
