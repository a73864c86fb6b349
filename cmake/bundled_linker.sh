#!/bin/sh
# lib/dyn/bin/ld.lld-19 of the tarball: the linker with the libraries that lie beside it.
folder="$(dirname "$0")"
LD_LIBRARY_PATH="$folder/../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$folder/program/ld.lld" "$@"
