#!/usr/bin/env bash
# make.sh: writes the .ptx files beside the C sources anew (needs clang-19; the tests need it not).
set -euo pipefail
cd "$(dirname "$0")"
root="$(cd ../../../.. && pwd)"
for source in *.c; do
  clang-19 --target=nvptx64-nvidia-cuda -march=sm_80 -O2 -nocudalib -nogpulib -ffp-contract=off -gline-directives-only -I "$root" \
    -Xclang -target-feature -Xclang +ptx70 -S "$source" -o "${source%.c}.ptx"
  sed -i "s,\"/.*/,\"," "${source%.c}.ptx"  # file names without the folder they were made in
done
