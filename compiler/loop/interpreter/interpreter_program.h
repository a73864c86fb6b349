// The linear register program behind KernelInterpreter. Private to compiler/loop.
//
// A register is a row of cells: kLanes of them when its value varies over the lane variable (the innermost
// vector loop, or the last variable of an accumulate), else one. An instruction runs over all active lanes
// before the next one starts, so decoding is paid once for kLanes elements.
#pragma once

#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

inline constexpr int kLanes = 64;

union Cell {
  int64_t i;
  double d;
};

struct Operand {
  uint32_t cell = 0;    // first cell
  uint32_t stride = 0;  // 1: varying, 0: uniform
};

enum class Code : uint8_t {
  intUnary,
  realUnary,
  realTest,
  intBinary,
  realBinary,
  realCompare,
  select,
  cast,
  load
};

struct Instruction {
  Code code = Code::intUnary;
  uint8_t op = 0;
  Dtype dtype = Dtype::i64;  // of the operands; cast: of the source; load: of the buffer
  Dtype to = Dtype::i64;     // cast
  Operand out, a, b, c;
  uint32_t buffer = 0, firstIndex = 0, indexCount = 0;  // load
  uint32_t site = 0;                                    // of a possible fault; 0 = none
};

struct Step;
struct CodeBlock {
  std::vector<Step> steps;
};

enum class StepKind : uint8_t { evaluate, demand, store, check, branch, loop, accumulate };

struct Step {
  StepKind kind = StepKind::evaluate;
  uint32_t firstInstruction = 0, endInstruction = 0;  // run first
  Operand value;             // demand, store, check, branch; accumulate: value of the body
  Operand target;            // loop: the variable; accumulate: the result
  Dtype dtype = Dtype::i64;  // store, accumulate
  uint32_t buffer = 0, firstIndex = 0, indexCount = 0;  // store
  uint32_t site = 0;                                    // store
  int32_t fault = 0;                                    // check
  std::optional<Operand> subject;                       // check
  ReduceOp reduceOp = ReduceOp::sum;
  std::vector<Operand> variables, extents;  // loop: one extent; accumulate
  bool lanes = false;                       // this step's (last) variable is the lane variable
  CodeBlock body;                           // loop, branch, accumulate (its last step evaluates the value)
};

struct FaultSite {
  const Buffer* buffer = nullptr;  // null: a division by zero
  bool isStore = false;
};

struct InterpreterProgram {
  std::shared_ptr<LoopContext> context;
  std::string name;
  std::vector<const Buffer*> buffers;  // parameters, then scratch
  size_t parameterCount = 0;
  std::vector<Dim> scalars;
  std::vector<Instruction> instructions;
  std::vector<Operand> indices;
  std::vector<std::pair<uint32_t, Cell>> constants;
  std::vector<std::pair<uint32_t, Dim>> dims;
  std::vector<std::vector<Operand>> shapes;  // per buffer
  std::vector<FaultSite> sites;              // [0] unused
  Operand unit, unitCount;
  CodeBlock prologue, body;
  uint32_t cells = 0;
};

}  // namespace dyn::loop
