#!/usr/bin/env bash
# The lesson, from nothing: model, package, program, and a run of it.
# Usage: samples/05_file_kinds/run.sh [FILE OR FOLDER]      DYN_BUILD: the build folder (build/release)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../pretrained.sh"
prepare file_kinds magika
exec "$PROGRAM" "$PACKAGE" "$MODELS/labels.txt" "${1:-$ROOT/samples/models/bert}"
