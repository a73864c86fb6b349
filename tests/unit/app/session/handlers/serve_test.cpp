// Requests that come at random times or by a trace: which calls are joined, and what is told of them. Servers
// themselves: tests/unit/app/engine/serving.
#include <gmock/gmock.h>

#include "app/engine/model/compare.h"
#include "app/engine/serving/joined_calls.h"
#include "app/engine/serving/poisson_arrivals.h"
#include "app/engine/serving/request_trace.h"
#include "app/session/views/bench_views.h"
#include "compiler/reference/reference_interpreter.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;

TEST(PoissonArrivals, ComeAtTheRateWithGapsThatDiffer) {
  PoissonArrivals arrivals(1000, 20, 1, 7);
  int64_t count = 0, last = 0, longGaps = 0;
  for (; arrivals.next(); arrivals.advance(), ++count) {
    ASSERT_GE(*arrivals.next(), last);
    longGaps += *arrivals.next() - last > 2'000'000 ? 1 : 0;  // twice the mean: exp(-2) of all
    last = *arrivals.next();
  }
  EXPECT_NEAR(static_cast<double>(count), 20000, 700);  // five times the root
  EXPECT_NEAR(static_cast<double>(longGaps) / static_cast<double>(count), 0.135, 0.02);
  EXPECT_LT(last, 20'000'000'000);
}

TEST(PoissonArrivals, BurstsComeAtOnceAndTheRateStays) {
  PoissonArrivals arrivals(1000, 20, 10, 7);
  int64_t count = 0, last = -1, bursts = 0;
  for (; arrivals.next(); arrivals.advance(), ++count) {
    bursts += *arrivals.next() != last ? 1 : 0;
    last = *arrivals.next();
  }
  EXPECT_EQ(count, bursts * 10);
  EXPECT_NEAR(static_cast<double>(count), 20000, 2200);  // five times the root of the bursts
}

class RequestTraceTest : public testing::Test {
 protected:
  std::string refusal(const std::string& text) {
    const Result<RequestTrace> trace = readRequestTrace(folder_.write("trace", text));
    return trace.ok() ? "" : trace.error().message;
  }
  test::TemporaryFolder folder_;
};

TEST_F(RequestTraceTest, ColumnsAndJsonLinesSayTheSame) {
  for (const char* text : {"time,seq,batch\n0,17,1\r\n\n 0.25 , 5 , 2\n",
                           "{\"time\": 0, \"seq\": 17, \"batch\": 1}\n"
                           "{\"batch\": 2, \"seq\": 5, \"time\": 0.25}\n"}) {
    const Result<RequestTrace> trace = readRequestTrace(folder_.write("trace", text));
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_THAT(trace->dims, testing::ElementsAre("seq", "batch"));
    ASSERT_EQ(trace->lines.size(), 2u);
    EXPECT_EQ(trace->lines[1].arrivalNs, 250'000'000);
    EXPECT_THAT(trace->lines[1].sizes, testing::ElementsAre(5, 2));
  }
}

TEST_F(RequestTraceTest, FaultsHaveALine) {
  EXPECT_THAT(refusal(""), HasSubstr("it has no request"));
  EXPECT_THAT(refusal("seq,time\n1,0\n"), HasSubstr(":1: the first column is 'time'"));
  EXPECT_THAT(refusal("time,seq\n0,5\n0\n"), HasSubstr(":3: it has 1 columns instead of 2"));
  EXPECT_THAT(refusal("time,seq\n0,x\n"), HasSubstr(":2: 'x' is not a size of seq"));
  EXPECT_THAT(refusal("time,seq\n0,-1\n"), HasSubstr(":2: a size is not in 0 to 67108864"));
  EXPECT_THAT(refusal("time\n1\n0.5\n"), HasSubstr(":3: it arrives before the line above"));
  EXPECT_THAT(refusal("time\nnan\n"), HasSubstr(":2: its time is not in"));
  EXPECT_THAT(refusal("{\"time\": 0, \"seq\": 1}\n{\"time\": 1, \"s\": 1}\n"),
              HasSubstr(":2: it has no 'seq'"));
  EXPECT_THAT(refusal("{\"seq\": 1}\n"), HasSubstr(":1: it is not an object with a number 'time'"));
}

// A layer of attention under a mask, whose result is at each position; and one mean over positions.
const std::string kMaskedServed =
    R"(fn @main(%x: Tensor[(b, s, 8), f32], %mask: Tensor[(b, s), bool], %w: Tensor[(8, 8), f32]) {
  %keep = unsqueeze(%mask, i64[1] [1])
  %p = softmax(where(%keep, matmul(%x, transpose(matmul(%x, %w)) {perm = [0, 2, 1]}), f32[] -1.0e9)) {axis = -1}
  %y = matmul(%p, %x)
  return %y
}
)";
const std::string kMean = R"(fn @main(%x: Tensor[(b, s, 8), f32], %mask: Tensor[(b, s), bool]) {
  %m = reduce_mean(%x, i64[1] [1]) {keepdims = 0}
  %k = unsqueeze(reduce_max(cast(%mask) {to = f32}, i64[1] [1]) {keepdims = 0}, i64[1] [1])
  %y = mul(%m, %k)
  return %y
}
)";
const std::string kAcross = R"(fn @main(%x: Tensor[(b, 8), f32]) {
  %y = softmax(%x) {axis = 0}
  return %y
}
)";

