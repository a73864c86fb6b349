// The inputs of a run, changed: other sizes, another element; and what a run with them ends in.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/engine/inputs/input_spec.h"
#include "app/session/session_state.h"

namespace dyn {

// The inputs of a run, and which of them were given by the user.
struct AskedRun {
  CallInputs inputs;
  std::set<std::string> given;
};

// A tensor of another shape with the elements of this one; past its end the last of an axis is repeated, and
// zeros where there is none.
Result<HostTensor> resized(const HostTensor& tensor, const std::vector<int64_t>& shape);

class RunTrial {
 public:
  // All outlive it.
  RunTrial(SessionState& state, const Signature& signature, const AskedRun& run)
      : state_(state), signature_(signature), run_(run) {}

  // With these sizes: what was given is resized, the rest made anew. Errors: those of makeInputs, and
  // unsupportedFeature where an input is no tensor.
  Result<CallInputs> atSizes(const DimValues& sizes) const;
  // With these inputs and dims; others are made.
  Result<CallInputs> with(const std::map<std::string, Value>& given, const std::vector<DimSpec>& dims) const;
  // Runs the model's program. Errors: what the run ends in.
  Status run(const CallInputs& inputs) const;

 private:
  SessionState& state_;
  const Signature& signature_;
  const AskedRun& run_;
};

}  // namespace dyn
