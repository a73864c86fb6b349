// ShortList beside a std::vector that is given the same changes.
#include "compiler/support/short_list.h"

#include <gtest/gtest.h>

#include <random>
#include <span>

namespace dyn {
namespace {

using List = ShortList<uint32_t, 2>;

TEST(ShortList, equalsAVectorThroughRandomChanges) {
  std::mt19937 random(11);
  List list;
  std::vector<uint32_t> expected;
  for (uint32_t step = 0; step < 20'000; ++step) {
    const size_t at = random() % (expected.size() + 1);
    const auto place = static_cast<ptrdiff_t>(at);
    const std::vector<uint32_t> some(random() % 4, step);
    switch (random() % 8) {
      case 0:
        list.push_back(step);
        expected.push_back(step);
        break;
      case 1:
        list.insert(list.begin() + place, step);
        expected.insert(expected.begin() + place, step);
        break;
      case 2:
        list.insert(list.begin() + place, some.begin(), some.end());
        expected.insert(expected.begin() + place, some.begin(), some.end());
        break;
      case 3:
        list.erase(list.begin() + place, list.end());
        expected.erase(expected.begin() + place, expected.end());
        break;
      case 4:
        if (at == expected.size()) break;
        list.erase(list.begin() + place);
        expected.erase(expected.begin() + place);
        break;
      case 5:
        list.resize(at + 1, step);
        expected.resize(at + 1, step);
        break;
      case 6: {
        List copy = list;
        list = some;
        list = std::move(copy);
        EXPECT_TRUE(copy.empty());
        break;
      }
      case 7:
        list.assign(some.begin(), some.end());
        expected = some;
        break;
    }
    ASSERT_EQ(list, expected) << "step " << step;
    ASSERT_EQ(std::vector<uint32_t>(list), expected);
  }
}

TEST(ShortList, fewElementsLieInTheList) {
  List list = {1, 2};
  EXPECT_EQ(list.capacity(), 2u);
  const auto inside = [&] {
    const auto* begin = reinterpret_cast<const std::byte*>(&list);
    const auto* data = reinterpret_cast<const std::byte*>(list.data());
    return data >= begin && data < begin + sizeof list;
  };
  EXPECT_TRUE(inside());
  list.push_back(3);
  EXPECT_FALSE(inside());
  EXPECT_EQ(list, (List{1, 2, 3}));
  EXPECT_EQ(sizeof(List), 16u);
}

TEST(ShortList, aCopyIsAListOfItsOwn) {
  for (const List& list : {List{}, List{1}, List{1, 2, 3, 4}}) {
    List copy = list;
    EXPECT_EQ(copy, list);
    copy.push_back(9);
    EXPECT_EQ(copy.size(), list.size() + 1);
    copy = copy;  // NOLINT
    EXPECT_EQ(copy.back(), 9u);
  }
}

TEST(ShortList, atRefusesWhatIsBeyondTheEnd) {
  const List list = {4, 5};
  EXPECT_EQ(list.at(1), 5u);
  EXPECT_THROW(list.at(2), std::out_of_range);
  const std::span<const uint32_t> seen = list;
  EXPECT_EQ(seen.data(), list.data());
}

}  // namespace
}  // namespace dyn
