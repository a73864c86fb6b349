/* Included once for each width (soft_real.c), with
 *   WORD, NAME(function), BITS, FRACTION (bits of it), LEADING(word) (zeros before the first one),
 *   PRODUCT(a, b, &low) (the upper half of the product).
 * A significand is worked on with its first one at bit BITS - 2; the bits below the fraction say how it is
 * rounded, the last one stands for all that were lost. */

#define SOFT_SIGN ((WORD)1 << (BITS - 1))
#define SOFT_INFINITY (SOFT_SIGN - ((WORD)1 << FRACTION))
#define SOFT_NAN (SOFT_INFINITY | (WORD)1 << (FRACTION - 1))
#define SOFT_HIDDEN ((WORD)1 << FRACTION)
#define SOFT_TAIL (BITS - 2 - FRACTION)
#define SOFT_BIAS ((1 << (BITS - FRACTION - 2)) - 1)
#define SOFT_MOST_EXPONENT ((1 << (BITS - FRACTION - 1)) - 1)

static WORD NAME(ShiftSticky)(WORD value, int32_t bits) {
  if (bits <= 0) return value;
  if (bits >= BITS) return value != 0;
  return value >> bits | ((value << (BITS - bits)) != 0);
}

/* significand * 2^(exponent - SOFT_BIAS - (BITS - 2)), rounded. */
static WORD NAME(Pack)(WORD sign, int32_t exponent, WORD significand) {
  if (significand == 0) return sign;
  if (exponent >= SOFT_MOST_EXPONENT) return sign | SOFT_INFINITY;
  if (exponent <= 0) significand = NAME(ShiftSticky)(significand, 1 - exponent);
  const WORD tail = significand & (((WORD)1 << SOFT_TAIL) - 1), half = (WORD)1 << (SOFT_TAIL - 1);
  significand >>= SOFT_TAIL;
  significand += tail > half || (tail == half && (significand & 1));
  /* The hidden one adds itself to the exponent, and so does what rounding carries. */
  if (exponent > 0) significand += (WORD)(exponent - 1) << FRACTION;
  return sign | significand;
}
/* The first one may be anywhere. */
static WORD NAME(PackAny)(WORD sign, int32_t exponent, WORD significand) {
  if (significand == 0) return sign;
  const int32_t left = LEADING(significand) - 1;
  if (left < 0) return NAME(Pack)(sign, exponent + 1, NAME(ShiftSticky)(significand, 1));
  return NAME(Pack)(sign, exponent - left, significand << left);
}

static int32_t NAME(Exponent)(WORD magnitude) { return (int32_t)(magnitude >> FRACTION); }

/* Of what is finite and not 0; with its first one at bit FRACTION. */
static WORD NAME(Unpack)(WORD magnitude, int32_t* exponent) {
  *exponent = NAME(Exponent)(magnitude);
  if (*exponent > 0) return (magnitude & (SOFT_HIDDEN - 1)) | SOFT_HIDDEN;
  const int32_t left = LEADING(magnitude) - (BITS - 1 - FRACTION);
  *exponent = 1 - left;
  return magnitude << left;
}

WORD NAME(Add)(WORD a, WORD b) {
  if ((WORD)(a << 1) < (WORD)(b << 1)) {
    const WORD kept = a;
    a = b;
    b = kept;
  }
  const WORD sign = a & SOFT_SIGN, larger = a & ~SOFT_SIGN, smaller = b & ~SOFT_SIGN;
  const int differ = ((a ^ b) & SOFT_SIGN) != 0;
  if (larger >= SOFT_INFINITY) {
    if (larger > SOFT_INFINITY || (differ && smaller == larger)) return SOFT_NAN;
    return a;
  }
  if (smaller == 0) return larger == 0 ? (differ ? 0 : sign) : a;
  int32_t exponent = NAME(Exponent)(larger), other = NAME(Exponent)(smaller);
  WORD x = larger & (SOFT_HIDDEN - 1), y = smaller & (SOFT_HIDDEN - 1);
  if (exponent > 0)
    x |= SOFT_HIDDEN;
  else
    exponent = 1;
  if (other > 0)
    y |= SOFT_HIDDEN;
  else
    other = 1;
  x <<= SOFT_TAIL;
  y = NAME(ShiftSticky)(y << SOFT_TAIL, exponent - other);
  const WORD sum = differ ? x - y : x + y;
  return sum == 0 ? 0 : NAME(PackAny)(sign, exponent, sum);
}
WORD NAME(Subtract)(WORD a, WORD b) { return NAME(Add)(a, b ^ SOFT_SIGN); }

