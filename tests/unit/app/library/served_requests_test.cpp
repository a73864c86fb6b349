// Servers by the C API: what a C program sees of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "app/library/include/dyn_server.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using testing::HasSubstr;

// Rows are independent, and sequences end where the mask says.
constexpr const char* kAttention = R"(fn @main(%x: Tensor[(b, s, 4), f32], %mask: Tensor[(b, s), bool]) {
  %keep = unsqueeze(%mask, i64[1] [1])
  %p = softmax(where(%keep, matmul(%x, transpose(%x) {perm = [0, 2, 1]}), f32[] -1.0e9)) {axis = -1}
  %y = matmul(%p, %x)
  return %y
}
)";
// The padding reaches the result: a mean over positions.
constexpr const char* kPadsMatter = R"(fn @main(%x: Tensor[(b, s, 4), f32], %mask: Tensor[(b, s), bool]) {
  %m = reduce_mean(%x, i64[1] [1]) {keepdims = 0}
  %k = unsqueeze(reduce_max(cast(%mask) {to = f32}, i64[1] [1]) {keepdims = 0}, i64[1] [1])
  %y = mul(%m, %k)
  return %y
}
)";
// An index of a row may lie outside the table.
constexpr const char* kLookup = R"(fn @main(%i: Tensor[(b, n), i64], %table: Tensor[(10), f32]) {
  %y = gather(%table, %i) {axis = 0}
  return %y
}
)";
constexpr const char* kAcross = R"(fn @main(%x: Tensor[(b, 4), f32]) {
  %y = softmax(%x) {axis = 0}
  return %y
}
)";

std::string diagnosticText() {
  dyn_diagnostic said{};
  said.size = sizeof said;
  return dyn_diagnostic_get(0, &said) == DYN_OK ? said.message : "";
}

struct Handles {
  void operator()(dyn_request* request) const { dyn_request_release(request); }
  void operator()(dyn_value* value) const { dyn_value_release(value); }
};
using Request = std::unique_ptr<dyn_request, Handles>;
using ValueHandle = std::unique_ptr<dyn_value, Handles>;

class ServedRequests : public testing::Test {
 protected:
  ~ServedRequests() override { dyn_server_release(server_); }

  void create(dyn_server_policy policy = {}) {
    policy.size = sizeof policy;
    dyn_server_release(server_);
    server_ = nullptr;
    ASSERT_EQ(dyn_server_create(&policy, &server_), DYN_OK) << diagnosticText();
  }
  // Without code generation there is nothing that runs.
  dyn_status add(const std::string& text, int32_t* index) {
    const std::vector<dyn_option> list = {{"cache-dir", "none"}, {"threads", "1"}};
    const std::string path = folder_.write("m.dyn", text);
    dyn_model_options options{};
    options.size = sizeof options;
    options.path = path.c_str();
    options.options = list.data();
    options.option_count = list.size();
    dyn_model* model = nullptr;
    EXPECT_EQ(dyn_model_open(&options, &model), DYN_OK) << diagnosticText();
    const dyn_status status = dyn_server_add_model(server_, model, index);
    dyn_model_release(model);  // the server needs it no more
    return status;
  }
  std::string joining(int32_t model) {
    const char* text = nullptr;
    EXPECT_EQ(dyn_server_joining(server_, model, &text), DYN_OK);
    return text ? text : "";
  }

