// Where elements of results come from: of every operator, changing any other element changes nothing.
#include "app/session/causes/element_sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/session/causes/recorded_run.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/op_def.h"
#include "compiler/reference/random_tensor.h"
#include "compiler/reference/reference_interpreter.h"
#include "tests/support/text_module.h"

namespace dyn {
namespace {

// Every symbol is 4. Whole numbers are below 4, so that they can be indices.
std::vector<Value> randomInputs(const Function& function) {
  std::vector<Value> inputs;
  for (const Parameter& parameter : function.parameters) {
    if (!parameter.type.isTensor() || parameter.type.dtype() == Dtype::string) return {};
    DimBinding binding;
    std::vector<int64_t> shape;
    for (SymbolId symbol : symbolsOf(parameter.type)) binding.set(symbol, 4);
    for (Dim d : parameter.type.dims()) shape.push_back(*evaluate(d, binding));
    const RandomSource source(7, function.name + std::to_string(inputs.size()));
    Result<HostTensor> made = randomTensor(parameter.type.dtype(), shape, source, 4);
    if (!made.ok()) return {};
    inputs.emplace_back(*std::move(made));
  }
  return inputs;
}

// What one operation of an example read and made.
struct Example {
  IrContext ir;
  Module module;
  std::unique_ptr<RecordedRun> run;
  const Op* op = nullptr;
  std::vector<Value> operands, results;

