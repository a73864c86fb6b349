// Trace: the append-only record of what the compiler did. Stepping, diffing, printing after a pass, timing
// and bisection all read it;
// no view parses dumps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/diagnostic.h"

namespace dyn {

enum class StepKind : uint8_t { import, pass, lowering };
const char* toString(StepKind kind);

struct TraceStep {
  int index = 0;
  StepKind kind = StepKind::pass;
  std::string name;      // "fold", "import bert.onnx"
  Module before, after;  // snapshots: they share everything the step did not touch
  bool changed = false;  // after != before
  int64_t timeNs = 0;
  int64_t opsBefore = 0, opsAfter = 0;  // operations incl. those in bodies
  uint64_t solverSteps = 0;             // of questions and facts about dims
  // The operation that most of them were for, and how many; empty where none asked.
  std::string dearestOp;
  uint64_t dearestSteps = 0;
  std::map<std::string, int64_t> counters;
  std::vector<std::string> remarks;
  std::vector<Diagnostic> diagnostics;  // non-empty when the step failed
};

struct Trace {
  std::vector<TraceStep> steps;
  // The step of that name, present or former (the last one of several), or of that number ("3"). Null: there
  // is no such step.
  const TraceStep* find(std::string_view nameOrIndex) const;
};

}  // namespace dyn
