// levels: orders by hand, and what holds of the orders of random graphs.
#include <optional>
#include <random>
#include <set>

#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {

namespace {

using testing::ElementsAre;

std::vector<Value> levelsOf(std::vector<std::optional<HostTensor>> operands, int64_t kinds = 0) {
  OpCase test("levels", std::move(operands));
  test.results = 2;
  if (kinds != 0) test.attributes.set("kinds", kinds);
  return checkOp(test);
}

TEST(Levels, ATreeAndALoneNode) {
  // 0 and 1 are leaves of 2, which with leaf 3 is a child of 4; 5 is alone. Row 6 is nobody's.
  const std::vector<Value> made =
      levelsOf({scalar(7), vec({0, 1, 2, 3, 4, 5}), vec({6, 6, 0, 6, 2, 6}), vec({6, 6, 1, 6, -4, -1})});
  EXPECT_THAT(elements(made, 0), ElementsAre(0, 1, 3, 5, 2, 4));
  EXPECT_THAT(elements(made, 1), ElementsAre(0, 4, 5, 6));
}

TEST(Levels, RowsInAnotherOrder) {
  const std::vector<Value> made = levelsOf({scalar(4), vec({3, 0, 2}), vec({1, 3, 0})});
  EXPECT_THAT(elements(made, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements(made, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(elements(levelsOf({scalar(4), vec({3, 0, 2}), vec({1, 1, 3})}), 1), ElementsAre(0, 2, 3));
}

TEST(Levels, OneNodeALevelWhereTheOrderIsNotProved) {
  for (const auto& [writes, reads] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
           {{0, 1, 2}, {2, 3, 3}},     // forward
           {{0, 1, 2}, {1, 2, 0}},     // a cycle
           {{0, 1, 1}, {3, 3, 3}},     // one row twice
           {{0, 1, 4}, {3, 3, 3}},     // a row that is not there
           {{0, -1, 2}, {3, 3, 3}},    // written from the end
           {{0, 1, 2}, {3, 3, 4}}}) {  // a row that is not there is read
    const std::vector<Value> made = levelsOf(
        {scalar(4), HostTensor::vectorInt(Dtype::i64, writes), HostTensor::vectorInt(Dtype::i64, reads)});
    EXPECT_THAT(elements(made, 0), ElementsAre(0, 1, 2));
    EXPECT_THAT(elements(made, 1), ElementsAre(0, 1, 2, 3));
  }
  // Its own row, before it writes it, may be read.
  EXPECT_THAT(elements(levelsOf({scalar(3), vec({0, 1, 2}), vec({0, 1, 2})}), 1), ElementsAre(0, 3));
}

TEST(Levels, OneKindALevel) {
  const std::vector<Value> made =
      levelsOf({scalar(4), vec({0, 1, 2, 3}), vec({1, 0, 1, 0}), vec({0, 1, 2, 2})}, 1);
  EXPECT_THAT(elements(made, 0), ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(elements(made, 1), ElementsAre(0, 1, 3, 4));
}

TEST(Levels, Nothing) {
  const std::vector<Value> made = levelsOf({scalar(0), vec({}), vec({})});
  EXPECT_THAT(elements(made, 1), ElementsAre(0));
}

// Each node once; each level behind those it reads; no level that could be earlier.
TEST(Levels, RandomGraphs) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    const int64_t n = 1 + static_cast<int64_t>(random() % 60);
    std::vector<int64_t> writes, reads;
    for (int64_t i = 0; i < n; ++i) {
      writes.push_back(i);
      for (int k = 0; k < 2; ++k)
        reads.push_back(
            i == 0 || random() % 3 == 0 ? n : static_cast<int64_t>(random() % static_cast<uint64_t>(i)));
    }
    const std::vector<Value> made = levelsOf({scalar(n + 1), HostTensor::vectorInt(Dtype::i64, writes),
                                              HostTensor::vectorInt(Dtype::i64, reads).reshaped({n, 2})});
    const auto order = elements(made, 0), starts = elements(made, 1);
    std::vector<int64_t> level(static_cast<size_t>(n), -1);
    for (size_t l = 0; l + 1 < starts.size(); ++l)
      for (auto at = static_cast<size_t>(starts[l]); at < static_cast<size_t>(starts[l + 1]); ++at)
        level[static_cast<size_t>(order[at])] = static_cast<int64_t>(l);
    EXPECT_EQ(starts.back(), n);
    EXPECT_EQ(std::set<double>(order.begin(), order.end()).size(), static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      int64_t highest = -1;
      for (int64_t k = 0; k < 2; ++k)
        if (const int64_t row = reads[static_cast<size_t>(2 * i + k)]; row < n)
          highest = std::max(highest, level[static_cast<size_t>(row)]);
      EXPECT_EQ(level[static_cast<size_t>(i)], highest + 1);
    }
  }
}

}  // namespace
}  // namespace dyn::test
