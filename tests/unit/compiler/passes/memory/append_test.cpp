// Caches that a caller hands on from run to run (pass `append`, builtin `append`, growing values of the C
// API): the same bits as dense ones, in place, and never a change of what somebody still holds.
#include <gmock/gmock.h>

#include <regex>

#include "tests/unit/compiler/driver/run_both.h"
#include "vm/include/dyn_results.h"

namespace dyn {
namespace {

using test::Compiled;
using test::expectSame;
using test::randomTensor;
using test::ValueHandle;
using testing::HasSubstr;

constexpr const char* kParameters =
    "fn @main(%q: Tensor[(b, m, 2, 4), f32], %x: Tensor[(b, m, 2, 4), f32], %past_k: Tensor[(b, 2, p, 4), "
    "f32], "
    "%past_v: Tensor[(b, 2, p, 4), f32]) {\n";
constexpr const char* kStep = R"(
  %order = transpose(%x) {perm = [0, 2, 1, 3]}
  %k = concat(%past_k, %order) {axis = 2}
  %doubled = add(%x, %x)
  %twice = transpose(%doubled) {perm = [0, 2, 1, 3]}
  %v = concat(%past_v, %twice) {axis = 2}
  %qt = transpose(%q) {perm = [0, 2, 1, 3]}
  %kt = transpose(%k) {perm = [0, 1, 3, 2]}
  %scores = matmul(%qt, %kt)
  %p = softmax(%scores) {axis = -1}
  %z = matmul(%p, %v)
)";
const std::string kCache = std::string(kParameters) + kStep + "return %z, %k, %v }";

int64_t appendsIn(const std::string& text) {
  return test::opsAfter(text, "append", [](const Op& op) { return op.def->name == "append"; });
}

std::vector<HostTensor> appendInputs(int64_t batch, int64_t rows, int64_t past) {
  return {randomTensor(Dtype::f32, {batch, rows, 2, 4}, 1), randomTensor(Dtype::f32, {batch, rows, 2, 4}, 2),
          randomTensor(Dtype::f32, {batch, 2, past, 4}, 3), randomTensor(Dtype::f32, {batch, 2, past, 4}, 4)};
}

TEST(Append, OnlyWhatIsHandedOn) {
  EXPECT_EQ(appendsIn(kCache), 2);
  const std::string head = std::string(kParameters) + kStep;
  EXPECT_EQ(appendsIn(head + "return %z }"), 0) << "nobody is given the cache";
  EXPECT_EQ(appendsIn(head + "return %z, %k }"), 1);
  EXPECT_EQ(appendsIn(head + "%r = relu(%k) return %z, %k, %v, %r }"), 1) << "keys are read as they lie";
  EXPECT_EQ(appendsIn(head + "%r = relu(%past_k) return %z, %k, %v, %r }"), 1) << "the past is read, too";
  EXPECT_EQ(appendsIn(head + "return %z, %k, %v, %past_v }"), 1);
}

// Keys are only transposed: no kernel moves them before the append does. Values are computed.
TEST(Append, RowsThatAreOnlyMovedAreReadWhereTheyLie) {
  const auto stridedIn = [](const std::string& text) {
    return test::opsAfter(text, "append", [](const Op& op) { return op.def->name == "strided"; });
  };
  EXPECT_EQ(stridedIn(kCache), 1);
  const std::string reversed =
      std::string(kParameters) +
      "%s = constant() {value = i64[1] [-1]} %e = constant() {value = i64[1] "
      "[-9223372036854775807]} %a = constant() {value = i64[1] [3]}\n"
      "%turned = slice(%x, %s, %e, %a, %s)\n" +
      std::regex_replace(std::string(kStep), std::regex("transpose\\(%x\\)"), "transpose(%turned)") +
      "return %z, %k, %v }";
  EXPECT_EQ(stridedIn(reversed), 1);
  expectSame(reversed, {appendInputs(1, 1, 7), appendInputs(2, 3, 5), appendInputs(3, 1, 0),
                        appendInputs(2, 0, 4), appendInputs(0, 2, 3), appendInputs(1, 13, 113)});
}

TEST(Append, DenseAnyShape) {
  expectSame(kCache, {appendInputs(1, 1, 7), appendInputs(2, 3, 5), appendInputs(3, 1, 0),
                      appendInputs(2, 0, 4), appendInputs(0, 2, 3), appendInputs(1, 13, 113)});
}

// Each batch has its rows at a place of its own, as GroupQueryAttention says it.
const std::string kAtPlaces =
    "fn @main(%q: Tensor[(b, m, 2, 4), f32], %x: Tensor[(b, m, 2, 4), f32], %past_k: Tensor[(b, 2, p, 4), "
    "f32], %past_v: Tensor[(b, 2, p, 4), f32], %places: Tensor[(b), i64], %all: Tensor[(t), i64]) {\n"
    R"(
  %two = constant() {value = i64[1] [2]}
  %zero = constant() {value = i64[1] [0]}
  %t = shape(%all)
  %p = shape(%past_k) {start = 2, end = 3}
  %most = max(%t, %p)
  %more = sub(%most, %p)
  %pads = concat(%zero, %more) {axis = 0}
  %roomK = pad(%past_k, %pads, _, %two)
  %roomV = pad(%past_v, %pads, _, %two)
  %order = transpose(%x) {perm = [0, 2, 1, 3]}
  %k = tensor_scatter(%roomK, %order, %places) {axis = 2}
  %doubled = add(%x, %x)
  %twice = transpose(%doubled) {perm = [0, 2, 1, 3]}
  %v = tensor_scatter(%roomV, %twice, %places) {axis = 2}
  %qt = transpose(%q) {perm = [0, 2, 1, 3]}
  %kt = transpose(%k) {perm = [0, 1, 3, 2]}
  %scores = matmul(%qt, %kt)
  %s = softmax(%scores) {axis = -1}
  %z = matmul(%s, %v)
  return %z, %k, %v })";

