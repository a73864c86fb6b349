// Programs of one instance made programs of many (pass `vectorize`), on the modules of samples/18_many: each
// instance gives what it gives alone, compiled, and what is said to be joined is. Random programs:
// tests/fuzz/many.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "compiler/passes/pass_table.h"
#include "tests/support/paths.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::Compiled;
using test::randomTensor;
using testing::HasSubstr;

std::string manySample(const std::string& name) {
  std::ifstream file(test::sourceFolder() + "/samples/18_many/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A value that is part of the output of a run: a tensor, or the items of a list.
struct ManyOutput {
  bool isList = false;
  std::vector<HostTensor> items;
};

Result<std::vector<ManyOutput>> runMany(Compiled& program, const std::vector<HostTensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (dyn_context_set_input(program.context.get(), static_cast<int32_t>(i),
                              program.toVm(inputs[i]).get()) != DYN_OK)
      return makeError(DiagnosticId::inputMismatch, dyn_last_message());
  if (const dyn_status status = dyn_context_run(program.context.get()); status != DYN_OK)
    return makeError(test::idOf(status), dyn_last_message());
  std::vector<ManyOutput> outputs;
  for (int32_t i = 0; i < dyn_context_result_count(program.context.get()); ++i) {
    dyn_value* raw = nullptr;
    if (dyn_context_get_output(program.context.get(), i, &raw) != DYN_OK)
      return makeError(DiagnosticId::runtimeError, dyn_last_message());
    const test::ValueHandle value(raw);
    ManyOutput output;
    output.isList = dyn_value_kind(raw) == DYN_KIND_LIST;
    if (!output.isList) output.items.push_back(test::fromVm(raw));
    for (int64_t k = 0; output.isList && k < dyn_value_item_count(raw); ++k) {
      dyn_value* item = nullptr;
      if (dyn_value_item(raw, k, &item) != DYN_OK)
        return makeError(DiagnosticId::runtimeError, dyn_last_message());
      output.items.push_back(test::fromVm(test::ValueHandle(item).get()));
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

HostTensor instanceOf(const HostTensor& all, size_t instance) {
  std::vector<int64_t> shape(all.shape().begin() + 1, all.shape().end());
  HostTensor one = *HostTensor::create(all.dtype(), shape);
  if (one.sizeBytes() > 0)
    std::memcpy(one.mutableData(), all.data() + static_cast<int64_t>(instance) * one.sizeBytes(),
                static_cast<size_t>(one.sizeBytes()));
  return one;
}

HostTensor stackOf(const std::vector<HostTensor>& parts) {
  std::vector<int64_t> shape = parts[0].shape();
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  HostTensor all = *HostTensor::create(parts[0].dtype(), shape);
  std::byte* to = all.mutableData();
  for (const HostTensor& part : parts) {
    if (part.sizeBytes() > 0) std::memcpy(to, part.data(), static_cast<size_t>(part.sizeBytes()));
    to += part.sizeBytes();
  }
  return all;
}

// An input that differs between instances, or `shared`.
struct ManyInput {
  std::vector<HostTensor> instances;  // of a shared one, the same tensor
  bool isShared = false;
};

ManyInput sharedInput(HostTensor tensor) { return {{std::move(tensor)}, true}; }
ManyInput randomInstances(std::vector<int64_t> shape, uint32_t seed, size_t count = 6) {
  ManyInput input;
  for (size_t i = 0; i < count; ++i)
    input.instances.push_back(randomTensor(Dtype::f32, shape, seed + static_cast<uint32_t>(i)));
  return input;
}
ManyInput numbersOfInstances(const std::vector<int64_t>& numbers) {
  ManyInput input;
  for (int64_t number : numbers) input.instances.push_back(HostTensor::scalarInt(Dtype::i64, number));
  return input;
}

struct ManyRun {
  std::map<std::string, int64_t> counters;
  std::vector<std::string> remarks;
  std::vector<bool> lists;  // by result
};

// Of 6 instances, of 1 and of 3.
ManyRun expectAsAlone(const std::string& text, const std::string& inputNames,
                      const std::vector<ManyInput>& inputs, double tolerance = 1e-6) {
  ManyRun result;
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  if (!parsed.ok()) return result;
  Result<std::unique_ptr<Compiled>> one = Compiled::make(*parsed, {}, 1);
  EXPECT_TRUE(one.ok()) << one.error().toString();
  PassContext pass;
  pass.options["inputs"] = inputNames;
  Result<Module> vectorized = findPass(passTable(), "vectorize")->run(*parsed, pass);
  EXPECT_TRUE(vectorized.ok()) << vectorized.error().toString();
  if (!one.ok() || !vectorized.ok()) return result;
  Result<std::unique_ptr<Compiled>> many = Compiled::make(*vectorized, {}, 1);
  EXPECT_TRUE(many.ok()) << many.error().toString();
  if (!many.ok()) return result;
  result.counters = pass.counters;
  result.remarks = pass.remarks;
  for (const size_t r : {size_t{6}, size_t{1}, size_t{3}}) {
    std::vector<HostTensor> all;
    for (const ManyInput& input : inputs)
      all.push_back(input.isShared ? input.instances[0]
                                   : stackOf({input.instances.begin(),
                                              input.instances.begin() + static_cast<std::ptrdiff_t>(r)}));
    Result<std::vector<ManyOutput>> together = runMany(**many, all);
    EXPECT_TRUE(together.ok()) << together.error().toString();
    if (!together.ok()) return result;
    result.lists.clear();
    for (const ManyOutput& output : *together) result.lists.push_back(output.isList);
    for (size_t i = 0; i < r; ++i) {
      std::vector<HostTensor> own;
      for (const ManyInput& input : inputs) own.push_back(input.instances[input.isShared ? 0 : i]);
      Result<std::vector<HostTensor>> alone = (*one)->run(own);
      EXPECT_TRUE(alone.ok()) << alone.error().toString();
      if (!alone.ok()) return result;
      for (size_t k = 0; k < alone->size(); ++k) {
        const ManyOutput& output = (*together)[k];
        const HostTensor actual = output.isList ? output.items[i] : instanceOf(output.items[0], i);
        test::expectClose(
            actual, (*alone)[k],
            "instance " + std::to_string(i) + " of " + std::to_string(r) + ", result " + std::to_string(k),
            tolerance);
      }
    }
  }
  return result;
}

HostTensor smallWeights(std::vector<int64_t> shape, uint32_t seed, double scale) {
  HostTensor tensor = randomTensor(Dtype::f32, std::move(shape), seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, tensor.realAt(i) * scale);
  return tensor;
}

ManyInput weightsInput(std::vector<int64_t> shape, uint32_t seed, double scale = 0.3) {
  return sharedInput(smallWeights(std::move(shape), seed, scale));
}

int64_t vectorizeCounter(const ManyRun& run, const std::string& name) {
  const auto found = run.counters.find(name);
  return found == run.counters.end() ? 0 : found->second;
}

TEST(Vectorize, InstancesLeaveEarly) {
  const ManyRun run =
      expectAsAlone(manySample("early_exit.dyn"), "x",
                    {randomInstances({8}, 1), weightsInput({8, 8}, 2), weightsInput({8, 8}, 3),
                     weightsInput({8, 8}, 4), weightsInput({8, 3}, 5, 0.9)});
  EXPECT_EQ(vectorizeCounter(run, "parted_branches"), 2);
  EXPECT_EQ(vectorizeCounter(run, "alone"), 0);
}

TEST(Vectorize, EachInstanceHasItsExpert) {
  const ManyRun run =
      expectAsAlone(manySample("experts.dyn"), "x",
                    {randomInstances({8}, 1), weightsInput({8, 3}, 2), weightsInput({8, 8}, 3),
                     weightsInput({8, 8}, 4), weightsInput({8, 8}, 5)});
  EXPECT_EQ(vectorizeCounter(run, "parted_branches"), 2);
  EXPECT_EQ(vectorizeCounter(run, "alone"), 0);
}

TEST(Vectorize, RecurrencesHaveTripCountsOfTheirOwn) {
  const ManyRun run =
      expectAsAlone(manySample("lstm.dyn"), "x+count",
                    {randomInstances({7, 5}, 1), numbersOfInstances({3, 7, 0, 7, 1, 2}),
                     weightsInput({5, 16}, 2), weightsInput({4, 16}, 3), weightsInput({16}, 4)});
  EXPECT_EQ(vectorizeCounter(run, "loops_of_active_instances"), 1);
  EXPECT_EQ(vectorizeCounter(run, "alone"), 0);
  EXPECT_THAT(run.lists, testing::ElementsAre(false, true)) << "the outputs of the steps have lengths";
}

TEST(Vectorize, RecurrencesEndByTheirValues) {
  const ManyRun run = expectAsAlone(manySample("gru.dyn"), "x+count",
                                    {randomInstances({7, 5}, 1), numbersOfInstances({7, 7, 5, 0, 7, 2}),
                                     weightsInput({5, 12}, 2), weightsInput({4, 12}, 3)});
  EXPECT_EQ(vectorizeCounter(run, "loops_of_active_instances"), 1);
  EXPECT_EQ(vectorizeCounter(run, "alone"), 0);
}

TEST(Vectorize, DecodersEndByTheirTokens) {
  const ManyRun run =
      expectAsAlone(manySample("greedy.dyn"), "start",
                    {randomInstances({6}, 1), weightsInput({5, 6}, 2), weightsInput({6, 6}, 3, 0.8),
                     weightsInput({6, 5}, 4, 1.0), sharedInput(HostTensor::scalarInt(Dtype::i64, 9))});
  EXPECT_EQ(vectorizeCounter(run, "loops_of_active_instances"), 1);
  EXPECT_EQ(vectorizeCounter(run, "alone"), 0);
  EXPECT_THAT(run.lists, testing::ElementsAre(false, true));
}

// The keys of all earlier tokens are looked at: the cache grows until the instance ends.
const char* const kCacheOfInstance = R"(
fn @main(x: Tensor[(d), f32], w: Tensor[(d, d), f32], most: Tensor[(), i64]) {
  cache, last = loop(most, _, unsqueeze(x, 0), x, w) {carried = 2} body (i, keys: Tensor[(?, d), f32], h, w) {
    weights = softmax(keys @ h, axis = 0)
    next = tanh((weights @ keys) @ w)
    sum = reduce_sum(next, keepdims = 0)
    return sum > 0.0, concat(keys, unsqueeze(next, 0), axis = 0), next
  }
  return cache, last
}
)";

TEST(Vectorize, CachesGrowUntilTheirInstanceEnds) {
  for (const char* inputs : {"x", "x+most"}) {
    SCOPED_TRACE(inputs);
    const bool differs = std::string(inputs) != "x";
    const ManyRun run = expectAsAlone(kCacheOfInstance, inputs,
                                      {randomInstances({5}, 1), weightsInput({5, 5}, 2, 0.9),
                                       differs ? numbersOfInstances({3, 0, 6, 1, 6, 2})
                                               : sharedInput(HostTensor::scalarInt(Dtype::i64, 6))});
    EXPECT_EQ(vectorizeCounter(run, "loops_of_active_instances"), 1);
    EXPECT_EQ(vectorizeCounter(run, "alone"), 0);
    EXPECT_THAT(run.lists, testing::ElementsAre(true, false));
  }
}

TEST(Vectorize, LoopsInLoops) {
  const ManyRun run = expectAsAlone(
      manySample("nested_rnn.dyn"), "x+outer+inner",
      {randomInstances({6}, 1), numbersOfInstances({2, 0, 3, 1, 3, 2}),
       numbersOfInstances({1, 2, 0, 3, 4, 0}), weightsInput({6, 6}, 2), weightsInput({6, 6}, 3)});
  EXPECT_EQ(vectorizeCounter(run, "loops_of_active_instances"), 2);
  EXPECT_EQ(vectorizeCounter(run, "alone"), 0);
}

TEST(Vectorize, RecursionEndsForEachInstance) {
  const ManyRun run =
      expectAsAlone(manySample("drnn.dyn"), "x",
                    {randomInstances({6}, 1), weightsInput({6, 6}, 2, 0.8), weightsInput({6, 6}, 3, 0.8)});
  EXPECT_GE(vectorizeCounter(run, "parted_branches"), 1);
  EXPECT_EQ(vectorizeCounter(run, "alone"), 0);
}

TEST(Vectorize, WholeOperatorsRunForEachInstance) {
  const ManyRun run = expectAsAlone(manySample("detector.dyn"), "image",
                                    {randomInstances({1, 3, 12, 12}, 1), weightsInput({5, 3, 3, 3}, 2)});
  EXPECT_THAT(run.lists, testing::ElementsAre(false, true));
  EXPECT_THAT(run.remarks, testing::Contains(HasSubstr("non_max_suppression")));
}

// Leaves of tensors of these shapes.
Value treeOf(std::mt19937& random, int depth, const std::string& leaf, const std::string& pair,
             const std::vector<std::vector<int64_t>>& shapes) {
  if (depth > 0 && random() % 4 != 0) {
    Value left = treeOf(random, depth - 1, leaf, pair, shapes);
    Value right = treeOf(random, depth - 1, leaf, pair, shapes);
    return Value::data(pair, {std::move(left), std::move(right)});
  }
  std::vector<Value> fields;
  for (const std::vector<int64_t>& shape : shapes)
    fields.push_back(randomTensor(Dtype::f32, shape, static_cast<uint32_t>(random())));
  return Value::data(leaf, std::move(fields));
}

void expectLevelsOfAllTrees(const std::string& sample, const std::string& input,
                            const std::vector<Value>& trees, const std::vector<Value>& weights) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, manySample(sample));
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  CompileOptions inferOnly;
  inferOnly.passes = "infer";
  Trace trace;
  Result<Module> one = runPasses(*parsed, inferOnly, trace);
  ASSERT_TRUE(one.ok()) << one.error().toString();
  PassContext pass;
  pass.options["inputs"] = input;
  Result<Module> many = findPass(passTable(), "vectorize")->run(*one, pass);
  ASSERT_TRUE(many.ok()) << many.error().toString();
  PassContext levels;
  Result<Module> batched = findPass(passTable(), "batch_levels")->run(*many, levels);
  ASSERT_TRUE(batched.ok()) << batched.error().toString();
  EXPECT_EQ(levels.counters["batched_functions"], 1);
  EXPECT_EQ(levels.counters["calls_of_whole_lists"], 1) << "one call for the trees of all instances";
  const auto inputsOf = [&](Value first) {
    std::vector<Value> inputs = weights;
    inputs.insert(inputs.begin(), std::move(first));
    return inputs;
  };
  for (const Module* module : {&*many, &*batched}) {
    Result<std::vector<Value>> together = interpret(*module, inputsOf(Value::list(trees)));
    ASSERT_TRUE(together.ok()) << together.error().toString();
    for (size_t i = 0; i < trees.size(); ++i) {
      Result<std::vector<Value>> alone = interpret(*one, inputsOf(trees[i]));
      ASSERT_TRUE(alone.ok()) << alone.error().toString();
      test::expectClose(instanceOf((*together)[0].tensor(), i), (*alone)[0].tensor(),
                        "tree " + std::to_string(i), 1e-5);
    }
  }
}

TEST(Vectorize, TreesRunALevelAtATimeOverAllInstances) {
  std::mt19937 random(3);
  std::vector<Value> trees, phrases;
  for (int i = 0; i < 5; ++i) trees.push_back(treeOf(random, i, "Leaf", "Node", {{64}}));
  for (int i = 0; i < 5; ++i) phrases.push_back(treeOf(random, i, "Word", "Pair", {{16}, {16, 16}}));
  expectLevelsOfAllTrees("tree_lstm.dyn", "tree", trees,
                         {smallWeights({64, 192}, 1, 0.2), smallWeights({128, 320}, 2, 0.2)});
  expectLevelsOfAllTrees("mv_rnn.dyn", "phrase", phrases,
                         {smallWeights({32, 16}, 1, 0.2), smallWeights({16, 32}, 2, 0.2)});
}

// Row by row of the tables of rules: both ways of holding each operand.
TEST(Vectorize, RulesOfOperators) {
  const struct {
    const char* text;
    const char* inputs;
    std::vector<ManyInput> values;
  } cases[] = {
      {"fn @main(x: Tensor[(a, b), f32], y: Tensor[(b), f32]) { return x + y, softmax(x, axis = 0), "
       "transpose(x), reduce_sum(x), reduce_max(x, [0], keepdims = 0), shape(x), size(x) }",
       "all",
       {randomInstances({2, 3}, 1), randomInstances({3}, 2)}},
      {"fn @main(x: Tensor[(a, b), f32], y: Tensor[(b), f32]) { return x * y, x @ y, concat(x, unsqueeze(y, "
       "0), "
       "axis = 0), x[1], x[:, ::2], argmax(x, axis = 1), cumsum(x, 1) }",
       "y",
       {sharedInput(randomTensor(Dtype::f32, {2, 3}, 1)), randomInstances({3}, 2)}},
      {"fn @main(x: Tensor[(a, b), f32], y: Tensor[(b, c), f32]) { return x @ y, x @ x[0], y[:, 0] @ x[0], "
       "matmul(x, y, transpose_a = 0), matmul(y, x, transpose_a = 1, transpose_b = 1) }",
       "all",
       {randomInstances({2, 3}, 1), randomInstances({3, 4}, 2)}},
      {"fn @main(x: Tensor[(a, b), f32], y: Tensor[(b, c), f32]) { return x @ y, matmul(y, x, transpose_a = "
       "1, "
       "transpose_b = 1), einsum(x, y, equation = \"ab,bc->ca\") }",
       "x",
       {randomInstances({2, 3}, 1), sharedInput(randomTensor(Dtype::f32, {3, 4}, 2))}},
      {"fn @main(x: Tensor[(a, b), f32], y: Tensor[(b, c), f32]) { return x @ y, einsum(x, y, equation = "
       "\"ab,bc->ac\") }",
       "y",
       {sharedInput(randomTensor(Dtype::f32, {2, 3}, 1)), randomInstances({3, 4}, 2)}},
      {"fn @main(x: Tensor[(a, b), f32], i: Tensor[(), i64]) { return gather(x, i), gather(x, i, axis = 1), "
       "gather(x, reshape(i, [1, 1]), axis = 1), scatter_nd(x, reshape(i, [1, 1]), x[0:1]), "
       "gather_nd(x, reshape(i, [1, 1])) }",
       "all",
       {randomInstances({2, 3}, 1), numbersOfInstances({0, 1, -1, 1, 0, -2})}},
      {"fn @main(x: Tensor[(a, b), f32], i: Tensor[(), i64]) { return gather(x, i), gather(x, i, axis = 1), "
       "gather(x, reshape(i, [1, 1]), axis = 1), scatter_nd(x, reshape(i, [1, 1]), x[0:1]), x[:i] }",
       "i",
       {sharedInput(randomTensor(Dtype::f32, {2, 3}, 1)), numbersOfInstances({0, 1, -1, 1, 0, -2})}},
      {"fn @main(x: Tensor[(a, b), f32], i: Tensor[(), i64]) { return gather(x, i), gather(x, i, axis = 1), "
       "scatter_nd(x, reshape(i, [1, 1]), x[0:1]), reshape(x, [-1]), reshape(x, [0, -1, 1]), tile(x, [2, "
       "1]), "
       "pad(x, [1, 0, 0, 2]), expand(x, [2, 1, 1]), squeeze(unsqueeze(x, [0, 2]), [0]), trilu(x) }",
       "x",
       {randomInstances({2, 3}, 1), sharedInput(HostTensor::scalarInt(Dtype::i64, 1))}},
      {"fn @main(x: Tensor[(a, b), f32], s: Tensor[(b), f32]) { v, p = topk(x, [2]) q, r = split(x, axis = "
       "0, "
       "parts = 2) return v, p, q, r, layer_norm(x, s), one_hot(argmax(x), 4, [0.0, 1.0]), clip(x, 0.0, "
       "1.0), "
       "nonzero(x > 0.0) }",
       "x",
       {randomInstances({2, 3}, 1), sharedInput(randomTensor(Dtype::f32, {3}, 2))}},
      {"fn @main(x: Tensor[(n, 4, h, w), f32], k: Tensor[(2, 4, 3, 3), f32]) { return conv(x, k, pads = [1, "
       "1, 1, "
       "1]), max_pool(x, kernel_shape = [2, 2]), depth_to_space(x, block = 2) }",
       "x",
       {randomInstances({2, 4, 5, 5}, 1), sharedInput(randomTensor(Dtype::f32, {2, 4, 3, 3}, 2))}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.text);
    (void)expectAsAlone(one.text, one.inputs, one.values, 1e-5);
  }
}

TEST(Vectorize, SharedIsComputedOnce) {
  const ManyRun run =
      expectAsAlone("fn @main(x: Tensor[(d), f32], w: Tensor[(d, d), f32]) { t = tanh(w) @ w return x @ t }",
                    "x", {randomInstances({4}, 1), weightsInput({4, 4}, 2)});
  EXPECT_EQ(vectorizeCounter(run, "shared"), 2);
  EXPECT_EQ(vectorizeCounter(run, "joined"), 1);
}

TEST(Vectorize, AnInstanceReadsItsOwnElementsOnly) {
  IrContext context;
  Result<Module> parsed =
      test::parseText(context, "fn @main(x: Tensor[(a), f32], i: Tensor[(), i64]) { return gather(x, i) }");
  ASSERT_TRUE(parsed.ok());
  PassContext pass;
  Result<Module> many = findPass(passTable(), "vectorize")->run(*parsed, pass);
  ASSERT_TRUE(many.ok()) << many.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*many, {}, 1);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  const HostTensor x = randomTensor(Dtype::f32, {3, 2}, 1);
  EXPECT_TRUE((*compiled)->run({x, HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{0, 1, -2})}).ok());
  // Behind the end of the first instance lies the second.
  const auto wrong = (*compiled)->run({x, HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{2, 1, 0})});
  ASSERT_FALSE(wrong.ok());
}

