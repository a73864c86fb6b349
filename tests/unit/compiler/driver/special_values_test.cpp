// Every element-wise operator at the values where functions end: zeros of both signs, infinities, NaN, the
// smallest and largest numbers of each type, integers at their limits, and what is next to them. Compiled
// code and the reference interpreter must agree to the last bit (any NaN equals any other) where an operator
// rounds once, and in kind (NaN, infinity, the sign of zero) where it is a function with an error. What both
// give is held against other libraries by conformance.sweep and golden.shell.numerics.
#include <set>

#include "compiler/loop/scalar_math.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "tests/unit/compiler/driver/sweep_program.h"

namespace dyn {
namespace {

using namespace test;

struct RealType {
  Dtype dtype;
  double smallest, leastNormal, largest;
};
constexpr RealType kRealTypes[] = {
    {Dtype::f16, 0x1p-24, 0x1p-14, 65504},
    {Dtype::bf16, 0x1p-133, 0x1p-126, 0x1.fep127},
    {Dtype::f32, 0x1p-149, 0x1p-126, 0x1.fffffep127},
    {Dtype::f64, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023},
};

const RealType& realType(Dtype dtype) {
  return *std::find_if(std::begin(kRealTypes), std::end(kRealTypes),
                       [&](const RealType& type) { return type.dtype == dtype; });
}

std::vector<double> specialReals(Dtype dtype) {
  const RealType& type = realType(dtype);
  std::vector<double> values{std::nan("")};
  for (double x : {0.0,
                   type.smallest,
                   type.leastNormal - type.smallest,
                   type.leastNormal,
                   1e-3,
                   0.25,
                   0.5,
                   1.0,
                   1.5,
                   2.0,
                   2.5,
                   3.0,
                   10.0,
                   88.5,
                   104.0,
                   127.0,
                   128.0,
                   255.5,
                   32768.0,
                   65504.0,
                   710.0,
                   0x1p31,
                   0x1p32,
                   0x1p63,
                   0x1p64,
                   type.largest,
                   std::numeric_limits<double>::infinity()})
    for (double sign : {1.0, -1.0}) values.push_back(sign * x);
  return values;
}

int64_t countOf(Dtype dtype) {
  return static_cast<int64_t>(isReal(dtype) ? specialReals(dtype).size() : specialIntegers(dtype).size());
}

void setSpecial(HostTensor& tensor, int64_t at, int64_t which) {
  const auto k = static_cast<size_t>(which);
  if (isReal(tensor.dtype()))
    tensor.setReal(at, specialReals(tensor.dtype())[k]);
  else
    tensor.setInt(at, specialIntegers(tensor.dtype())[k]);
}

// Whole tensors of the row become vectors, numbers stay what they are. Operators that fault at 0 are not
// given it.
std::string asVectors(std::string parameters) {
  static const std::regex shape(R"(\[[^\]]+\])");
  return std::regex_replace(parameters, shape, "[n]");
}

// Operators that round once, or not at all.
bool isExact(const std::string& op) {
  static const std::set<std::string> functions = {
      "exp",        "log",  "sin",   "cos",   "tan",   "asin", "acos",    "atan",        "sinh",
      "cosh",       "tanh", "asinh", "acosh", "atanh", "erf",  "sigmoid", "softplus",    "softsign",
      "hard_swish", "mish", "elu",   "celu",  "selu",  "gelu", "pow",     "hard_sigmoid"};
  return functions.count(op) == 0;
}

bool zeroSignIsOpen(const std::string& op) { return op == "min" || op == "max" || op == "clip"; }

// Is `a` what `b` is? A function may be off by its error, in numbers below the normal ones by one of these.
bool agree(const std::string& op, double a, double b, Dtype dtype) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return a != 0 || zeroSignIsOpen(op) || std::signbit(a) == std::signbit(b);
  if (isExact(op)) return false;
  const RealType& type = realType(dtype);
  double rounding = dtype == Dtype::f16    ? 2e-3
                    : dtype == Dtype::bf16 ? 1.6e-2
                    : dtype == Dtype::f32  ? 4e-6
                                           : 1e-13;
  if (op == "gelu") rounding *= 16;  // 1 + erf below 0
  return std::abs(a - b) <= rounding * std::max(std::abs(a), std::abs(b)) + 2 * type.leastNormal;
}

std::string namesOf(const std::vector<HostTensor>& inputs, int64_t at) {
  std::string text;
  for (const HostTensor& input : inputs) {
    const int64_t i = input.shape().empty() ? 0 : at;
    char number[40];
    if (isReal(input.dtype()))
      std::snprintf(number, sizeof number, "%.9g ", input.realAt(i));
    else
      std::snprintf(number, sizeof number, "%lld ", static_cast<long long>(input.intAt(i)));
    text += number;
  }
  return text;
}

class SpecialValues : public testing::TestWithParam<std::string> {
 protected:
  // Each value of each operand beside each of the others; numbers hold still in between.
  static std::vector<std::vector<HostTensor>> inputSets(const Function& main, bool withoutZero) {
    std::vector<size_t> vectors, numbers;
    std::vector<Dtype> dtypes;
    for (const Parameter& parameter : main.parameters) {
      (parameter.type.rank() == 0 ? numbers : vectors).push_back(dtypes.size());
      dtypes.push_back(parameter.type.dtype());
    }
    int64_t length = 1, runs = 1;
    for (size_t v : vectors) length *= countOf(dtypes[v]);
    for (size_t v : numbers) runs *= countOf(dtypes[v]);
    std::vector<std::vector<HostTensor>> sets;
    constexpr int64_t kStep =
        11;  // of the numbers' pairs some are enough; no size of a list is a multiple of it
    for (int64_t run = 0; run<runs; run += runs> 1000 ? kStep : 1) {
      std::vector<HostTensor> inputs;
      for (Dtype dtype : dtypes) inputs.push_back(*HostTensor::create(dtype, {}));
      int64_t rest = run;
      for (size_t v : numbers) {
        setSpecial(inputs[v], 0, rest % countOf(dtypes[v]));
        rest /= countOf(dtypes[v]);
      }
      for (size_t v : vectors) inputs[v] = *HostTensor::create(dtypes[v], {length});
      for (int64_t i = 0; i < length; ++i) {
        int64_t which = i;
        for (size_t v : vectors) {
          setSpecial(inputs[v], i, which % countOf(dtypes[v]));
          which /= countOf(dtypes[v]);
          HostTensor& divisor = inputs[v];
          if (withoutZero && v == 1 && !isReal(dtypes[v]) && divisor.intAt(i) == 0) divisor.setInt(i, 1);
        }
      }
      sets.push_back(std::move(inputs));
    }
    if (dtypes.size() == 1)  // one element alone is other code than a vector of them
      for (int64_t i = 0; i < length; ++i) {
        HostTensor one = *HostTensor::create(dtypes[0], {1});
        setSpecial(one, 0, i);
        sets.push_back({one});
      }
    return sets;
  }

