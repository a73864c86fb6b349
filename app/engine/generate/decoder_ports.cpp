#include "app/engine/generate/decoder_ports.h"

#include <algorithm>

namespace dyn {

namespace {

constexpr std::string_view kPast = "past", kPastKeyValues = "past_key_values";

bool isTensorOf(const Port& port, DtypeClass kind) {
  return port.info.kind == "tensor" && dtypeClass(port.dtype) == kind;
}

bool isWholeTensor(const Port& port) {
  return isTensorOf(port, DtypeClass::integer) || isTensorOf(port, DtypeClass::natural);
}

std::string portText(const Port& port) { return port.info.name + ": " + port.info.type; }

Error noDecoder(const std::string& why) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: the model is no decoder: " + why)
      .note("a decoder takes input_ids and gives logits; docs/generate.md has the rule");
}

std::optional<size_t> portCalled(const std::vector<Port>& ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].info.name == name) return i;
  return std::nullopt;
}

bool isCacheName(const std::string& name) { return name.find(kPast) != std::string::npos; }

// The axis that grows: beside the batch the one whose size is open in the input and another in the output.
Result<size_t> growingAxis(const Port& past, const Port& present, const DecoderPorts& ports) {
  const std::vector<std::string>&from = past.info.shape, &to = present.info.shape;
  const auto fail = [&](const std::string& why) {
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the cache " + portText(past) + " and " + portText(present) + ": " + why);
  };
  if (from.size() != to.size() || past.dtype != present.dtype) return fail("they are not of one type");
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (isOpenDim(from[axis]) && !ports.isRowAxis(axis, from[axis])) axes.push_back(axis);
  if (axes.size() > 1) std::erase_if(axes, [&](size_t axis) { return from[axis] == to[axis]; });
  if (axes.empty()) return fail("no axis grows; caches of a fixed length are not there");
  if (axes.size() > 1) return fail("more than one axis grows");
  return axes[0];
}

Status findIds(const Signature& signature, DecoderPorts& ports) {
  std::optional<size_t> ids = portCalled(signature.inputs, "input_ids");
  size_t count = 0;
  for (size_t i = 0; i < signature.inputs.size() && !ids; ++i) {
    const Port& port = signature.inputs[i];
    const std::string& name = port.info.name;
    const bool isOther = name.find("mask") != std::string::npos ||
                         name.find("position") != std::string::npos ||
                         name.find("type") != std::string::npos || isCacheName(name);
    if (isOther || !isWholeTensor(port) || port.info.shape.size() > 2 || port.info.shape.empty()) continue;
    ++count;
    ports.ids = i;
  }
  if (!ids && count != 1)
    return noDecoder(count == 0 ? "no input takes ids of tokens (input_ids, integers of batch and length)"
                                : "several inputs of integers, and none is called input_ids");
  if (ids) ports.ids = *ids;
  const Port& port = signature.inputs[ports.ids];
  const std::vector<std::string>& shape = port.info.shape;
  if (!isWholeTensor(port) || shape.empty() || shape.size() > 2)
    return noDecoder("ids of tokens are integers of batch and length, not " + portText(port));
  ports.hasBatch = shape.size() == 2;
  if (ports.hasBatch && isOpenDim(shape[0])) ports.batch = shape[0];
  if (ports.hasBatch && ports.batch.empty() && shape[0] != "1")
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a batch of " + shape[0] + ", which the model fixes");
  if (!isOpenDim(shape.back())) ports.fixedLength = std::stoll(shape.back());
  return {};
}

Status findLogits(const Signature& signature, DecoderPorts& ports) {
  const auto isCache = [&](size_t output) {
    return std::any_of(ports.caches.begin(), ports.caches.end(),
                       [&](const CachePort& cache) { return cache.output == output; });
  };
  const size_t rank = ports.hasBatch ? 2 : 1;  // of the scores of one position for all sequences
  std::vector<size_t> candidates;
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const Port& port = signature.outputs[i];
    if (isCache(i) || !isTensorOf(port, DtypeClass::real)) continue;
    const size_t count = port.info.shape.size();
    // Without caches an output of another name may be an encoder's.
    const bool isNamed = port.info.name.find("logits") != std::string::npos;
    if (isNamed || (!ports.caches.empty() && (count == rank + 1 || count == rank))) candidates.push_back(i);
  }
  if (const std::optional<size_t> named = portCalled(signature.outputs, "logits")) candidates = {*named};
  if (candidates.empty()) return noDecoder("no output has scores of the next token (logits)");
  if (candidates.size() > 1)
    return noDecoder("several outputs may have the scores, and none is called logits");
  ports.logits = candidates[0];
  const Port& logits = signature.outputs[ports.logits];
  const size_t count = logits.info.shape.size();
  if (!isTensorOf(logits, DtypeClass::real) || (count != rank && count != rank + 1))
    return noDecoder("scores are reals of batch, length and vocabulary, not " + portText(logits));
  return {};
}

}  // namespace

bool isOpenDim(const std::string& dim) { return dim.find_first_not_of("0123456789") != std::string::npos; }

std::optional<size_t> presentOf(const std::string& input, const std::vector<Port>& outputs) {
  for (const std::string_view from : {kPastKeyValues, kPast}) {
    const size_t at = input.find(from);
    if (at == std::string::npos) continue;
    for (const char* to : {"present", "present_key_values"}) {
      std::string name = input;
      name.replace(at, from.size(), to);
      if (const std::optional<size_t> found = portCalled(outputs, name)) return found;
    }
  }
  return std::nullopt;
}

Result<DecoderPorts> decoderPorts(const Signature& signature) {
  DecoderPorts ports;
  DYN_CHECK(findIds(signature, ports));
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const Port& port = signature.inputs[i];
    const std::string& name = port.info.name;
    if (i == ports.ids) continue;
    if (name == "attention_mask" && port.info.shape.size() == (ports.hasBatch ? 2 : 1)) {
      ports.mask = i;
    } else if (name == "position_ids" &&
               port.info.shape.size() == signature.inputs[ports.ids].info.shape.size()) {
      ports.positions = i;
    } else if (name == "token_type_ids") {
      ports.types = i;
    } else if (name == "use_cache_branch") {
      ports.cacheSwitch = i;
    } else if (isCacheName(name)) {
      const std::optional<size_t> present = presentOf(name, signature.outputs);
      if (!present) return noDecoder("no output continues the cache " + name + " (present...)");
      DYN_TRY(const size_t axis, growingAxis(port, signature.outputs[*present], ports));
      ports.caches.push_back({i, *present, axis});
    } else {
      return noDecoder("input " + portText(port) + " is neither tokens, mask, positions nor a cache");
    }
  }
  DYN_CHECK(findLogits(signature, ports));
  if (ports.fixedLength > 1 || (ports.fixedLength == 1 && ports.caches.empty()))
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: a decoder whose length is fixed: " +
                                                           portText(signature.inputs[ports.ids]));
  return ports;
}

}  // namespace dyn