TEST(Vectorize, NestingIsNoNestingOfCalls) {
  constexpr int kDepth = 3000;
  std::string text = "fn @main(x: Tensor[(n), f32]) {\n";
  for (int i = 0; i < kDepth; ++i)
    text += "y" + std::to_string(i) + " = if(reduce_sum(x, keepdims = 0) > 0.0, x) then (x) {\n";
  text += "return x\n";
  for (int i = kDepth; i-- > 0;) text += "} else (x) { return x * 2.0 }\nreturn y" + std::to_string(i) + "\n";
  IrContext context;
  Result<Module> parsed = test::parseText(context, text + "}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  PassContext pass;
  Result<Module> many = findPass(passTable(), "vectorize")->run(*parsed, pass);
  ASSERT_TRUE(many.ok()) << many.error().toString();
  EXPECT_GE(pass.counters["parted_branches"], 100);
  EXPECT_GE(pass.counters["alone"], 1);
}

TEST(Vectorize, RaggedInputsAreRefused) {
  IrContext context;
  Result<Module> parsed =
      test::parseText(context, "fn @main(x: Tensor[(b, len[b]), f32]) { return relu(x) }");
  ASSERT_TRUE(parsed.ok());
  PassContext pass;
  Result<Module> many = findPass(passTable(), "vectorize")->run(*parsed, pass);
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(many.error().message, HasSubstr("is ragged: a batch already"));
}

TEST(Vectorize, AModuleWithoutMainIsRefused) {
  IrContext ir;
  Result<Module> module = test::parseText(ir, "fn @other(%x: Tensor[(n), f32]) { return %x }");
  ASSERT_TRUE(module.ok());
  CompileOptions options;
  options.passes = "infer,vectorize";
  Trace trace;
  Result<Module> many = runPasses(*module, options, trace);
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().message.find("@main"), std::string::npos) << many.error().toString();
}

}  // namespace
}  // namespace dyn
