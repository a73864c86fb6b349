// Type inference: runs the rule of every operator over a module, fills in result types, and puts one explicit
// run-time check before the operation that demanded what could not be proved.
//
//   fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32], %w: Tensor[(n, 4), f32]) {
//     %y = matmul(%b, %w)
//   →
//     check() {lhs = dims(m), relation = "eq", rhs = dims(n), what = "inner dims of matmul"}
//     %y = matmul(%b, %w) : Tensor[(4), f32]
//
// - Typing is gradual: an annotation `?` accepts anything, a more precise annotation costs a check, or is an
//   error when provably wrong.
// - Symbols of a function's parameters are its own: where two functions use one name, the later gets
//   `function.name`.
// - A dim read from the elements of an integer tensor is bound by an explicit `bind_dims` before its first
//   use.
// - Facts of the main path go to IrContext::facts(); those of a branch or loop body hold only there
//   (learnCheck gives them back).
// - An `if` whose condition is known (a test of static sizes) is replaced by the branch that runs. One whose
//   branches have different ranks takes what follows into both (infer_alternatives.cpp).
// - Small operations on constants are evaluated, for the rules of those behind them.
// - Inferring twice changes nothing: operations and functions that stay the same are shared with the module
//   given.
// Time is linear in the number of operations; loop bodies run until their carried types settle (each carried
// dim is widened at most once).
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/ops/rules/need.h"

namespace dyn {

// Facts that rest on a check operation begin with this: they hold only where the check stands.
inline constexpr std::string_view kCheckReason = "run-time check: ";
inline bool isOfCheck(const Fact& fact) { return fact.reason.text.starts_with(kCheckReason); }

struct InferOptions {
  int64_t maxSteps = 0;  // operations inferred, counting repeats; 0: 10 million plus 100 per operation
  std::vector<Need>* needs = nullptr;  // where it fails: what it lacks
};

struct InferredModule {
  Module module;
  int checksInserted = 0;
  // Known contents of small integer values (null Dim: that element is not known).
  std::unordered_map<ValueId, Contents> contents;
  std::vector<Diagnostic> warnings;
};

Result<InferredModule> inferTypes(const Module& module, const InferOptions& options = {});

// What a `check` operation says of its dims behind it, told to the solver.
Status learnCheck(const Op& check, DimSolver* solver);

}  // namespace dyn
