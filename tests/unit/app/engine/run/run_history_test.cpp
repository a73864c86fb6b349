#include "app/engine/run/run_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine/run/run_file.h"

namespace dyn {
namespace {

RunRecord listedRun(const std::string& model, int64_t medianNs) {
  RunRecord run;
  run.command = "profile";
  run.model = model;
  run.time = {7, medianNs, 3};
  return run;
}

std::vector<int64_t> numbersOf(const RunHistory& runs) {
  std::vector<int64_t> numbers;
  for (const RunHistory::Entry& entry : runs.entries()) numbers.push_back(entry.record.number);
  return numbers;
}

TEST(RunHistory, OfTooManyTheOldestGoesThatIsNotMarked) {
  RunHistory runs;
  for (size_t i = 0; i < RunHistory::kRecords; ++i) runs.add(listedRun("m.dyn", 100));
  EXPECT_EQ(runs.forgottenCount(), 0);
  ASSERT_TRUE(runs.setBaseline(1).ok());
  ASSERT_TRUE(runs.setChecked(3, true).ok());
  for (int i = 0; i < 3; ++i) runs.add(listedRun("n.dyn", 100));
  EXPECT_EQ(runs.entries().size(), RunHistory::kRecords);
  EXPECT_EQ(runs.forgottenCount(), 3);
  const std::vector<int64_t> numbers = numbersOf(runs);
  EXPECT_EQ(std::vector<int64_t>(numbers.begin(), numbers.begin() + 3), (std::vector<int64_t>{1, 3, 6}));
  EXPECT_EQ(numbers.back(), static_cast<int64_t>(RunHistory::kRecords) + 3);
  EXPECT_FALSE(runs.setBaseline(2).ok()) << "it is gone";
  EXPECT_EQ(runs.baseline()->record.number, 1) << "an error changes nothing";
}

TEST(RunHistory, TimesOfOperationsAreBoundedToo) {
  RunHistory runs;
  RunRecord large = listedRun("m.dyn", 100);
  large.places.resize(RunHistory::kPlaceTimes / 2);
  for (int i = 0; i < 5; ++i) runs.add(large);
  EXPECT_EQ(numbersOf(runs), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(runs.forgottenCount(), 3);
  large.places.resize(RunHistory::kPlaceTimes * 2);
  runs.add(large);
  EXPECT_EQ(numbersOf(runs), (std::vector<int64_t>{6})) << "the newest stays whatever its size";
}

TEST(RunHistory, OneRunIsTheBaselineAndHalfOfThemMayBeChecked) {
  RunHistory runs;
  for (size_t i = 0; i < RunHistory::kMarked + 1; ++i) runs.add(listedRun("m.dyn", 100));
  ASSERT_TRUE(runs.setBaseline(4).ok());
  ASSERT_TRUE(runs.setBaseline(5).ok());
  EXPECT_EQ(runs.baseline()->record.number, 5);
  EXPECT_FALSE(runs.find(4)->record.isBaseline);
  ASSERT_TRUE(runs.setBaseline(0).ok());
  EXPECT_EQ(runs.baseline(), nullptr);
  for (size_t i = 1; i <= RunHistory::kMarked; ++i)
    ASSERT_TRUE(runs.setChecked(static_cast<int64_t>(i), true).ok());
  EXPECT_FALSE(runs.setChecked(RunHistory::kMarked + 1, true).ok());
  EXPECT_TRUE(runs.setChecked(1, true).ok()) << "it is checked already";
  ASSERT_TRUE(runs.setChecked(1, false).ok());
  EXPECT_TRUE(runs.setChecked(RunHistory::kMarked + 1, true).ok());
  ASSERT_TRUE(runs.drop(2).ok());
  EXPECT_EQ(runs.find(2), nullptr);
  EXPECT_FALSE(runs.drop(2).ok());
}

TEST(RunHistory, WhatWasSavedComesBackWithItsMarks) {
  RunRecord run = listedRun("/models/m.onnx", 1234);
  run.number = 41;
  run.modelDigest = "0badcafe";
  run.pipeline = "-fuse";
  run.settings = "math=bf16";
  run.dims = {{"batch", 2}, {"seq", 59}};
  run.inputs = "random (seed 0)";
  run.threads = 4;
  run.device = "cpu";
  run.machine = "a \"processor\" \xff";  // not UTF-8
  run.isTimeProfiled = true;
  run.peakBytes = 5678;
  run.places = {{"p", {"q", "r"}, {3, 10, 2}}, {"s", {}, {1, 20, std::nullopt}}};
  run.isBaseline = run.isChecked = true;
  const std::string text = runsText({run, listedRun("other.dyn", 9)});
  ASSERT_TRUE(isRunsText(text));
  const Result<std::vector<RunRecord>> read = readRuns(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  RunHistory runs;
  runs.add(listedRun("m.dyn", 100));
  runs.restore(*read);
  ASSERT_EQ(numbersOf(runs), (std::vector<int64_t>{1, 2, 3})) << "numbers go on";
  const RunRecord& back = runs.find(2)->record;
  EXPECT_EQ(back.command, "profile");
  EXPECT_EQ(back.model, run.model);
  EXPECT_EQ(back.modelDigest, run.modelDigest);
  EXPECT_EQ(back.pipeline, run.pipeline);
  EXPECT_EQ(back.settings, run.settings);
  EXPECT_EQ(back.dims, run.dims);
  EXPECT_EQ(back.inputs, run.inputs);
  EXPECT_EQ(back.threads, 4);
  EXPECT_EQ(back.device, "cpu");
  EXPECT_EQ(back.machine.substr(0, 13), "a \"processor\"");
  EXPECT_TRUE(back.isTimeProfiled);
  EXPECT_EQ(back.peakBytes, 5678);
  EXPECT_EQ(back.time.count, 7);
  EXPECT_EQ(back.time.medianNs, 1234);
  EXPECT_EQ(back.time.spreadNs, 3);
  ASSERT_EQ(back.places.size(), 2u);
  EXPECT_EQ(back.places[0].members, (std::vector<std::string>{"q", "r"}));
  EXPECT_EQ(back.places[0].time.medianNs, 10);
  EXPECT_FALSE(back.places[1].time.spreadNs);
  EXPECT_TRUE(back.isBaseline && back.isChecked);
  EXPECT_FALSE(runs.find(3)->record.isBaseline);
  // A second baseline does not displace the one that is there.
  runs.restore(*read);
  EXPECT_EQ(runs.baseline()->record.number, 2);
}

TEST(RunFile, WhatIsNoSuchFileIsRefusedAndWrongFieldsAreNothing) {
  for (const char* bad : {"", "no", "[]", "{}", "{\"schema\": 1}", "{\"schema\": 1, \"runs\": 3}"}) {
    const auto read = readRuns(bad);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.error().id, DiagnosticId::fileFormat) << bad;
  }
  const auto later = readRuns("{\"schema\": 2, \"runs\": []}");
  ASSERT_FALSE(later.ok());
  EXPECT_THAT(later.error().message, testing::HasSubstr("schema 2"));
  EXPECT_FALSE(isRunsText("{\"otherData\":{},\"traceEvents\":[]}"));
  const auto odd = readRuns(
      "{\"schema\": 1, \"runs\": [4, {\"dims\": [], \"median_ns\": \"x\", \"spread_ns\": -4, \"places\": "
      "[1, {\"members\": [2]}]}, {\"median_ns\": 9223372036854775807, \"dims\": {\"n\": 1.5, \"m\": 2}}]}");
  ASSERT_TRUE(odd.ok());
  ASSERT_EQ(odd->size(), 2u);
  EXPECT_EQ(odd->at(0).time.medianNs, 0);
  EXPECT_EQ(odd->at(0).time.spreadNs, 0);
  EXPECT_EQ(odd->at(0).places.size(), 1u);
  EXPECT_LT(odd->at(1).time.medianNs, INT64_MAX / 1'000'000) << "a million of them can be added";
  EXPECT_EQ(odd->at(1).dims, (DimValues{{"m", 2}}));
}

}  // namespace
}  // namespace dyn
