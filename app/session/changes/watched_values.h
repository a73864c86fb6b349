// Inner values of a run: the compiled program with more results than the model has.
//
// A value that is a result is kept in memory of its own and is not computed inside of another kernel only:
// such a program is made by the same passes, but it is not quite the one that a run of the model takes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/session/session_state.h"

namespace dyn {

// A tensor that an operation of @main computes.
struct InnerTensor {
  const Op* op = nullptr;
  size_t result = 0;  // of op

  ValueId value() const { return op->results[result].id; }
};
// In order, without constants and strings.
std::vector<InnerTensor> innerTensors(const Module& typed);

// `model` has gone through inference. `passes`: the pipeline, as --passes takes it. Error unsupportedFeature
// for inputs with a value of the model's own that are given another one.
struct WatchRequest {
  LoadedModel& model;
  std::vector<ValueId> values;  // of @main
  const CallInputs& inputs;
  std::string passes;
};
Result<std::vector<Value>> watchedValues(SessionState& state, const WatchRequest& request);

}  // namespace dyn
