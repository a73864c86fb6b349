#!/usr/bin/env bash
# The lesson, from nothing: model, package, program, and a run of it.
# Usage: samples/06_speech/run.sh RECORDING.wav      DYN_BUILD: the build folder (build/release)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../pretrained.sh"
prepare speech silero
exec "$PROGRAM" "$PACKAGE" "${1:?usage: samples/06_speech/run.sh RECORDING.wav}"
