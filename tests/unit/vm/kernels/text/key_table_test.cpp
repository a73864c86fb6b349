#include "vm/kernels/text/key_table.h"

#include <gtest/gtest.h>

#include <random>

namespace dyn::vm::kernels {
namespace {

// Every key of the table, its neighbours and the extremes have the place that a search from the front finds.
template <typename Key>
void expectAsSearched(const std::vector<Key>& keys) {
  const KeyTable<Key> table(keys.size(), [&](size_t k) { return keys[k]; });
  std::vector<Key> asked{0, 1, std::numeric_limits<Key>::lowest(), std::numeric_limits<Key>::max()};
  for (Key key : keys)
    for (Key near : {key, static_cast<Key>(static_cast<uint64_t>(key) + 1),
                     static_cast<Key>(static_cast<uint64_t>(key) - 1)})
      asked.push_back(near);
  for (Key key : asked) {
    const auto found = std::find(keys.begin(), keys.end(), key);
    EXPECT_EQ(table.place(key), static_cast<size_t>(found - keys.begin()))
        << "key " << +key << " of " << keys.size();
  }
}

TEST(KeyTable, WholeNumbersCloseTogetherFarApartAndAtTheEdges) {
  std::mt19937_64 random(1);
  for (size_t count : {0, 1, 2, 7, 100, 1009}) {
    std::vector<int64_t> close, apart, edges;
    for (size_t k = 0; k < count; ++k) {
      close.push_back(static_cast<int64_t>(random() % (2 * count)) - static_cast<int64_t>(count));
      apart.push_back(static_cast<int64_t>(random()));
      edges.push_back(k % 2 == 0 ? INT64_MIN + static_cast<int64_t>(k) : INT64_MAX - static_cast<int64_t>(k));
    }
    expectAsSearched(close);
    expectAsSearched(edges);
    const KeyTable<int64_t> table(count, [&](size_t k) { return apart[k]; });
    for (size_t k = 0; k < count; ++k) EXPECT_EQ(table.place(apart[k]), k);
    EXPECT_EQ(table.place(5), count);
  }
  expectAsSearched(std::vector<uint64_t>{0, UINT64_MAX, 3});
  expectAsSearched(std::vector<int8_t>{-128, 127, 0, -1, 5, 5});
  expectAsSearched(std::vector<uint16_t>{65535, 0, 65534});
}

TEST(KeyTable, RealNumbersWithNanAndBothZeros) {
  const std::vector<float> keys{1.5f, -0.0f, NAN, 0.0f, INFINITY, 1.5f};
  const KeyTable<float> table(keys.size(), [&](size_t k) { return keys[k]; });
  EXPECT_EQ(table.place(1.5f), 0u);
  EXPECT_EQ(table.place(0.0f), 1u);
  EXPECT_EQ(table.place(-0.0f), 1u);
  EXPECT_EQ(table.place(-std::numeric_limits<float>::quiet_NaN()), 2u);
  EXPECT_EQ(table.place(INFINITY), 4u);
  EXPECT_EQ(table.place(-INFINITY), 6u);
  const KeyTable<double> none(0, [](size_t) { return 0.0; });
  EXPECT_EQ(none.place(0.0), 0u);
}

}  // namespace
}  // namespace dyn::vm::kernels