std::vector<HostTensor> placesInputs(const std::vector<int64_t>& places, int64_t rows, int64_t past,
                                     int64_t size) {
  const auto batch = static_cast<int64_t>(places.size());
  std::vector<HostTensor> inputs = appendInputs(batch, rows, past);
  inputs.push_back(HostTensor::vectorInt(Dtype::i64, places));
  inputs.push_back(HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>(static_cast<size_t>(size))));
  return inputs;
}

TEST(AppendAtPlaces, AnyPlaces) {
  EXPECT_EQ(appendsIn(kAtPlaces), 2);
  expectSame(kAtPlaces,
             {placesInputs({7}, 1, 7, 8), placesInputs({5, 5}, 3, 5, 8), placesInputs({2, 5}, 3, 5, 8),
              placesInputs({0, 4, 1}, 2, 4, 11), placesInputs({0, 0}, 13, 0, 13), placesInputs({3}, 0, 5, 5),
              placesInputs({}, 2, 3, 5), placesInputs({0}, 1, 7, 7)});
}

TEST(AppendAtPlaces, OnlyWhatIsPaddedBehind) {
  const auto with = [](const char* from, const char* to) {
    const size_t at = kAtPlaces.find(from);
    EXPECT_NE(at, std::string::npos);
    return std::string(kAtPlaces).replace(at, strlen(from), to);
  };
  EXPECT_EQ(appendsIn(with("concat(%zero, %more)", "concat(%more, %zero)")), 0) << "in front";
  EXPECT_EQ(appendsIn(with("pad(%past_k, %pads, _, %two)", "pad(%past_k, %pads, _, %two) {mode = \"edge\"}")),
            1);
  EXPECT_EQ(appendsIn(with("sub(%most, %p)", "sub(%t, %p)")), 0) << "that may cut";
  EXPECT_EQ(appendsIn(with("%places) {axis = 2}", "%places) {axis = 2, mode = \"circular\"}")), 1);
  EXPECT_EQ(appendsIn(with("return %z, %k, %v", "return %z, %v")), 1);
  EXPECT_EQ(appendsIn(with("return %z, %k, %v", "%r = relu(%roomK) return %z, %k, %v, %r")), 1);
}

// A decoder whose first step has a graph of its own: the branch that continues the caches appends to them.
const std::string kSwitch =
    "fn @main(%c: Tensor[(), bool], %q: Tensor[(b, m, 2, 4), f32], %x: Tensor[(b, m, 2, 4), f32], %past_k: "
    "Tensor[(b, 2, p, 4), f32], %past_v: Tensor[(b, 2, p, 4), f32]) {\n"
    "  %z, %k, %v = if(%c, %q, %x, %past_k, %past_v) then (%q: Tensor[(b, m, 2, 4), f32], %x: Tensor[(b, m, "
    "2, 4), f32], %past_k: "
    "Tensor[(b, 2, p, 4), f32], %past_v: Tensor[(b, 2, p, 4), f32]) {\n" +
    std::string(kStep) +
    "  return %z, %k, %v } else (%q: Tensor[(b, m, 2, 4), f32], %x: Tensor[(b, m, 2, 4), f32], %past_k: "
    "Tensor[(b, 2, p, 4), f32], %past_v: Tensor[(b, 2, p, 4), f32]) {\n"
    "  %f = transpose(%x) {perm = [0, 2, 1, 3]}  %g = add(%f, %f)  return %f, %g, %f }\n";

