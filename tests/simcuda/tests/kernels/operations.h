// operations.h — arithmetic of all types as C expressions: operations.c makes kernels of them,
// operations_test.cpp runs them on the host.
//
// R(T, e) stands for one expression e of type T over x, y and z. Whatever C leaves open (a quotient by zero,
// an overflow) is avoided.
#pragma once

#define INTEGER_OPERATIONS(R, T, U)                              \
  R(T, (T)((U)x + (U)y))                                         \
  R(T, (T)((U)x - (U)y))                                         \
  R(T, (T)((U)((U)x * 1u) * (U)y))                               \
  R(T, (T)((U)((U)x * 1u) * (U)y + (U)z))                        \
  R(T, y == 0 ? (T)0 : y == (T)-1 ? (T)(0 - (U)x) : (T)(x / y))  \
  R(T, y == 0 || y == (T)-1 ? (T)0 : (T)(x % y))                 \
  R(T, (T)(x & y))                                               \
  R(T, (T)(x | y))                                               \
  R(T, (T)(x ^ y))                                               \
  R(T, (T)~x)                                                    \
  R(T, (T)(0 - (U)x))                                            \
  R(T, (T)((U)x << (y & (8 * sizeof(T) - 1))))                   \
  R(T, (T)(x >> (y & (8 * sizeof(T) - 1))))                      \
  R(T, x < y ? x : y)                                            \
  R(T, x > y ? x : y)                                            \
  R(T, x < 0 ? (T)(0 - (U)x) : x)                                \
  R(T, x <= y ? z : (T)(x ^ z))                                  \
  R(T, (T)(x == y) | (T)((x != z) << 1) | (T)((x >= y) << 2))    \
  R(T, (T)((x >> 3) & 7))                                        \
  R(u64, (u64)(long long)x*(u64)(long long)y)                    \
  R(u32, (u32)__builtin_popcountll((u64)x))                      \
  R(u32, x == 0 ? 0u : (u32)__builtin_clzll((u64)x))             \
  R(u32, x == 0 ? 0u : (u32)__builtin_ctzll((u64)x))             \
  R(u32, ((u32)x << ((u32)y & 31)) | ((u32)x >> (-(u32)y & 31))) \
  R(u32, __builtin_bswap32((u32)x))                              \
  R(u64, __builtin_bswap64((u64)x))                              \
  R(u64, (u64)(((unsigned __int128)(u64)x * (u64)y) >> 64))      \
  R(u32, (u32)(((u64)(u32)x * (u32)y) >> 32))                    \
  R(signed char, (signed char)x)                                 \
  R(unsigned char, (unsigned char)x)                             \
  R(short, (short)x)                                             \
  R(u16, (u16)x)                                                 \
  R(int, (int)x)                                                 \
  R(u32, (u32)x)                                                 \
  R(long long, (long long)x)                                     \
  R(long long, (long long)(signed char)x)                        \
  R(u64, (u64)x)                                                 \
  R(float, (float)x)                                             \
  R(double, (double)x)                                           \
  R(_Float16, (_Float16)(int)(x & 127))

// F: the suffix of builtins.
#define REAL_OPERATIONS(R, T, F)                                             \
  R(T, x + y)                                                                \
  R(T, x - y)                                                                \
  R(T, x* y)                                                                 \
  R(T, x / y)                                                                \
  R(T, x* y + z)                                                             \
  R(T, __builtin_fma##F(x, y, z))                                            \
  R(T, __builtin_sqrt##F(x))                                                 \
  R(T, 1 / x)                                                                \
  R(T, -x)                                                                   \
  R(T, __builtin_fabs##F(x))                                                 \
  R(T, __builtin_copysign##F(x, y))                                          \
  R(T, __builtin_floor##F(x))                                                \
  R(T, __builtin_ceil##F(x))                                                 \
  R(T, __builtin_trunc##F(x))                                                \
  R(T, __builtin_rint##F(x))                                                 \
  R(T, x == y ? x : __builtin_fmin##F(x, y))                                 \
  R(T, x == y ? x : __builtin_fmax##F(x, y))                                 \
  R(T, x < y ? x : y)                                                        \
  R(T, x > y ? x : y)                                                        \
  R(int, (x < y) | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3)            \
  R(int, (!(x < y)) | (!(x <= y)) << 1 | (!(x > y)) << 2 | (!(x >= y)) << 3) \
  R(int, x != x)                                                             \
  R(signed char, (signed char)(x > -128 && x < 127 ? x : 0))                 \
  R(unsigned char, (unsigned char)(x > 0 && x < 255 ? x : 0))                \
  R(short, (short)(x > -32768 && x < 32767 ? x : 0))                         \
  R(int, (int)(x > -1e9f && x < 1e9f ? x : 0))                               \
  R(u32, (u32)(x > 0 && x < 4e9f ? x : 0))                                   \
  R(long long, (long long)(x > -1e18f && x < 1e18f ? x : 0))                 \
  R(u64, (u64)(x > 0 && x < 1e19f ? x : 0))                                  \
  R(float, (float)x)                                                         \
  R(double, (double)x)                                                       \
  R(_Float16, (_Float16)x)

#define HALF_OPERATIONS(R, T, F)                                  \
  R(T, x + y)                                                     \
  R(T, x - y)                                                     \
  R(T, x* y)                                                      \
  R(T, x / y)                                                     \
  R(T, -x)                                                        \
  R(float, (float)x)                                              \
  R(double, (double)x)                                            \
  R(int, (x < y) | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3) \
  R(T, x < y ? x : y)

// N(name, type, second parameter of the list, list)
#define OPERATION_TYPES(N)                                \
  N(i8, signed char, unsigned char, INTEGER_OPERATIONS)   \
  N(u8, unsigned char, unsigned char, INTEGER_OPERATIONS) \
  N(i16, short, u16, INTEGER_OPERATIONS)                  \
  N(u16, u16, u16, INTEGER_OPERATIONS)                    \
  N(i32, int, u32, INTEGER_OPERATIONS)                    \
  N(u32, u32, u32, INTEGER_OPERATIONS)                    \
  N(i64, long long, u64, INTEGER_OPERATIONS)              \
  N(u64, u64, u64, INTEGER_OPERATIONS)                    \
  N(f32, float, f, REAL_OPERATIONS)                       \
  N(f64, double, , REAL_OPERATIONS)                       \
  N(f16, _Float16, , HALF_OPERATIONS)