class Serve : public test::SessionFixture {
 protected:
  const ServeResult& serve(const std::string& arguments) {
    outcome_ = line(":serve " + arguments);
    EXPECT_TRUE(outcome_->ok()) << outcome_->error->message;
    return *outcome_->as<ServeResult>();
  }
  std::string refusal(const std::string& arguments) {
    outcome_ = line(":serve " + arguments);
    return outcome_->ok() ? "" : outcome_->error->message;
  }
  std::shared_ptr<const Outcome> outcome_;
};

TEST_F(Serve, EachRequestIsAnsweredOrRejected) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMaskedServed)->ok());
  const std::string list = folder_.write("lengths.txt", "3\n17\n5\n5\n40\n");
  const ServeResult& alone = serve("--rate 2000 --seconds 0.3 --dim s=@" + list);
  EXPECT_NEAR(static_cast<double>(alone.requestsCount), 600, 150);
  EXPECT_EQ(alone.completedCount + alone.rejectedCount, alone.requestsCount);
  EXPECT_EQ(alone.runsCount, alone.completedCount);
  EXPECT_GT(alone.p50Ns, 0);
  EXPECT_LE(alone.p50Ns, alone.p90Ns);
  EXPECT_LE(alone.p90Ns, alone.p99Ns);
  // More than can be answered, and nobody may wait.
  const ServeResult& full = serve("--rate 1000000 --seconds 0.1 --max-queue 1 --dim s=@" + list);
  EXPECT_GT(full.rejectedCount, full.completedCount);
  EXPECT_EQ(full.longestLineCount, 1);
}

TEST_F(Serve, RequestsOfDifferentLengthsRunTogetherUnderAMask) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMaskedServed)->ok());
  const std::string list = folder_.write("lengths.txt", "3\n17\n5\n1\n40\n");
  for (const std::string by : {"--dim s=@", "--lengths mask=@"}) {
    const ServeResult& result = serve("--rate 200000 --seconds 0.05 --batching on --most 8 " + by + list);
    EXPECT_EQ(result.batch, "b");
    EXPECT_EQ(result.sequence, "s");
    EXPECT_EQ(result.lengths, "mask");
    EXPECT_THAT(result.comparedText, HasSubstr("4 of them gave the same as each alone; joining "));
    EXPECT_THAT(result.comparedText, HasSubstr(" a request joined, "));
    EXPECT_LT(result.runsCount, result.completedCount) << by;  // how many share a run is the machine's affair
    EXPECT_EQ(result.completedCount + result.rejectedCount, result.requestsCount);
  }
}

