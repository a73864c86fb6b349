// The harness of operator tests.
//
//   OpCase add("add", {real({2, 3}), real({3})});
//   std::vector<Value> results = checkOp(add);
//
// checkOp builds the one-operation program twice, with static dims and with every dim a symbol of its own, infers its types, verifies it,
// runs it in the reference interpreter with shape assertions on, and compares both. Where the operator lowers to loops, the kernel built
// from `lower` must give the same elements.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/ir/module.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/reference_interpreter.h"

namespace dyn::test {

struct OpCase {
  OpCase(std::string_view name, std::vector<std::optional<HostTensor>> operands, Attributes attributes = {})
      : op(name), operands(std::move(operands)), attributes(std::move(attributes)) {}
  std::string op;
  std::vector<std::optional<HostTensor>> operands;  // nullopt: left out
  Attributes attributes;
  int results = 1;
  std::vector<int> constants;  // operands that must be constants (they decide the rank)
  double tolerance = 1e-5;     // of the lowered kernel, relative to max(1, |expected|)
  bool lowers = true;          // false: compare only the reference runs
  bool dynamic = true;         // false: only the program with static dims
};

enum class DimStyle { fixed, symbolic };

// The program `@main(operands...) -> results of the operation`, types not inferred yet.
Module moduleOf(IrContext& ir, const OpCase& test, DimStyle style);
// Runs all the checks above; the results of the reference. Empty after a failure.
std::vector<Value> checkOp(const OpCase& test);
// The results of operation `op` of @main through its definition in loop IR, the kernel builder and the kernel interpreter. `operands` has
// a tensor for each operand (an invalid one where left out), `expected` the shapes of the results.
Result<std::vector<HostTensor>> runLowered(const InferredModule& inferred, const Op& op,
                                           std::span<const HostTensor> operands,
                                           std::span<const Value> expected);
// Empty when all elements agree within the tolerance (relative to max(1, |expected|)), else what differs.
std::string difference(const HostTensor& expected, const HostTensor& actual, double tolerance);
// The error of inferring the operation with static dims; fails the test when there is none.
Diagnostic inferError(const OpCase& test);
// The same for running it.
Diagnostic runError(const OpCase& test);

// Deterministic test data.
HostTensor real(std::vector<int64_t> shape, Dtype dtype = Dtype::f32, unsigned seed = 1, double low = -2,
                double high = 2);
HostTensor integers(std::vector<int64_t> shape, int64_t low, int64_t high, Dtype dtype = Dtype::i64,
                    unsigned seed = 1);
HostTensor vec(std::initializer_list<int64_t> values, Dtype dtype = Dtype::i64);
HostTensor scalar(int64_t value, Dtype dtype = Dtype::i64);
HostTensor reals(std::vector<int64_t> shape, std::initializer_list<double> values, Dtype dtype = Dtype::f32);

std::vector<int64_t> shapeOf(const std::vector<Value>& results, int i = 0);
std::vector<double> elements(const std::vector<Value>& results, int i = 0);

// Text programs.
struct Program {
  std::unique_ptr<IrContext> ir;
  Module source;
  InferredModule inferred;
  std::string text() const;  // of the inferred module, without `dim` lines
};
Program parse(std::string_view text);  // fails the test on errors
Program inferText(std::string_view text);
Diagnostic inferTextError(std::string_view text);
int checkCount(const Module& module);
std::vector<Value> run(const Program& program, std::vector<Value> inputs);
Diagnostic runTextError(const Program& program, std::vector<Value> inputs);

}  // namespace dyn::test
