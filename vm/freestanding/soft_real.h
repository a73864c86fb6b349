/* Arithmetic of reals of 32 and 64 bits (IEEE 754, rounded to nearest, ties to even) in integers, for
 * processors without a unit for them. Reals are given as their bits; a NaN that is made is the quiet one
 * without a sign. And what machines without instructions for 64 bits, or for division, need of integers. */
#ifndef DYN_FREESTANDING_SOFT_REAL_H
#define DYN_FREESTANDING_SOFT_REAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum SoftOrder { SOFT_LESS = -1, SOFT_EQUAL = 0, SOFT_GREATER = 1, SOFT_UNORDERED = 2 };

/* Of both widths. To integers: towards zero; what does not fit is the nearest that does, a NaN is 0. */
#define SOFT_REAL_FUNCTIONS(prefix, word)           \
  word prefix##Add(word a, word b);                 \
  word prefix##Subtract(word a, word b);            \
  word prefix##Multiply(word a, word b);            \
  word prefix##Divide(word a, word b);              \
  word prefix##Root(word a);                        \
  int32_t prefix##Compare(word a, word b);          \
  word prefix##FromNatural(uint64_t value);         \
  word prefix##FromInteger(int64_t value);          \
  uint64_t prefix##ToNatural(word a, int32_t bits); \
  int64_t prefix##ToInteger(word a, int32_t bits);  \
  word prefix##Floor(word a);                       \
  word prefix##Ceiling(word a);                     \
  word prefix##Truncate(word a);                    \
  word prefix##NearestEven(word a);                 \
  word prefix##NearestAway(word a);
SOFT_REAL_FUNCTIONS(soft32, uint32_t)
SOFT_REAL_FUNCTIONS(soft64, uint64_t)
#undef SOFT_REAL_FUNCTIONS

uint64_t soft32To64(uint32_t a);
uint32_t soft64To32(uint64_t a);
uint16_t soft32To16(uint32_t a);
uint16_t soft64To16(uint64_t a);
uint32_t soft16To32(uint16_t a);
uint16_t soft32ToBrief(uint32_t a); /* bf16 */

uint64_t softMultiply(uint64_t a, uint64_t b); /* the lower half */
uint64_t softShiftLeft(uint64_t a, int32_t bits);
uint64_t softShiftRight(uint64_t a, int32_t bits);
int64_t softShiftRightSigned(int64_t a, int32_t bits);
int32_t softLeadingZeros(uint64_t a); /* 64 of 0 */
uint32_t softDivideNatural32(uint32_t a, uint32_t b, uint32_t* rest);
uint64_t softDivideNatural(uint64_t a, uint64_t b, uint64_t* rest);
int64_t softDivide(int64_t a, int64_t b, int64_t* rest);

#ifdef __cplusplus
}
#endif
#endif
