/* Integers: nothing here may be compiled to a call of what it is. */
#include "vm/freestanding/soft_real.h"

typedef union Halves {
  uint64_t whole;
  struct {
    uint32_t low, high;
  };
} Halves;

/* 32 x 32 -> 64 bits, of products of 16. */
static uint64_t product(uint32_t a, uint32_t b) {
  const uint32_t al = a & 0xFFFF, ah = a >> 16, bl = b & 0xFFFF, bh = b >> 16;
  const uint32_t low = al * bl, first = ah * bl + (low >> 16), second = al * bh + (first & 0xFFFF);
  Halves made;
  made.low = second << 16 | (low & 0xFFFF);
  made.high = ah * bh + (first >> 16) + (second >> 16);
  return made.whole;
}

uint64_t softMultiply(uint64_t a, uint64_t b) {
  Halves x, y, made;
  x.whole = a;
  y.whole = b;
  made.whole = product(x.low, y.low);
  made.high += x.low * y.high + x.high * y.low;
  return made.whole;
}

uint64_t softShiftLeft(uint64_t a, int32_t bits) {
  Halves x;
  x.whole = a;
  if (bits >= 32) {
    x.high = bits >= 64 ? 0 : x.low << (bits - 32);
    x.low = 0;
  } else if (bits > 0) {
    x.high = x.high << bits | x.low >> (32 - bits);
    x.low <<= bits;
  }
  return x.whole;
}
uint64_t softShiftRight(uint64_t a, int32_t bits) {
  Halves x;
  x.whole = a;
  if (bits >= 32) {
    x.low = bits >= 64 ? 0 : x.high >> (bits - 32);
    x.high = 0;
  } else if (bits > 0) {
    x.low = x.low >> bits | x.high << (32 - bits);
    x.high >>= bits;
  }
  return x.whole;
}
int64_t softShiftRightSigned(int64_t a, int32_t bits) {
  Halves x;
  x.whole = (uint64_t)a;
  const uint32_t sign = x.high >> 31 ? 0xFFFFFFFFu : 0;
  if (bits >= 32) {
    x.low = bits >= 64 ? sign : (uint32_t)((int32_t)x.high >> (bits - 32));
    x.high = sign;
  } else if (bits > 0) {
    x.low = x.low >> bits | x.high << (32 - bits);
    x.high = (uint32_t)((int32_t)x.high >> bits);
  }
  return (int64_t)x.whole;
}

static int32_t leadingZeros32(uint32_t a) {
  int32_t count = 0;
  if (a == 0) return 32;
  for (; (a >> 24) == 0; a <<= 8) count += 8;
  for (; (a >> 31) == 0; a <<= 1) ++count;
  return count;
}
int32_t softLeadingZeros(uint64_t a) {
  Halves x;
  x.whole = a;
  return x.high ? leadingZeros32(x.high) : 32 + leadingZeros32(x.low);
}

/* By zero: the quotient 0, the rest a. */
uint32_t softDivideNatural32(uint32_t a, uint32_t b, uint32_t* rest) {
  uint32_t quotient = 0;
  if (b != 0 && a >= b) {
    const int32_t steps = leadingZeros32(b) - leadingZeros32(a);
    b <<= steps;
    for (int32_t i = 0; i <= steps; ++i, b >>= 1) {
      quotient <<= 1;
      if (a < b) continue;
      a -= b;
      quotient |= 1;
    }
  }
  *rest = a;
  return quotient;
}
uint64_t softDivideNatural(uint64_t a, uint64_t b, uint64_t* rest) {
  uint64_t quotient = 0;
  if (((a | b) >> 32) == 0) {
    uint32_t left;
    quotient = softDivideNatural32((uint32_t)a, (uint32_t)b, &left);
    *rest = left;
    return quotient;
  }
  if (b != 0 && a >= b) {
    const int32_t steps = softLeadingZeros(b) - softLeadingZeros(a);
    b = softShiftLeft(b, steps);
    for (int32_t i = 0; i <= steps; ++i, b >>= 1) {
      quotient <<= 1;
      if (a < b) continue;
      a -= b;
      quotient |= 1;
    }
  }
  *rest = a;
  return quotient;
}
int64_t softDivide(int64_t a, int64_t b, int64_t* rest) {
  uint64_t left;
  const uint64_t quotient =
      softDivideNatural(a < 0 ? 0 - (uint64_t)a : (uint64_t)a, b < 0 ? 0 - (uint64_t)b : (uint64_t)b, &left);
  *rest = (int64_t)(a < 0 ? 0 - left : left);
  return (int64_t)((a < 0) != (b < 0) ? 0 - quotient : quotient);
}