TEST(AppendInBranches, OnlyWhatIsPassedOn) {
  EXPECT_EQ(appendsIn(kSwitch + "return %z, %k, %v }"), 2);
  EXPECT_EQ(appendsIn(kSwitch + "return %z, %k }"), 1);
  EXPECT_EQ(appendsIn(kSwitch + "%r = relu(%k) return %z, %k, %v, %r }"), 1) << "read as it lies";
  EXPECT_EQ(appendsIn(kSwitch + "%r = relu(%past_v) return %z, %k, %v, %r }"), 1) << "the past is read, too";
  std::vector<std::vector<HostTensor>> runs;
  for (const bool later : {true, false})
    for (const auto& [batch, rows, past] : {std::tuple{1, 1, 7}, {2, 3, 5}, {3, 1, 0}, {0, 2, 3}}) {
      runs.push_back({HostTensor::scalarInt(Dtype::boolean, later)});
      for (HostTensor& input : appendInputs(batch, rows, past)) runs.back().push_back(std::move(input));
    }
  expectSame(kSwitch + "return %z, %k, %v }", runs);
}

// The cache of a compiled kCache, and what stays of it from step to step.
class GrowingCache : public testing::Test {
 protected:
  void SetUp() override {
    IrContext context;
    Result<Module> parsed = test::parseText(context, kCache);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    for (std::unique_ptr<Compiled>* each : {&growing_, &dense_}) {
      Result<std::unique_ptr<Compiled>> made = Compiled::make(*parsed, {}, 2);
      ASSERT_TRUE(made.ok()) << made.error().toString();
      *each = std::move(*made);
    }
  }

  ValueHandle grow(const HostTensor& tensor, int64_t room) {
    dyn_value* value = nullptr;
    EXPECT_EQ(dyn_value_growing(growing_->context.get(), DYN_F32, 4, tensor.shape().data(), 2, room,
                                tensor.bytes(), static_cast<size_t>(tensor.sizeBytes()), &value),
              DYN_OK)
        << dyn_last_message();
    return ValueHandle(value);
  }

  // Runs with these; the outputs.
  std::vector<ValueHandle> step(const HostTensor& q, const HostTensor& x, dyn_value* k, dyn_value* v) {
    dyn_context* context = growing_->context.get();
    const ValueHandle values[] = {growing_->toVm(q), growing_->toVm(x)};
    dyn_value* given[] = {values[0].get(), values[1].get(), k, v};
    for (int32_t i = 0; i < 4; ++i) EXPECT_EQ(dyn_context_set_input(context, i, given[i]), DYN_OK);
    EXPECT_EQ(dyn_context_run(context), DYN_OK) << dyn_last_message();
    std::vector<ValueHandle> outputs;
    for (int32_t i = 0; i < dyn_context_result_count(context); ++i) {
      dyn_value* value = nullptr;
      EXPECT_EQ(dyn_context_get_output(context, i, &value), DYN_OK);
      outputs.emplace_back(value);
    }
    return outputs;
  }

  // The inputs and results of the last run.
  void letGo() {
    dyn_context* context = growing_->context.get();
    for (int32_t i = 0; i < 4; ++i) EXPECT_EQ(dyn_context_set_input(context, i, nullptr), DYN_OK);
    for (int32_t i = 0; i < dyn_context_result_count(context); ++i) {
      dyn_value* value = nullptr;
      EXPECT_EQ(dyn_context_take_output(context, i, &value), DYN_OK);
      dyn_value_release(value);
    }
  }

  // Read where the strides say.
  static HostTensor read(const dyn_value* value) {
    const int64_t* shape = dyn_value_shape(value);
    HostTensor tensor = *HostTensor::create(Dtype::f32, {shape, shape + dyn_value_rank(value)});
    int64_t strides[4];
    EXPECT_EQ(dyn_value_strides(value, strides), DYN_OK);
    const auto* data = static_cast<const float*>(dyn_value_first(value));
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
      int64_t rest = i, at = 0;
      for (size_t axis = 4; axis-- > 0; rest /= shape[axis]) at += rest % shape[axis] * strides[axis];
      tensor.setReal(i, static_cast<double>(data[at]));
    }
    return tensor;
  }

  static void expectBits(const HostTensor& actual, const HostTensor& expected) {
    ASSERT_EQ(actual.shape(), expected.shape());
    ASSERT_EQ(memcmp(actual.bytes(), expected.bytes(), static_cast<size_t>(expected.sizeBytes())), 0);
  }

  std::unique_ptr<Compiled> growing_, dense_;
};

