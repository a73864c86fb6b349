#include "app/session/causes/run_trial.h"

#include <algorithm>

#include "app/session/causes/element_sources.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

Result<HostTensor> resized(const HostTensor& tensor, const std::vector<int64_t>& shape) {
  if (tensor.dtype() == Dtype::string)
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: strings of another size");
  DYN_TRY(HostTensor made, HostTensor::create(tensor.dtype(), shape));
  if (tensor.elementCount() == 0) return made;
  const ElementCopier copier(made, tensor);
  for (int64_t place = 0; place < made.elementCount(); ++place) {
    const std::vector<int64_t> index = indexOfPlace(shape, place);
    int64_t from = 0;
    for (size_t i = 0; i < index.size(); ++i)
      from = from * tensor.shape()[i] + std::min(index[i], tensor.shape()[i] - 1);
    copier.copy(place, from);
  }
  return made;
}

Result<CallInputs> RunTrial::with(const std::map<std::string, Value>& given,
                                  const std::vector<DimSpec>& dims) const {
  InputSources sources;
  sources.given = given;
  return makeInputs(signature_, dims, {}, state_.now.options.seed, sources);
}

Result<CallInputs> RunTrial::atSizes(const DimValues& sizes) const {
  DYN_TRY(const std::vector<std::vector<int64_t>> shapes, shapesFor(signature_, sizes));
  InputSources sources;
  for (size_t i = 0; i < signature_.inputs.size(); ++i) {
    const Port& port = signature_.inputs[i];
    if (port.info.kind != "tensor")
      return makeError(
          DiagnosticId::unsupportedFeature,
          "unsupported: other sizes beside input " + port.info.name + ", which is a " + port.info.kind);
    if (run_.given.count(port.info.name) == 0) continue;
    DYN_TRY(HostTensor value, resized(run_.inputs.values[i].tensor(), shapes[i]));
    sources.given[port.info.name] = Value(std::move(value));
  }
  std::vector<DimSpec> specs;
  for (const auto& [name, value] : sizes) {
    DYN_TRY(DimSpec spec, parseDimSpec(name + "=" + std::to_string(value)));
    specs.push_back(std::move(spec));
  }
  return makeInputs(signature_, specs, {}, state_.now.options.seed, sources);
}

Status RunTrial::run(const CallInputs& inputs) const {
  DYN_TRY(PreparedRun prepared, state_.prepare(inputs));
  RunResult result;
  return prepared.runner->run(prepared.inputs, RunRequest(), state_.interruption, result);
}

}  // namespace dyn
