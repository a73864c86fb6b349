#!/usr/bin/env bash
# package_test.sh PACKAGES SUITE: installs the .deb in a bare root of a distribution and unpacks the tarball in another,
# and uses both. PACKAGES: the folder that `./dev package` fills. SUITE: bookworm or noble.
# Exit 77: no packages are there, or this machine can make no such root.
set -euo pipefail
packages="${1:?usage: package_test.sh PACKAGES SUITE}" suite="${2:?}"
skip() { echo "package_test: skipped: $*"; exit 77; }
fail() { echo "package_test: $*" >&2; exit 1; }
shopt -s nullglob
debs=("$packages"/*.deb) tarballs=("$packages"/*.tar.gz)
deb="${debs[0]:-}" tarball="${tarballs[0]:-}"
[[ -n $deb && -n $tarball ]] || skip "there are no packages in $packages: ./dev package"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
[[ $EUID -eq 0 ]] || skip "making a root needs root"
work="$(mktemp -d)"
cleanup() { umount "$work/root/proc" 2>/dev/null || true; rm -rf "$work"; }
trap cleanup EXIT

case "$suite" in
  bookworm) components=main mirror=http://deb.debian.org/debian keyring=debian ;;
  noble)  # LLVM 19 is among its updates
    components=main,universe keyring=ubuntu mirror="deb http://archive.ubuntu.com/ubuntu noble main universe
deb http://archive.ubuntu.com/ubuntu noble-updates main universe" ;;
  *) fail "no such suite: $suite" ;;
esac
keyring="/usr/share/keyrings/$keyring-archive-keyring.gpg"
[[ -e $keyring ]] || skip "the keys of $suite are not there: $keyring"
bare() {  # FOLDER: a root that has apt and nothing else
  mmdebstrap --keyring="$keyring" --variant=apt --components="$components" "$suite" "$1" "$mirror" >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log"; skip "mmdebstrap could not make a root of $suite"; }
  mount -t proc proc "$1/proc" 2>"$work/log" || skip "/proc cannot be mounted"  # the loader finds $ORIGIN by it
  printf 'fn @main(%%x: Tensor[(n), f32]) { %%y = mul(%%x, %%x) return %%y }\n' >"$1/tmp/square.dyn"
}
inside() { chroot "$work/root" env HOME=/tmp DYN_CACHE_DIR=none "$@"; }
use() {  # FOLDER: what a newcomer does first
  inside "$1/dynrepl" run /tmp/square.dyn --input 'x=[3]' --quiet | grep -q '9\.' || fail "$suite: $1/dynrepl run"
  inside "$1/dynrepl" compile /tmp/square.dyn -o /tmp/square.dynpkg --quiet >/dev/null || fail "$suite: $1/dynrepl compile"
  inside "$1/dynrepl" run /tmp/square.dynpkg --input 'x=[3]' --quiet >/dev/null || fail "$suite: $1/dynrepl runs no package"
  inside "$1/dynrepl" export /tmp/square.dyn --kind exe -o /tmp/square --quiet >/dev/null || fail "$suite: $1/dynrepl export"
  inside /tmp/square --input 'x=[3]' --quiet >/dev/null || fail "$suite: the exported program"
}

bare "$work/root"
mkdir "$work/root/opt/dyn"
tar -xzf "$tarball" -C "$work/root/opt/dyn" --strip-components=1
use /opt/dyn/bin
echo "$suite: the tarball runs in a bare root"

cp "$deb" "$work/root/tmp/dyn.deb"
cp /etc/resolv.conf "$work/root/etc/resolv.conf"
inside apt-get update -qq >"$work/log" 2>&1 || skip "apt has no network in the root of $suite"
inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /tmp/dyn.deb >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log" >&2; fail "$suite: apt cannot install $(basename "$deb")"; }
use /usr/bin
inside dynstudio --headless --export /tmp/square.svg /tmp/square.dyn || fail "$suite: dynstudio --headless"
[[ -s $work/root/tmp/square.svg ]] || fail "$suite: dynstudio wrote no picture"
echo "$suite: the .deb installs and runs"