  ValueHandle tensor(int32_t model, int32_t dtype, const std::vector<int64_t>& shape, const void* data,
                     size_t bytes) {
    dyn_value* value = nullptr;
    EXPECT_EQ(dyn_server_tensor(server_, model, dtype, static_cast<int32_t>(shape.size()), shape.data(), data,
                                bytes, &value),
              DYN_OK)
        << diagnosticText();
    return ValueHandle(value);
  }
  // Inputs of kAttention and kPadsMatter.
  std::vector<ValueHandle> sequence(int32_t model, int64_t rows, int64_t length, int64_t seed,
                                    int64_t width = 4) {
    std::vector<float> x(static_cast<size_t>(rows * length * width));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * 7 + seed * 31));
    const std::vector<uint8_t> mask(static_cast<size_t>(rows * length), 1);
    std::vector<ValueHandle> inputs;
    inputs.push_back(tensor(model, DYN_F32, {rows, length, width}, x.data(), x.size() * sizeof(float)));
    inputs.push_back(tensor(model, DYN_BOOL, {rows, length}, mask.data(), mask.size()));
    return inputs;
  }
  dyn_status submit(int32_t model, const std::vector<ValueHandle>& inputs, Request* request,
                    dyn_server_request asked = {}) {
    std::vector<dyn_value*> raw;
    for (const ValueHandle& input : inputs) raw.push_back(input.get());
    asked.size = sizeof asked;
    asked.model = model;
    asked.inputs = raw.data();
    asked.input_count = static_cast<int32_t>(raw.size());
    dyn_request* made = nullptr;
    const dyn_status status = dyn_server_submit(server_, &asked, &made);
    request->reset(made);
    EXPECT_EQ(made == nullptr, status != DYN_OK);
    return status;
  }
  static std::vector<float> output(const dyn_request* request) {
    dyn_value* value = nullptr;
    EXPECT_EQ(dyn_request_output(request, 0, &value), DYN_OK) << dyn_request_message(request);
    const ValueHandle held(value);
    if (!value) return {};
    const auto* data = static_cast<const float*>(dyn_value_data(value));
    return {data, data + dyn_value_size_bytes(value) / sizeof(float)};
  }
  std::vector<float> alone(int32_t model, const std::vector<ValueHandle>& inputs) {
    Request request;
    EXPECT_EQ(submit(model, inputs, &request), DYN_OK);
    EXPECT_EQ(dyn_request_wait(request.get(), -1), DYN_OK) << dyn_request_message(request.get());
    return output(request.get());
  }
  dyn_server_statistics statistics() {
    dyn_server_statistics made{};
    made.size = sizeof made;
    EXPECT_EQ(dyn_server_get_statistics(server_, &made), DYN_OK);
    return made;
  }
  static void expectNear(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << i;
  }

  test::TemporaryFolder folder_;
  dyn_server* server_ = nullptr;
};

// A policy under which requests wait until there are `count`: what is joined does not depend on time.
dyn_server_policy together(int32_t count) {
  dyn_server_policy policy{};
  policy.batching = DYN_BATCHING_ON;
  policy.max_batch = count;
  policy.max_wait_ns = int64_t{3600} * 1'000'000'000;
  return policy;
}

