// Operations of all types, bit for bit as the host computes them: the same C expressions, once as PTX and
// once here.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/simcuda/tests/api.h"

namespace {

using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;

#include "tests/simcuda/tests/kernels/operations.h"

constexpr long kCount = 2000;

template <class T>
std::vector<T> operands(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> v(kCount);
  for (long i = 0; i < kCount; i++) {
    if constexpr (std::is_integral_v<T>) {
      const u64 kSpecial[] = {
          0, 1, 2, ~0ull, 127, 128, 255, 32767, 32768, 65535, 1ull << 31, (1ull << 31) - 1, 1ull << 63, 7};
      v[i] = static_cast<T>(random() % 3 ? random() >> random() % 64 : kSpecial[random() % 14]);
    } else {
      const double kSpecial[] = {0.0,      -0.0,      1,   -1,    0.5,   1.5,  2.5, -2.5,
                                 INFINITY, -INFINITY, NAN, 65504, 1e-40, 3e-8, 1e9, 6e-5};
      double wide =
          std::ldexp(static_cast<double>(random() % 2000001) - 1e6, static_cast<int>(random() % 60) - 40);
      v[i] = static_cast<T>(random() % 3 ? wide : kSpecial[random() % 16]);
    }
  }
  return v;
}

template <class T>
bool same(const char* bytes, T expected) {
  T got;
  std::memcpy(&got, bytes, sizeof(T));
  if constexpr (!std::is_integral_v<T>) {
    if (got != got && expected != expected) return true;
  }
  return std::memcmp(&got, &expected, sizeof(T)) == 0;
}

class Operations : public DriverTest {
 protected:
  template <class T>
  std::vector<char> onDevice(const char* kernel, const std::vector<T>& x, const std::vector<T>& y,
                             const std::vector<T>& z, size_t operations) {
    static const std::string text = kernelText("operations");
    DevicePointer dx = upload(x), dy = upload(y), dz = upload(z),
                  to = upload(std::vector<char>(8 * kCount * operations));
    EXPECT_EQ(run(load(text, kernel), {(kCount + 255) / 256, 256}, dx, dy, dz, to, kCount), 0)
        << api().fault();
    return download<char>(to, 8 * kCount * operations);
  }
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"

#define COUNT(T, e) +1
#define COMPARE(T, e)                                                                                  \
  for (long i = 0; i < kCount && wrong < 5; i++) {                                                     \
    auto x = xs[i], y = ys[i], z = zs[i];                                                              \
    (void)y, (void)z;                                                                                  \
    if (same<T>(at + 8 * i, static_cast<T>(e))) continue;                                              \
    ADD_FAILURE() << #e << " of x = " << +static_cast<double>(x) << ", y = " << static_cast<double>(y) \
                  << ", z = " << static_cast<double>(z);                                               \
    wrong++;                                                                                           \
  }                                                                                                    \
  at += 8 * kCount;

#define TEST_OF(name, T, second, LIST)                                                  \
  TEST_F(Operations, name) {                                                            \
    auto xs = operands<T>(1), ys = operands<T>(2), zs = operands<T>(3);                 \
    auto results = onDevice("operations_" #name, xs, ys, zs, 0 LIST(COUNT, T, second)); \
    const char* at = results.data();                                                    \
    int wrong = 0;                                                                      \
    LIST(COMPARE, T, second)                                                            \
  }
OPERATION_TYPES(TEST_OF)

#pragma GCC diagnostic pop

}  // namespace
