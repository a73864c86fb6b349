// Copies of rows that lie across memory, at all sizes about a line of it.
#include "vm/kernels/gemm/turned_copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace dyn::vm::kernels {
namespace {

template <typename T>
void compareAll() {
  constexpr int64_t kMost = 37, kStride = kMost + 3, kLeading = kMost + 2;
  std::vector<T> from(static_cast<size_t>(kMost * kStride));
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i);
  for (int64_t rows = 0; rows <= kMost; ++rows)
    for (int64_t columns = 0; columns <= kMost; ++columns) {
      std::vector<T> to(static_cast<size_t>(kMost * kLeading), T(-1));
      copyTurned(from.data(), rows, columns, kStride, to.data(), kLeading);
      for (int64_t i = 0; i < kMost; ++i)
        for (int64_t j = 0; j < kLeading; ++j) {
          const bool isCopied = i < rows && j < columns;
          ASSERT_EQ(to[static_cast<size_t>(i * kLeading + j)],
                    isCopied ? from[static_cast<size_t>(i + j * kStride)] : T(-1))
              << rows << " x " << columns << ", at " << i << ", " << j;
        }
    }
}

TEST(TurnedCopy, WritesAllThatIsThereAndNothingElse) {
  compareAll<float>();
  compareAll<double>();
  compareAll<int32_t>();
}

}  // namespace
}  // namespace dyn::vm::kernels