TEST_F(GrowingCache, StepsAreTheSameBitsInPlaceUntilTheRoomEnds) {
  std::vector<HostTensor> now = appendInputs(2, 1, 3);
  ValueHandle k = grow(now[2], 8), v = grow(now[3], 8);
  EXPECT_EQ(dyn_value_data(k.get()), nullptr);
  int moves = 0;
  for (uint32_t i = 0; i < 20; ++i) {
    now[0] = randomTensor(Dtype::f32, {2, 1 + i % 2, 2, 4}, 10 + i);
    now[1] = randomTensor(Dtype::f32, {2, 1 + i % 2, 2, 4}, 50 + i);
    std::vector<ValueHandle> outputs = step(now[0], now[1], k.get(), v.get());
    Result<std::vector<HostTensor>> expected = dense_->run(now);
    ASSERT_TRUE(expected.ok()) << expected.error().toString();
    expectBits(read(outputs[0].get()), (*expected)[0]);
    expectBits(read(outputs[1].get()), (*expected)[1]);
    expectBits(read(outputs[2].get()), (*expected)[2]);
    moves += dyn_value_first(outputs[1].get()) != dyn_value_first(k.get()) ? 1 : 0;
    k = std::move(outputs[1]);
    v = std::move(outputs[2]);
    now[2] = (*expected)[1];
    now[3] = (*expected)[2];
  }
  EXPECT_EQ(moves, 2) << "from 8 rows to 18, from 18 to 38";
}

TEST_F(GrowingCache, NobodySeesWhatOthersAppend) {
  std::vector<HostTensor> now = appendInputs(1, 1, 3);
  const ValueHandle k = grow(now[2], 8), v = grow(now[3], 8);
  const HostTensor other = randomTensor(Dtype::f32, {1, 1, 2, 4}, 9);
  const std::vector<ValueHandle> first = step(now[0], now[1], k.get(), v.get());
  const HostTensor before = read(first[1].get());
  const std::vector<ValueHandle> second = step(now[0], other, k.get(), v.get());
  EXPECT_EQ(dyn_value_first(first[1].get()), dyn_value_first(k.get()));
  EXPECT_NE(dyn_value_first(second[1].get()), dyn_value_first(k.get()));
  expectBits(read(first[1].get()), before);
  expectBits(read(k.get()), now[2]);
  now[1] = other;
  expectBits(read(second[1].get()), (*dense_->run(now))[1]);
}

// Steps that are taken back, as guesses of tokens are: the rows before them stay, others take their place.
TEST_F(GrowingCache, RowsAreTakenBackInPlaceWhereNobodySeesThem) {
  std::vector<HostTensor> now = appendInputs(2, 1, 3);
  ValueHandle k = grow(now[2], 8), v = grow(now[3], 8);
  const void* first = dyn_value_first(k.get());
  for (uint32_t i = 0; i < 3; ++i) {
    const std::vector<HostTensor> wrong = {randomTensor(Dtype::f32, {2, 4, 2, 4}, 10 + i),
                                           randomTensor(Dtype::f32, {2, 4, 2, 4}, 50 + i)};
    std::vector<ValueHandle> outputs = step(wrong[0], wrong[1], k.get(), v.get());
    EXPECT_EQ(dyn_value_first(outputs[1].get()), first);
    k = std::move(outputs[1]);
    v = std::move(outputs[2]);
    letGo();
    for (ValueHandle* each : {&k, &v}) {
      dyn_value* raw = each->release();
      EXPECT_EQ(dyn_value_truncate(&raw, 3), DYN_OK) << dyn_last_message();
      EXPECT_EQ(dyn_value_shape(raw)[2], 3);
      EXPECT_EQ(dyn_value_room(raw), 8);
      each->reset(raw);
    }
    expectBits(read(k.get()), now[2]);
    expectBits(read(v.get()), now[3]);
  }
  std::vector<ValueHandle> outputs = step(now[0], now[1], k.get(), v.get());
  EXPECT_EQ(dyn_value_first(outputs[1].get()), first) << "in place";
  expectBits(read(outputs[1].get()), (*dense_->run(now))[1]);
  // Somebody holds the longer one: it keeps its rows, and what is appended to the shorter one is a copy.
  letGo();
  dyn_value* held = outputs[1].get();
  const HostTensor before = read(held);
  dyn_value_retain(held);
  dyn_value* shorter = held;
  ASSERT_EQ(dyn_value_truncate(&shorter, 2), DYN_OK);
  const ValueHandle shortK(shorter), shortV = grow(*HostTensor::create(Dtype::f32, {2, 2, 2, 4}), 8);
  const std::vector<ValueHandle> others = step(now[0], now[1], shortK.get(), shortV.get());
  EXPECT_NE(dyn_value_first(others[1].get()), first);
  expectBits(read(held), before);
}

