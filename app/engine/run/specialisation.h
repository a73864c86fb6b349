// Specialisation: what a model leaves open until it is run. Where a rank or an axis depends on an input (the
// axes of a Squeeze given as an input, an input without declared shape), the program is compiled again with
// that rank, shape or value fixed: one artefact for each that occurs, kept while the session lasts.
//
//   Specialisations made(model, options);
//   DYN_TRY(PreparedRun run, made.prepare(inputs, cancelled, say));  // say("compiled for axes = [1]: ...")
//   DYN_CHECK(run.runner->run(run.inputs, request, interruption, result));
//
// One thread, as LoadedModel.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "app/engine/run/runner.h"

namespace dyn {

class LoadedModel;
struct FixedInput;

struct PreparedRun {
  LoadedModel* model = nullptr;  // whose program runs; borrowed, as is the runner
  Runner* runner = nullptr;
  CallInputs inputs;                 // those the program takes
  int64_t kernelsCompiledCount = 0;  // for this run, after the model was loaded
};

Result<Runner> makeRunner(LoadedModel& model, const EngineOptions& options);

// Did the model's passes fail only because inputs decide what they need to know?
bool canSpecialise(const LoadedModel& model, const Diagnostic& fault);

class Specialisations {
 public:
  Specialisations(LoadedModel& model, const EngineOptions& options) : model_(model), options_(options) {}
  // Errors: those of compiling; inputMissing when an input that decides was not given.
  Result<PreparedRun> prepare(CallInputs inputs, const std::atomic<bool>* cancelled,
                              const std::function<void(const std::string&)>& say);

 private:
  struct Made {
    std::vector<FixedInput> fixed;
    std::unique_ptr<LoadedModel> model;
    std::unique_ptr<Runner> runner;
  };
  Result<Made> make(const CallInputs& inputs, const std::atomic<bool>* cancelled);

  LoadedModel& model_;
  EngineOptions options_;
  std::list<Made> made_;  // last used first
};

}  // namespace dyn
