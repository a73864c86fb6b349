#!/usr/bin/env bash
# The machine code for tiles (Intel AMX) on the Sapphire Rapids that Bochs emulates, beside the model of tiles: 1,400 products in bf16
# and bytes, at tails of rows, columns and depth, the same to the bit. Nothing of that emulator was written here.
#
# Skipped without DYN_BOCHS, a folder of Bochs 3 built there, with its bios/: from github.com/bochs-emu/Bochs
#   ./configure --with-nogui --enable-cpu-level=6 --enable-x86-64 --enable-avx --enable-evex --enable-amx && make bochs
# Usage: emulated_test.sh libdyn_vm.a SOURCES
set -euo pipefail
LIBRARY="$1" SOURCES="$2"
HERE="$SOURCES/tests/tiles/emulated"
[[ -x "${DYN_BOCHS:-}/bochs" ]] && command -v g++ ld objcopy ar > /dev/null || exit 77
FOLDER="$(mktemp -d)"
trap 'rm -rf "$FOLDER"' EXIT
cd "$FOLDER"

ar x "$LIBRARY" bf16_kernel_amx.cpp.o byte_kernel_amx.cpp.o
g++ -std=c++20 -O2 -fno-builtin -fno-exceptions -fno-rtti -fno-pic -mno-red-zone -fno-stack-protector -fno-tree-loop-distribute-patterns \
  -I"$SOURCES" -c "$HERE/machine.cpp" -o machine.o
g++ -c "$HERE/start.S" -o start.o
ld -static -nostdlib --no-warn-rwx-segments -T "$HERE/link.ld" start.o machine.o bf16_kernel_amx.cpp.o byte_kernel_amx.cpp.o -o machine.elf
objcopy -O binary machine.elf machine.bin
g++ -c -Wa,--defsym,SECTORS=$(( ($(stat -c %s machine.bin) + 511) / 512 )) "$HERE/boot.S" -o boot.o
ld -Ttext 0x7c00 --oformat binary -e boot boot.o -o boot.bin
cat boot.bin machine.bin > disk.img
truncate -s 1032192 disk.img  # two cylinders

g++ -std=c++20 -O1 -I"$SOURCES" "$HERE/model.cpp" "$LIBRARY" -lpthread -ldl -o model
./model > expected.txt

VGA=("$DYN_BOCHS"/bios/*[vV][gG][aA]*.bin "$DYN_BOCHS"/bios/VGABIOS-lgpl/VGABIOS-lgpl-latest.bin)
for file in "${VGA[@]}"; do [[ -f "$file" ]] && vga="$file"; done
cat > bochsrc << CONFIGURATION
megs: 256
cpu: model=sapphire_rapids, count=1, ips=500000000
romimage: file=$DYN_BOCHS/bios/BIOS-bochs-latest
vgaromimage: file=$vga
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, path=$FOLDER/disk.img, mode=flat, cylinders=2, heads=16, spt=63
boot: disk
display_library: nogui
port_e9_hack: enabled=1
log: $FOLDER/log.txt
panic: action=fatal
CONFIGURATION
"$DYN_BOCHS/bochs" -q -f bochsrc > printed.txt 2> errors.txt &
BOCHS=$!
for _ in $(seq 1 120); do
  sleep 1
  if grep -q '^end$' printed.txt || ! kill -0 "$BOCHS" 2> /dev/null; then break; fi
done
kill "$BOCHS" 2> /dev/null || true
sed -n '/^begin$/,/^end$/p' printed.txt | tr -d '\r' > got.txt
if ! diff expected.txt got.txt > difference.txt; then
  echo "the emulated processor and the model differ (or it did not come to its end):" >&2
  head -5 difference.txt >&2
  grep -m3 -E 'exception|panic' log.txt errors.txt >&2 || true
  exit 1
fi
