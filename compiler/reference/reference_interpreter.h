// The reference interpreter: evaluates a module on concrete values, operation by operation, with the
// operators' reference evaluation. Simple, slow, independent of code generation: the oracle for tests and for
// `bisect`.
//
//   DYN_TRY(std::vector<Value> results, interpret(module, {Value(x)}));
//
// - Symbols of the parameters are bound from the inputs; a `?` of a result is bound from the value computed;
//   `check` operations are evaluated.
// - Calls and bodies use frames of its own, not the C++ stack; a call in tail position (also at the end of a
//   branch) replaces its frame.
// - Values are dropped after their last use.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "compiler/reference/value.h"

namespace dyn {

enum class ShapeAssertion : uint8_t {
  off,
  on  // every computed shape must be what the type says (errors internalError: a wrong shape rule)
};

// A function or a body that begins.
struct FrameEntry {
  const Function& function;
  const Op* caller = nullptr;  // the call, branch or loop; null: the outermost function
  size_t depth = 0;            // frames on the stack, this one counted; a tail call replaces frames
  std::span<const Value> arguments;
};

struct InterpreterOptions {
  ShapeAssertion shapes = ShapeAssertion::off;
  int64_t maxFrames = 200'000;                   // nested calls and bodies; past it memoryLimit
  int64_t maxSteps = 0;                          // operations executed; 0: no limit; past it timeLimit
  const std::atomic<bool>* cancelled = nullptr;  // looked at before each operation
  // Called after each operation with its results.
  std::function<void(const Function&, const Op&, std::span<const Value>)> observer;
  std::function<void(const FrameEntry&)> entered;
  std::function<void()> left;  // the innermost frame has ended, with results
};

Result<std::vector<Value>> interpret(const Module& module, std::vector<Value> inputs,
                                     const InterpreterOptions& options = {});
Result<std::vector<Value>> interpret(const Module& module, const Function& function,
                                     std::vector<Value> inputs, const InterpreterOptions& options = {});
// One operation on the values of its operands (those left out are none). Its result types must be known.
Result<std::vector<Value>> interpretOp(const Module& module, const Op& op, std::span<const Value> operands,
                                       const InterpreterOptions& options = {});

}  // namespace dyn