TEST_F(Serve, RequestsOfATraceArriveAsItSays) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMaskedServed)->ok());
  const std::string trace = folder_.write("trace.csv", "time,s,b\n0,3,1\n0,5,2\n0.05,3,1\n");
  for (const std::string batching : {"off", "on", "auto"}) {
    const ServeResult& result = serve("--trace " + trace + " --batching " + batching);
    EXPECT_EQ(result.requestsCount, 3);
    EXPECT_EQ(result.completedCount, 3);
    EXPECT_DOUBLE_EQ(result.seconds, 0.05);
    EXPECT_DOUBLE_EQ(result.perSecond, 60);
  }
  EXPECT_THAT(refusal("--trace " + trace + " --rate 5"), HasSubstr("--rate and --trace"));
  EXPECT_THAT(refusal("--trace " + folder_.write("k.csv", "time,k\n0,3\n")), HasSubstr("no dim 'k'"));
}

TEST_F(Serve, JoinedWhereItPaysOrNotAtAll) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMaskedServed)->ok());
  const ServeResult& result =
      serve("--rate 20000 --seconds 0.05 --burst 8 --batching auto --workers 2 --dim s=9");
  EXPECT_EQ(result.batch, "b");
  EXPECT_THAT(result.comparedText, HasSubstr("joining "));
  EXPECT_EQ(result.completedCount + result.rejectedCount, result.requestsCount);
  const ServeResult& across =
      (loadText(kAcross), serve("--rate 1000 --seconds 0.01 --dim b=2 --batching auto"));
  EXPECT_THAT(across.comparedText,
              HasSubstr("one by one: unsupported: calls of this model cannot be joined"));
}

TEST_F(Serve, OnlyEqualSizesWherePaddingReachesAResult) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMean)->ok());
  const std::string list = folder_.write("lengths.txt", "3\n17\n");
  const ServeResult& result = serve("--rate 100000 --seconds 0.05 --batching on --dim s=@" + list);
  EXPECT_EQ(result.sequence, "");
  EXPECT_THAT(result.comparedText, HasSubstr("those of different s differ from each alone"));
  EXPECT_LT(result.runsCount, result.completedCount);
}

TEST_F(Serve, SaysWhyRowsDoNotStayApart) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kAcross)->ok());
  EXPECT_THAT(refusal("--rate 10 --batching on"), HasSubstr("cannot be joined: along b: "));
  EXPECT_THAT(refusal("--rate 10 --batching on"), HasSubstr("%y"));
  EXPECT_EQ(refusal("--rate 1000 --seconds 0.01 --dim b=2"), "");
}

TEST_F(Serve, WrongArgumentsAreNamed) {
  ASSERT_TRUE(loadText(kAcross)->ok());
  EXPECT_THAT(refusal("--dim b=2"), HasSubstr("--rate"));
  EXPECT_THAT(refusal("--rate 0"), HasSubstr("--rate"));
  EXPECT_THAT(refusal("--rate 1 --burst 0"), HasSubstr("--burst"));
  EXPECT_THAT(refusal("--rate 1 --seconds -1"), HasSubstr("--seconds"));
  EXPECT_THAT(refusal("--rate 1 --batching maybe"), HasSubstr("--batching maybe"));
  EXPECT_THAT(refusal("--rate 1 --max-batch 0"), HasSubstr("--max-batch"));
  EXPECT_THAT(refusal("--rate 1 --dim b=1..4"), HasSubstr("--dim b=1..4"));
}

// Joined and taken apart again, each call has the bits it has alone.
class JoinedCalls : public testing::Test {
 protected:
  static std::vector<HostTensor> resultsOf(const Module& module, const CallInputs& call) {
    Result<std::vector<Value>> values = interpret(module, *module.main(), call.values);
    std::vector<HostTensor> tensors;
    EXPECT_TRUE(values.ok()) << values.error().message;
    for (const Value& value : *values) tensors.push_back(value.tensor());
    return tensors;
  }
};

