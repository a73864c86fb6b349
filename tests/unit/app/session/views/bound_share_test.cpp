// One rule for all tables and cards: what took less than its bound has no figure, nor has what has no bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/answers/place_tree.h"
#include "app/session/views/kernel_views.h"
#include "app/session/views/text/kernel_text.h"

namespace dyn {
namespace {

TEST(BoundShare, NoFigureBeyondTheBoundNorWithoutOne) {
  EXPECT_EQ(boundShare(250, 1000).value, 0.25);
  EXPECT_EQ(boundShare(1004, 1000).value, 1.0) << "it reads as 100 %";
  EXPECT_EQ(boundShare(1010, 1000).value, std::nullopt);
  EXPECT_TRUE(boundShare(1010, 1000).isBeyond);
  for (const BoundShare& none : {boundShare(0, 1000), boundShare(1000, 0), boundShare(0, 0)}) {
    EXPECT_EQ(none.value, std::nullopt) << "a share of 0 would say that nothing is slower";
    EXPECT_FALSE(none.isBeyond);
  }
}

TEST(BoundShare, ASumLeavesOutWhatHasNone) {
  BoundSum sum;
  sum.add(250, 1000);
  sum.add(0, 5000);
  EXPECT_EQ(sum.share().value, 0.25) << "time without a bound tells nothing of it";
  sum.add(3000, 1000);
  EXPECT_EQ(sum.share().value, 0.25);
  EXPECT_EQ(sum.beyondCount, 1);
  BoundSum beyond;
  beyond.add(3000, 1000);
  EXPECT_TRUE(beyond.share().isBeyond);
  EXPECT_FALSE(BoundSum().share().isBeyond);
}

TimelineEvent launchAt(const char* node, const char* kernel, int64_t beginNs, int64_t ns, int64_t boundNs) {
  TimelineEvent event;
  event.kind = "kernel";
  event.name = kernel;
  event.place = std::string("m.onnx: node ") + node + " (Relu, opset 17)";
  event.beginNs = beginNs;
  event.durationNs = ns;
  event.boundNs = boundNs;
  return event;
}

TEST(BoundShare, RowsAboveLaunchesSumThoseWhoseBoundHolds) {
  RunResult run;
  run.timeline = {launchAt("/a/x", "slow", 0, 1000, 250), launchAt("/a/y", "near", 1000, 1000, 4000),
                  launchAt("/a/z", "none", 2000, 8000, 0), launchAt("/b/x", "near", 10000, 100, 400)};
  std::map<std::string, BoundShare> shares;
  for (const PlaceRow& row : placeTree(run).rows)
    if (row.kind == "module") shares[row.label] = row.bound.share();
  EXPECT_EQ(shares["a"].value, 0.25);
  EXPECT_EQ(shares["b"].value, std::nullopt);
  EXPECT_TRUE(shares["b"].isBeyond);
}

TEST(BoundShare, ARowOfTheTableWithoutABoundHasNone) {
  KernelTable table;
  table.profiled = table.explained = true;
  KernelRow row;
  row.kind = "kernel";
  row.name = "sum";
  row.bound = "overhead";
  row.totalNs = 1000;
  table.rows = {row};
  EXPECT_THAT(boundsText(table, "time", {}), testing::Not(testing::HasSubstr(" 0%")));
  EXPECT_THAT(boundsText(table, "time", {}), testing::Not(testing::HasSubstr("took less")));
  table.rows[0].boundNs = 2000;
  EXPECT_THAT(boundsText(table, "time", {}), testing::HasSubstr("took less than its bound"));
}

}  // namespace
}  // namespace dyn
