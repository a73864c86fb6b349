/* What compilers call on an Arm processor that has no instruction for it, by the names of the run-time ABI
 * for the Arm architecture. Reals are given as their bits in the registers of integers, with and without a
 * unit for reals. What a program does not call is not linked. */
#include "vm/freestanding/soft_real.h"
#include "vm/freestanding/state.h"

/* --- memory */

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

/* --- integers */

uint64_t __aeabi_lmul(uint64_t a, uint64_t b) { return softMultiply(a, b); }
uint64_t __aeabi_llsl(uint64_t a, int32_t bits) { return softShiftLeft(a, bits); }
uint64_t __aeabi_llsr(uint64_t a, int32_t bits) { return softShiftRight(a, bits); }
int64_t __aeabi_lasr(int64_t a, int32_t bits) { return softShiftRightSigned(a, bits); }
int32_t __clzsi2(uint32_t a) { return softLeadingZeros(a) - 32; }
int32_t __clzdi2(uint64_t a) { return softLeadingZeros(a); }

static int32_t divided(int32_t a, int32_t b, int32_t* rest) {
  uint32_t left;
  const uint32_t quotient = softDivideNatural32(a < 0 ? 0 - (uint32_t)a : (uint32_t)a,
                                                b < 0 ? 0 - (uint32_t)b : (uint32_t)b, &left);
  *rest = (int32_t)(a < 0 ? 0 - left : left);
  return (int32_t)((a < 0) != (b < 0) ? 0 - quotient : quotient);
}
uint32_t __aeabi_uidiv(uint32_t a, uint32_t b) {
  uint32_t rest;
  return softDivideNatural32(a, b, &rest);
}
int32_t __aeabi_idiv(int32_t a, int32_t b) {
  int32_t rest;
  return divided(a, b, &rest);
}
/* The quotient in r0, the rest in r1. */
uint64_t __aeabi_uidivmod(uint32_t a, uint32_t b) {
  uint32_t rest;
  const uint32_t quotient = softDivideNatural32(a, b, &rest);
  return (uint64_t)rest << 32 | quotient;
}
uint64_t __aeabi_idivmod(int32_t a, int32_t b) {
  int32_t rest;
  const int32_t quotient = divided(a, b, &rest);
  return (uint64_t)(uint32_t)rest << 32 | (uint32_t)quotient;
}
/* The quotient in r0 and r1, the rest in r2 and r3. */
#define DYN_DIVISION(name, function)                                                               \
  __asm__(".section .text." #name ",\"ax\",%progbits\n.globl " #name "\n.thumb_func\n.type " #name \
          ", %function\n" #name                                                                    \
          ":\n push {r4, lr}\n sub sp, #16\n add r4, sp, #8\n str r4, [sp]\n bl " #function        \
          "\n ldr r2, [sp, #8]\n ldr r3, [sp, #12]\n add sp, #16\n pop {r4, pc}\n .text\n")
DYN_DIVISION(__aeabi_uldivmod, softDivideNatural);
DYN_DIVISION(__aeabi_ldivmod, softDivide);

/* --- reals; the letters: f of 32 bits, d of 64, i and ui of 32, l and ul of 64, h of 16 */

#define DYN_REALS(letter, word, soft)                                                                   \
  word __aeabi_##letter##add(word a, word b) { return soft##Add(a, b); }                                \
  word __aeabi_##letter##sub(word a, word b) { return soft##Subtract(a, b); }                           \
  word __aeabi_##letter##rsub(word a, word b) { return soft##Subtract(b, a); }                          \
  word __aeabi_##letter##mul(word a, word b) { return soft##Multiply(a, b); }                           \
  word __aeabi_##letter##div(word a, word b) { return soft##Divide(a, b); }                             \
  int32_t __aeabi_##letter##cmpeq(word a, word b) { return soft##Compare(a, b) == SOFT_EQUAL; }         \
  int32_t __aeabi_##letter##cmplt(word a, word b) { return soft##Compare(a, b) == SOFT_LESS; }          \
  int32_t __aeabi_##letter##cmple(word a, word b) { return soft##Compare(a, b) <= SOFT_EQUAL; }         \
  int32_t __aeabi_##letter##cmpgt(word a, word b) { return soft##Compare(a, b) == SOFT_GREATER; }       \
  int32_t __aeabi_##letter##cmpge(word a, word b) { return (soft##Compare(a, b) | 1) == SOFT_GREATER; } \
  int32_t __aeabi_##letter##cmpun(word a, word b) { return soft##Compare(a, b) == SOFT_UNORDERED; }     \
  word __aeabi_i2##letter(int32_t value) { return soft##FromInteger(value); }                           \
  word __aeabi_ui2##letter(uint32_t value) { return soft##FromNatural(value); }                         \
  word __aeabi_l2##letter(int64_t value) { return soft##FromInteger(value); }                           \
  word __aeabi_ul2##letter(uint64_t value) { return soft##FromNatural(value); }                         \
  int32_t __aeabi_##letter##2iz(word a) { return (int32_t)soft##ToInteger(a, 32); }                     \
  uint32_t __aeabi_##letter##2uiz(word a) { return (uint32_t)soft##ToNatural(a, 32); }                  \
  int64_t __aeabi_##letter##2lz(word a) { return soft##ToInteger(a, 64); }                              \
  uint64_t __aeabi_##letter##2ulz(word a) { return soft##ToNatural(a, 64); }
DYN_REALS(f, uint32_t, soft32)
DYN_REALS(d, uint64_t, soft64)

uint64_t __aeabi_f2d(uint32_t a) { return soft32To64(a); }
uint32_t __aeabi_d2f(uint64_t a) { return soft64To32(a); }
uint32_t __aeabi_h2f(uint16_t a) { return soft16To32(a); }
uint16_t __aeabi_f2h(uint32_t a) { return soft32To16(a); }
uint16_t __aeabi_d2h(uint64_t a) { return soft64To16(a); }
uint32_t __truncsfbf2(uint32_t a) { return soft32ToBrief(a); }

/* --- functions of the C library; these get reals where the processor has them */

#define DYN_REAL_FUNCTION(real, word, name, soft) \
  real name(real value) {                         \
    union {                                       \
      real value;                                 \
      word bits;                                  \
    } both = {value};                             \
    both.bits = soft(both.bits);                  \
    return both.value;                            \
  }
#define DYN_BOTH_FUNCTIONS(name, soft)                      \
  DYN_REAL_FUNCTION(float, uint32_t, name##f, soft32##soft) \
  DYN_REAL_FUNCTION(double, uint64_t, name, soft64##soft)
DYN_BOTH_FUNCTIONS(floor, Floor)
DYN_BOTH_FUNCTIONS(ceil, Ceiling)
DYN_BOTH_FUNCTIONS(trunc, Truncate)
DYN_BOTH_FUNCTIONS(rint, NearestEven)
DYN_BOTH_FUNCTIONS(nearbyint, NearestEven)
DYN_BOTH_FUNCTIONS(roundeven, NearestEven)
DYN_BOTH_FUNCTIONS(round, NearestAway)
DYN_BOTH_FUNCTIONS(sqrt, Root)
