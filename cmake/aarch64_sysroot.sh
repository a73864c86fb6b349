#!/usr/bin/env bash
# What the compiler is built with for 64-bit ARM, LLVM above all: Debian's arm64 packages, unpacked into FOLDER. Nothing of the system changes: apt keeps its lists
# of that architecture in FOLDER.apt, and no package is installed, as llvm-19-dev of two architectures can't be. A rerun finds what is there.
# With PACKAGES: these and all that they need, the C library as well.
# Usage: aarch64_sysroot.sh FOLDER [PACKAGE...]      exit code 4: this system has no such packages
set -euo pipefail
FOLDER="$(realpath -m -- "${1:?usage: aarch64_sysroot.sh FOLDER [PACKAGE...]}")"
APT="$FOLDER.apt"
# Alone: headers and CMake files of LLVM, and the programs that these files look for. With all that they need: the rest.
ALONE=(llvm-19-dev llvm-19 llvm-19-tools llvm-19-linker-tools llvm-19-runtime)
WHOLE=(libllvm19 libedit-dev libzstd-dev zlib1g-dev libfmt-dev libonig-dev libutf8proc-dev libpng-dev libjpeg-dev)
WHAT="LLVM 19 and other libraries, about 130 MB"
# The cross compiler has these of its own.
OF_COMPILER='^(libc6|libc6-dev|libc-dev-bin|libc-bin|linux-libc-dev|libgcc-s1|gcc-[0-9]+-base|libstdc[+][+].*|libcrypt.*|rpcsvc-proto|libnsl.*|libtirpc.*)$'
if (($# > 1)); then
  ALONE=()
  WHOLE=("${@:2}")
  WHAT="${*:2}"
  OF_COMPILER='^$'
fi

say() { printf 'dev: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
unsupported() { say "unsupported: $*"; exit 4; }

of_arm() {
  local command="$1"
  shift
  "$command" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$APT" -o Dir::State::status="$APT/status" \
    -o Dir::Cache="$APT/cache" -o Acquire::Languages=none -o APT::Sandbox::User= -o APT::Install-Recommends=false "$@"
}

# Names of the packages that these need, themselves among them.
needed() {
  of_arm apt-get install --simulate "$@" | awk '$1 == "Inst" { print $2 }' | sed 's/:arm64$//' | grep -vE "$OF_COMPILER"
}

wanted="$(printf '%s\n' "${ALONE[@]}" "${WHOLE[@]}" "$OF_COMPILER")"
if [[ -f "$FOLDER/ready" && "$(<"$FOLDER/ready")" == "$wanted" ]]; then exit 0; fi
system="$(. /etc/os-release 2>/dev/null && echo "${ID:-}")" || system=""
# Ubuntu's packages for ARM lie on other servers than the system's own lists name.
[[ $system == debian ]] || unsupported "the compiler for aarch64 is cross-compiled on Debian only, whose servers have packages of both architectures; \
what runs models (./dev build --target aarch64) is built here as well, and on an ARM machine ./dev build makes everything"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || unsupported "the compiler for aarch64 is made from Debian packages, and there is no apt here"

rm -rf "$FOLDER" "$APT"
mkdir -p "$FOLDER" "$APT/lists/partial" "$APT/cache/archives/partial" "$APT/packages"
: >"$APT/status"  # nothing of that architecture is installed
say "fetch arm64 packages of $WHAT"
of_arm apt-get update -qq >&2 || die "apt has no lists of arm64 packages"
names="$(needed "${WHOLE[@]}")" || die "apt offers no arm64 packages of ${WHOLE[*]}"
mapfile -t names <<<"$names"
(cd "$APT/packages" && of_arm apt-get download -qq "${ALONE[@]}" "${names[@]}" >&2) || die "the arm64 packages can't be fetched"
for package in "$APT"/packages/*.deb; do dpkg-deb -x "$package" "$FOLDER"; done
# Headers of one processor lie in a folder that only a compiler of that system looks into.
[[ ! -d $FOLDER/usr/include/aarch64-linux-gnu ]] || cp -r "$FOLDER/usr/include/aarch64-linux-gnu/." "$FOLDER/usr/include/"
# Links to absolute paths would lead to this system's files.
find "$FOLDER" -type l -lname '/*' | while read -r link; do ln -sfn "$FOLDER$(readlink "$link")" "$link"; done
rm -rf "$APT"
printf '%s\n' "$wanted" >"$FOLDER/ready"
say "unpacked into $FOLDER ($(du -sh "$FOLDER" | cut -f1))"
