// A text module run twice: compiled, in the VM, and by the reference interpreter. The two must agree.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/walk.h"
#include "compiler/reference/reference_interpreter.h"
#include "tests/support/compiled.h"
#include "tests/support/text_module.h"

namespace dyn::test {

// Integers 0..4, reals about 1.
inline HostTensor randomTensor(Dtype dtype, std::vector<int64_t> shape, uint32_t seed) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    if (isReal(dtype))
      tensor.setReal(i, std::normal_distribution<double>(0, 1)(random));
    else
      tensor.setInt(i, dtype == Dtype::boolean ? random() % 2 : random() % 5);
  }
  return tensor;
}

// A program written for any type of elements, as of this one.
inline std::string withType(std::string text, const std::string& dtype) {
  for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, dtype);
  return text;
}

inline void expectClose(const HostTensor& actual, const HostTensor& expected, const std::string& what,
                        double tolerance = 1e-4) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  if (actual.dtype() == Dtype::string) {
    ASSERT_EQ(actual.stringValues(), expected.stringValues()) << what;
    return;
  }
  for (int64_t i = 0; i < actual.elementCount(); ++i) {
    const double a = actual.realAt(i), e = expected.realAt(i);
    if (std::isnan(a) && std::isnan(e)) continue;
    ASSERT_TRUE(a == e || std::abs(a - e) <= tolerance * (1 + std::abs(e)))
        << what << ": element " << i << ": " << a << " but the reference says " << e;
  }
}

// Runs `text` for each set of inputs, from one compiled module.
inline void expectSame(const std::string& text, const std::vector<std::vector<HostTensor>>& inputSets,
                       CompileOptions options = {}, double tolerance = 1e-4) {
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Trace trace;
  CompileOptions inferOnly;
  inferOnly.passes = "infer";
  Result<Module> typed = runPasses(*parsed, inferOnly, trace);
  ASSERT_TRUE(typed.ok()) << typed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  for (const std::vector<HostTensor>& inputs : inputSets) {
    std::string what;
    for (const HostTensor& input : inputs) what += toString(input, 4) + " ";
    std::vector<Value> values(inputs.begin(), inputs.end());
    Result<std::vector<Value>> expected = interpret(*typed, values);
    Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs);
    ASSERT_EQ(expected.ok(), actual.ok())
        << what << (expected.ok() ? actual.error().toString() : expected.error().toString());
    if (!expected.ok()) continue;
    ASSERT_EQ(expected->size(), actual->size());
    for (size_t i = 0; i < expected->size(); ++i)
      expectClose((*actual)[i], (*expected)[i].tensor(), what + "output " + std::to_string(i), tolerance);
  }
}

// How many operations, in bodies too, satisfy `isMeant` after `pass`, when `text` is compiled.
template <typename IsMeant>
int64_t opsAfter(const std::string& text, const char* pass, IsMeant isMeant,
                 const CompileOptions& options = {}) {
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<CompiledModel> compiled = compileModel(*parsed, options);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  int64_t count = 0;
  forEachOp(compiled->trace.find(pass)->after,
            [&](const Function&, const Op& op) { count += isMeant(op) ? 1 : 0; });
  return count;
}

}  // namespace dyn::test
