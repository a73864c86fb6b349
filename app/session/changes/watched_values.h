// Inner values of a run: the compiled program with more results than the model has.
//
// A value that is a result is kept in memory of its own and is not computed inside of another kernel only:
// such a program is made by the same passes, but it is not quite the one that a run of the model takes.
#pragma once

#include <memory>
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

// A program of the model whose results are these values; it runs at any sizes, as often as is wanted.
// `model` has gone through inference and outlives it. `passes`: the pipeline, as --passes takes it.
class WatchedProgram {
 public:
  static Result<WatchedProgram> compile(SessionState& state, LoadedModel& model,
                                        const std::vector<ValueId>& values, const std::string& passes);
  // In the order of `values`. Error unsupportedFeature for inputs with a value of the model's own that are
  // given another one.
  Result<std::vector<Value>> run(SessionState& state, const CallInputs& inputs);

 private:
  WatchedProgram() = default;

  std::unique_ptr<Module> module_;
  std::unique_ptr<VmModule> program_;
  std::unique_ptr<Runner> runner_;  // of both
};

struct WatchRequest {
  LoadedModel& model;
  std::vector<ValueId> values;  // of @main
  const CallInputs& inputs;
  std::string passes;
};
// One run of such a program.
Result<std::vector<Value>> watchedValues(SessionState& state, const WatchRequest& request);

}  // namespace dyn