  static void compare(const SweepRow& row, const std::string& text) {
    SCOPED_TRACE(text);
    IrContext ir;
    Result<Module> parsed = parseText(ir, text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<InferredModule> typed = inferTypes(*parsed);
    if (!typed.ok()) return;  // of these types, or these shapes, the operator is not
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
    if (!compiled.ok() && exitCode(compiled.error().id) == 4) return;
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    const bool withoutZero = row.op == "div" || row.op == "mod";
    for (const std::vector<HostTensor>& inputs : inputSets(*typed->module.main(), withoutZero)) {
      Result<std::vector<Value>> expected =
          interpret(typed->module, std::vector<Value>(inputs.begin(), inputs.end()));
      Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs);
      ASSERT_EQ(expected.ok(), actual.ok())
          << (expected.ok() ? actual.error().toString() : expected.error().toString());
      if (!expected.ok()) continue;
      expectEqual(row.op, inputs, (*expected)[0].tensor(), (*actual)[0]);
    }
  }

  static void expectEqual(const std::string& op, const std::vector<HostTensor>& inputs,
                          const HostTensor& wanted, const HostTensor& got) {
    ASSERT_EQ(wanted.shape(), got.shape());
    int differ = 0;
    for (int64_t i = 0; i < wanted.elementCount() && differ < 4; ++i) {
      const bool same = isReal(wanted.dtype()) ? agree(op, got.realAt(i), wanted.realAt(i), wanted.dtype())
                                               : got.intAt(i) == wanted.intAt(i);
      if (same) continue;
      ++differ;
      ADD_FAILURE() << op << " of " << namesOf(inputs, i) << "is " << namesOf({got}, i) << "compiled, "
                    << namesOf({wanted}, i) << "interpreted";
    }
  }
};

std::vector<std::string> elementwiseOps() {
  std::set<std::string> names;
  for (const SweepRow& row : sweepTable())
    if (findOp(row.op)->cls == OpClass::elementwise && !row.parameters.empty()) names.insert(row.op);
  return {names.begin(), names.end()};
}

TEST_P(SpecialValues, compiledAsInterpreted) {
  std::set<std::string> done;
  for (SweepRow row : sweepTable()) {
    if (row.op != GetParam() || row.parameters.empty() || row.parameters.find("string") != std::string::npos)
      continue;
    row.parameters = asVectors(row.parameters);
    std::vector<std::string> dtypes = words(row.dtypes);
    if (dtypes.empty()) dtypes = {""};
    for (const std::string& dtype : dtypes)
      for (const std::string& attributes : row.attributes) {
        const std::string text = programOf(row, dtype, attributes);
        if (done.insert(text).second) compare(row, text);
      }
  }
  EXPECT_FALSE(done.empty());
}

INSTANTIATE_TEST_SUITE_P(Operators, SpecialValues, testing::ValuesIn(elementwiseOps()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace dyn
