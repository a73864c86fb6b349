// What operations demand of the values of their attributes and operands (compiler/ir/preconditions.h): each
// demand is broken here, and interpreted and compiled programs must refuse with the same diagnostic. A demand
// in the table of operators that nothing here breaks fails the walks.
#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "compiler/ir/verifier.h"
#include "tests/unit/compiler/driver/element_rules.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "tests/unit/compiler/driver/sweep_program.h"

namespace dyn {
namespace {

using namespace test;

// Written by passes, never read from a file: their attributes are right by construction, and the verifier
// looks at their form.
const std::set<std::string_view> kMadeByPasses = {
    "fused",     "into",        "alloc",           "arena",
    "kill",      "strided",     "device_copy",     "variant",
    "pack_b",    "gemm_packed", "pack_bytes",      "matmul_integer_packed",
    "pack_conv", "conv_packed", "matmul_permuted", "conv_integer_packed"};

}  // namespace

// Rows by their names, in the names of tests, too.
void PrintTo(const OpDef* row, std::ostream* out) { *out << row->name; }
namespace test {
void PrintTo(const ElementRow& row, std::ostream* out) { *out << row.op << " " << row.operand; }
}  // namespace test

namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN(),
                 kPreconditionsInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max(),
                  kSmallest = std::numeric_limits<int64_t>::min();

// A module with its main replaced.
Module withMain(IrContext& ir, const Module& module, Function main) {
  Module changed = module;
  const Function* made = ir.own(std::move(main));
  for (const Function*& function : changed.functions)
    if (function->name == "main") function = made;
  return changed;
}

// The first operation of that name in main; its place, or nothing.
std::optional<size_t> placeOf(const Function& main, std::string_view op) {
  for (size_t i = 0; i < main.ops.size(); ++i)
    if (main.ops[i]->def->name == op) return i;
  return std::nullopt;
}

Module withAttribute(IrContext& ir, const Module& module, std::string_view op, const std::string& name,
                     AttributeValue value) {
  Function main = *module.main();
  const size_t at = *placeOf(main, op);
  Op copy = *main.ops[at];
  copy.attributes.set(name, std::move(value));
  main.ops[at] = ir.own(std::move(copy));
  return withMain(ir, module, std::move(main));
}

Module withConstant(IrContext& ir, const Module& module, const std::string& parameter,
                    const HostTensor& value) {
  Function main = *module.main();
  const auto found = std::find_if(main.parameters.begin(), main.parameters.end(),
                                  [&](const Parameter& p) { return ir.valueName(p.id) == parameter; });
  Op constant;
  constant.def = &ops::constantOp;
  constant.attributes = Attributes{{"value", value}};
  constant.results = {ValueDef{found->id, Type()}};
  main.ops.insert(main.ops.begin(), ir.own(std::move(constant)));
  main.parameters.erase(found);
  return withMain(ir, module, std::move(main));
}

// Where a module is refused, and by which diagnostic.
struct Refusal {
  bool typed = false;  // it has types: the refusal is of a run, or of compiling
  std::optional<DiagnosticId> interpreted, compiled;
  std::string texts;
};

Refusal preconditionRefusalOf(const Module& module, const std::vector<HostTensor>& inputs) {
  Refusal refusal;
  const auto say = [&](const char* who, const Diagnostic& fault) {
    refusal.texts += std::string(who) + ": " + fault.toString() + "\n";
    return fault.id;
  };
  Result<InferredModule> typed = inferTypes(module);
  refusal.typed = typed.ok();
  if (!typed.ok()) {
    refusal.interpreted = say("typing", typed.error());
  } else {
    Result<std::vector<Value>> results = interpret(typed->module, {inputs.begin(), inputs.end()});
    if (!results.ok()) refusal.interpreted = say("interpreted", results.error());
  }
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(module);
  if (!compiled.ok()) {
    refusal.compiled = say("compiling", compiled.error());
  } else {
    Result<std::vector<HostTensor>> results = (*compiled)->run(inputs);
    if (!results.ok()) refusal.compiled = say("compiled", results.error());
  }
  return refusal;
}

void expectRefused(const Refusal& refusal) {
  ASSERT_TRUE(refusal.interpreted.has_value()) << "the reference takes it\n" << refusal.texts;
  ASSERT_TRUE(refusal.compiled.has_value()) << "the compiled program takes it\n" << refusal.texts;
  // What a check learns of an input's dims the compiled program asks of the input itself.
  const bool atTheDoor = *refusal.compiled == DiagnosticId::inputMismatch &&
                         *refusal.interpreted == DiagnosticId::shapeCheckFailed;
  EXPECT_TRUE(*refusal.interpreted == *refusal.compiled || atTheDoor) << refusal.texts;
  EXPECT_EQ(exitCode(*refusal.compiled), 1) << refusal.texts;
}

// --- attributes

// Values that the rule of an attribute forbids; empty: only the type rule of the operator knows.
std::vector<AttributeValue> forbiddenBy(const AttributeSpec& spec, int rank, std::mt19937& random) {
  const Allowed& allowed = spec.allowed;
  const auto away = [&] { return static_cast<int64_t>(random() % 1000); };
  std::vector<std::vector<int64_t>> lists;
  switch (allowed.kind) {
    case Allowed::Kind::words:
      if (spec.kind == AttributeKind::string)
        return {std::string("no_such"), std::string(), std::string("no such")};
      return {std::vector<std::string>{"no_such"}};
    case Allowed::Kind::range:
      lists = {{allowed.low - 1}, {allowed.low - 1 - away()}, {kSmallest}};
      if (allowed.high < kLargest)
        lists.insert(lists.end(), {{allowed.high + 1}, {allowed.high + 1 + away()}, {kLargest}});
      break;
    case Allowed::Kind::axis:
      lists = {{rank}, {-rank - 1}, {rank + away()}, {kSmallest}, {kLargest}};
      break;
    case Allowed::Kind::newAxis:
      lists = {{rank + 1}, {-rank - 2}, {rank + 1 + away()}, {kSmallest}, {kLargest}};
      break;
    case Allowed::Kind::axes:
      lists = {{rank}, {-rank - 1}, {0, 0}, {0, -rank}, {rank + away()}};
      break;
    case Allowed::Kind::permutation:
      lists = {std::vector<int64_t>(static_cast<size_t>(rank) + 1, 0),
               std::vector<int64_t>(static_cast<size_t>(rank), rank)};
      if (rank > 1) lists.push_back(std::vector<int64_t>(static_cast<size_t>(rank), 0));
      break;
    default:
      return {};
  }
  std::vector<AttributeValue> values;
  for (const std::vector<int64_t>& list : lists) {
    if (spec.kind == AttributeKind::integers)
      values.emplace_back(list);
    else
      values.emplace_back(list[0]);
  }
  return values;
}

// Of attributes whose rule is in the operator's type rule.
struct ForbiddenAttribute {
  const char *op, *attribute;
  AttributeValue value;
};

const std::vector<ForbiddenAttribute>& forbiddenByRules() {
  using Integers = std::vector<int64_t>;
  const auto vector = [](std::vector<int64_t> v) { return HostTensor::vectorInt(Dtype::i64, v); };
  static const std::vector<ForbiddenAttribute> rows = {
      {"bitcast", "to", Dtype::f64},
      {"col2im", "pads", Integers{1}},
      {"deform_conv", "pads", Integers{1}},
      {"deform_columns", "pads", Integers{1}},
      {"deform_conv", "kernel_shape", Integers{9, 9}},
      {"loop", "carried", int64_t{99}},
      {"loop", "carried", int64_t{-1}},
      {"match", "constructors", std::vector<std::string>{"nothing"}},
      {"call", "callee", std::string("nothing")},
      {"closure", "callee", std::string("nothing")},
      {"append", "size", Shape{}},
      {"conv", "pads", Integers{1}},
      {"conv", "padding", Shape{}},
      {"conv", "kernel_shape", Integers{9, 9}},
      {"conv_integer", "pads", Integers{1}},
      {"conv_integer", "kernel_shape", Integers{9, 9}},
      {"conv_transpose", "pads", Integers{1}},
      {"conv_transpose", "output_padding", Integers{-1, 0}},
      {"conv_transpose", "output_shape", Integers{1}},
      {"conv_transpose", "kernel_shape", Integers{9, 9}},
      {"einsum", "equation", std::string("ab,")},
      {"einsum", "equation", std::string("1->")},
      {"constant_of_shape", "value", vector({1, 2})},
      {"gather_nd", "batch_dims", int64_t{9}},
      {"gather_nd", "batch_dims", int64_t{-1}},
      {"matmul_nbits", "bits", int64_t{5}},
      {"matmul_nbits", "block", int64_t{0}},
      {"matmul_nbits", "block", int64_t{17}},
      {"max_pool", "slice", Shape{}},
      {"average_pool", "slice", Shape{}},
      {"max_pool", "pads", Integers{1}},
      {"average_pool", "pads", Integers{1}},
      {"lp_pool", "pads", Integers{1}},
      {"recurrence", "cell", std::string("nothing")},
      {"reverse_sequence", "batch_axis", int64_t{9}},
      {"reverse_sequence", "batch_axis", int64_t{0}},
      {"reverse_sequence", "time_axis", int64_t{-1}},
      {"split_to_sequence", "axis", int64_t{9}},
      {"concat_from_sequence", "axis", int64_t{-9}},
      {"stack_from_sequence", "axis", int64_t{9}},
      {"lookup", "keys", vector({1})},
      {"lookup", "values", vector({1})},
      {"lookup", "default", vector({1, 2})},
      {"string_cast", "to", Dtype::i64},
      {"tfidf", "max_gram_length", int64_t{0}},
      {"tfidf", "ngram_counts", Integers{3, 1}},
      {"tfidf", "ngram_counts", Integers{0, 99}},
      {"tfidf", "pool", vector({1})},
      {"tfidf", "weights", std::vector<double>{1}},
      {"tuple_get", "index", int64_t{9}},
      {"tuple_get", "index", int64_t{-1}},
      {"construct", "type", std::string("Nothing")},
      {"node_tables", "type", std::string("Nothing")},
      {"node_tables", "fields", Integers{1, 1}},
      {"construct", "constructor", std::string("Nothing")},
      {"check", "lhs", Shape()},
      {"check", "rhs", Shape()},
      {"bind_dims", "dims", Shape()},
      {"custom_call", "kernel", std::string()},
      {"custom_call", "dtypes", std::vector<std::string>{"nothing"}},
      {"custom_call", "dtypes", std::vector<std::string>{"f32", "f32"}},
      {"quantize_linear", "axis", int64_t{9}},
      {"quantize_linear", "output_dtype", Dtype::boolean},
      {"dequantize_linear", "axis", int64_t{9}},
      {"dequantize_linear", "output_dtype", Dtype::i32},
  };
  return rows;
}

// Attributes that say what a value is by their kind: nothing of their kind is forbidden.
const std::set<std::string> kKindSaysAll = {"optional_none.type"};
// Attributes that the kernel reads in a language of its own; a test below breaks each.
const std::set<std::string> kReadWhereItRuns = {"regex_full_match.pattern", "tokenize.expressions"};

// Every program of the sweep for `op`, parsed.
template <typename Use>
void forEachProgram(std::string_view op, Use use) {
  for (const SweepRow& row : sweepTable()) {
    if (row.op != op) continue;
    const std::vector<std::string> dtypes = words(row.dtypes);
    const bool single = std::find(dtypes.begin(), dtypes.end(), "f32") != dtypes.end();
    IrContext ir;
    Result<Module> parsed = parseText(ir, programOf(row,
                                                    single           ? "f32"
                                                    : dtypes.empty() ? ""
                                                                     : dtypes[0],
                                                    row.attributes[0]));
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    if (placeOf(*parsed->main(), op)) use(ir, *parsed);
  }
}

int rankOfOperand(IrContext& ir, const Module& module, std::string_view op, int operand) {
  (void)ir;
  Result<InferredModule> typed = inferTypes(module);
  if (!typed.ok()) return -1;
  const Function& main = *typed->module.main();
  const Op& made = *main.ops[*placeOf(main, op)];
  if (made.operands.size() <= static_cast<size_t>(operand)) return -1;
  const ValueId value = made.operands[static_cast<size_t>(operand)];
  for (const Parameter& p : main.parameters)
    if (p.id == value) return p.type.isTensor() ? p.type.rank() : -1;
  for (const Op* other : main.ops)
    for (const ValueDef& result : other->results)
      if (result.id == value) return result.type.isTensor() ? result.type.rank() : -1;
  return -1;
}

// The module is refused before anything runs, by a diagnostic of the user's kind.
void expectNoTypes(const Module& module, DiagnosticId wanted, const std::string& what) {
  Result<InferredModule> typed = inferTypes(module);
  ASSERT_FALSE(typed.ok()) << what << " is taken";
  EXPECT_EQ(exitCode(typed.error().id), 1) << what << ": " << typed.error().toString();
  if (wanted != DiagnosticId::internalError) {
    EXPECT_EQ(typed.error().id, wanted) << what << ": " << typed.error().toString();
  }
  EXPECT_FALSE(typed.error().op.empty()) << what << ": the operation is not named";
}

class Preconditions : public testing::TestWithParam<const OpDef*> {};

TEST_P(Preconditions, AttributesAreStatedAndEachForbiddenValueIsRefused) {
  const OpDef& row = *GetParam();
  std::mt19937 random(7);
  for (const AttributeSpec& spec : row.attributes) {
    const std::string name = std::string(row.name) + "." + std::string(spec.name);
    SCOPED_TRACE(name);
    EXPECT_NE(spec.allowed.kind, Allowed::Kind::unstated) << "say in the row what it may be (Allowed)";
    if (spec.allowed.kind == Allowed::Kind::any || kMadeByPasses.count(row.name) ||
        kKindSaysAll.count(name) || kReadWhereItRuns.count(name))
      continue;
    int broken = 0;
    forEachProgram(row.name, [&](IrContext& ir, const Module& module) {
      if (spec.allowed.kind == Allowed::Kind::byRule) {
        for (const ForbiddenAttribute& forbidden : forbiddenByRules()) {
          if (forbidden.op != row.name || forbidden.attribute != spec.name || broken == 100) continue;
          const Module changed = withAttribute(ir, module, row.name, std::string(spec.name), forbidden.value);
          // Some shapes do not show it: one program that does is enough.
          const Status valid = verified(changed, {.types = TypePresence::optional});
          Result<InferredModule> typed =
              valid.ok() ? inferTypes(changed) : Result<InferredModule>(Error(valid.error()));
          if (typed.ok()) continue;
          ++broken;
          EXPECT_EQ(exitCode(typed.error().id), 1) << typed.error().toString();
        }
        return;
      }
      const int rank = rankOfOperand(ir, module, row.name, spec.allowed.operand);
      for (AttributeValue& value : forbiddenBy(spec, rank, random)) {
        ++broken;
        expectNoTypes(withAttribute(ir, module, row.name, std::string(spec.name), std::move(value)),
                      DiagnosticId::badAttribute, name);
      }
    });
    EXPECT_GT(broken, 0) << "no test breaks it: a row in forbiddenByRules()";
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Preconditions, testing::ValuesIn(opTable().begin(), opTable().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(KernelAttributes, APatternThatIsNoneIsRefusedWhereItRuns) {
  for (const char* call :
       {"regex_full_match(%x) {pattern = \"(\"}", "tokenize(%x) {expressions = [\"a\", \"(\"]}"}) {
    IrContext ir;
    Result<Module> parsed =
        parseText(ir, "fn @main(%x: Tensor[(n), string]) { %y = " + std::string(call) + " return %y }");
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    const Refusal refusal = preconditionRefusalOf(*parsed, {*HostTensor::create(Dtype::string, {1})});
    ASSERT_TRUE(refusal.interpreted.has_value()) << call;
    ASSERT_TRUE(refusal.compiled.has_value()) << call;
    EXPECT_EQ(exitCode(*refusal.interpreted), 1) << refusal.texts;
    EXPECT_EQ(exitCode(*refusal.compiled), 1) << refusal.texts;
  }
}

// auto_pad and pads say the same thing in two ways.
TEST(Contradictions, AutoPadBesidePads) {
  const auto typed = [](const std::string& attributes) {
    IrContext ir;
    Result<Module> parsed =
        parseText(ir,
                  "fn @main(%x: Tensor[(n, 2, h, w), f32]) { %y = max_pool(%x) {kernel_shape = "
                  "[3, 3], " +
                      attributes + "} return %y }");
    EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<InferredModule> inferred = inferTypes(*parsed);
    return inferred.ok() ? std::optional<DiagnosticId>() : inferred.error().id;
  };
  EXPECT_EQ(typed("auto_pad = \"SAME_UPPER\", pads = [0, 0, 0, 0]"), std::nullopt);
  EXPECT_EQ(typed("auto_pad = \"NOTSET\", pads = [1, 1, 1, 1]"), std::nullopt);
  EXPECT_EQ(typed("auto_pad = \"SAME_UPPER\", pads = [1, 1, 1, 1]"), DiagnosticId::badAttribute);
  EXPECT_EQ(typed("auto_pad = \"VALID\", pads = [0, 0, 0, 1]"), DiagnosticId::badAttribute);
}

// --- elements of operands

std::vector<HostTensor> inputsOf(const ElementRow& row, IrContext& ir, const Function& main, bool withTested,
                                 const std::vector<double>& tested) {
  std::vector<HostTensor> inputs;
  for (const Parameter& parameter : main.parameters) {
    const std::string name = ir.valueName(parameter.id);
    if (name == "a" && !withTested) continue;
    DimBinding binding;
    for (SymbolId symbol : symbolsOf(parameter.type))
      binding.set(symbol, ir.dims().symbolName(symbol) == "n" ? 3 : 4);
    std::vector<int64_t> shape;
    for (Dim dim : parameter.type.dims()) shape.push_back(*evaluate(dim, binding));
    HostTensor tensor = *HostTensor::create(parameter.type.dtype(), std::move(shape));
    const auto given = row.given.find(name);
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
      const double value = name == "a"                ? tested.at(static_cast<size_t>(i))
                           : given != row.given.end() ? given->second.at(static_cast<size_t>(i))
                                                      : 1;
      if (isReal(tensor.dtype()))
        tensor.setReal(i, value);
      else
        tensor.setInt(i, static_cast<int64_t>(value));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::string describe(const ElementRow& row, const std::vector<double>& elements) {
  std::string text = row.op + ": " + row.body + ", %a =";
  for (double e : elements) text += " " + std::to_string(e);
  return text;
}

class ElementRules : public testing::TestWithParam<ElementRow> {};

TEST_P(ElementRules, ForbiddenElementsAreRefusedAlike) {
  const ElementRow& row = GetParam();
  const bool asValue = row.operandIs == ElementRow::Operand::value;
  const std::string text = programOf({row.op, "", row.parameters, row.body}, "", "");
  std::vector<std::vector<double>> all = {row.legal};
  all.insert(all.end(), row.illegal.begin(), row.illegal.end());
  for (size_t k = 0; k < all.size(); ++k) {
    SCOPED_TRACE(describe(row, all[k]));
    IrContext ir;
    Result<Module> parsed = parseText(ir, text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    const Function main = *parsed->main();
    const std::vector<HostTensor> inputs = inputsOf(row, ir, main, true, all[k]);
    HostTensor tested;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (ir.valueName(main.parameters[i].id) == "a") tested = inputs[i];
    const Refusal constant =
        preconditionRefusalOf(withConstant(ir, *parsed, "a", tested), inputsOf(row, ir, main, false, {}));
    if (k == 0) {
      EXPECT_EQ(constant.texts, "") << "what the rule allows must run";
      if (asValue) {
        EXPECT_EQ(preconditionRefusalOf(*parsed, inputs).texts, "") << "what the rule allows must run";
      }
      continue;
    }
    expectRefused(constant);
    if (!asValue) continue;
    const Refusal value = preconditionRefusalOf(*parsed, inputs);
    EXPECT_TRUE(value.typed) << "elements that are inputs are known at run time only\n" << value.texts;
    expectRefused(value);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ElementRules, testing::ValuesIn(elementRows()), [](const auto& info) {
  return info.param.op + "_" + std::to_string(info.param.operand) + "_" + std::to_string(info.index);
});

TEST(ElementRulesTable, EveryRuleOfEveryOperatorIsBroken) {
  std::set<std::pair<std::string_view, int>> broken;
  const std::vector<ElementRow> rows = elementRows();
  for (const ElementRow& row : rows) {
    EXPECT_FALSE(row.illegal.empty()) << row.op;
    broken.insert({row.op, row.operand});
  }
  for (const OpDef* row : opTable()) {
    EXPECT_TRUE(!row->operandRules.empty() || row->cls == OpClass::elementwise)
        << row->name << ": say in the row what elements of its operands may be (operandRules)";
    for (const OperandRule& rule : row->operandRules)
      if (rule.operand >= 0) {
        EXPECT_TRUE(broken.count({row->name, rule.operand}))
            << row->name << ", operand " << rule.operand << ": a row in element_rules.cpp";
      }
  }
  for (const auto& [op, operand] : broken) {
    const OpDef* row = findOp(op);
    ASSERT_NE(row, nullptr) << op;
    EXPECT_TRUE(std::any_of(row->operandRules.begin(), row->operandRules.end(),
                            [operand = operand](const OperandRule& r) { return r.operand == operand; }))
        << op << ", operand " << operand << ": the operator states no such rule";
  }
}

// One element of an operand that a rule is about becomes any number: both ways of running it come to results,
// or both refuse it as a fault of the user.
TEST(ElementRulesTable, AnyElementEndsAlikeInBoth) {
  std::mt19937 random(11);
  constexpr double kReals[] = {0, -1, kNotANumber, kPreconditionsInfinity, 0.5, 2, -0.0, 1e30};
  constexpr int64_t kIntegers[] = {-100, -9, -2, -1, 0, 1, 2, 3, 4, 7, 100};
  int refused = 0, taken = 0;
  for (const SweepRow& row : sweepTable()) {
    for (const OperandRule& rule : findOp(row.op)->operandRules) {
      if (rule.operand < 0) continue;
      const std::vector<std::string> dtypes = words(row.dtypes);
      IrContext ir;
      Result<Module> parsed =
          parseText(ir, programOf(row, dtypes.empty() ? "" : dtypes[0], row.attributes[0]));
      ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
      Result<InferredModule> typed = inferTypes(*parsed);
      const std::optional<size_t> at = placeOf(*parsed->main(), row.op);
      if (!typed.ok() || !at) continue;
      const std::vector<ValueId>& operands = parsed->main()->ops[*at]->operands;
      const std::vector<Parameter>& parameters = typed->module.main()->parameters;
      const auto tested = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) {
        return static_cast<size_t>(rule.operand) < operands.size() &&
               p.id == operands[static_cast<size_t>(rule.operand)];
      });
      if (tested == parameters.end()) continue;
      Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
      if (!compiled.ok()) continue;
      for (int64_t size : {3, 3, 5, 2, 1, 7}) {
        std::vector<HostTensor> inputs = Draw(row, ir, *typed->module.main(), random())
                                             .inputs([&](size_t) { return size; }, Draw::Elements::plain);
        HostTensor& changed = inputs[static_cast<size_t>(tested - parameters.begin())];
        if (changed.elementCount() == 0 || changed.dtype() == Dtype::boolean) continue;
        const int64_t element =
            static_cast<int64_t>(random() % static_cast<uint64_t>(changed.elementCount()));
        if (isReal(changed.dtype()))
          changed.setReal(element, kReals[random() % std::size(kReals)]);
        else
          changed.setInt(element, kIntegers[random() % std::size(kIntegers)]);
        SCOPED_TRACE(row.op + ": " + row.body + " with " + toString(changed, 8));
        Result<std::vector<Value>> expected = interpret(typed->module, {inputs.begin(), inputs.end()});
        Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs);
        (expected.ok() ? taken : refused)++;
        const bool empty =
            actual.ok() && std::all_of(actual->begin(), actual->end(),
                                       [](const HostTensor& r) { return r.elementCount() == 0; });
        if (empty && !expected.ok()) continue;  // a kernel without elements looks at none
        ASSERT_EQ(expected.ok(), actual.ok())
            << (expected.ok() ? actual.error() : expected.error()).toString();
        if (expected.ok()) continue;
        EXPECT_EQ(exitCode(expected.error().id), 1) << expected.error().toString();
        EXPECT_EQ(exitCode(actual.error().id), 1) << actual.error().toString();
        EXPECT_EQ(expected.error().id, actual.error().id) << expected.error().toString() << "\n"
                                                          << actual.error().toString();
      }
    }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(taken, 50);
}

// A check that inference wrote once is not written again, and what is known needs none.
TEST(CheckValues, StandsOnceBeforeWhatIsNotKnown) {
  const auto checks = [](const std::string& text) {
    IrContext ir;
    Result<Module> parsed = parseText(ir, text);
    EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<InferredModule> once = inferTypes(*parsed);
    EXPECT_TRUE(once.ok()) << once.error().toString();
    Result<InferredModule> twice = inferTypes(once->module);
    EXPECT_TRUE(twice.ok()) << twice.error().toString();
    const std::vector<const Op*>& ops = twice->module.main()->ops;
    return std::count_if(ops.begin(), ops.end(),
                         [](const Op* op) { return op->def == &ops::check_valuesOp; });
  };
  EXPECT_EQ(checks("fn @main(%x: Tensor[(n), f32], %s: Tensor[(), f32]) { %a = quantize_linear(%x, %s) "
                   "%b = quantize_linear(%x, %s) return %a, %b }"),
            1);
  EXPECT_EQ(checks("fn @main(%x: Tensor[(n), f32]) { %s = constant() {value = f32[] 0.5} "
                   "%a = quantize_linear(%x, %s) return %a }"),
            0);
  EXPECT_EQ(
      checks("fn @main(%l: Tensor[(2), i64], %x: Tensor[(n), f32]) { %n = size(%x) %z = constant() {value = "
             "i64[] 0} check_values(%l, %z, %n) {elements = \"in_range\"} return %x }"),
      1)
      << "elements of an input are not dims yet";
}

}  // namespace
}  // namespace dyn
