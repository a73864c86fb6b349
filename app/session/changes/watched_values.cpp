#include "app/session/changes/watched_values.h"

#include "app/engine/device/device_name.h"
#include "app/engine/model/model_info.h"
#include "app/engine/model/value_types.h"
#include "app/engine/run/run_result.h"
#include "compiler/ops/op_table.h"

namespace dyn {

std::vector<InnerTensor> innerTensors(const Module& typed) {
  std::vector<InnerTensor> tensors;
  for (const Op* op : typed.main()->ops) {
    if (op->def == &ops::constantOp) continue;
    for (size_t i = 0; i < op->results.size(); ++i) {
      const Type& type = op->results[i].type;
      if (type && type.isTensor() && type.dtype() != Dtype::string) tensors.push_back({op, i});
    }
  }
  return tensors;
}

namespace {

// @main with these results.
Module withResults(const Module& module, const std::vector<ValueId>& values) {
  const TypesOfValues types = typesOfValues(module);
  Function main = *module.main();
  main.results = values;
  main.resultTypes.clear();
  for (const ValueId value : values) main.resultTypes.push_back(types.at(value));
  Module changed = module;
  for (const Function*& function : changed.functions)
    if (function == module.main()) {
      function = module.context->own(std::move(main));
      break;
    }
  return changed;
}

}  // namespace

Result<WatchedProgram> WatchedProgram::compile(SessionState& state, LoadedModel& model,
                                               const std::vector<ValueId>& values,
                                               const std::string& passes) {
  WatchedProgram watched;
  watched.module_ = std::make_unique<Module>(withResults(model.typed(), values));
  CompileOptions options = model.compileOptions();
  options.passes = passes;
  std::vector<std::string> inputs, outputs;
  for (const ValueInfo& input : model.info().inputs) inputs.push_back(input.name);
  for (const ValueId value : values) outputs.push_back(watched.module_->context->valueName(value));
  options.inputNames = inputs;
  options.outputNames = outputs;
  DYN_TRY(CompiledModel made, compileModel(*watched.module_, options));
  DYN_TRY(const DeviceName device, parseDevice(state.now.options.device));
  DYN_TRY(dyn_module * raw, instantiate(std::make_shared<const CompiledModel>(std::move(made)), std::nullopt,
                                        device.isHost() ? std::string() : device.ofRuntime()));
  watched.program_ = std::make_unique<VmModule>(raw);
  DYN_TRY(Runner runner, Runner::create(watched.program_->get(), watched.module_.get(),
                                        signatureOf(*watched.module_, inputs, outputs), state.now.options));
  watched.runner_ = std::make_unique<Runner>(std::move(runner));
  return watched;
}

Result<std::vector<Value>> WatchedProgram::run(SessionState& state, const CallInputs& inputs) {
  if (!inputs.overrides.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: inner values of a run with another value for " +
                         inputs.overrides[0].first + ", which the model has a value of its own for");
  RunResult result;
  DYN_CHECK(runner_->run(inputs, RunRequest(), state.interruption, result));
  std::vector<Value> values;
  for (NamedValue& output : result.outputs) values.push_back(std::move(output.value));
  return values;
}

Result<std::vector<Value>> watchedValues(SessionState& state, const WatchRequest& request) {
  DYN_TRY(WatchedProgram program,
          WatchedProgram::compile(state, request.model, request.values, request.passes));
  return program.run(state, request.inputs);
}

}  // namespace dyn
