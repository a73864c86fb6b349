// The cases by the machine code for Intel AMX, on a machine without a system (start.S): what it makes goes to
// port 0xe9, which Bochs prints.
#include "tests/tiles/emulated/cases.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn::vm::kernels {
extern const Bf16Family bf16FamilyAmx;
extern const ByteGemmFamily byteGemmAmx;
constinit thread_local TileHold tileHold = {0, 0, 0};
}  // namespace dyn::vm::kernels

namespace {

constinit dyn::vm::test::Cases cases{};  // nothing calls constructors here

void put(char c) { __asm__ volatile("outb %0, %1" : : "a"(c), "Nd"(uint16_t{0xe9})); }
void put(const char* text) {
  while (*text) put(*text++);
}
void put(uint32_t number) {
  char digits[12];
  int count = 0;
  for (; number > 9; number /= 10) digits[count++] = static_cast<char>('0' + number % 10);
  put(static_cast<char>('0' + number));
  while (count > 0) put(digits[--count]);
}
void putCase(const char* kind, int depth, int rows, int columns, int accumulate, uint32_t hash) {
  put(kind);
  for (int number : {depth, rows, columns, accumulate}) {
    put(' ');
    put(static_cast<uint32_t>(number));
  }
  put(' ');
  put(hash);
  put('\n');
}

}  // namespace

// What compilers call where there is no library.
extern "C" void* memset(void* to, int value, unsigned long count) {
  for (auto* byte = static_cast<volatile char*>(to); count > 0; --count) *byte++ = static_cast<char>(value);
  return to;
}
extern "C" void* memcpy(void* to, const void* from, unsigned long count) {
  auto* source = static_cast<const char*>(from);
  for (auto* byte = static_cast<volatile char*>(to); count > 0; --count) *byte++ = *source++;
  return to;
}

extern "C" void run() {
  put("begin\n");
  put(dyn::tiles::systemSaves() ? "saved " : "not saved ");
  put(dyn::tiles::hasPalette() ? "palette 1\n" : "no palette 1\n");
  cases.runBf16(dyn::vm::kernels::bf16FamilyAmx, putCase);
  cases.runBytes(dyn::vm::kernels::byteGemmAmx, putCase);
  put("end\n");
}
