/* What compilers take for granted and a machine without libraries does not have. */
#include <stddef.h>
#include <stdint.h>

void* memcpy(void* to, const void* from, size_t bytes) {
  char* target = to;
  const char* source = from;
  for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
  return to;
}
void* memmove(void* to, const void* from, size_t bytes) {
  char* target = to;
  const char* source = from;
  if ((uintptr_t)target < (uintptr_t)source)
    for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
  else
    while (bytes-- > 0) target[bytes] = source[bytes];
  return to;
}
void* memset(void* to, int value, size_t bytes) {
  char* target = to;
  for (size_t i = 0; i < bytes; ++i) target[i] = (char)value;
  return to;
}

#if defined(__arm__)
/* Names of the run-time ABI for the Arm architecture. */
void __aeabi_memcpy(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }
void __aeabi_memcpy4(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }
void __aeabi_memcpy8(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }
void __aeabi_memmove(void* to, const void* from, size_t bytes) { memmove(to, from, bytes); }
void __aeabi_memmove4(void* to, const void* from, size_t bytes) { memmove(to, from, bytes); }
void __aeabi_memmove8(void* to, const void* from, size_t bytes) { memmove(to, from, bytes); }
void __aeabi_memset(void* to, size_t bytes, int value) { memset(to, value, bytes); }
void __aeabi_memset4(void* to, size_t bytes, int value) { memset(to, value, bytes); }
void __aeabi_memset8(void* to, size_t bytes, int value) { memset(to, value, bytes); }
void __aeabi_memclr(void* to, size_t bytes) { memset(to, 0, bytes); }
void __aeabi_memclr4(void* to, size_t bytes) { memset(to, 0, bytes); }
void __aeabi_memclr8(void* to, size_t bytes) { memset(to, 0, bytes); }

uint64_t imageDivideNatural(uint64_t a, uint64_t b, uint64_t* rest) {
  uint64_t quotient = 0, left = 0;
  if (b == 0) {
    *rest = a;
    return 0;
  }
  for (int bit = 63; bit >= 0; --bit) {
    const uint64_t carry = left >> 63;
    left = left << 1 | (a >> bit & 1);
    if (carry || left >= b) {
      left -= b;
      quotient |= (uint64_t)1 << bit;
    }
  }
  *rest = left;
  return quotient;
}
int64_t imageDivide(int64_t a, int64_t b, int64_t* rest) {
  uint64_t left;
  const uint64_t quotient =
      imageDivideNatural(a < 0 ? 0 - (uint64_t)a : (uint64_t)a, b < 0 ? 0 - (uint64_t)b : (uint64_t)b, &left);
  *rest = (int64_t)(a < 0 ? 0 - left : left);
  return (int64_t)((a < 0) != (b < 0) ? 0 - quotient : quotient);
}
/* The quotient in r0 and r1, the rest in r2 and r3. */
#define DYN_DIVISION(name, function)                                                        \
  __asm__(".globl " #name "\n.thumb_func\n.type " #name ", %function\n" #name               \
          ":\n push {r4, lr}\n sub sp, #16\n add r4, sp, #8\n str r4, [sp]\n bl " #function \
          "\n ldr r2, [sp, #8]\n ldr r3, [sp, #12]\n add sp, #16\n pop {r4, pc}\n")
DYN_DIVISION(__aeabi_uldivmod, imageDivideNatural);
DYN_DIVISION(__aeabi_ldivmod, imageDivide);

/* 64-bit integers to reals: rounded once, to the nearest, ties to even. */
float __aeabi_ul2f(uint64_t value) {
  int shift = 0;
  uint32_t lost = 0;
  while (value >> 32 != 0) {
    lost |= (uint32_t)value & 1;
    value >>= 1;
    ++shift;
  }
  /* What is lost lies below the bits that rounding looks at, and only breaks ties. */
  const union {
    uint32_t bits;
    float real;
  } power = {(uint32_t)(127 + shift) << 23};
  return (float)((uint32_t)value | lost) * power.real;
}
float __aeabi_l2f(int64_t value) {
  return value < 0 ? -__aeabi_ul2f(0 - (uint64_t)value) : __aeabi_ul2f((uint64_t)value);
}
#endif
