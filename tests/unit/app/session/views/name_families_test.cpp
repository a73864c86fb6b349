#include "app/session/views/name_families.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

std::string families(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text;
  for (const NameFamily& family : nameFamilies(rows))
    text += (text.empty() ? "" : " ") + family.title + "/" + std::to_string(family.members.size());
  return text;
}

TEST(NameFamilies, differInOneNumberAndHaveOneType) {
  EXPECT_EQ(families({{"y", "T"},
                      {"p.0.key", "T"},
                      {"p.0.value", "T"},
                      {"p.1.key", "T"},
                      {"p.1.value", "T"},
                      {"p.2.key", "T"},
                      {"p.2.value", "T"}}),
            "y/1 p.0..2.key/3 p.0..2.value/3");
  EXPECT_EQ(families({{"h8", "T"}, {"h9", "T"}, {"h10", "T"}}), "h8..10/3");
  EXPECT_EQ(families({{"h8", "T"}, {"h9", "U"}, {"h10", "T"}}), "h8/1 h9/1 h10/1");
  EXPECT_EQ(families({{"h1", "T"}, {"h2", "T"}}), "h1/1 h2/1");
  EXPECT_EQ(families({{"h1", "T"}, {"h2", "T"}, {"h4", "T"}}), "h1/1 h2/1 h4/1");
  EXPECT_EQ(families({{"a0b0", "T"}, {"a1b1", "T"}, {"a2b2", "T"}}), "a0b0/1 a1b1/1 a2b2/1");
  EXPECT_EQ(families({{"a0b7", "T"}, {"a1b7", "T"}, {"a2b7", "T"}}), "a0..2b7/3");
  EXPECT_EQ(families({{"x", "T"}, {"x", "T"}, {"x", "T"}}), "x/1 x/1 x/1");
  EXPECT_EQ(families({}), "");
}

}  // namespace
}  // namespace dyn
