// Every operator, compiled and interpreted: one artefact per program, run with all dims 0, 1 and 3, with primes, with zeros among them and
// at random. Equal errors count as agreement, but some runs of each program must succeed. A row of the operator table that the sweep's
// table does not have fails here.
#include "tests/unit/driver/operator_sweep.h"

#include <algorithm>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "compiler/ir/printer.h"
#include "compiler/ops/infer.h"
#include "tests/unit/driver/run_both.h"

namespace dyn {
namespace {

using namespace test;

// What passes write, for all programs; never read from a file.
constexpr const char* kMadeByPasses[] = {"fused", "into", "alloc", "arena", "kill"};

const std::vector<SweepRow>& sweepTable() {
  static const std::vector<SweepRow> table = [] {
    std::vector<SweepRow> all;
    for (auto part : {elementwiseRows, placeRows, foldRows, selectionRows, structureRows}) {
      std::vector<SweepRow> rows = part();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return table;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string programOf(const SweepRow& row, const std::string& dtype, const std::string& attributes) {
  std::string body = replaced(row.body, "<T>", dtype);
  if (body.find("{A") != std::string::npos || body.find(", A}") != std::string::npos) {
    body = replaced(body, "{A}", attributes.empty() ? "" : "{" + attributes + "}");
    body = replaced(replaced(body, "{A, ", "{" + attributes + ", "), ", A}", ", " + attributes + "}");
  }
  if (row.parameters.empty()) return body;
  static const std::regex parameter(R"(%(\w+) (\w+)\[([^\]]*)\])");
  std::string parameters = std::regex_replace(row.parameters, parameter, "%$1: Tensor[($3), $2]");
  parameters = replaced(parameters, "), T]", "), " + dtype + "]");
  if (body.find("return") == std::string::npos) body = "%y = " + body + " return %y";
  return "fn @main(" + parameters + ") { " + body + " }";
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// The inputs of one run.
class Draw {
 public:
  enum class Elements : uint8_t { plain, special };
  Draw(const SweepRow& row, IrContext& ir, const Function& main, uint32_t seed)
      : row_(row), ir_(ir), main_(main), random_(seed) {}

  // `size(k)`: the wish for the k-th symbol.
  template <typename Size>
  std::vector<HostTensor> inputs(Size size, Elements elements) {
    std::set<SymbolId> symbols;
    for (const Parameter& parameter : main_.parameters)
      for (SymbolId symbol : symbolsOf(parameter.type)) symbols.insert(symbol);
    size_t k = 0;
    for (SymbolId symbol : symbols) {
      int64_t wish = size(k++);
      const auto allowed = row_.dims.find(ir_.dims().symbolName(symbol));
      if (allowed != row_.dims.end()) {
        const std::vector<int64_t>& sizes = allowed->second;
        if (std::find(sizes.begin(), sizes.end(), wish) == sizes.end())
          wish = sizes[static_cast<size_t>(wish) % sizes.size()];
      }
      binding_.set(symbol, wish);
      byName_[ir_.dims().symbolName(symbol)] = wish;
    }
    std::vector<HostTensor> result;
    for (const Parameter& parameter : main_.parameters) {
      std::vector<int64_t> shape;
      for (Dim dim : parameter.type.dims()) shape.push_back(std::max<int64_t>(0, *evaluate(dim, binding_)));
      result.push_back(
          tensor(ir_.valueName(parameter.id), parameter.type.dtype(), std::move(shape), elements));
    }
    return result;
  }

 private:
  int64_t bound(const std::string& text) const {
    const bool negative = text[0] == '-' && text.size() > 1 && !std::isdigit(text[1]);
    const std::string rest = text.substr(negative ? 1 : 0);
    const size_t end = rest.find('-', 1);
    const auto named = byName_.find(rest.substr(0, end));
    const int64_t value = named != byName_.end() ? named->second : std::stoll(rest);
    return (negative ? -value : value) - (named != byName_.end() && end != std::string::npos ? 1 : 0);
  }
  HostTensor tensor(const std::string& name, Dtype dtype, std::vector<int64_t> shape, Elements elements) {
    if (dtype == Dtype::string) return texts(std::move(shape));
    HostTensor made = *HostTensor::create(dtype, std::move(shape));
    const auto fill = std::find_if(row_.fills.begin(), row_.fills.end(),
                                   [&](const Fill& f) { return f.parameter == name; });
    int64_t low = isSigned(dtype) ? -3 : 0, high = dtype == Dtype::boolean ? 1 : 5;
    if (dtype == Dtype::i4) high = 4;
    if (fill != row_.fills.end()) {
      low = bound(fill->low);
      high = dtype == Dtype::boolean ? 1 : std::max(low, bound(fill->high));
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kSpecial[] = {kInfinity, -kInfinity, std::nan(""), -0.0,   0.0,  1.0,
                                   -1.0,      0.5,        88.0,         -104.0, 1e-6, 3e4};
    for (int64_t i = 0; i < made.elementCount(); ++i) {
      if (!isReal(dtype))
        made.setInt(i, std::uniform_int_distribution<int64_t>(low, high)(random_));
      else if (elements == Elements::special && fill == row_.fills.end())
        made.setReal(i, kSpecial[random_() % std::size(kSpecial)]);
      else if (fill != row_.fills.end())
        made.setReal(i, std::uniform_real_distribution<double>(static_cast<double>(low),
                                                               static_cast<double>(high))(random_));
      else
        made.setReal(i, std::normal_distribution<double>(0, 1.5)(random_));
    }
    return made;
  }
  HostTensor texts(std::vector<int64_t> shape) {
    constexpr const char* kTexts[] = {"", "a", "aa", "A,b", "b c", " d  e ", ",x,,y", "\xc3\xa9t\xc3\xa9"};
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    std::vector<std::string> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(kTexts[random_() % std::size(kTexts)]);
    return HostTensor::strings(std::move(shape), std::move(all));
  }

  const SweepRow& row_;
  IrContext& ir_;
  const Function& main_;
  std::mt19937 random_;
  DimBinding binding_;
  std::map<std::string, int64_t> byName_;
};

std::vector<std::vector<HostTensor>> inputSets(const SweepRow& row, IrContext& ir, const Function& main) {
  using Elements = Draw::Elements;
  std::vector<std::vector<HostTensor>> sets;
  uint32_t seed = 1;
  const auto add = [&](auto size, Elements elements = Elements::plain) {
    sets.push_back(Draw(row, ir, main, seed++).inputs(size, elements));
  };
  for (int64_t all : {1, 3, 0}) add([&](size_t) { return all; });
  constexpr int64_t kPrimes[] = {5, 7, 3, 2, 11};
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
  static void compare(const SweepRow& row, const std::string& text) {
    SCOPED_TRACE(text);
    IrContext ir;
    Result<Module> parsed = parseText(ir, text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<InferredModule> typed = inferTypes(*parsed);
    ASSERT_TRUE(typed.ok()) << typed.error().toString();
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    int succeeded = 0;
    for (const std::vector<HostTensor>& inputs : inputSets(row, ir, *typed->module.main())) {
      std::string what;
      for (const HostTensor& input : inputs) what += toString(input, 6) + " ";
      Result<std::vector<Value>> expected =
          interpret(typed->module, std::vector<Value>(inputs.begin(), inputs.end()));
      Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs);
      // The reference looks at every index, a kernel at those it needs: none where the result has no elements.
      if (!expected.ok() && actual.ok() && withoutElements(*actual)) continue;
      ASSERT_EQ(expected.ok(), actual.ok())
          << what << (expected.ok() ? actual.error().toString() : expected.error().toString());
      if (!expected.ok()) continue;
      ++succeeded;
      ASSERT_EQ(expected->size(), actual->size());
      for (size_t i = 0; i < expected->size(); ++i) {
        const HostTensor& wanted = (*expected)[i].tensor();
        expectClose((*actual)[i], wanted, what + "output " + std::to_string(i),
                    std::max(row.tolerance, 2.0) * roundingOf(wanted.dtype()));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    EXPECT_GE(succeeded, 2) << "hardly any run comes to a result: the row shows nothing";
  }
};

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

std::vector<std::string> sweptOperators() {
  std::vector<std::string> names;
  for (const SweepRow& row : sweepTable())
    if (std::find(names.begin(), names.end(), row.op) == names.end()) names.push_back(row.op);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Table, OperatorSweep, testing::ValuesIn(sweptOperators()),
                         [](const auto& info) { return info.param; });

TEST(OperatorSweepTable, hasEveryOperator) {
  std::set<std::string_view> swept(std::begin(kMadeByPasses), std::end(kMadeByPasses));
  for (const SweepRow& row : sweepTable()) {
    EXPECT_NE(findOp(row.op), nullptr) << row.op << " is no operator";
    swept.insert(row.op);
  }
  for (const OpDef* row : opTable())
    EXPECT_TRUE(swept.count(row->name)) << row->name << " needs a row in tests/unit/driver/sweep_*.cpp";
}

TEST(OperatorSweepTable, passesMakeWhatTheyAreSaidToMake) {
  IrContext ir;
  Result<Module> parsed = parseText(ir,
                                    "fn @main(%x: Tensor[(n, m), f32]) { %a = softmax(%x) %b = matmul(%a, "
                                    "%x) {transpose_b = 1} %c = softmax(%b) "
                                    "%d = matmul(%c, %x) %e = exp(%d) %y = neg(%e) return %y }");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  std::string text;
  for (const char* passes : {"infer,simplify,fuse", ""}) {
    CompileOptions options;
    options.passes = passes;
    Trace trace;
    Result<Module> passed = runPasses(*parsed, options, trace);
    ASSERT_TRUE(passed.ok()) << passed.error().toString();
    text += print(*passed);
  }
  for (const char* name : kMadeByPasses)
    EXPECT_NE(text.find(std::string(name) + "("), std::string::npos) << name << "\n" << text;
}

}  // namespace
}  // namespace dyn