WORD NAME(Multiply)(WORD a, WORD b) {
  const WORD sign = (a ^ b) & SOFT_SIGN;
  a &= ~SOFT_SIGN;
  b &= ~SOFT_SIGN;
  if (a >= SOFT_INFINITY || b >= SOFT_INFINITY)
    return a > SOFT_INFINITY || b > SOFT_INFINITY || a == 0 || b == 0 ? SOFT_NAN : sign | SOFT_INFINITY;
  if (a == 0 || b == 0) return sign;
  int32_t first, second;
  const WORD x = NAME(Unpack)(a, &first) << (BITS - 1 - FRACTION);
  const WORD y = NAME(Unpack)(b, &second) << (BITS - 1 - FRACTION);
  WORD low;
  const WORD high = PRODUCT(x, y, &low);
  return NAME(PackAny)(sign, first + second - SOFT_BIAS, high | (low != 0));
}

WORD NAME(Divide)(WORD a, WORD b) {
  const WORD sign = (a ^ b) & SOFT_SIGN;
  a &= ~SOFT_SIGN;
  b &= ~SOFT_SIGN;
  if (a > SOFT_INFINITY || b > SOFT_INFINITY) return SOFT_NAN;
  if (a == SOFT_INFINITY) return b == SOFT_INFINITY ? SOFT_NAN : sign | SOFT_INFINITY;
  if (b == 0) return a == 0 ? SOFT_NAN : sign | SOFT_INFINITY;
  if (a == 0 || b == SOFT_INFINITY) return sign;
  int32_t first, second;
  WORD x = NAME(Unpack)(a, &first), y = NAME(Unpack)(b, &second), quotient = 0;
  int32_t exponent = first - second + SOFT_BIAS;
  if (x < y) {
    x <<= 1;
    --exponent;
  }
  /* As many digits as the fraction has, two to round by, and one for all the rest. */
  for (int32_t i = 0; i < FRACTION + 3; ++i) {
    quotient <<= 1;
    if (x >= y) {
      x -= y;
      quotient |= 1;
    }
    x <<= 1;
  }
  return NAME(Pack)(sign, exponent, quotient << (SOFT_TAIL - 2) | (x != 0));
}

WORD NAME(Root)(WORD a) {
  if ((a & ~SOFT_SIGN) == 0) return a;
  if (a > SOFT_INFINITY) return SOFT_NAN;
  if (a == SOFT_INFINITY) return a;
  int32_t exponent;
  WORD x = NAME(Unpack)(a, &exponent) << (BITS - 2 - FRACTION), root = 0, rest = 0;
  /* x * 2^even, 1 <= x < 4: two of its bits make one of the root's. */
  const int32_t power = exponent - SOFT_BIAS;
  if (power & 1) x <<= 1;
  for (int32_t i = 0; i < FRACTION + 3; ++i) {
    rest = rest << 2 | x >> (BITS - 2);
    x <<= 2;
    const WORD trial = root << 2 | 1;
    root <<= 1;
    if (rest >= trial) {
      rest -= trial;
      root |= 1;
    }
  }
  return NAME(Pack)(0, (power - (power & 1)) / 2 + SOFT_BIAS,
                    root << (SOFT_TAIL - 2) | (rest != 0 || x != 0));
}

int32_t NAME(Compare)(WORD a, WORD b) {
  const WORD x = a & ~SOFT_SIGN, y = b & ~SOFT_SIGN;
  if (x > SOFT_INFINITY || y > SOFT_INFINITY) return SOFT_UNORDERED;
  if (a == b || (x | y) == 0) return SOFT_EQUAL;
  if ((a ^ b) & SOFT_SIGN) return a & SOFT_SIGN ? SOFT_LESS : SOFT_GREATER;
  return (x < y) != ((a & SOFT_SIGN) != 0) ? SOFT_LESS : SOFT_GREATER;
}

/* --- integers */