  explicit Example(std::string_view text, const OpDef* def) {
    Result<Module> parsed = test::parseText(ir, text);
    if (!parsed.ok()) return;
    Result<InferredModule> inferred = inferTypes(*parsed);
    if (!inferred.ok()) return;
    module = inferred->module;
    std::vector<Value> inputs = randomInputs(*module.main());
    if (inputs.size() != module.main()->parameters.size()) return;
    run = std::make_unique<RecordedRun>(module, std::move(inputs), RecordLimits());
    if (!run->ok()) return;
    for (const Op* one : module.main()->ops)
      if (one->def == def && !op) op = one;
    if (!op) return;
    for (ValueId operand : op->operands) {
      const Value* value = operand == kNoValue ? nullptr : run->find(0, operand);
      operands.push_back(value ? *value : Value());
    }
    for (const ValueDef& result : op->results) {
      const Value* value = result.id == kNoValue ? nullptr : run->find(0, result.id);
      results.push_back(value ? *value : Value());
    }
  }
  ElementSources sources(size_t result, std::vector<int64_t> places) const {
    return elementSources({module, *op, operands, results}, result, places);
  }
};

// Those of which one of several is named: others decide with it which one that is.
bool choosesByAll(const OpDef* def) {
  for (const OpDef* one : {&ops::reduce_maxOp, &ops::reduce_minOp, &ops::argmaxOp, &ops::argminOp,
                           &ops::topkOp, &ops::nonzeroOp, &ops::compressOp})
    if (def == one) return true;
  return false;
}

Value changedAt(const Value& value, int64_t place) {
  HostTensor tensor = value.tensor();
  EXPECT_NE(tensor.mutableData(), nullptr);
  if (isReal(tensor.dtype()))
    tensor.setReal(place, tensor.realAt(place) * 0.5 + 0.25);
  else
    tensor.setInt(place, (tensor.intAt(place) + 1) % (tensor.dtype() == Dtype::boolean ? 2 : 4));
  return Value(std::move(tensor));
}

bool sameElement(const HostTensor& a, const HostTensor& b, int64_t place) {
  if (a.shape() != b.shape()) return true;  // another shape: no such element
  if (!isReal(a.dtype())) return a.intAt(place) == b.intAt(place);
  const double x = a.realAt(place), y = b.realAt(place);
  return x == y || (x != x && y != y);
}

TEST(ElementSources, OtherElementsOfOperandsDoNotMatter) {
  int64_t operators = 0, changes = 0;
  std::set<std::string> whole;
  for (const OpDef* def : opTable()) {
    if (!def->evaluate || choosesByAll(def)) continue;
    Example example(def->example, def);
    if (!example.op || example.operands.empty()) continue;
    ++operators;
    for (size_t result = 0; result < example.results.size(); ++result) {
      if (!example.results[result].isTensor()) continue;
      const HostTensor& before = example.results[result].tensor();
      if (before.dtype() == Dtype::string) continue;
      const int64_t step = std::max<int64_t>(1, before.elementCount() / 5);
      for (int64_t place = 0; place < before.elementCount(); place += step) {
        const ElementSources from = example.sources(result, {place});
        if (from.kind == ElementSources::Kind::whole) {
          whole.insert(std::string(def->name));
          continue;
        }
        for (size_t k = 0; k < example.operands.size(); ++k) {
          if (!example.operands[k].isTensor() || example.operands[k].tensor().dtype() == Dtype::string)
            continue;
          std::set<int64_t> named;
          bool isNamed = false;
          for (const ElementSource& source : from.sources)
            if (source.operand == k) {
              isNamed = true;
              named.insert(source.elements.begin(), source.elements.end());
            }
          // Sizes, axes and the like are operands that no element is read from.
          const bool isReal = dyn::isReal(example.operands[k].tensor().dtype());
          if (!isNamed && !isReal) continue;
          for (int64_t at = 0; at < example.operands[k].tensor().elementCount(); ++at) {
            if (named.count(at) != 0) continue;
            std::vector<Value> operands = example.operands;
            operands[k] = changedAt(operands[k], at);
            const Result<std::vector<Value>> after = interpretOp(example.module, *example.op, operands);
            if (!after.ok() || !(*after)[result].isTensor()) continue;
            ++changes;
            ASSERT_TRUE(sameElement(before, (*after)[result].tensor(), place))
                << def->name << ": element " << place << " of result " << result << " also reads element "
                << at << " of operand " << k;
          }
        }
      }
    }
  }
  EXPECT_GT(operators, 100);
  EXPECT_GT(changes, 5000);
  // Operators for which a rule is there must not fall back on everything.
  for (const char* name :
       {"reshape", "transpose", "gather", "gather_nd", "gather_elements", "concat", "slice", "expand", "tile",
        "where", "add", "reduce_sum", "softmax", "matmul", "split"})
    EXPECT_EQ(whole.count(name), 0u) << name;
}

TEST(ElementSources, NameTheRowAndTheColumnOfAProduct) {
  const Example example(
      "fn @main(%a: Tensor[(n, 3), f32], %b: Tensor[(3, 2), f32]) { %y = matmul(%a, %b) return %y }",
      &ops::matmulOp);
  ASSERT_TRUE(example.op);
  const ElementSources from = example.sources(0, {2 * 2 + 1});
  ASSERT_EQ(from.sources.size(), 2u);
  EXPECT_EQ(from.sources[0].elements, (std::vector<int64_t>{6, 7, 8}));
  EXPECT_EQ(from.sources[1].elements, (std::vector<int64_t>{1, 3, 5}));
}

TEST(ElementSources, OfALargestElementNameThatOne) {
  const Example example(
      "fn @main(%x: Tensor[(n, 3), f32]) { %a = constant() {value = i64[1] [1]} %y = "
      "reduce_max(%x, %a) {keepdims = 0} return %y }",
      &ops::reduce_maxOp);
  ASSERT_TRUE(example.op);
  const HostTensor &x = example.operands[0].tensor(), &y = example.results[0].tensor();
  for (int64_t row = 0; row < 4; ++row) {
    const ElementSources from = example.sources(0, {row});
    ASSERT_EQ(from.sources.at(0).elements.size(), 1u);
    const int64_t at = from.sources[0].elements[0];
    EXPECT_EQ(at / 3, row);
    EXPECT_EQ(x.realAt(at), y.realAt(row));
  }
}

TEST(ElementSources, OfNoElementsNameNone) {
  const Example example("fn @main(%x: Tensor[(n, 3), f32]) { %y = transpose(%x) {perm = [1, 0]} return %y }",
                        &ops::transposeOp);
  ASSERT_TRUE(example.op);
  EXPECT_TRUE(example.sources(0, {}).sources.empty());
}

}  // namespace
}  // namespace dyn
