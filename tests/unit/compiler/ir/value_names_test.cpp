// Names of values beside a std::map that holds the same.
#include "compiler/ir/value_names.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace dyn {
namespace {

TEST(ValueNames, equalAMapThroughRandomChanges) {
  std::mt19937 random(7);
  ValueNames names;
  std::map<std::string, uint32_t> expected;
  for (int step = 0; step < 20'000; ++step) {
    if (names.count() < 500) names.add();
    const auto value = static_cast<uint32_t>(random() % names.count());
    const std::string name = "v" + std::to_string(random() % 1'000);
    if (names.has(value)) {
      EXPECT_EQ(expected.erase(std::string(names.of(value))), 1u);
      names.take(value);
    } else if (names.find(name) == ValueNames::kNone) {
      names.give(value, name);
      expected[name] = value;
    }
    ASSERT_EQ(names.of(value).empty(), !names.has(value));
    const auto found = expected.find(name);
    ASSERT_EQ(names.find(name), found == expected.end() ? ValueNames::kNone : found->second) << name;
  }
  ASSERT_FALSE(expected.empty());
  for (const auto& [name, value] : expected) EXPECT_EQ(names.of(value), name);
}

TEST(ValueNames, longNamesLast) {
  ValueNames names;
  const std::string first(100'000, 'a'), second(70'000, 'b');
  for (int i = 0; i < 3; ++i) names.add();
  names.give(0, first);
  names.give(1, "short");
  names.give(2, second);
  EXPECT_EQ(names.of(0), first);
  EXPECT_EQ(names.find(second), 2u);
  EXPECT_EQ(names.of(1), "short");
  names.take(0);
  EXPECT_EQ(names.find(first), ValueNames::kNone);
  names.take(0);
  EXPECT_EQ(names.of(0), "");
}

TEST(ValueNames, nothingIsFoundInAnEmptyTable) {
  ValueNames names;
  EXPECT_EQ(names.find("x"), ValueNames::kNone);
  EXPECT_EQ(names.of(3), "");
  EXPECT_FALSE(names.has(3));
}

}  // namespace
}  // namespace dyn
