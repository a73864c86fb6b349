// Sizes that a run decides have a title; every row of the table is the beginning of a reason that a shape
// rule gives.
#include "app/session/answers/size_titles.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/session/views/why_views.h"
#include "tests/support/paths.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

class SizeTitles : public test::SessionFixture {};

TEST_F(SizeTitles, StandBesideTheSymbol) {
  ASSERT_TRUE(loadText(R"(fn @main(x: Tensor[(n), f32]) {
  return nonzero(x)
}
)")
                  ->ok());
  const auto outcome = line(":dims");
  const auto* dims = outcome->as<DimsTable>();
  ASSERT_NE(dims, nullptr);
  for (const DimRow& row : dims->rows)
    EXPECT_EQ(row.title, row.symbol == "n" ? "" : "elements not 0") << row.symbol << ": " << row.origin;
  EXPECT_EQ(dims->rows.size(), 2u);
}

TEST(SizeTitlesTable, EachRowIsOfAReasonThatIsGiven) {
  std::string rules;
  for (const char* folder : {"/compiler/ops", "/compiler/infer"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(test::sourceFolder() + folder))
      if (entry.path().extension() == ".cpp") {
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        rules += text.str();
      }
  for (const auto& [begin, title] : sizeTitles()) {
    EXPECT_NE(rules.find("\"" + std::string(begin)), std::string::npos) << begin;
    EXPECT_LE(title.size(), 20u) << title << ": it stands in a box";
  }
}

}  // namespace
}  // namespace dyn