TEST_F(GrowingCache, SteadyStepsAllocateNothing) {
  std::vector<HostTensor> now = appendInputs(1, 1, 30);
  ValueHandle k = grow(now[2], 64), v = grow(now[3], 64);
  dyn_statistics statistics{};
  for (int i = 0; i < 20; ++i) {
    std::vector<ValueHandle> outputs = step(now[0], now[1], k.get(), v.get());
    k = std::move(outputs[1]);
    v = std::move(outputs[2]);
    ASSERT_EQ(dyn_context_statistics(growing_->context.get(), &statistics), DYN_OK);
    EXPECT_TRUE(i <= 2 || statistics.allocations_count == 0) << "step " << i;
  }
}

TEST_F(GrowingCache, BoundOutputsAreDense) {
  std::vector<HostTensor> now = appendInputs(2, 1, 3);
  const ValueHandle k = grow(now[2], 8), v = grow(now[3], 8);
  alignas(64) float memory[2 * 2 * 4 * 4] = {};
  ASSERT_EQ(dyn_context_bind_output(growing_->context.get(), 1, memory, sizeof memory), DYN_OK);
  const HostTensor expected = (*dense_->run(now))[1];
  for (int round = 0; round < 2; ++round) {
    memset(memory, 0, sizeof memory);
    step(now[0], now[1], k.get(), v.get());
    EXPECT_EQ(memcmp(memory, expected.bytes(), sizeof memory), 0);
  }
  // A dense past is joined there from the second run on.
  const ValueHandle denseK = growing_->toVm(now[2]), denseV = growing_->toVm(now[3]);
  for (int round = 0; round < 3; ++round) {
    memset(memory, 0, sizeof memory);
    const std::vector<ValueHandle> outputs = step(now[0], now[1], denseK.get(), denseV.get());
    EXPECT_EQ(dyn_value_data(outputs[1].get()), memory);
    EXPECT_EQ(memcmp(memory, expected.bytes(), sizeof memory), 0);
  }
}

TEST_F(GrowingCache, WrongUsesAreErrors) {
  const HostTensor x = randomTensor(Dtype::f32, {1, 2, 2, 4}, 1);
  const ValueHandle value = grow(x, 8);
  dyn_context* context = growing_->context.get();
  dyn_value *raw = value.get(), *none = nullptr;
  EXPECT_EQ(dyn_value_truncate(&raw, 3), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("3 rows of a tensor that has 2"));
  EXPECT_EQ(dyn_value_truncate(&raw, -1), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_value_truncate(&none, 0), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(raw, value.get());
  const ValueHandle dense = growing_->toVm(x);
  raw = dense.get();
  EXPECT_EQ(dyn_value_truncate(&raw, 1), DYN_INVALID_ARGUMENT) << "it does not grow";
  for (int32_t i = 0; i < 4; ++i) ASSERT_EQ(dyn_context_set_input(context, i, value.get()), DYN_OK);
  EXPECT_EQ(dyn_context_run(context), DYN_UNSUPPORTED);
  EXPECT_THAT(dyn_last_message(), HasSubstr("growing along axis 2, room for 8"));
  dyn_value* made = nullptr;
  const int64_t shape[] = {2, 3};
  EXPECT_EQ(dyn_value_growing(context, DYN_F32, 2, shape, 2, 8, nullptr, 0, &made), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_value_growing(context, DYN_F32, 2, shape, 1, 2, nullptr, 0, &made), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(
      dyn_value_growing(context, static_cast<int32_t>(Dtype::string), 2, shape, 1, 8, nullptr, 0, &made),
      DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_value_growing(context, DYN_F32, 2, shape, 0, INT64_MAX / 4, nullptr, 0, &made),
            DYN_ARITHMETIC);
  EXPECT_EQ(made, nullptr);
}

}  // namespace
}  // namespace dyn
