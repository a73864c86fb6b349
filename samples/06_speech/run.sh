#!/usr/bin/env bash
# The lesson: fetches the model when it is not there, compiles it to a package, builds the program, which needs the runtime only, and runs it.
# Usage: samples/06_speech/run.sh ARGUMENT      DYN_BUILD: the build folder (build/release)
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
BUILD="${DYN_BUILD:-$ROOT/build/release}"
PLACE="$BUILD/samples/speech"
mkdir -p "$PLACE"
if [[ ! -f "$PLACE/silero.onnx" ]]; then python3 "$ROOT/samples/fetch_model.py" silero "$PLACE"; fi
if [[ ! -f "$PLACE/silero.dynpkg" ]]; then "$BUILD/bin/dynrepl" compile "$PLACE/silero.onnx" -o "$PLACE/silero.dynpkg" --quiet; fi
cc -O2 -Wall -Wextra -I "$ROOT/vm/include" "$ROOT/samples/06_speech/speech.c" -o "$PLACE/speech" -L "$BUILD/lib" -ldynvm -Wl,-rpath,"$BUILD/lib"
exec "$PLACE/speech" "$PLACE/silero.dynpkg" "${1:?usage: samples/06_speech/run.sh RECORDING.wav}"
