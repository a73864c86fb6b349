#!/usr/bin/env bash
# install_test.sh BUILD SOURCE: installs what is built, moves the prefix, and uses it as somebody would who has nothing else.
set -euo pipefail
BUILD="${1:?usage: install_test.sh BUILD SOURCE}" SOURCE="${2:?}"
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
fail() { echo "install_test: $*" >&2; exit 1; }

cmake --install "$BUILD" --prefix "$WORK/first" >"$WORK/log" 2>&1 || { cat "$WORK/log" >&2; fail "cmake --install"; }
cd "$WORK"
export HOME="$WORK" DYN_CACHE_DIR=none
unset LD_LIBRARY_PATH
printf 'fn @main(%%x: Tensor[(n), f32]) { %%y = mul(%%x, %%x) return %%y }\n' >square.dyn

# What exports link lies in the build's folder lib; all of it is installed.
for object in "$BUILD"/lib/*.o; do
  [[ ! -e $object || -e $WORK/first/lib/$(basename "$object") ]] || fail "$(basename "$object") is not installed"
done
every_kind() {  # PREFIX: each kind of export, made by what is installed there, and run where it runs here
  local prefix="$1" repl="$1/bin/dynrepl" row board
  rm -rf exported && mkdir exported
  made() { "$repl" export square.dyn --dim n="$1" --quiet "${@:2}" >exported/log 2>&1 || fail "export ${*:2}: $(cat exported/log)"; }
  made 1..8 --kind package -o exported/package && [[ "$("$repl" run exported/package --input x=[3] --quiet)" == *'9.'* ]] || fail "the package"
  made 1..8 --kind exe -o exported/exe && [[ "$(exported/exe --input x=[3] --output-dir exported/out --quiet)" == *y* ]] || fail "the executable"
  if [[ -e $prefix/bin/dynrun-static ]]; then made 1..8 --kind exe --static-link -o exported/static && exported/static --input x=[3] --quiet >/dev/null || fail "--static-link"; fi
  [[ -e $BUILD/lib/dynmodel.o ]] && for row in static shared; do made 1..8 --kind $row -o exported/whole; done
  [[ -e $BUILD/lib/dynfreestanding-x86_64.o ]] && for row in static shared; do made 1..8 --kind $row --no-heap -o exported/fixed; done
  for row in x86_64:host aarch64:aarch64 riscv64:riscv64 thumbv6m:cortex-m0:microbit thumbv7em:cortex-m4:mps2-an386 thumbv8.1m.main:cortex-m55:mps3-an547; do
    [[ -e $BUILD/lib/dynimage-${row%%:*}.o ]] || continue
    IFS=: read -r _ row board <<<"$row"
    made 3 --kind image --target "$row" ${board:+--board "$board"} -o "exported/image-$row"
  done
  [[ ! -e exported/image-host ]] || exported/image-host | grep -q '"y"' || fail "the image"
}
every_kind "$WORK/first"
mv "$WORK/first" "$WORK/prefix"
every_kind "$WORK/prefix"
PREFIX="$WORK/prefix"
export PATH="$PREFIX/bin:/usr/bin:/bin"

# Nothing installed knows where it was built.
if grep -rlaF "$SOURCE/" "$PREFIX"; then fail "these files name the source folder"; fi

# The shell, and a package for the programs below.
for program in dynrepl dynrun vmrun; do [[ "$($program --version)" =~ ^$program\ [0-9]+\.[0-9]+ ]] || fail "$program --version"; done
dynrepl compile square.dyn -o square.dynpkg --quiet >/dev/null
vmrun verify square.dynpkg >/dev/null || fail "vmrun verify"
if [[ -x $PREFIX/bin/dynstudio ]]; then
  dynstudio --headless --export square.svg square.dyn || fail "dynstudio --headless"
  grep -q '<svg' square.svg || fail "dynstudio wrote no picture"
  [[ "$(dynstudio --headless --version)" =~ ^dynstudio\ [0-9]+\.[0-9]+ ]] || fail "dynstudio --version"
  entry="$PREFIX/share/applications/dynstudio.desktop"
  if command -v desktop-file-validate >/dev/null; then desktop-file-validate "$entry" || fail "$entry"; fi
  grep -qx 'Exec=dynstudio %f' "$entry" && [[ -s $PREFIX/share/icons/hicolor/scalable/apps/$(sed -n 's/^Icon=//p' "$entry").svg ]] || fail "$entry and its icon"
  dynstudio --headless --state state.json "$PREFIX/share/dyn/samples/models/bert/model.onnx" || fail "the models that come along"
  dynstudio --help | grep -oE '^ +--[a-z-]+' | tr -d ' ' | while read -r option; do
    [[ $option == --help-all ]] && continue
    grep -qF -- "${option//-/\\-}" "$PREFIX/share/man/man1/dynstudio.1" || fail "dynstudio.1 does not have $option"
  done
fi

# The library: with CMake, shared and static; with pkg-config.
cmake -S "$HERE/user" -B user -DCMAKE_PREFIX_PATH="$PREFIX" >log 2>&1 && cmake --build user >>log 2>&1 || { cat log >&2; fail "find_package(dynvm)"; }
for program in user_shared user_static; do [[ "$(user/$program square.dynpkg)" == 14 ]] || fail "$program"; done
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig"
  # shellcheck disable=SC2046  # words, as pkg-config means them
  cc "$HERE/user/user.c" -o by_pkg_config $(pkg-config --cflags --libs dynvm) -Wl,-rpath,"$PREFIX/lib" || fail "pkg-config"
  [[ "$(./by_pkg_config square.dynpkg)" == 14 ]] || fail "the program by pkg-config"
fi
if nm -D --defined-only "$PREFIX/lib/libdynvm.so" | awk '{ print $3 }' | grep -v '^dyn_'; then fail "libdynvm.so shows these names"; fi

# Libraries of models, exported by what is installed.
if [[ -e $PREFIX/lib/dynmodel.o ]]; then "$HERE/../samples/library_test.sh" "$PREFIX" "$SOURCE" || fail "exported libraries"; fi

# Manual pages without a complaint; completions that complete.
for page in "$PREFIX"/share/man/man1/*.1; do
  if command -v groff >/dev/null; then [[ -z "$(groff -man -ww -z "$page" 2>&1)" ]] || fail "$page: groff complains"; fi
done
grep -q '^.SS inspect' "$PREFIX/share/man/man1/dynrepl.1" || fail "dynrepl.1 has no inspect"
completed() {  # WORDS...: what bash offers for the last
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dynrepl; echo "${COMPREPLY[*]}"' \
    bash "$PREFIX/share/bash-completion/completions/dynrepl" "$@"
}
[[ "$(completed dynrepl insp)" == inspect ]] || fail "insp is completed to '$(completed dynrepl insp)'"
[[ "$(completed dynrepl run --outp)" == --output-dir ]] || fail "run --outp is completed to '$(completed dynrepl run --outp)'"
[[ " $(completed dynrepl verify squ) " == *" square.dyn "* ]] || fail "files are not completed"
if command -v zsh >/dev/null; then zsh -n "$PREFIX/share/zsh/site-functions/_dynrepl" || fail "zsh completion"; fi
if command -v fish >/dev/null; then fish -n "$PREFIX/share/fish/vendor_completions.d/dynrepl.fish" || fail "fish completion"; fi
if dynrepl completion tcsh 2>error; then fail "a shell that is not known was taken"; fi
grep -q 'bash, zsh' error || grep -q '{bash,zsh,fish}' error || fail "completion tcsh says: $(cat error)"
echo "install_test: passed"
