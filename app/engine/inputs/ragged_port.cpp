#include "app/engine/inputs/ragged_port.h"

#include <algorithm>
#include <cstring>

#include "compiler/dims/ragged_dim.h"

namespace dyn {

std::string lengthsNameOf(const Port& port) { return port.length.substr(0, port.length.find('[')); }

const Port* inputNamed(const Signature& signature, const std::string& name) {
  for (const Port& port : signature.inputs)
    if (port.info.name == name) return &port;
  return nullptr;
}

const Port* raggedPortOf(const Signature& signature, const Port& lengths) {
  for (const Port& port : signature.inputs)
    if (!port.length.empty() && lengthsNameOf(port) == lengths.info.name) return &port;
  return nullptr;
}

bool isListOfSequences(const std::string& spec) {
  return !spec.empty() && spec[0] == '@' && spec.find(',') != std::string::npos;
}

Result<Sequences> readSequences(const Port& port, const std::string& spec) {
  const std::string what = "input " + port.info.name;
  std::vector<HostTensor> parts;
  std::vector<int64_t> lengths, shape;
  int64_t rows = 0;
  for (size_t at = 0; at < spec.size();) {
    const size_t comma = std::min(spec.find(',', at), spec.size());
    const std::string word = spec.substr(at, comma - at);
    at = comma + 1;
    if (word.size() < 2 || word[0] != '@')
      return makeError(DiagnosticId::usageError,
                       "--" + what + "=" + spec + ": '" + word + "' is no @file.npy");
    DYN_TRY(HostTensor part, readNpyTensor(word.substr(1)));
    if (part.dtype() != port.dtype)
      return makeError(DiagnosticId::inputMismatch, what + " is " + std::string(toString(part.dtype())) +
                                                        " in " + word.substr(1) + ", the model takes " +
                                                        port.info.type);
    if (part.rank() == 0 || (!parts.empty() && !std::equal(shape.begin() + 1, shape.end(),
                                                           part.shape().begin() + 1, part.shape().end())))
      return makeError(
          DiagnosticId::inputMismatch,
          what + ": " + word.substr(1) + " differs from the first sequence in more than its length");
    shape = part.shape();
    lengths.push_back(shape[0]);
    rows += shape[0];
    parts.push_back(std::move(part));
  }
  shape[0] = rows;
  DYN_TRY(HostTensor all, HostTensor::create(port.dtype, shape));
  std::byte* to = all.mutableData();
  for (const HostTensor& part : parts) {
    if (part.sizeBytes() > 0) std::memcpy(to, part.data(), static_cast<size_t>(part.sizeBytes()));
    to += part.sizeBytes();
  }
  return Sequences{std::move(all), HostTensor::vectorInt(Dtype::i64, lengths)};
}

Result<HostTensor> lengthsOfOutput(const Port& port, const Signature& signature, const CallInputs& inputs) {
  DimContext context;
  DYN_TRY(const Dim length, parseDim(context, port.length));
  DimBinding binding;
  for (SymbolId id : symbolsOf(length))
    if (const auto known = inputs.dims.find(context.symbolName(id)); known != inputs.dims.end())
      binding.set(id, known->second);
  std::vector<std::pair<Dim, const HostTensor*>> lengths;
  int64_t count = 0;
  for (Dim symbol : raggedSymbols(length)) {
    const std::string name = raggedDim(symbol)->lengths;
    for (size_t i = 0; i < signature.inputs.size() && i < inputs.values.size(); ++i)
      if (signature.inputs[i].info.name == name) lengths.emplace_back(symbol, &inputs.values[i].tensor());
  }
  if (!lengths.empty()) count = lengths[0].second->elementCount();
  std::vector<int64_t> result;
  for (int64_t s = 0; s < count; ++s) {
    for (const auto& [symbol, values] : lengths) binding.set(symbol, values->intAt(s));
    DYN_TRY(const int64_t value, evaluate(length, binding));
    result.push_back(value);
  }
  return HostTensor::vectorInt(Dtype::i64, result);
}

}  // namespace dyn
