// Views of two models beside each other: what changed, and how far their values are apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/model/model_info.h"

namespace dyn {

// What changed from one model to another.
struct ModelDifference {
  struct OpChange {
    std::string change;  // "added", "removed", "changed"
    std::string op, value, place;
    std::vector<std::string> what;  // of a change: "attribute axis: 1 becomes 2", "operand 1: %w becomes %v"
  };
  struct WeightChange {
    std::string change;  // "added", "removed", "close", "different"
    std::string name, otherName, type, otherType;
    double maxAbs = 0, relative = 0;  // relative: the norm of the difference over the norm of the second
  };
  // "" where one of the models has none.
  struct FormulaChange {
    std::string of;  // "input", "output", "value", "peak", "check"
    std::string name, before, after;
  };
  // What runs of these sizes are predicted to take, where that was asked for.
  struct TimeChange {
    DimValues dims;
    int64_t beforeNs = 0, afterNs = 0, beforePeakBytes = 0, afterPeakBytes = 0;
    std::string beforeRefused, afterRefused;  // why there is no such run; then no numbers
    // The time after over the time before; nothing where one of them has no such run.
    std::optional<double> ratio() const {
      if (!beforeRefused.empty() || !afterRefused.empty() || beforeNs <= 0) return std::nullopt;
      return static_cast<double>(afterNs) / static_cast<double>(beforeNs);
    }
  };
  std::string before, after;  // the files
  std::vector<OpChange> ops;
  std::vector<WeightChange> weights;
  std::vector<FormulaChange> seen;   // of inputs, outputs, the peak and checks: what callers see
  std::vector<FormulaChange> inner;  // of matched values
  std::vector<std::pair<std::string, std::string>> renamedDims;
  std::vector<TimeChange> times;
  int64_t sameOpsCount = 0, sameWeightsCount = 0, renamedValuesCount = 0, sameFormulasCount = 0;
};

// How far a value of one model is from that of another.
struct ValueError {
  std::string name, op, place;
  std::string shape;                // of this run: "f32[2, 7, 32]"
  double maxAbs = 0;                // largest difference
  double maxRelative = 0;           // over the element, or the root mean square where that is larger
  double relative = 0;              // norm of the difference over the norm of the expected tensor
  std::vector<int64_t> worstIndex;  // of the largest difference
  double expected = 0, actual = 0;  // there
  std::string mismatch;             // "shape [2, 3] instead of [3, 2]": no numbers then
  bool isWrong = false;             // beyond the tolerance
};
struct ValueComparison {
  std::string before, after;  // what is compared: files, pipelines, "onnxruntime"
  DimValues dims;
  double relativeTolerance = 0;
  std::vector<ValueError> values;  // in the order of the first model
  int64_t unmatchedCount = 0;      // values of the first model without one in the second
  int64_t wrongCount = 0;
  std::optional<size_t> firstWrong;  // of `values`
};

// A part of a model as one of its own.
struct ExtractResult {
  struct Boundary {
    std::string name, type, file;  // file: of its value in a run, or ""
    bool isAsked = true;           // false: what was asked for needs it, too
  };
  std::string file, again;  // again: the command that repeats the run; "" without one
  int64_t bytes = 0;
  std::vector<Boundary> inputs, outputs;
  int64_t nodesCount = 0, allNodesCount = 0, weightsBytes = 0, allWeightsBytes = 0;
};

// A model whose weights have few bits, and with calibration its activations 8.
struct QuantiseResult {
  struct Weight {
    std::string name, node, op, form;  // form: "MatMulNBits, 4 bits, blocks of 32"; "" where it stays
    std::string why;                   // it stays
    int64_t bytesBefore = 0, bytesAfter = 0;
    double relative = 0;  // norm of the error over the norm of the weight
  };
  std::string file;
  int64_t bytesBefore = 0, bytesAfter = 0;  // of the files, external data included
  std::vector<Weight> weights;
  struct Activation {
    std::string name;
    double low = 0, high = 0;  // of its elements, as they were measured
    double scale = 1;
    int64_t zero = 0;
  };
  int64_t runsCount = 0;  // of the calibration; 0: none
  std::vector<Activation> activations;
};

// The certificate of a package, checked.
struct CertificateView {
  struct Kind {
    std::string name;  // "fits", "apart", "access", "peak", "shape"
    int64_t shownCount = 0, openCount = 0;
  };
  struct Open {
    std::string kind, place, what;
  };
  std::string file, status;  // "certified", "partly", "missing", "refused"
  std::string why;           // missing, refused
  int64_t certificateBytes = 0, checkNs = 0;
  std::vector<Kind> kinds;
  std::vector<Open> open;
  std::vector<std::string> peak;  // bytes: the largest of these formulas
  int64_t launchesCount = 0, builtinCallsCount = 0;
  std::vector<std::string> builtins;  // what they do inside is not part of the certificate
};

}  // namespace dyn
