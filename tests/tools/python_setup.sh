#!/usr/bin/env bash
# What tests want from the Python package index: an environment with the packages of python_packages.txt in build/python (the system's own Python takes no
# packages on Debian 12 and Ubuntu 24.04), and the pretrained models of two lessons in build/pretrained. Once: a rerun finds them there.
# Where the index does not answer, one line says so and the tests that need it are skipped. DYN_PYTHON names another interpreter: nothing is made then.
# Usage: python_setup.sh
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="$(cd "$HERE/../.." && pwd)"
PLACE="$ROOT/build/python" WANTED="$HERE/python_packages.txt" PINNED="$HERE/python_constraints.txt" LOG="$ROOT/build/python_setup.log"
PIP=(-m pip --disable-pip-version-check --retries 1 --timeout 15)
MOST_SECONDS="${DYN_INDEX_SECONDS:-300}"  # for all packages, and for each model

say() { printf 'dev: %s\n' "$*" >&2; }

install_packages() {
  python3 -m venv "$PLACE" &&
    timeout "$MOST_SECONDS" "$PLACE/bin/python" "${PIP[@]}" install --quiet --only-binary=:all: -r "$WANTED" -c "$PINNED" &&
    "$PLACE/bin/python" -c 'import numpy, onnx.reference, onnxruntime'
}

mkdir -p "$ROOT/build"
exec 9>"$ROOT/build/python_setup.lock"
flock 9  # two at a time would be in each other's way
if [[ -z "${DYN_PYTHON:-}" ]] && ! cat "$WANTED" "$PINNED" | cmp -s - "$PLACE/ready"; then
  rm -rf "$PLACE"
  say "make build/python with $(paste -sd ' ' "$WANTED"): tests compare with them"
  if install_packages >"$LOG" 2>&1; then
    cat "$WANTED" "$PINNED" >"$PLACE/ready"
  else
    rm -rf "$PLACE"
    say "go on without: the package index does not answer, or python3-venv is missing (build/python_setup.log); what compares with onnxruntime is skipped"
    exit 0
  fi
fi
for model in magika silero; do
  if [[ -f "$ROOT/build/pretrained/$model.onnx" ]]; then continue; fi
  if ! timeout "$MOST_SECONDS" "$("$HERE/python.sh")" "$ROOT/samples/fetch_model.py" "$model" "$ROOT/build/pretrained" >>"$LOG" 2>&1; then
    say "go on without the pretrained model $model (build/python_setup.log): the test of its lesson is skipped"
  fi
done
