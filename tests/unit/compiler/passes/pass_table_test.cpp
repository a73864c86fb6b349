// The table of passes: what each row must have beside it.
#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/passes/pass_table.h"
#include "tests/support/paths.h"

namespace dyn {
namespace {

TEST(PassTable, everyPassHasAGoldenText) {
  for (const PassDef& pass : passTable()) {
    const std::string path =
        test::sourceFolder() + "/tests/golden/passes/" + std::string(pass.name) + ".dyn.txt";
    EXPECT_TRUE(std::filesystem::exists(path)) << path
                                               << ": a module, the pass on it, and what it becomes "
                                                  "(tests/tools/golden_runner.sh --update writes the last)";
  }
}

}  // namespace
}  // namespace dyn
