// Views of checks: problems and warnings of a model, sizes that fail, and the cases of a conformance suite.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"
#include "compiler/support/diagnostic.h"

namespace dyn {

enum class CaseStatus : uint8_t { passed, wrong, crashed, timeout, unsupported, failed };
const char* toString(CaseStatus status);
struct VerifyResult {
  std::string name, directory;
  CaseStatus status = CaseStatus::failed;
  std::string reason, op, code;  // code: the diagnostic's
  int64_t dataSetsCount = 0;
};

// Where a model does not run for all sizes: an error with sizes that fail, or a warning where nothing is
// proved.
struct SizeFinding {
  Diagnostic diagnostic;
  std::string demand;  // "seq must be at most 512: ..."
  DimValues sizes;     // the smallest that fail; empty: none are known
};

struct SizeCheck {
  std::vector<std::string> assumed;  // "seq <= 512": what is asserted, and what is taken for granted
  std::vector<SizeFinding> findings;
  int64_t checksCount = 0, provedCount = 0, furtherCount = 0;  // further: not looked at, after many findings
};

// A line of the program that an ONNX file was exported from.
struct NodeSource {
  std::string file, code;
  int64_t line = 0;
  std::string function;  // "forward"; "": not said
};

enum class ProblemFormat : uint8_t { text, sarif, github };
struct ProblemList {
  std::vector<Diagnostic> problems, warnings;
  std::map<std::string, int64_t> unsupportedOps;  // operator → nodes
  std::optional<SizeCheck> sizes;                 // of `check --assert`
  std::string model;                              // the file
  std::map<std::string, NodeSource> sources;      // by the node of a diagnostic's place
  ProblemFormat format = ProblemFormat::text;
};

}  // namespace dyn
