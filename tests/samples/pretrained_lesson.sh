#!/usr/bin/env bash
# Runs a lesson with a pretrained model whose model was fetched (by ./dev setup test, or its run.sh, once); skipped otherwise: tests fetch nothing.
# Usage: pretrained_lesson.sh file_kinds|speech BUILD
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
export DYN_BUILD="$2"
PLACE="$DYN_BUILD/samples/$1"
declare -A models=([file_kinds]=magika [speech]=silero)
[[ -f "$ROOT/build/pretrained/${models[$1]}.onnx" ]] || exit 77
rm -f "$PLACE"/*.dynpkg  # of an older compiler, perhaps
case "$1" in
  file_kinds)
    "$ROOT/samples/05_file_kinds/run.sh" "$ROOT/tests/tools/compare" | tee /dev/stderr | grep -q '^python .* peer.py$'
    ;;
  speech)
    WAVE="$(mktemp)"
    trap 'rm -f "$WAVE"' EXIT
    # One second of silence: 16 kHz, one channel, 16 bits.
    { printf 'RIFF\x24\x7d\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\x7d\0\0'; head -c 32000 /dev/zero; } >"$WAVE"
    [[ "$("$ROOT/samples/06_speech/run.sh" "$WAVE")" == "1.00 s in 32 frames" ]]
    ;;
esac
