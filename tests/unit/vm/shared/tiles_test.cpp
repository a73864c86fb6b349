// Who may use tiles, and what is said of it.
#include "vm/shared/dyn_tiles.h"

#include <gtest/gtest.h>

#include <string>

namespace dyn {
namespace {

TEST(Tiles, areUsedWhereProcessorSystemAndKernelAllowIt) {
  const TileSupport asked = tiles::ask(), again = tiles::ask();
  EXPECT_EQ(asked.bf16, again.bf16);
  EXPECT_EQ(asked.bytes, again.bytes);
  EXPECT_FALSE(asked.refused && (asked.bf16 || asked.bytes));
#if defined(__x86_64__) && defined(__linux__)
  EXPECT_EQ(asked.bf16 || asked.bytes || asked.refused, tiles::hasPalette() && tiles::systemSaves());
  if (!tiles::hasPalette()) {
    EXPECT_FALSE(tiles::kernelAllows());
  }
#endif
}

TEST(Tiles, areWhatTheEnvironmentSays) {
  const char* given = std::getenv("DYN_TILES");
  const std::string before = given ? given : "";
  setenv("DYN_TILES", "off", 1);
  EXPECT_EQ(tileChoice(), TileChoice::none);
  setenv("DYN_TILES", "model", 1);
  EXPECT_EQ(tileChoice(), TileChoice::model);
  unsetenv("DYN_TILES");
  EXPECT_EQ(tileChoice(), TileChoice::processor);
  if (given) setenv("DYN_TILES", before.c_str(), 1);
}

TEST(Tiles, areSpokenOf) {
  EXPECT_STREQ(tileText({}), "");
  EXPECT_STREQ(tileText({.bf16 = true, .bytes = true}), "; tiles (AMX) of bf16 and bytes");
  EXPECT_STREQ(tileText({.bf16 = true}), "; tiles (AMX) of bf16");
  EXPECT_STREQ(tileText({.bytes = true}), "; tiles (AMX) of bytes");
  EXPECT_STREQ(tileText({.refused = true}), "; the system refuses the tiles (AMX)");
}

}  // namespace
}  // namespace dyn
