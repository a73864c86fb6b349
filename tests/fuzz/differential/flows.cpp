#include "tests/fuzz/differential/flows.h"

#include "tests/support/compiled.h"
#include "tests/support/text_module.h"

namespace dyn::differential {

namespace {

// What a run leaves, as bytes.
struct Run {
  dyn_status status = DYN_OK;
  std::string message;
  std::vector<std::string> outputs;
  dyn_statistics statistics{};
};

std::string bytesOf(const dyn_value* value) {
  std::string bytes = std::to_string(dyn_value_dtype(value));
  for (int32_t axis = 0; axis < dyn_value_rank(value); ++axis)
    bytes += " " + std::to_string(dyn_value_shape(value)[axis]);
  return bytes + "\n" +
         std::string(static_cast<const char*>(dyn_value_data(value)), dyn_value_size_bytes(value));
}

Run runOf(test::Compiled& compiled, const std::vector<HostTensor>& inputs) {
  dyn_context* context = compiled.context.get();
  Run run;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const test::ValueHandle input = compiled.toVm(inputs[i]);
    run.status = dyn_context_set_input(context, static_cast<int32_t>(i), input.get());
    if (run.status != DYN_OK) return run;
  }
  run.status = dyn_context_run(context);
  run.message = run.status == DYN_OK ? "" : dyn_last_message();
  for (int32_t i = 0; run.status == DYN_OK && i < dyn_context_result_count(context); ++i) {
    dyn_value* value = nullptr;
    if (dyn_context_get_output(context, i, &value) != DYN_OK) continue;
    run.outputs.push_back(bytesOf(test::ValueHandle(value).get()));
  }
  (void)dyn_context_statistics(context, &run.statistics);
  return run;
}

// Empty when they agree.
std::string difference(const Run& native, const Run& interpreted) {
  if (native.status != interpreted.status || native.message != interpreted.message)
    return "ends with '" + native.message + "', interpreted with '" + interpreted.message + "'";
  for (size_t i = 0; i < native.outputs.size(); ++i)
    if (native.outputs[i] != interpreted.outputs[i])
      return "result " + std::to_string(i) + " has other bits or another shape";
  // What is described on the thread's stack takes no block of the pool.
  if (native.statistics.peak_bytes > interpreted.statistics.peak_bytes)
    return "takes " + std::to_string(native.statistics.peak_bytes) + " bytes instead of " +
           std::to_string(interpreted.statistics.peak_bytes);
  if (native.statistics.launches_count != interpreted.statistics.launches_count)
    return std::to_string(native.statistics.launches_count) + " launches instead of " +
           std::to_string(interpreted.statistics.launches_count);
  return "";
}

}  // namespace

Comparison compareFlows(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed) {
  IrContext context;
  Result<Module> module = test::parseText(context, toText(program));
  if (!module.ok()) return {Verdict::invalid, module.error().toString()};
  CompileOptions options;
  options.threadCount = 1;
  options.hostCode = HostCode::native;
  if (seed % 3 == 0) options.flowPiece = 1 + static_cast<uint32_t>(seed / 3 % 9);  // cut everywhere
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module, options);
  const std::string passes(kFlows);
  if (!compiled.ok()) {
    const bool ours = compiled.error().id == DiagnosticId::internalError;
    return {ours ? Verdict::differ : Verdict::rejected, compiled.error().toString(), passes};
  }
  dyn_options settings{};
  settings.interpret = 1;
  dyn_context* made = nullptr;
  if (dyn_context_create((*compiled)->module.get(), &settings, &made) != DYN_OK)
    return {Verdict::differ, dyn_last_message(), passes};
  test::ContextHandle interpreting(made);
  Comparison result;
  result.passes = passes;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const std::vector<HostTensor> inputs = inputsFor(program, sizes[k], seed);
    const Run native = runOf(**compiled, inputs);
    // Inputs count in the memory of the context that they are made for.
    std::swap((*compiled)->context, interpreting);
    const Run interpreted = runOf(**compiled, inputs);
    std::swap((*compiled)->context, interpreting);
    result.faultsCount += interpreted.status == DYN_OK ? 0 : 1;
    if (std::string what = difference(native, interpreted); !what.empty())
      return {Verdict::differ, "native " + what, passes, k};
  }
  return result;
}

}  // namespace dyn::differential
