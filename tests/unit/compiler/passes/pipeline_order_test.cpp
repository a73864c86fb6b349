// Lists of passes: what a wrong order is told, and what goes with a pass that is left out.
#include <gmock/gmock.h>

#include "compiler/pass/former_names.h"
#include "compiler/pass/pipeline.h"
#include "compiler/passes/pass_table.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refusal(std::string_view passes) {
  Result<Pipeline> pipeline = parsePipeline(passes, passTable(), standardPipeline());
  return pipeline.ok() ? "" : pipeline.error().toString();
}

TEST(PipelineOrder, theStandardOneIsInOrder) {
  EXPECT_TRUE(checkOrder(standardPipeline(), passTable()).ok());
}

TEST(PipelineOrder, aPassFindsWhatItNeeds) {
  EXPECT_THAT(refusal("fuse,bufferize"),
              HasSubstr("pass 'fuse' requires types, which no pass before it provides"));
  EXPECT_THAT(refusal("fuse,bufferize"), HasSubstr("put infer before it"));
  EXPECT_THAT(refusal("infer,attention,fuse"), HasSubstr("pass 'attention' requires groups"));
  EXPECT_THAT(refusal("infer,plan,bufferize"), HasSubstr("pass 'plan' requires destinations"));
}

TEST(PipelineOrder, aPassDoesNotComeTooLate) {
  EXPECT_THAT(refusal("infer,bufferize,fold"),
              HasSubstr("pass 'fold' comes too late: there are destinations already"));
  EXPECT_THAT(refusal("infer,bufferize,bufferize"), HasSubstr("put it before bufferize"));
  EXPECT_THAT(refusal("infer,bufferize,plan,plan"), HasSubstr("there are arenas already"));
}

// Each pass of the table at each place of the standard pipeline: no pass can stand anywhere, and a refusal is
// a sentence about a pass.
TEST(PipelineOrder, everyPassSaysWhereItCanStand) {
  for (const PassDef& pass : passTable()) {
    Pipeline others = standardPipeline();
    std::erase_if(others, [&](const PipelineItem& item) { return item.pass->name == pass.name; });
    size_t taken = 0;
    for (size_t place = 0; place <= others.size(); ++place) {
      Pipeline pipeline = others;
      pipeline.insert(pipeline.begin() + static_cast<std::ptrdiff_t>(place), PipelineItem{&pass, {}});
      Status order = checkOrder(pipeline, passTable());
      if (order.ok())
        ++taken;
      else
        EXPECT_THAT(order.error().toString(), HasSubstr("pass '"));
    }
    EXPECT_GT(taken, 0u) << pass.name;
    EXPECT_LE(taken, others.size()) << pass.name << " could stand anywhere: it says too little";
  }
}

TEST(PipelineOrder, whatNeedsALeftOutPassGoesWithIt) {
  Result<Pipeline> pipeline = parsePipeline("-fuse", passTable(), standardPipeline());
  ASSERT_TRUE(pipeline.ok());
  EXPECT_THAT(toString(*pipeline), Not(HasSubstr("attention")));
  EXPECT_THAT(toString(*pipeline), HasSubstr("schedule"));
}

TEST(PipelineOrder, whatIsOnRequestStandsWhereTheTableHasIt) {
  EXPECT_THAT(toString(standardPipeline()), Not(HasSubstr("pack_sequences")));
  Result<Pipeline> pipeline = parsePipeline("+pack_sequences", passTable(), standardPipeline());
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().toString();
  EXPECT_THAT(toString(*pipeline), HasSubstr("batch_levels,pack_sequences,variants"));
  Result<Pipeline> other = parsePipeline("+fuse{max=4}", passTable(), standardPipeline());
  ASSERT_TRUE(other.ok()) << other.error().toString();
  EXPECT_THAT(toString(*other), Not(HasSubstr("pack_sequences")));
  EXPECT_THAT(toString(*other), HasSubstr("fuse{max=4},attention"));
}

// A former name stands for the pass wherever one is named, and is not printed.
TEST(PipelineOrder, formerNamesAreAccepted) {
  for (const FormerPassName& row : kFormerPassNames) {
    EXPECT_EQ(currentPassName(row.former), row.now);
    const PassDef* pass = findPass(passTable(), row.former);
    ASSERT_NE(pass, nullptr) << row.former;
    EXPECT_EQ(pass->name, row.now);
    for (const PassDef& other : passTable()) EXPECT_NE(other.name, row.former);
  }
  Result<Pipeline> pipeline =
      parsePipeline("+unpad{results=zero},-linearise", passTable(), standardPipeline());
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().toString();
  EXPECT_THAT(toString(*pipeline), HasSubstr("pack_sequences{results=zero}"));
  EXPECT_THAT(toString(*pipeline), Not(HasSubstr("batch_levels")));
  Trace trace;
  trace.steps.push_back({.index = 0, .name = "bufferize"});
  EXPECT_EQ(trace.find("place"), &trace.steps[0]);
}

}  // namespace
}  // namespace dyn
