#include "app/engine/generate/token_table.h"

#include <gtest/gtest.h>

#include "app/engine/model/loaded_model.h"

namespace dyn {
namespace {

std::optional<int64_t> countOf(const std::string& body, size_t ids = 0) {
  const std::string text =
      "fn @main(%ids: Tensor[(b, s), i64], %flag: Tensor[(), bool], %t: Tensor[(7, 4), f32], "
      "%u: Tensor[(9, 4), f32], %open: Tensor[(n, 4), f32]) {\n" +
      body + "\n}\n";
  const EngineOptions options;
  Result<std::unique_ptr<LoadedModel>> model = LoadedModel::fromText(text, "test.dyn", options, nullptr);
  EXPECT_TRUE(model.ok()) << model.error().toString();
  if (!model.ok()) return -1;
  const Status made = (*model)->ensurePasses();
  EXPECT_TRUE(made.ok()) << made.error().toString();
  return tokensCountOf((*model)->typed(), ids);
}

TEST(TokenTable, TheSizeAlongWhichIdsChoose) {
  EXPECT_EQ(countOf("%y = gather(%t, %ids) {axis = 0} return %y"), 7);
  EXPECT_EQ(countOf("%y = gather(%t, %ids) {axis = 1} return %y"), 4);
  EXPECT_EQ(countOf("%y = gather(%t, unsqueeze(cast(%ids) {to = i32}, i64[1] [0])) {axis = 0} return %y"), 7);
  EXPECT_EQ(countOf("%y = gather(%u, %ids) {axis = 0} %z = gather(%t, %ids) {axis = 0} return %y, %z"), 7);
}

TEST(TokenTable, NothingWhereIdsAreOthersOrTheSizeIsOpen) {
  EXPECT_EQ(countOf("%y = gather(%t, add(%ids, 1)) {axis = 0} return %y"), std::nullopt);
  EXPECT_EQ(countOf("%y = gather(%open, %ids) {axis = 0} return %y"), std::nullopt);
  EXPECT_EQ(countOf("%y = mul(%ids, %ids) return %y"), std::nullopt);
  EXPECT_EQ(countOf("%y = gather(%t, %ids) {axis = 0} return %y", 1), std::nullopt);
  EXPECT_EQ(countOf("%y = gather(%t, %ids) {axis = 0} return %y", 9), std::nullopt);
}

// A token that one of them knows may be meant for it.
TEST(TokenTable, OfBranchesTheLargerCount) {
  const auto branches = [](const std::string& one, const std::string& other) {
    return "%y = if(%flag, %ids, %t, %u, %open) then (%ids, %t, %u, %open) { %a = " + one +
           " return %a } else (%ids, %t, %u, %open) { %b = " + other + " return %b } return %y";
  };
  const std::string small = "gather(%t, %ids) {axis = 0}", large = "gather(%u, %ids) {axis = 0}";
  EXPECT_EQ(countOf(branches(small, large)), 9);
  EXPECT_EQ(countOf(branches(large, small)), 9);
  EXPECT_EQ(countOf(branches(small, "gather(%open, %ids) {axis = 0}")), std::nullopt);
}

}  // namespace
}  // namespace dyn
