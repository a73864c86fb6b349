// Views of the pipeline: its passes, the difference between two steps, and the step that breaks a result.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/views/node_id.h"
#include "compiler/support/diagnostic.h"

namespace dyn {

struct PassRow {
  int index = 0;
  std::string name, kind;                                    // kind: import, pass, lowering
  std::string summary;                                       // of a pass
  bool required = false;                                     // it cannot be left out
  std::vector<std::pair<std::string, std::string>> options;  // name, what it does
  int64_t timeNs = 0;
  bool changed = false;
  bool failed = false;
  int64_t opsBefore = 0, opsAfter = 0;
  uint64_t solverSteps = 0, dearestSteps = 0;  // of all; of dearestOp, which asked for most
  std::string dearestOp;
  std::map<std::string, int64_t> counters;
  std::vector<std::string> remarks;
  std::vector<Diagnostic> diagnostics;
};

struct PassList {
  std::vector<PassRow> rows;
  int current = -1;      // where :step and :back stand
  std::string pipeline;  // as text: "infer,fold,fuse{max=8}"
  std::string edits;     // the setting that made it; "": the standard one
};

enum class DiffKind : uint8_t { added, removed, changed };
const char* toString(DiffKind kind);

struct DiffLine {
  DiffKind kind = DiffKind::changed;
  NodeId node = kNoNode;
  std::string before, after;      // one line of text IR each; "" if absent
  std::vector<std::string> what;  // of a change: "operands", "attributes", "types", "operator", "regions"
  std::string function;           // where it stands (of `after`, else of `before`)
};

struct DiffView {
  int fromStep = 0, toStep = 0;
  std::string fromName, toName;
  std::vector<DiffLine> lines;
  int64_t addedCount = 0, removedCount = 0, changedCount = 0, unchangedCount = 0;
};

struct BisectRow {
  int step = 0;
  std::string name;
  std::string by;       // "reference", "program", "program without shared memory"
  std::string verdict;  // "baseline", "unchanged", "same", "differs", "fails", "not run"
  std::string difference;
};

struct BisectView {
  std::vector<BisectRow> rows;
  std::optional<BisectRow> first;  // the first that is wrong
  bool inCompilation = false;      // lowering or code generation, not the pass
  int64_t opsCount = 0, reducedOpsCount = 0;
  std::string reduced;                                             // text of the reduced module; "" if absent
  std::string reducedFile;                                         // where it was written, or ""
  std::vector<std::pair<std::string, std::string>> reducedInputs;  // parameter, file
  std::string again;  // the command that shows the fault on the reduced module
};

}  // namespace dyn
