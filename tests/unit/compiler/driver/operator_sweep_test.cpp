// Every operator, compiled and interpreted: one artefact per program, run with all dims 0, 1 and 3, with
// primes, with zeros among them and at random. Equal errors count as agreement, but some runs of each program
// must succeed. A row of the operator table that the sweep's table does not have fails here.
#include "tests/unit/compiler/driver/operator_sweep.h"

#include <algorithm>
#include <set>

#include "compiler/driver/target_choice.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/printer.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "tests/unit/compiler/driver/sweep_program.h"

namespace dyn {
namespace {

using namespace test;

// What passes write, for all programs; never read from a file.
constexpr const char* kPassMade[] = {"fused", "into", "alloc", "arena", "kill", "strided", "device_copy"};

using Elements = Draw::Elements;

std::vector<std::vector<HostTensor>> inputSets(const SweepRow& row, IrContext& ir, const Function& main,
                                               Elements wanted) {
  std::vector<std::vector<HostTensor>> sets;
  uint32_t seed = 1;
  const auto add = [&](auto size, Elements elements = Elements::plain) {
    sets.push_back(Draw(row, ir, main, seed++).inputs(size, elements));
  };
  constexpr int64_t kPrimes[] = {5, 7, 3, 2, 11};
  if (wanted == Elements::limits) {
    for (int64_t all : {1, 3, 7}) add([&](size_t) { return all; }, wanted);
    add([&](size_t k) { return kPrimes[k % 5]; }, wanted);
    return sets;
  }
  for (int64_t all : {1, 3, 0}) add([&](size_t) { return all; });
  add([&](size_t k) { return kPrimes[k % 5]; });
  add([&](size_t k) { return k == 0 ? 0 : kPrimes[k % 5]; });
  add([&](size_t k) { return k == 1 ? 0 : 2; });
  add([&](size_t k) { return k % 2 == 0 ? 1 : 5; });
  std::mt19937 random(7);
  constexpr int64_t kSizes[] = {0, 1, 2, 3, 5, 7, 11};
  for (int i = 0; i < 3; ++i) add([&](size_t) { return kSizes[1 + random() % 6]; });
  if (findOp(row.op)->cls == OpClass::elementwise)
    add([](size_t k) { return k % 2 == 0 ? 7 : 11; }, Elements::special);
  return sets;
}

// To the last bit. Beyond 2^53 two neighbours are one f64.
void expectSameIntegers(const HostTensor& actual, const HostTensor& expected, const std::string& what) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < actual.elementCount(); ++i)
    ASSERT_EQ(actual.intAt(i), expected.intAt(i)) << what << ": element " << i;
}

// What rounding once to the type may differ by, where the reference computes in f64.
double roundingOf(Dtype dtype) {
  if (dtype == Dtype::f16) return 1e-3;
  if (dtype == Dtype::bf16) return 8e-3;
  return dtype == Dtype::f64 ? 1e-12 : 1e-6;
}