TEST_F(ServedRequests, ArgumentsAreChecked) {
  EXPECT_EQ(dyn_server_create(nullptr, nullptr), DYN_INVALID_ARGUMENT);
  dyn_server_policy policy{};
  EXPECT_EQ(dyn_server_create(&policy, &server_), DYN_INVALID_ARGUMENT);  // its size is not set
  policy.size = sizeof policy;
  policy.max_queue = -1;
  EXPECT_EQ(dyn_server_create(&policy, &server_), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(server_, nullptr);
  create();
  int32_t index = 7;
  EXPECT_EQ(dyn_server_add_model(server_, nullptr, &index), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(index, -1);
  const char* text = nullptr;
  EXPECT_EQ(dyn_server_joining(server_, 0, &text), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(diagnosticText(), HasSubstr("no model 0"));
  dyn_server_request asked{};
  asked.size = sizeof asked;
  dyn_request* request = nullptr;
  EXPECT_EQ(dyn_server_submit(server_, &asked, &request), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_server_submit(nullptr, &asked, &request), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_server_submit(server_, &asked, nullptr), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_request_wait(nullptr, 0), DYN_INVALID_ARGUMENT);
  dyn_request_cancel(nullptr);
  dyn_request_release(nullptr);
  dyn_server_release(nullptr);
}

TEST_F(ServedRequests, JoinedAnswersAreThoseAlone) {
  create(together(5));
  int32_t model = -1;
  if (add(kAttention, &model) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  ASSERT_EQ(model, 0) << diagnosticText();
  EXPECT_EQ(joining(model), "along b, of different s by mask");
  std::vector<std::vector<ValueHandle>> inputs;
  for (const auto& [rows, length] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 5}, {2, 6}, {1, 6}, {1, 5}, {3, 6}})
    inputs.push_back(sequence(model, rows, length, static_cast<int64_t>(inputs.size())));
  std::vector<Request> requests(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) ASSERT_EQ(submit(model, inputs[i], &requests[i]), DYN_OK);
  for (const Request& request : requests)
    ASSERT_EQ(dyn_request_wait(request.get(), -1), DYN_OK) << dyn_request_message(request.get());
  EXPECT_EQ(statistics().runs_count, 1);
  EXPECT_EQ(statistics().joined_runs_count, 1);
  create();
  ASSERT_EQ(add(kAttention, &model), DYN_OK);
  for (size_t i = 0; i < inputs.size(); ++i) expectNear(output(requests[i].get()), alone(model, inputs[i]));
}

TEST_F(ServedRequests, WherePaddingReachesAResultOnlyEqualLengthsAreJoined) {
  create(together(2));
  int32_t model = -1;
  if (add(kPadsMatter, &model) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  ASSERT_EQ(model, 0) << diagnosticText();
  const std::vector<ValueHandle> one = sequence(model, 1, 5, 1), other = sequence(model, 1, 6, 2);
  Request first, second;
  ASSERT_EQ(submit(model, one, &first), DYN_OK);
  ASSERT_EQ(submit(model, other, &second), DYN_OK);
  ASSERT_EQ(dyn_request_wait(first.get(), -1), DYN_OK);
  ASSERT_EQ(dyn_request_wait(second.get(), -1), DYN_OK);
  EXPECT_EQ(joining(model), "along b, of equal sizes");
  dyn_server_policy policy{};
  create(policy);
  ASSERT_EQ(add(kPadsMatter, &model), DYN_OK);
  EXPECT_EQ(output(first.get()), alone(model, one));
  EXPECT_EQ(output(second.get()), alone(model, other));
}

TEST_F(ServedRequests, ABadRequestFailsAloneAndSaysWhy) {
  create(together(4));
  int32_t lookup = -1, attention = -1;
  if (add(kLookup, &lookup) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  ASSERT_EQ(add(kAttention, &attention), DYN_OK);
  // An element that only the run finds, in the middle of a batch.
  std::vector<float> table(10);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
  std::vector<Request> requests(4);
  for (int64_t i = 0; i < 4; ++i) {
    const std::vector<int64_t> ids = {i, i == 2 ? 99 : i + 1};
    std::vector<ValueHandle> inputs;
    inputs.push_back(tensor(lookup, DYN_I64, {1, 2}, ids.data(), 16));
    inputs.push_back(tensor(lookup, DYN_F32, {10}, table.data(), 40));
    ASSERT_EQ(submit(lookup, inputs, &requests[static_cast<size_t>(i)]), DYN_OK);
  }
  for (size_t i = 0; i < 4; ++i) {
    const dyn_status status = dyn_request_wait(requests[i].get(), -1);
    if (i == 2) {
      EXPECT_NE(status, DYN_OK);
      EXPECT_THAT(dyn_request_message(requests[i].get()), HasSubstr("99"));
      EXPECT_EQ(dyn_request_output_count(requests[i].get()), 0);
    } else {
      ASSERT_EQ(status, DYN_OK) << dyn_request_message(requests[i].get());
      EXPECT_EQ(output(requests[i].get()), (std::vector<float>{static_cast<float>(i), i + 1.0F}));
    }
  }
  EXPECT_EQ(statistics().joined_runs_count, 1);
  // A size that the model does not take, and a mask of another length.
  const std::vector<ValueHandle> good = sequence(attention, 1, 5, 1), wide = sequence(attention, 1, 5, 1, 3);
  std::vector<ValueHandle> torn = sequence(attention, 1, 5, 1);
  torn[1] = std::move(sequence(attention, 1, 4, 1)[1]);
  std::vector<Request> more(6);
  ASSERT_EQ(submit(attention, wide, &more[0]), DYN_OK);
  ASSERT_EQ(submit(attention, torn, &more[1]), DYN_OK);
  for (size_t i = 2; i < 6; ++i) ASSERT_EQ(submit(attention, good, &more[i]), DYN_OK);
  EXPECT_EQ(dyn_request_wait(more[0].get(), -1), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_request_message(more[0].get()), HasSubstr("\"x\""));
  EXPECT_EQ(dyn_request_wait(more[1].get(), -1), DYN_BAD_INPUT);
  for (size_t i = 2; i < 6; ++i)
    EXPECT_EQ(dyn_request_wait(more[i].get(), -1), DYN_OK) << dyn_request_message(more[i].get());
  const dyn_server_statistics said = statistics();
  EXPECT_EQ(said.failed_count, 3);
  EXPECT_EQ(said.completed_count, 7);
}

TEST_F(ServedRequests, RefusedExpiredCancelled) {
  dyn_server_policy policy = together(4);
  policy.max_queue = 2;
  create(policy);
  int32_t model = -1;
  if (add(kAttention, &model) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  const std::vector<ValueHandle> inputs = sequence(model, 1, 5, 1);
  Request first, second, third;
  dyn_server_request late{};
  late.deadline_ns = -1;
  EXPECT_EQ(submit(model, inputs, &first, late), DYN_DEADLINE_PASSED);
  EXPECT_THAT(diagnosticText(), HasSubstr("deadline"));
  ASSERT_EQ(submit(model, inputs, &first), DYN_OK);
  ASSERT_EQ(submit(model, inputs, &second), DYN_OK);
  EXPECT_EQ(submit(model, inputs, &third), DYN_QUEUE_FULL);
  EXPECT_THAT(diagnosticText(), HasSubstr("full"));
  EXPECT_EQ(dyn_request_wait(first.get(), 0), DYN_NOT_ANSWERED);
  dyn_request_cancel(first.get());
  EXPECT_EQ(dyn_request_wait(first.get(), 0), DYN_CANCELLED);
  EXPECT_THAT(dyn_request_message(first.get()), HasSubstr("cancelled"));
  ASSERT_EQ(dyn_server_shut_down(server_, DYN_SHUTDOWN_REFUSE), DYN_OK);
  EXPECT_EQ(dyn_request_wait(second.get(), -1), DYN_SHUT_DOWN);
  EXPECT_EQ(submit(model, inputs, &third), DYN_SHUT_DOWN);
  const dyn_server_statistics said = statistics();
  EXPECT_EQ(said.submitted_count, 5);
  EXPECT_EQ(said.expired_count, 1);
  EXPECT_EQ(said.queue_full_count, 1);
  EXPECT_EQ(said.cancelled_count, 1);
  EXPECT_EQ(said.shut_down_count, 2);
  dyn_server_release(server_);
  server_ = nullptr;
  dyn_request_cancel(second.get());  // its server is gone
}

// A file of runs of the model that took `ns`, on this machine.
std::string runsOfModel(dyn_model* model, const std::string& path, int64_t ns) {
  const char* json = nullptr;
  EXPECT_EQ(dyn_model_command(model, "run --dim b=1 --dim n=2", &json), DYN_OK) << diagnosticText();
  EXPECT_EQ(dyn_model_command(model, "runs", &json), DYN_OK) << diagnosticText();
  const std::string said = json ? json : "";
  const size_t begin = said.find("\"machine\""), end = said.find_first_of(",}", begin);
  std::string runs;
  for (int64_t n = 1; n <= 8; ++n)
    runs += std::string(n > 1 ? "," : "") + R"({"model":")" + path + R"(","dims":{"b":1,"n":)" +
            std::to_string(n) +
            R"(},"threads_count":1,"device":"cpu","runs_count":3,"spread_ns":1,"median_ns":)" +
            std::to_string(ns) + "," + said.substr(begin, end - begin) + "}";
  return R"({"schema":1,"runs":[)" + runs + "]}";
}

// Refused by the formula in the package: a run of a quarter of an hour, and not one of a nanosecond.
TEST_F(ServedRequests, AdmissionByDeadlines) {
  constexpr int64_t kLongNs = int64_t{900} * 1'000'000'000;
  const std::string text =
      folder_.write("rows.dyn", "fn @main(%x: Tensor[(b, n), f32]) { %y = exp(%x) return %y }");
  const auto open = [&](const std::string& path) {
    const std::vector<dyn_option> list = {{"cache-dir", "none"}, {"threads", "1"}};
    dyn_model_options options{};
    options.size = sizeof options;
    options.path = path.c_str();
    options.options = list.data();
    options.option_count = list.size();
    dyn_model* model = nullptr;
    EXPECT_EQ(dyn_model_open(&options, &model), DYN_OK) << diagnosticText();
    return std::unique_ptr<dyn_model, decltype(&dyn_model_release)>(model, dyn_model_release);
  };
  dyn_server_policy policy{};
  policy.admission = static_cast<dyn_admission>(7);
  policy.size = sizeof policy;
  EXPECT_EQ(dyn_server_create(&policy, &server_), DYN_INVALID_ARGUMENT);
  policy.admission = DYN_ADMISSION_DEADLINE;
  create(policy);
  const auto model = open(text);
  int32_t plain = -1;
  if (dyn_server_add_model(server_, model.get(), &plain) == DYN_UNSUPPORTED)
    GTEST_SKIP() << "no code generation";
  const auto admission = [&](int32_t index) {
    const char* said = nullptr;
    EXPECT_EQ(dyn_server_admission(server_, index, &said), DYN_OK);
    return std::string(said ? said : "");
  };
  EXPECT_EQ(admission(plain), "all: there is no formula of the time in a package");
  const float data[2] = {1, 2};
  dyn_server_request soon{};
  soon.deadline_ns = kLongNs / 2;
  for (const int64_t ns : {int64_t{1}, kLongNs / 4, kLongNs}) {
    const std::string package = folder_.path() + "/" + std::to_string(ns) + ".dynpkg";
    const std::string runs = folder_.write("runs.json", runsOfModel(model.get(), text, ns));
    const char* json = nullptr;
    ASSERT_EQ(dyn_model_command(model.get(), ("compile -o " + package + " --runs " + runs).c_str(), &json),
              DYN_OK)
        << diagnosticText();
    const auto packaged = open(package);
    int32_t index = -1;
    ASSERT_EQ(dyn_server_add_model(server_, packaged.get(), &index), DYN_OK) << diagnosticText();
    EXPECT_THAT(admission(index), HasSubstr("time = "));
    std::vector<ValueHandle> inputs;
    inputs.push_back(tensor(index, DYN_F32, {1, 2}, data, sizeof data));
    Request request, free;
    if (ns > soon.deadline_ns) {
      EXPECT_EQ(submit(index, inputs, &request, soon), DYN_DEADLINE_INFEASIBLE);
      EXPECT_THAT(diagnosticText(), HasSubstr("and its deadline is in 450 s"));
    } else {
      ASSERT_EQ(submit(index, inputs, &request, soon), DYN_OK) << diagnosticText();
      EXPECT_EQ(dyn_request_wait(request.get(), -1), DYN_OK);
    }
    ASSERT_EQ(submit(index, inputs, &free), DYN_OK) << diagnosticText();  // without a deadline
    EXPECT_EQ(dyn_request_wait(free.get(), -1), DYN_OK);
  }
  EXPECT_EQ(statistics().infeasible_count, 1);
  EXPECT_EQ(statistics().completed_count, 5);
  const char* metrics = nullptr;
  ASSERT_EQ(dyn_server_metrics(server_, &metrics), DYN_OK);
  EXPECT_THAT(metrics, HasSubstr("dyn_requests_total{answer=\"infeasible\"} 1"));
}

TEST_F(ServedRequests, DrainingAnswersAll) {
  create(together(100));
  int32_t model = -1;
  if (add(kAttention, &model) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  const std::vector<ValueHandle> inputs = sequence(model, 1, 5, 1);
  std::vector<Request> requests(7);
  for (Request& request : requests) ASSERT_EQ(submit(model, inputs, &request), DYN_OK);
  ASSERT_EQ(dyn_server_shut_down(server_, DYN_SHUTDOWN_DRAIN), DYN_OK);
  for (const Request& request : requests) EXPECT_EQ(dyn_request_wait(request.get(), 0), DYN_OK);
}

TEST_F(ServedRequests, ACallbackHasTheAnswer) {
  create();
  int32_t model = -1;
  if (add(kAttention, &model) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  struct Seen {
    std::atomic<int> count{0};
    std::atomic<size_t> size{0};
    dyn_server* server = nullptr;
    dyn_status shutDown = DYN_OK;
  } seen;
  seen.server = server_;
  dyn_server_request asked{};
  asked.user = &seen;
  asked.answered = [](void* user, dyn_request* request) {
    auto* mine = static_cast<Seen*>(user);
    mine->size = output(request).size();
    mine->shutDown = dyn_server_shut_down(mine->server, DYN_SHUTDOWN_DRAIN);
    ++mine->count;
  };
  {
    const std::vector<ValueHandle> inputs = sequence(model, 1, 5, 1);
    Request request;
    ASSERT_EQ(submit(model, inputs, &request, asked), DYN_OK);
  }  // the handles are released before the answer, perhaps
  ASSERT_EQ(dyn_server_shut_down(server_, DYN_SHUTDOWN_DRAIN), DYN_OK);
  EXPECT_EQ(seen.count, 1);
  EXPECT_EQ(seen.size, 20u);
  EXPECT_EQ(seen.shutDown, DYN_INVALID_ARGUMENT);
}

TEST_F(ServedRequests, MemoryIsAskedOfThePlan) {
  dyn_server_policy policy = together(8);
  policy.max_wait_ns = 0;
  policy.memory_limit_bytes = 64 << 10;
  create(policy);
  int32_t model = -1;
  if (add(kAttention, &model) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  std::vector<Request> requests(20);
  const std::vector<ValueHandle> some = sequence(model, 1, 40, 1);  // scores of 6,400 bytes
  for (Request& request : requests) ASSERT_EQ(submit(model, some, &request), DYN_OK);
  for (const Request& request : requests)
    EXPECT_EQ(dyn_request_wait(request.get(), -1), DYN_OK) << dyn_request_message(request.get());
  Request large;
  ASSERT_EQ(submit(model, sequence(model, 1, 400, 1), &large), DYN_OK);  // scores of 640,000
  EXPECT_EQ(dyn_request_wait(large.get(), -1), DYN_MEMORY_LIMIT);
  EXPECT_THAT(dyn_request_message(large.get()), HasSubstr("memory_limit_bytes"));
  EXPECT_EQ(statistics().memory_refused_count, 1);
  EXPECT_EQ(statistics().failed_count, 0);
}

TEST_F(ServedRequests, SaysWhyRequestsRunOneByOne) {
  create();
  int32_t model = -1;
  if (add(kAcross, &model) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  EXPECT_THAT(joining(model),
              HasSubstr("one by one: unsupported: calls of this model cannot be joined: along b"));
  create(together(2));
  EXPECT_EQ(add(kAcross, &model), DYN_UNSUPPORTED);
  EXPECT_THAT(diagnosticText(), HasSubstr("cannot be joined"));
}

TEST_F(ServedRequests, ManyThreadsAndTwoModels) {
  constexpr int kThreads = 4, kEach = 40;
  dyn_server_policy policy{};
  policy.worker_count = 2;
  policy.batching = DYN_BATCHING_ON;
  create(policy);
  int32_t first = -1, second = -1;
  if (add(kAttention, &first) == DYN_UNSUPPORTED) GTEST_SKIP() << "no code generation";
  ASSERT_EQ(add(kPadsMatter, &second), DYN_OK);
  std::vector<std::vector<ValueHandle>> inputs;
  std::vector<std::vector<float>> expected;
  for (int64_t length = 1; length <= 8; ++length) {
    const int32_t model = length % 2 ? first : second;
    inputs.push_back(sequence(model, 1 + length % 3, 3 + length / 2, length));
    expected.push_back(alone(model, inputs.back()));
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      std::vector<Request> requests(kEach);
      dyn_server_request asked{};
      asked.client = static_cast<uint64_t>(thread);
      for (size_t i = 0; i < kEach; ++i)
        ASSERT_EQ(submit(i % 8 % 2 ? second : first, inputs[i % 8], &requests[i], asked), DYN_OK);
      for (size_t i = 0; i < kEach; ++i) {
        ASSERT_EQ(dyn_request_wait(requests[i].get(), -1), DYN_OK) << dyn_request_message(requests[i].get());
        expectNear(output(requests[i].get()), expected[i % 8]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  const char* text = nullptr;
  ASSERT_EQ(dyn_server_metrics(server_, &text), DYN_OK);
  EXPECT_THAT(text, HasSubstr("dyn_requests_total{answer=\"results\"} 168\n"));
  EXPECT_EQ(statistics().completed_count, kThreads * kEach + 8);
  EXPECT_GT(statistics().p99_ns, 0);
}

}  // namespace
}  // namespace dyn
