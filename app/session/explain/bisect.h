// Bisection over the trace: which pass, or which part of code generation, first changes a result?
//
//   steps of the trace:  import  infer  ...  fuse  place  plan | program
//   evaluated by         the reference interpreter             | the VM
//
// The reference knows nothing of memory: sharing of memory shows only when a snapshot is compiled and run. So
// where the program differs and no snapshot does by the reference, the placed snapshots are compiled and run
// one by one, also with all sharing of memory taken out: the first that differs with sharing, and agrees
// without, is the pass at fault; one that differs without too is a fault of lowering or code generation.
#pragma once

#include <functional>
#include <optional>

#include "app/engine/model/compare.h"
#include "app/engine/run/runner.h"
#include "app/session/explain/reduce_module.h"
#include "compiler/driver/compile.h"

namespace dyn {

struct BisectRequest {
  const Trace& trace;  // borrowed; the import first
  Pipeline pipeline;   // the passes behind its steps 1, 2, ...
  std::vector<Value> inputs;
  Tolerance tolerance;
  // Compiles a placed module and runs it. Null: only the reference is asked.
  std::function<Result<std::vector<Value>>(const Module& placed, const std::vector<Value>& inputs)>
      runProgram;
  std::function<void(const std::string& text, double fraction)> progress;
  ReduceOptions reduce;
};

enum class Evaluation : uint8_t { reference, program, unsharedProgram };
const char* toString(Evaluation evaluation);

struct BisectStep {
  int step = 0;
  std::string name;
  Evaluation by = Evaluation::reference;
  enum class Verdict : uint8_t { baseline, unchanged, same, differs, fails, notRun } verdict = Verdict::same;
  std::string
      difference;  // "output 0: element [0, 4] is 1.5 instead of 1.25 (1 of 8 differ)", or why it fails
};
const char* toString(BisectStep::Verdict verdict);

struct BisectFinding {
  BisectStep at;               // of a fault of code generation: the last step
  bool inCompilation = false;  // not a pass: lowering or code generation
  std::optional<Sample>
      reduced;  // the module given to the pass (of plan: to place), as small as the fault allows
};

struct BisectAnswer {
  std::vector<BisectStep> steps;
  std::optional<BisectFinding> finding;  // none: all agree
};

// Errors: those of the reference on the model itself, and `cancelled`.
Result<BisectAnswer> bisect(const BisectRequest& request);

// Compiles a placed module and runs it once.
Result<std::vector<Value>> runPlaced(const Module& placed, const std::vector<Value>& inputs,
                                     CompileOptions compile, const EngineOptions& options,
                                     Interruption& interruption);

// `placed` with a buffer of its own for every value, for the whole run.
Module withoutSharing(const Module& placed);

}  // namespace dyn
