// Handler: :quantise, an ONNX model with weights, and activations, of few bits.
#include <algorithm>
#include <set>

#include "app/session/handlers/models/calibration.h"
#include "app/session/handlers/models/calibration_runs.h"
#include "app/session/handlers/models/onnx_file.h"
#include "compiler/support/suggestion.h"
#ifdef DYN_HAVE_ONNX
#include "app/session/views/change_views.h"
#include "app/session/views/view.h"
#include "frontends/onnx/quantise/weight_quantiser.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_ONNX
namespace {

Result<onnx::QuantiseOptions> quantiseOptions(const SessionState& state, const Command& command) {
  onnx::QuantiseOptions options;
  const std::string weights = command.text("weights");
  if (weights != "int8" && weights != "int4")
    return makeError(DiagnosticId::usageError, "--weights " + weights + ": int8 or int4");
  options.bits = weights == "int8" ? 8 : 4;
  options.dataRoot = state.now.options.dataRoot;
  DYN_TRY(options.block, command.integer("block", options.block));
  if (command.has("block") && options.bits == 8)
    return makeError(DiagnosticId::usageError,
                     "--block goes with --weights int4: int8 has a scale for each column");
  if (options.block < 16 || options.block > 1024 || (options.block & (options.block - 1)) != 0)
    return makeError(DiagnosticId::usageError,
                     "--block " + std::to_string(options.block) + ": a power of two from 16 to 1024");
  if (command.has("calibration")) {
    if (options.bits == 8) return options;
    return makeError(DiagnosticId::usageError,
                     "--calibration goes with --weights int8: products of activations and weights of 4 bits "
                     "compute in f32");
  }
  for (const char* name : {"input", "percentile", "exclude"})
    if (command.has(name))
      return makeError(DiagnosticId::usageError, "--" + std::string(name) + " goes with --calibration");
  return options;
}

Result<std::set<std::string, std::less<>>> excludedNodes(const onnx::Model& model, const Command& command) {
  std::set<std::string, std::less<>> excluded;
  std::vector<std::string_view> names;
  for (const onnx::NodeProto& node : model.graph->nodes) {
    if (!node.name.empty()) names.push_back(node.name);
    if (node.inputs.size() > 1) names.push_back(node.inputs[1]);
  }
  for (const std::string& name : command.all("exclude")) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      Error error = makeError(DiagnosticId::usageError,
                              "--exclude " + name + ": the model's graph has no such node or weight");
      const std::string near = suggestion(name, names);
      if (!near.empty()) return std::move(error).note("did you mean " + near + "?");
      return error;
    }
    excluded.insert(name);
  }
  return excluded;
}

// With activations in bytes, by their ranges in the runs of --calibration.
Result<onnx::QuantisedModel> quantiseByRuns(SessionState& state, const Command& command,
                                            const onnx::Model& model, TypedOnnxFile& typed,
                                            QuantiseResult& result) {
  DYN_TRY(const double percentile, command.number("percentile", 100));
  if (!(percentile > 50 && percentile <= 100))
    return makeError(DiagnosticId::usageError,
                     "--percentile " + command.text("percentile") + ": above 50, and at most 100");
  DYN_TRY(const auto excluded, excludedNodes(model, command));
  DYN_TRY(std::vector<RunCase> runs,
          calibrationRuns(typed.model->signature(), command.text("calibration"), command.all("input")));
  for (RunCase& run : runs) run.addDefaults({}, command.all("input"));
  onnx::ActivationQuantiser quantiser(model, typed.types, excluded);
  DYN_TRY(const onnx::RangesByName ranges,
          measureRanges(state, {typed, quantiser.valuesToMeasure(), runs, percentile}));
  result.runsCount = static_cast<int64_t>(runs.size());
  return quantiser.quantise(ranges, state.now.options.dataRoot);
}

}  // namespace
#endif

Result<View> handle_quantise([[maybe_unused]] SessionState& state, [[maybe_unused]] const Command& command,
                             Outcome&) {
#ifdef DYN_HAVE_ONNX
  QuantiseResult result;
  result.file = command.text("file");
  DYN_TRY(const onnx::QuantiseOptions options, quantiseOptions(state, command));
  DYN_TRY(TypedOnnxFile typed, typedOnnxFile(state));
  const std::string path = typed.model->request().path;
  DYN_TRY(const onnx::Model model, onnx::openModel(path));
  DYN_TRY(const onnx::QuantisedModel made, command.has("calibration")
                                               ? quantiseByRuns(state, command, model, typed, result)
                                               : onnx::quantiseWeights(model, options, typed.types));
  DYN_TRY(const int64_t bytes, writeOnnxPieces(made.file, path, result.file));
  result.bytesBefore = static_cast<int64_t>(model.source.file->bytes().size()) + made.externalBytesBefore;
  result.bytesAfter = bytes + made.externalBytesAfter;
  for (const onnx::QuantisedWeight& weight : made.weights)
    result.weights.push_back({weight.name, weight.node, weight.op, weight.form, weight.why,
                              weight.bytesBefore, weight.bytesAfter, weight.relative});
  for (const onnx::QuantisedActivation& value : made.activations)
    result.activations.push_back({value.name, value.low, value.high, value.scale, value.zero});
  return makeView(std::move(result));
#else
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build writes no ONNX files");
#endif
}

}  // namespace dyn