class OperatorSweep : public testing::TestWithParam<std::string> {
 protected:
  // Types inferred, or nothing where the program is refused.
  static bool accepted(const std::string& text) {
    IrContext ir;
    Result<Module> parsed = parseText(ir, text);
    return parsed.ok() && inferTypes(*parsed).ok();
  }
  // Views need not keep what a rule wants to know of an operand, as its contents.
  static bool compiles(const std::string& text) {
    IrContext ir;
    Result<Module> parsed = parseText(ir, text);
    EXPECT_TRUE(parsed.ok()) << text << parsed.error().toString();
    return parsed.ok() && inferTypes(*parsed).ok() && Compiled::make(*parsed).ok();
  }
  static bool withoutElements(const std::vector<HostTensor>& results) {
    return std::all_of(results.begin(), results.end(),
                       [](const HostTensor& r) { return r.elementCount() == 0; });
  }
  // Typed and interpreted, but not compiled, and that is what compiling says.
  static void refused(const std::string& text) {
    SCOPED_TRACE(text);
    IrContext ir;
    Result<Module> parsed = parseText(ir, text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
    ASSERT_FALSE(compiled.ok()) << "it compiles: take the type out of `notCompiled`";
    EXPECT_EQ(exitCode(compiled.error().id), 4) << compiled.error().toString();
  }
  enum class Shows : uint8_t { results, agreement };  // some runs must come to a result, or none need to
  static void compare(const SweepRow& row, const std::string& text, Shows shows = Shows::results,
                      Elements elements = Elements::plain) {
    SCOPED_TRACE(text);
    IrContext ir;
    Result<Module> parsed = parseText(ir, text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<InferredModule> typed = inferTypes(*parsed);
    ASSERT_TRUE(typed.ok()) << typed.error().toString();
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    int succeeded = 0;
    for (const std::vector<HostTensor>& inputs : inputSets(row, ir, *typed->module.main(), elements)) {
      std::string what;
      for (const HostTensor& input : inputs) what += toString(input, 6) + " ";
      Result<std::vector<Value>> expected =
          interpret(typed->module, std::vector<Value>(inputs.begin(), inputs.end()));
      Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs);
      // The reference looks at every index, a kernel at those it needs: none where the result has no
      // elements.
      if (!expected.ok() && actual.ok() && withoutElements(*actual)) continue;
      ASSERT_EQ(expected.ok(), actual.ok())
          << what << (expected.ok() ? actual.error().toString() : expected.error().toString());
      if (!expected.ok()) continue;
      ++succeeded;
      ASSERT_EQ(expected->size(), actual->size());
      for (size_t i = 0; i < expected->size(); ++i) {
        const HostTensor& wanted = (*expected)[i].tensor();
        if (elements == Elements::limits && !isReal(wanted.dtype())) {
          expectSameIntegers((*actual)[i], wanted, what + "output " + std::to_string(i));
          if (testing::Test::HasFatalFailure()) return;
          continue;
        }
        expectClose((*actual)[i], wanted, what + "output " + std::to_string(i),
                    std::max(row.tolerance, 2.0) * roundingOf(wanted.dtype()));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    if (shows == Shows::results) {
      EXPECT_GE(succeeded, 2) << "hardly any run comes to a result: the row shows nothing";
    }
  }
};

// The row's program with every operand behind a view: the parameter as it is, and what the view makes of it.
// Empty: there is no operand to be seen so.
struct SeenSo {
  std::string parameter, statements;
};
using Seeing = std::function<SeenSo(const std::string& name, const std::string& type,
                                    const std::vector<std::string>& dims)>;

std::string behindViews(const SweepRow& row, const std::string& dtype, const Seeing& seeing) {
  static const std::regex parameter(R"(%(\w+) (\w+)\[([^\]]*)\])");
  SweepRow seen = row;
  std::string statements;
  seen.parameters.clear();
  for (std::sregex_iterator it(row.parameters.begin(), row.parameters.end(), parameter), end; it != end;
       ++it) {
    const std::string name = (*it)[1], type = (*it)[2];
    std::vector<std::string> dims;
    std::istringstream list((*it)[3].str());
    for (std::string dim; std::getline(list, dim, ',');)
      dims.push_back(dim.substr(dim.find_first_not_of(' ')));
    const bool moved = !dims.empty() && type != "string";
    const SeenSo view = moved ? seeing(name, type, dims) : SeenSo{it->str(), ""};
    seen.parameters += (seen.parameters.empty() ? "" : ", ") + view.parameter;
    statements += view.statements;
    if (!view.statements.empty())
      seen.body = std::regex_replace(seen.body, std::regex("%" + name + "\\b"), "%" + name + "_seen");
  }
  if (statements.empty()) return "";
  if (seen.body.find("return") == std::string::npos) seen.body = "%y = " + seen.body + " return %y";
  seen.body = statements + seen.body;
  return programOf(seen, dtype, row.attributes[0]);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

SeenSo transposedView(const std::string& name, const std::string& type,
                      const std::vector<std::string>& dims) {
  const std::vector<std::string> back(dims.rbegin(), dims.rend());
  return {"%" + name + " " + type + "[" + joined(back) + "]",
          "%" + name + "_seen = transpose(%" + name + ") "};
}

SeenSo reversedView(const std::string& name, const std::string& type, const std::vector<std::string>& dims) {
  const std::string one = " = constant() {value = i64[1] [", x = "%" + name;
  return {x + " " + type + "[" + joined(dims) + "]",
          x + "_b" + one + "-1]} " + x + "_e" + one + "-9223372036854775807]} " + x + "_a" + one +
              std::to_string(dims.size() - 1) + "]} " + x + "_s" + one + "-1]} " + x + "_seen = slice(" + x +
              ", " + x + "_b, " + x + "_e, " + x + "_a, " + x + "_s) "};
}

// The middle one of three equal ones.
SeenSo repeatedView(const std::string& name, const std::string& type, const std::vector<std::string>& dims) {
  const std::string x = "%" + name;
  return {x + " " + type + "[" + joined(dims) + "]",
          x + "_a = constant() {value = i64[1] [0]} " + x + "_u = unsqueeze(" + x + ", " + x + "_a) " + x +
              "_n = dims_value() {value = dims(3, " + joined(dims) + ")} " + x + "_w = expand(" + x + "_u, " +
              x + "_n) " + x + "_i = constant() {value = i64[] 1} " + x + "_seen = gather(" + x + "_w, " + x +
              "_i) "};
}

// Operands that lie elsewhere than side by side: read as if they did they would be others.
TEST_P(OperatorSweep, operandsBehindViewsAreTheSame) {
  for (const SweepRow& row : sweepTable()) {
    if (row.op != GetParam() || row.parameters.empty()) continue;
    const std::vector<std::string> dtypes = words(row.dtypes), notCompiled = words(row.notCompiled);
    std::string dtype = dtypes.empty() ? "" : dtypes[0];
    if (std::find(dtypes.begin(), dtypes.end(), "f32") != dtypes.end()) dtype = "f32";
    if (std::find(notCompiled.begin(), notCompiled.end(), dtype) != notCompiled.end()) continue;
    for (const Seeing& seeing : {Seeing(transposedView), Seeing(reversedView), Seeing(repeatedView)}) {
      const std::string text = behindViews(row, dtype, seeing);
      if (!text.empty() && compiles(text)) compare(row, text, Shows::agreement);
    }
  }
}

TEST_P(OperatorSweep, compiledAsInterpreted) {
  for (const SweepRow& row : sweepTable()) {
    if (row.op != GetParam()) continue;
    const std::vector<std::string> dtypes = words(row.dtypes);
    EXPECT_NE((" " + programOf(row, "f32", row.attributes[0])).find(" " + row.op + "("), std::string::npos)
        << "the program shows another operator";
    if (dtypes.empty()) {
      for (const std::string& attributes : row.attributes) compare(row, programOf(row, "", attributes));
      continue;
    }
    // T is one of the declared types and none else.
    std::string takes;
    for (const std::string& dtype : words(kAnything))
      if (accepted(programOf(row, dtype, row.attributes[0]))) takes += " " + dtype;
    std::string declared;
    for (const std::string& dtype : words(kAnything))
      if (std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end()) declared += " " + dtype;
    EXPECT_EQ(takes, declared) << programOf(row, "T", row.attributes[0]);
    const std::vector<std::string> notCompiled = words(row.notCompiled);
    for (const std::string& dtype : dtypes) {
      const std::string text = programOf(row, dtype, row.attributes[0]);
      if (std::find(notCompiled.begin(), notCompiled.end(), dtype) != notCompiled.end())
        refused(text);
      else
        compare(row, text);
    }
    const bool single = std::find(dtypes.begin(), dtypes.end(), "f32") != dtypes.end();
    for (size_t i = 1; i < row.attributes.size(); ++i)
      compare(row, programOf(row, single ? "f32" : dtypes[0], row.attributes[i]));
  }
}

// A reference that takes integers by way of f64 rounds them, and then what is folded at compile time is
// wrong.
TEST_P(OperatorSweep, integersAtTheirLimitsAreExact) {
  for (const SweepRow& row : sweepTable()) {
    if (row.op != GetParam()) continue;
    const std::vector<std::string> notCompiled = words(row.notCompiled);
    for (const std::string& dtype : words(row.dtypes)) {
      if (isReal(*parseDtype(dtype)) || dtype == "bool") continue;
      if (std::find(notCompiled.begin(), notCompiled.end(), dtype) != notCompiled.end()) continue;
      compare(row, programOf(row, dtype, row.attributes[0]), Shows::agreement, Elements::limits);
    }
  }
}

std::vector<std::string> sweptOperators() {
  std::vector<std::string> names;
  for (const SweepRow& row : sweepTable())
    if (std::find(names.begin(), names.end(), row.op) == names.end()) names.push_back(row.op);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Table, OperatorSweep, testing::ValuesIn(sweptOperators()),
                         [](const auto& info) { return info.param; });

TEST(OperatorSweepTable, hasEveryOperator) {
  std::set<std::string_view> swept(std::begin(kPassMade), std::end(kPassMade));
  for (const SweepRow& row : sweepTable()) {
    EXPECT_NE(findOp(row.op), nullptr) << row.op << " is not an operator";
    swept.insert(row.op);
  }
  for (const OpDef* row : opTable())
    EXPECT_TRUE(swept.count(row->name))
        << row->name << " needs a row in tests/unit/compiler/driver/sweep_*.cpp";
}

TEST(OperatorSweepTable, passesMakeWhatTheyAreSaidToMake) {
  IrContext ir;
  Result<Module> parsed = parseText(ir,
                                    "fn @main(%x: Tensor[(n, m), f32], %w: Tensor[(n, m, 2), f32]) { "
                                    "%a = softmax(%x) %b = matmul(%a, %x) {transpose_b = 1} %c = softmax(%b) "
                                    "%i = constant() {value = i64[] 1} %v = gather(%w, %i) {axis = 2} "
                                    "%d = matmul(%c, %v) %e = exp(%d) %y = neg(%e) return %y }");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  std::string text;
  for (const char* passes : {"infer,simplify,fuse", "infer,fuse,devices", ""}) {
    CompileOptions options;
    options.passes = passes;
    options.target = *hostTarget();
    if (std::string_view(passes).ends_with("devices")) options.target->device = DeviceKind::cuda;
    Trace trace;
    Result<Module> passed = runPasses(*parsed, options, trace);
    ASSERT_TRUE(passed.ok()) << passed.error().toString();
    text += print(*passed);
  }
  for (const char* name : kPassMade)
    EXPECT_NE(text.find(std::string(name) + "("), std::string::npos) << name << "\n" << text;
}

}  // namespace
}  // namespace dyn
