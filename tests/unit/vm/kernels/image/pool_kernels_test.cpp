// The innermost loops of pools of each instruction set that this processor has: to the bit what one element
// after the other gives, for any number of columns, and nothing behind the last.
#include "vm/kernels/image/pool_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <vector>

extern const dyn::vm::kernels::PoolKernels dynPoolPortable;
#if defined(__x86_64__)
extern const dyn::vm::kernels::PoolKernels dynPoolAvx2, dynPoolAvx512;
#elif defined(__aarch64__)
extern const dyn::vm::kernels::PoolKernels dynPoolNeon;
#endif

namespace dyn::vm::kernels {
namespace {

struct Form {
  const char* name;
  const PoolKernels* kernels;
};

std::vector<Form> forms() {
  std::vector<Form> found{{"portable", &dynPoolPortable}, {"taken", &poolKernels()}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.push_back({"avx2", &dynPoolAvx2});
  if (__builtin_cpu_supports("avx512f")) found.push_back({"avx512", &dynPoolAvx512});
#elif defined(__aarch64__)
  found.push_back({"neon", &dynPoolNeon});
#endif
  return found;
}

constexpr int64_t kMostColumns = 40;
constexpr float kUnwritten = 12345.0f;

// Numbers, and every seventh a zero of either sign, an infinity or none.
std::vector<float> elements(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float special[] = {0.0f, -0.0f, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(random() % 7 == 0 ? special[random() % 5] : normal(random));
  return values;
}

float combined(bool maximum, float best, float x) {
  if (!maximum) return best + x;
  return x > best || x != x ? x : best;
}

void expectBits(const std::vector<float>& found, const std::vector<float>& wanted, int64_t columns,
                const std::string& what) {
  for (int64_t i = 0; i < columns; ++i) {
    const auto at = static_cast<size_t>(i);
    if (wanted[at] != wanted[at]) {
      EXPECT_NE(found[at], found[at]) << what << ", column " << i;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(found[at]), std::bit_cast<uint32_t>(wanted[at]))
          << what << ", column " << i << ": " << found[at] << " instead of " << wanted[at];
    }
  }
  for (size_t i = static_cast<size_t>(columns); i < found.size(); ++i)
    EXPECT_EQ(found[i], kUnwritten) << what << ", behind the last column";
}

TEST(PoolKernels, ColumnsOfAnyNumber) {
  for (const Form& form : forms())
    for (const bool maximum : {true, false})
      for (const int64_t taps : {1, 2, 3, 5})
        for (const int64_t stride : {1, 2, 3})
          for (const int64_t dilation : {1, 3})
            for (int64_t columns = 0; columns <= kMostColumns; ++columns) {
              const int64_t reach = kMostColumns * stride + taps * dilation + form.kernels->slack;
              const std::vector<float> row = elements(reach, static_cast<unsigned>(columns + 100 * taps));
              std::vector<float> wanted, found(kMostColumns + 40, kUnwritten);
              for (int64_t i = 0; i < columns; ++i) {
                float best = row[static_cast<size_t>(i * stride)];
                for (int64_t k = 1; k < taps; ++k)
                  best = combined(maximum, best, row[static_cast<size_t>(i * stride + k * dilation)]);
                wanted.push_back(best);
              }
              const auto kernel = maximum ? form.kernels->maximaOfColumns : form.kernels->sumsOfColumns;
              kernel(taps, stride, dilation, row.data(), columns, found.data());
              expectBits(found, wanted, columns,
                         std::string(form.name) + (maximum ? " maxima" : " sums") + " of " +
                             std::to_string(taps) + " taps, stride " + std::to_string(stride) + ", " +
                             std::to_string(columns) + " columns");
            }
}

TEST(PoolKernels, RowsOfAnyLength) {
  for (const Form& form : forms())
    for (const bool maximum : {true, false})
      for (const int64_t count : {1, 2, 3, 7, 27})
        for (int64_t columns = 1; columns <= kMostColumns; ++columns) {
          std::vector<std::vector<float>> values;
          std::vector<const float*> rows;
          for (int64_t r = 0; r < count; ++r)
            values.push_back(elements(columns, static_cast<unsigned>(r + 50 * columns)));
          for (const std::vector<float>& row : values) rows.push_back(row.data());
          std::vector<float> wanted = values[0], found(kMostColumns + 40, kUnwritten);
          for (int64_t r = 1; r < count; ++r)
            for (size_t i = 0; i < wanted.size(); ++i)
              wanted[i] = combined(maximum, wanted[i], values[static_cast<size_t>(r)][i]);
          const auto kernel = maximum ? form.kernels->maximaOfRows : form.kernels->sumsOfRows;
          kernel(count, rows.data(), columns, found.data());
          expectBits(found, wanted, columns,
                     std::string(form.name) + (maximum ? " maxima" : " sums") + " of " +
                         std::to_string(count) + " rows, " + std::to_string(columns) + " columns");
        }
}

}  // namespace
}  // namespace dyn::vm::kernels