TEST_F(JoinedCalls, AreWhatEachIsAlone) {
  Result<std::unique_ptr<LoadedModel>> model =
      LoadedModel::fromText(kMaskedServed, "m.dyn", SessionOptions{.threadCount = 1}, nullptr);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Signature& signature = (*model)->signature();
  Result<CallJoint> joint = callJoint(**model, "mask", "s");
  ASSERT_TRUE(joint.ok()) << joint.error().message;
  std::vector<CallInputs> calls;
  for (const auto& [rows, length] :
       std::vector<std::pair<int, int>>{{1, 5}, {2, 3}, {1, 0}, {0, 4}, {3, 7}}) {
    Result<std::vector<DimSpec>> dims =
        parseDimSpecs({"b=" + std::to_string(rows), "s=" + std::to_string(length)});
    ASSERT_TRUE(dims.ok());
    Result<CallInputs> call =
        makeInputs(signature, *dims, {"mask=ones", "x=random:" + std::to_string(length)}, 5, {});
    ASSERT_TRUE(call.ok()) << call.error().message;
    calls.push_back(*std::move(call));
  }
  std::vector<const CallInputs*> all;
  for (const CallInputs& call : calls) {
    EXPECT_TRUE(mayJoin(*joint, calls[0], call));
    all.push_back(&call);
  }
  Result<CallInputs> together = joined(*joint, all);
  ASSERT_TRUE(together.ok()) << together.error().message;
  EXPECT_THAT(together->values[0].tensor().shape(), testing::ElementsAre(7, 7, 8));
  EXPECT_THAT(together->values[1].tensor().shape(), testing::ElementsAre(7, 7));
  const std::vector<HostTensor> results = resultsOf((*model)->typed(), *together);
  Result<std::vector<std::vector<HostTensor>>> parts = apart(*joint, all, {&results[0]});
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  for (size_t c = 0; c < calls.size(); ++c)
    EXPECT_EQ(compareValues(Value((*parts)[c][0]), Value(resultsOf((*model)->typed(), calls[c])[0]),
                            Tolerance{1e-6, 1e-7, true}),
              "")
        << c;
}

// Branches whose conditions differ keep rows together by any proof; a program of many instances keeps them
// apart.
constexpr const char* kBranchOfOne = R"(
fn @main(x: Tensor[(n), f32]) {
  y = if(reduce_sum(x, keepdims = 0) > 0.0, x) then (x) {
    return x * 2.0
  } else (x) {
    return exp(x)
  }
  return y
}
)";

TEST_F(JoinedCalls, InstancesOfAProgramOfMany) {
  SessionOptions options{.threadCount = 1};
  options.many = "all";
  Result<std::unique_ptr<LoadedModel>> model = LoadedModel::fromText(kBranchOfOne, "m.dyn", options, nullptr);
  ASSERT_TRUE(model.ok()) << model.error().message;
  Result<CallJoint> joint = callJoint(**model, "", "");
  ASSERT_TRUE(joint.ok()) << joint.error().message;
  EXPECT_EQ(joint->batch, "r");
  std::vector<CallInputs> calls;
  for (const int instances : {1, 3, 2}) {
    Result<std::vector<DimSpec>> dims = parseDimSpecs({"r=" + std::to_string(instances), "n=4"});
    ASSERT_TRUE(dims.ok());
    Result<CallInputs> call =
        makeInputs((*model)->signature(), *dims, {"x=random:" + std::to_string(instances)}, 5, {});
    ASSERT_TRUE(call.ok()) << call.error().message;
    calls.push_back(*std::move(call));
  }
  std::vector<const CallInputs*> all;
  for (const CallInputs& call : calls) {
    EXPECT_TRUE(mayJoin(*joint, calls[0], call));
    all.push_back(&call);
  }
  Result<CallInputs> together = joined(*joint, all);
  ASSERT_TRUE(together.ok()) << together.error().message;
  EXPECT_THAT(together->values[0].tensor().shape(), testing::ElementsAre(6, 4));
  const std::vector<HostTensor> results = resultsOf((*model)->typed(), *together);
  Result<std::vector<std::vector<HostTensor>>> parts = apart(*joint, all, {&results[0]});
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  for (size_t c = 0; c < calls.size(); ++c)
    EXPECT_EQ(compareValues(Value((*parts)[c][0]), Value(resultsOf((*model)->typed(), calls[c])[0]),
                            Tolerance{1e-6, 1e-7, true}),
              "")
        << c;
}