static WORD NAME(FromMagnitude)(WORD sign, uint64_t value) {
  if (value == 0) return 0;
  const int32_t zeros = softLeadingZeros(value);
  uint64_t left = value << zeros; /* the first one at bit 63 */
  const WORD significand = (WORD)(left >> (64 - BITS + 1)) | ((left << (BITS - 1)) != 0);
  return NAME(Pack)(sign, SOFT_BIAS + 63 - zeros, significand);
}
WORD NAME(FromNatural)(uint64_t value) { return NAME(FromMagnitude)(0, value); }
WORD NAME(FromInteger)(int64_t value) {
  return value < 0 ? NAME(FromMagnitude)(SOFT_SIGN, 0 - (uint64_t)value)
                   : NAME(FromMagnitude)(0, (uint64_t)value);
}

/* The magnitude, at most `most`. */
static uint64_t NAME(ToMagnitude)(WORD magnitude, uint64_t most) {
  const int32_t power = NAME(Exponent)(magnitude) - SOFT_BIAS;
  if (power < 0) return 0;
  if (power > 63) return most;
  const uint64_t significand = (uint64_t)((magnitude & (SOFT_HIDDEN - 1)) | SOFT_HIDDEN);
  const uint64_t value =
      power >= FRACTION ? significand << (power - FRACTION) : significand >> (FRACTION - power);
  return value < most ? value : most;
}
uint64_t NAME(ToNatural)(WORD a, int32_t bits) {
  const uint64_t most = bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
  return a >= SOFT_SIGN || a > SOFT_INFINITY ? 0 : NAME(ToMagnitude)(a, most);
}
int64_t NAME(ToInteger)(WORD a, int32_t bits) {
  const uint64_t end = (uint64_t)1 << (bits - 1);
  const WORD magnitude = a & ~SOFT_SIGN;
  if (magnitude > SOFT_INFINITY) return 0;
  if (a & SOFT_SIGN) return (int64_t)(0 - NAME(ToMagnitude)(magnitude, end));
  return (int64_t)NAME(ToMagnitude)(magnitude, end - 1);
}

/* --- whole numbers near a */

static WORD NAME(Whole)(WORD a, enum SoftWay way) {
  const WORD sign = a & SOFT_SIGN, magnitude = a & ~SOFT_SIGN;
  if (magnitude > SOFT_INFINITY) return SOFT_NAN;
  const int32_t power = NAME(Exponent)(magnitude) - SOFT_BIAS;
  if (power >= FRACTION || magnitude == 0) return a;
  if (power < 0) { /* 0 or 1 */
    const WORD half = (WORD)(SOFT_BIAS - 1) << FRACTION;
    const int away = way == SOFT_AWAY || (way == SOFT_NEAREST_EVEN && magnitude > half) ||
                     (way == SOFT_NEAREST_AWAY && magnitude >= half);
    return sign | (away ? (WORD)SOFT_BIAS << FRACTION : 0);
  }
  /* Of 1 the unit is the lowest bit of an odd exponent: so 1 is odd here, too. */
  const WORD unit = (WORD)1 << (FRACTION - power), part = magnitude & (unit - 1);
  const WORD whole = magnitude - part;
  const int away =
      (way == SOFT_AWAY && part != 0) || (way == SOFT_NEAREST_AWAY && part >= unit / 2) ||
      (way == SOFT_NEAREST_EVEN && (part > unit / 2 || (part == unit / 2 && (whole & unit) != 0)));
  return sign | (away ? whole + unit : whole);
}
WORD NAME(Truncate)(WORD a) { return NAME(Whole)(a, SOFT_TO_ZERO); }
WORD NAME(Floor)(WORD a) { return NAME(Whole)(a, a & SOFT_SIGN ? SOFT_AWAY : SOFT_TO_ZERO); }
WORD NAME(Ceiling)(WORD a) { return NAME(Whole)(a, a & SOFT_SIGN ? SOFT_TO_ZERO : SOFT_AWAY); }
WORD NAME(NearestEven)(WORD a) { return NAME(Whole)(a, SOFT_NEAREST_EVEN); }
WORD NAME(NearestAway)(WORD a) { return NAME(Whole)(a, SOFT_NEAREST_AWAY); }

#undef SOFT_SIGN
#undef SOFT_INFINITY
#undef SOFT_NAN
#undef SOFT_HIDDEN
#undef SOFT_TAIL
#undef SOFT_BIAS
#undef SOFT_MOST_EXPONENT
#undef WORD
#undef NAME
#undef BITS
#undef FRACTION
#undef LEADING
#undef PRODUCT
