// Views of files: what was compiled, exported, saved or reported, and the cache.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"

namespace dyn {

// The cache of compiled objects and packed weights.
struct CacheView {
  std::string directory;  // "none": there is none
  std::string refusal;    // why nothing of it is used; "" where it is
  struct Row {
    std::string kind;  // "objects", "weights", "unfinished"
    int64_t filesCount = 0, bytes = 0;
  };
  std::vector<Row> rows;
  std::vector<std::string> damaged;  // found by verify, and removed
  enum class Done : uint8_t { listed, verified, cleared } done = Done::listed;
};

struct CompileResult {
  std::string file;  // "" when none was written
  int64_t fileBytes = 0;
  int64_t passesNs = 0, lowerNs = 0, compileNs = 0;
  int64_t kernelsCount = 0, kernelsCompiledCount = 0, constantsBytes = 0;
  std::string machine;
  std::optional<int64_t> openObligations;  // of the certificate in the file; none: there is none
};

struct ExportResult {
  struct File {
    std::string path;
    int64_t bytes = 0;
  };
  std::vector<File> files;
  std::string kind, target;
  std::optional<int64_t> ramBoundBytes;        // none: the memory has no bound that is known
  int64_t weightsBytes = 0, runtimeBytes = 0;  // the rest: code and tables
  std::vector<std::string> entryPoints;
  std::optional<int64_t> openObligations;  // of a package's certificate; none: it has none
};

// The graph after a pass as an ONNX model.
struct SaveResult {
  std::vector<ExportResult::File> files;  // the model; then its weights, where they lie outside
  std::optional<int64_t> step;            // of the model's steps; none: simplified, apart from them
  std::string stepName;
  int64_t nodesCount = 0, weightsBytes = 0;
  std::map<std::string, int64_t> opsets;   // by domain
  std::map<std::string, int64_t> leftOut;  // operations that need nothing written, by operator
  struct PassedOver {
    std::string step, reason;
  };
  std::vector<PassedOver> passedOver;  // later steps, which ONNX cannot say
};

// An ONNX model with the types of its values written in.
struct InferResult {
  ExportResult::File file;
  int64_t valuesCount = 0;  // of the model's graph, but for weights
  int64_t typedCount = 0;   // of these: dtype and rank are known, and written
  int64_t numberDimsCount = 0, formulaDimsCount = 0, unknownDimsCount = 0;  // of the typed ones
  std::vector<std::string> untyped;                                         // names of the others
};

// A model of fixed sizes that was opened, or why it was not.
struct GeneraliseResult {
  struct Change {
    std::string place, op, what, why;
    bool doubtful = false;
  };
  struct Trial {
    DimValues sizes;
    std::string failure;  // "": it runs
  };
  std::optional<ExportResult::File> file;  // none: it is not opened
  std::vector<Change> changes;
  std::vector<Change> refused;  // `why` alone
  DimValues sizes;              // of the example
  DimValues limits;             // most of a dim: tables of the model end there
  std::vector<Trial> trials;    // runs at other sizes
  bool sameBits = true;         // results at the example's sizes; false: equal but for rounding
};

// The page that `report` writes.
struct ReportResult {
  ExportResult::File file;
  int64_t passesCount = 0, kernelsCount = 0;
  DimValues dims;        // of the run
  std::string whyNoRun;  // "": there was one
};

}  // namespace dyn