TEST_F(JoinedCalls, ListsOfInstancesAreNotJoined) {
  SessionOptions options{.threadCount = 1};
  options.many = "all";
  Result<std::unique_ptr<LoadedModel>> model =
      LoadedModel::fromText("fn @main(x: Tensor[(n), f32]) { return nonzero(x) }", "m.dyn", options, nullptr);
  ASSERT_TRUE(model.ok()) << model.error().message;
  Result<CallJoint> joint = callJoint(**model, "", "");
  ASSERT_FALSE(joint.ok());
  EXPECT_THAT(joint.error().message, testing::HasSubstr("is not a tensor"));
}

TEST_F(JoinedCalls, OtherWeightsKeepCallsApart) {
  Result<std::unique_ptr<LoadedModel>> model =
      LoadedModel::fromText(kMaskedServed, "m.dyn", SessionOptions{.threadCount = 1}, nullptr);
  ASSERT_TRUE(model.ok());
  Result<CallJoint> joint = callJoint(**model, "", "");
  ASSERT_TRUE(joint.ok()) << joint.error().message;
  auto call = [&](const std::string& length, const std::string& weights) {
    return *makeInputs((*model)->signature(), *parseDimSpecs({"b=1", "s=" + length}), {"w=random:" + weights},
                       5, {});
  };
  EXPECT_TRUE(mayJoin(*joint, call("4", "1"), call("4", "1")));
  EXPECT_FALSE(mayJoin(*joint, call("4", "1"), call("4", "2")));
  EXPECT_FALSE(mayJoin(*joint, call("4", "1"), call("5", "1")));
}

class DeadlineTest : public test::SessionFixture {
 protected:
  // "" where it went well.
  std::string serve(const std::string& options) {
    auto outcome = line(":serve --rate 300 --seconds 0.1 --dim n=5 " + options);
    if (!outcome->ok()) return outcome->error->message;
    result_ = *outcome->as<ServeResult>();
    return "";
  }
  ServeResult result_;
};

TEST_F(DeadlineTest, RequestsAreInTimeLateOrNotBegun) {
  if (!loadText("fn @main(%x: Tensor[(n, 64), f32]) {\n  return softmax(%x) {axis = 0}\n}\n")->ok()) return;
  const std::string fault = serve("--deadline 1000");
  if (fault.find("LLVM") != std::string::npos) GTEST_SKIP();
  ASSERT_EQ(fault, "");
  EXPECT_EQ(result_.deadlineNs, 1'000'000'000'000);
  EXPECT_GT(result_.requestsCount, 0);
  EXPECT_EQ(result_.inTimeCount(), result_.requestsCount);
  EXPECT_EQ(result_.admissionText, "");
  ASSERT_EQ(serve("--deadline 1e-9"), "");  // when it is submitted its time is over
  EXPECT_EQ(result_.inTimeCount(), 0);
  EXPECT_EQ(result_.lateCount + result_.expiredCount, result_.requestsCount);
  ASSERT_EQ(serve("--deadline 1000 --admission deadline"), "");
  EXPECT_THAT(result_.admissionText, HasSubstr("all: there is no formula"));
  EXPECT_EQ(result_.infeasibleCount, 0);
  ASSERT_EQ(serve(""), "");
  EXPECT_EQ(result_.deadlineNs, 0);
}

TEST_F(DeadlineTest, WhatIsNoDeadlineIsRefused) {
  if (!loadText("fn @main(%x: Tensor[(n, 64), f32]) {\n  return softmax(%x) {axis = 0}\n}\n")->ok()) return;
  EXPECT_THAT(serve("--deadline 0"), HasSubstr("--deadline is not a positive time"));
  EXPECT_THAT(serve("--deadline 1 --admission some"), HasSubstr("it is all or deadline"));
  EXPECT_THAT(serve("--admission deadline"), HasSubstr("wants --deadline"));
}

}  // namespace
}  // namespace dyn
