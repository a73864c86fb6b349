#include "app/engine/generate/decoder_ports.h"

#include <algorithm>
#include <charconv>

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

class PortFinder {
 public:
  PortFinder(const Signature& signature, const PortChoices& choices)
      : signature_(signature),
        choices_(choices),
        isTaken_(signature.inputs.size()),
        isTakenOutput_(signature.outputs.size()) {}

  Result<DecoderPorts> find() {
    DYN_CHECK(takeGiven());
    DYN_CHECK(takeChoices());
    DYN_CHECK(findIds());
    DYN_CHECK(findCaches());
    DYN_CHECK(findOthers());
    DYN_CHECK(findLogits());
    DYN_CHECK(findOrderedCaches());
    DYN_CHECK(looksWhole());
    return std::move(ports_);
  }

 private:
  const Port& input(size_t i) const { return signature_.inputs[i]; }
  const Port& output(size_t i) const { return signature_.outputs[i]; }

  void take(size_t index, const std::string& role, const std::string& reason) {
    isTaken_[index] = true;
    ports_.roles.push_back({portText(input(index)), role, reason});
  }

  Status takeGiven() {
    for (const std::string& name : choices_.given) {
      const std::optional<size_t> found = portCalled(signature_.inputs, name);
      if (!found) return unknownPort(name, signature_.inputs);
      if (presentOf(name, signature_.outputs)) continue;  // the first value of a state
      ports_.given.push_back(*found);
      take(*found, "given", "its value is given, the same in all steps");
    }
    return {};
  }

  static Error unknownPort(const std::string& name, const std::vector<Port>& ports) {
    std::string names;
    for (const Port& port : ports) names += (names.empty() ? "" : ", ") + port.info.name;
    return makeError(DiagnosticId::usageError, "the model has no input or output " + name).note(names);
  }

  Status takeChoices() {
    for (const PortChoice& choice : choices_.ports) {
      const bool isLogits = choice.role == "logits";
      const std::vector<Port>& ports = isLogits ? signature_.outputs : signature_.inputs;
      const std::optional<size_t> found = portCalled(ports, choice.input);
      if (!found) return unknownPort(choice.input, ports);
      const std::string reason = "chosen: --port";
      if (isLogits) {
        chosenLogits_ = *found;
      } else if (choice.output.empty()) {
        slotOf(choice.role) = *found;
        take(*found, choice.role, reason);
      } else {
        const std::optional<size_t> present = portCalled(signature_.outputs, choice.output);
        if (!present) return unknownPort(choice.output, signature_.outputs);
        CachePort cache{*found, *present, kindOf(choice.role), choice.axis.value_or(0)};
        if (cache.kind == CacheKind::growing && cache.axis >= input(*found).info.shape.size())
          return makeError(DiagnosticId::usageError, "--port cache: " + portText(input(*found)) +
                                                         " has no axis " + std::to_string(cache.axis));
        addCache(cache, reason);
      }
    }
    return {};
  }

  static CacheKind kindOf(const std::string& role) {
    return role == "state" ? CacheKind::state : role == "cross" ? CacheKind::cross : CacheKind::growing;
  }

  std::optional<size_t>& slotOf(const std::string& role) {
    if (role == "ids") return chosenIds_;
    if (role == "mask") return ports_.mask;
    if (role == "positions") return ports_.positions;
    if (role == "types") return ports_.types;
    return ports_.cacheSwitch;
  }

  void addCache(CachePort cache, const std::string& reason) {
    ports_.caches.push_back(cache);
    isTakenOutput_[cache.output] = true;
    std::string role = std::string(toString(cache.kind)) + ", continued by " + portText(output(cache.output));
    if (cache.kind == CacheKind::growing) role += " along axis " + std::to_string(cache.axis);
    take(cache.input, role, reason);
  }

  Status findIds() {
    std::optional<size_t> ids = chosenIds_ ? chosenIds_ : portCalled(signature_.inputs, "input_ids");
    std::string reason = "by its name";
    size_t count = 0;
    for (size_t i = 0; i < signature_.inputs.size() && !ids; ++i) {
      const Port& port = input(i);
      const std::string& name = port.info.name;
      const bool isOther = isTaken_[i] || name.find("mask") != std::string::npos ||
                           name.find("position") != std::string::npos ||
                           name.find("type") != std::string::npos || isCacheName(name);
      if (isOther || !isWholeTensor(port) || port.info.shape.size() > 2 || port.info.shape.empty()) continue;
      ++count;
      ports_.ids = i;
      reason = "the only input of integers";
    }
    if (!ids && count != 1)
      return noDecoder(count == 0 ? "no input takes ids of tokens (input_ids, integers of batch and length)"
                                  : "several inputs of integers, and none is called input_ids");
    if (ids) ports_.ids = *ids;
    const Port& port = input(ports_.ids);
    const std::vector<std::string>& shape = port.info.shape;
    if (!isWholeTensor(port) || shape.empty() || shape.size() > 2)
      return noDecoder("ids of tokens are integers of batch and length, not " + portText(port));
    ports_.hasBatch = shape.size() == 2;
    if (ports_.hasBatch && isOpenDim(shape[0])) ports_.batch = shape[0];
    if (ports_.hasBatch && ports_.batch.empty() && shape[0] != "1")
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: a batch of " + shape[0] + ", which the model fixes");
    if (!isOpenDim(shape.back())) ports_.fixedLength = std::stoll(shape.back());
    if (!isTaken_[ports_.ids]) take(ports_.ids, "ids", reason);
    return {};
  }

  // Is this the length of something beside the text, such as the states of an encoder?
  bool isLengthOfOther(const std::string& dim) const {
    for (size_t i = 0; i < signature_.inputs.size(); ++i) {
      const std::string& name = input(i).info.name;
      const bool isGiven = std::find(ports_.given.begin(), ports_.given.end(), i) != ports_.given.end();
      if (!isGiven && (name.find("encoder") == std::string::npos || presentOf(name, signature_.outputs)))
        continue;
      const std::vector<std::string>& shape = input(i).info.shape;
      if (std::find(shape.begin(), shape.end(), dim) != shape.end()) return true;
    }
    return false;
  }

  // Is an input one whose values follow from the tokens of a step, by its name?
  bool isStep(size_t i) const {
    const std::string& name = input(i).info.name;
    return name == "attention_mask" || name == "position_ids" || name == "cache_position" ||
           name == "token_type_ids" || i == ports_.mask || i == ports_.positions || i == ports_.types;
  }

  // How an input and the output of the same type with other lengths belong together.
  Result<CachePort> cacheOf(size_t past, size_t present) const {
    const std::vector<std::string>&from = input(past).info.shape, &to = output(present).info.shape;
    const auto fail = [&](const std::string& why) {
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: the cache " + portText(input(past)) +
                                                             " and " + portText(output(present)) + ": " +
                                                             why);
    };
    if (from.size() != to.size() || input(past).dtype != output(present).dtype)
      return fail("they are not of one type");
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < from.size(); ++axis)
      if (isOpenDim(from[axis]) && !ports_.isRowAxis(axis, from[axis]) && isOpenDim(to[axis]))
        axes.push_back(axis);
    for (const size_t axis : axes)
      if (isLengthOfOther(from[axis])) return CachePort{past, present, CacheKind::cross, axis};
    if (axes.size() > 1) std::erase_if(axes, [&](size_t axis) { return from[axis] == to[axis]; });
    if (axes.size() > 1) return fail("more than one axis grows (--port cache=PAST:PRESENT:AXIS)");
    if (axes.empty()) return CachePort{past, present, CacheKind::state, 0};
    return CachePort{past, present, CacheKind::growing, axes[0]};
  }

  static std::string reasonOf(const CachePort& cache, const std::string& pair) {
    if (cache.kind == CacheKind::growing) return pair + "; the axis whose size changes";
    if (cache.kind == CacheKind::state) return pair + "; no axis grows";
    return pair + "; as long as another input";
  }

  Status findCaches() {
    for (size_t i = 0; i < signature_.inputs.size(); ++i) {
      const std::string& name = input(i).info.name;
      if (isTaken_[i] || isStep(i)) continue;
      const std::optional<size_t> present = presentOf(name, signature_.outputs);
      if (!present || isTakenOutput_[*present]) continue;
      DYN_TRY(const CachePort cache, cacheOf(i, *present));
      addCache(cache, reasonOf(cache, "by their names"));
    }
    return {};
  }

  Status findOthers() {
    const size_t rank = input(ports_.ids).info.shape.size();
    for (size_t i = 0; i < signature_.inputs.size(); ++i) {
      const Port& port = input(i);
      const std::string& name = port.info.name;
      if (isTaken_[i]) continue;
      const std::string byName = "by its name";
      if (name == "attention_mask" && port.info.shape.size() == rank && !ports_.mask) {
        ports_.mask = i;
        take(i, "mask", byName);
      } else if (name == "position_ids" && port.info.shape.size() == rank && !ports_.positions) {
        ports_.positions = i;
        take(i, "positions", byName);
      } else if (name == "cache_position" && port.info.shape.size() == 1) {
        ports_.cachePositions = i;
        take(i, "positions in the caches", byName);
      } else if (name == "token_type_ids" && !ports_.types) {
        ports_.types = i;
        take(i, "types", byName);
      } else if (name == "encoder_attention_mask" && port.info.shape.size() == 2) {
        ports_.sourceMask = i;
        take(i, "mask of the source, all ones", byName);
      } else if (name == "use_cache_branch" && !ports_.cacheSwitch) {
        ports_.cacheSwitch = i;
        take(i, "switch", byName);
      } else if ((name == "num_logits_to_keep" || name == "logits_to_keep") && isWholeTensor(port) &&
                 port.info.shape.size() <= 1) {
        ports_.scoresCount = i;
        take(i, "number of scores", byName);
      }
    }
    return {};
  }

  Status findLogits() {
    const size_t rank = ports_.hasBatch ? 2 : 1;  // of the scores of one position for all sequences
    const bool maySay = !ports_.caches.empty() || isAnyLeft();
    std::vector<size_t> candidates;
    for (size_t i = 0; i < signature_.outputs.size(); ++i) {
      const Port& port = output(i);
      if (isTakenOutput_[i] || !isTensorOf(port, DtypeClass::real)) continue;
      const size_t count = port.info.shape.size();
      // Without caches an output of another name may be an encoder's.
      const bool isNamed = port.info.name.find("logits") != std::string::npos;
      if (isNamed || (maySay && (count == rank + 1 || count == rank))) candidates.push_back(i);
    }
    std::string reason = candidates.size() == 1 ? "the only output of such scores" : "by its name";
    if (const std::optional<size_t> named = portCalled(signature_.outputs, "logits")) {
      candidates = {*named};
      reason = "by its name";
    }
    if (chosenLogits_) {
      candidates = {*chosenLogits_};
      reason = "chosen: --port";
    }
    if (candidates.empty()) return noDecoder("no output has scores of the next token (logits)");
    if (candidates.size() > 1)
      return noDecoder("several outputs may have the scores, and none is called logits");
    ports_.logits = candidates[0];
    isTakenOutput_[ports_.logits] = true;
    const Port& logits = output(ports_.logits);
    const size_t count = logits.info.shape.size();
    if (!isTensorOf(logits, DtypeClass::real) || (count != rank && count != rank + 1))
      return noDecoder("scores are reals of batch, length and vocabulary, not " + portText(logits));
    if (const std::string& last = logits.info.shape.back(); !isOpenDim(last))
      ports_.scoredCount = std::stoll(last);
    ports_.roles.push_back({portText(logits), "logits", reason});
    return {};
  }

  bool isAnyLeft() const { return std::find(isTaken_.begin(), isTaken_.end(), false) != isTaken_.end(); }

  // Inputs and outputs that are left over belong together in their order, where each pair is of one type.
  Status findOrderedCaches() {
    std::vector<size_t> inputs, outputs;
    for (size_t i = 0; i < isTaken_.size(); ++i)
      if (!isTaken_[i]) inputs.push_back(i);
    for (size_t i = 0; i < isTakenOutput_.size(); ++i)
      if (!isTakenOutput_[i]) outputs.push_back(i);
    if (inputs.empty() || inputs.size() != outputs.size()) return {};
    std::vector<CachePort> caches;
    for (size_t i = 0; i < inputs.size(); ++i) {
      // Where both have names of caches, these say that they do not belong together.
      if (isCacheName(input(inputs[i]).info.name) &&
          output(outputs[i]).info.name.find("present") != std::string::npos)
        return {};
      const Result<CachePort> cache = cacheOf(inputs[i], outputs[i]);
      if (!cache.ok() || cache->kind == CacheKind::cross || !sameNumbers(inputs[i], outputs[i])) return {};
      caches.push_back(*cache);
    }
    for (const CachePort& cache : caches) addCache(cache, reasonOf(cache, "by their order"));
    return {};
  }

  bool sameNumbers(size_t past, size_t present) const {
    const std::vector<std::string>&from = input(past).info.shape, &to = output(present).info.shape;
    for (size_t axis = 0; axis < from.size(); ++axis)
      if (!isOpenDim(from[axis]) && !isOpenDim(to[axis]) && from[axis] != to[axis]) return false;
    return true;
  }

  Status looksWhole() {
    for (size_t i = 0; i < isTaken_.size(); ++i) {
      if (isTaken_[i]) continue;
      if (choices_.others == OtherInputs::shown) {
        take(i, "other", "--input gives its value");
        continue;
      }
      if (isCacheName(input(i).info.name))
        return noDecoder("no output continues the cache " + input(i).info.name + " (present...)");
      return noDecoder("input " + portText(input(i)) +
                       " is neither tokens, mask, positions nor a cache; --input gives its value");
    }
    if (ports_.fixedLength > 1 || (ports_.fixedLength == 1 && ports_.caches.empty()))
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: a decoder whose length is fixed: " + portText(input(ports_.ids)));
    return {};
  }

  const Signature& signature_;
  const PortChoices& choices_;
  DecoderPorts ports_;
  std::optional<size_t> chosenIds_, chosenLogits_;
  std::vector<bool> isTaken_, isTakenOutput_;
};

std::vector<std::string> partsOf(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

bool isOpenDim(const std::string& dim) { return dim.find_first_not_of("0123456789") != std::string::npos; }

const char* toString(CacheKind kind) {
  switch (kind) {
    case CacheKind::growing:
      return "cache";
    case CacheKind::state:
      return "state";
    case CacheKind::cross:
      return "cross cache";
  }
  return "";
}

bool DecoderPorts::hasCaches(CacheKind kind) const {
  return std::any_of(caches.begin(), caches.end(),
                     [&](const CachePort& cache) { return cache.kind == kind; });
}

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
  for (const std::string& name : {input + "_out", "new_" + input, "next_" + input, "out_" + input})
    if (const std::optional<size_t> found = portCalled(outputs, name)) return found;
  return std::nullopt;
}

Result<std::vector<PortChoice>> parsePortChoices(const std::vector<std::string>& texts) {
  std::vector<PortChoice> choices;
  for (const std::string& text : texts) {
    const auto fault = [&](const std::string& why) {
      return makeError(DiagnosticId::usageError, "--port " + text + ": " + why)
          .note(
              "ROLE=NAME with the roles ids, mask, positions, types, switch, logits; "
              "cache=PAST:PRESENT:AXIS; "
              "state=PAST:PRESENT; cross=PAST:PRESENT");
    };
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return fault("it names no port");
    PortChoice choice{text.substr(0, equals), text.substr(equals + 1), "", std::nullopt};
    const bool isCache = choice.role == "cache",
               isPair = isCache || choice.role == "state" || choice.role == "cross";
    if (isPair) {
      const std::vector<std::string> parts = partsOf(choice.input, ':');
      if (parts.size() != (isCache ? 3U : 2U)) return fault("a pair of an input and an output is needed");
      choice.input = parts[0];
      choice.output = parts[1];
      if (isCache) {
        size_t axis = 0;
        const char* end = parts[2].data() + parts[2].size();
        const auto read = std::from_chars(parts[2].data(), end, axis);
        if (read.ec != std::errc() || read.ptr != end) return fault(parts[2] + " is no axis");
        choice.axis = axis;
      }
    } else if (choice.role != "ids" && choice.role != "mask" && choice.role != "positions" &&
               choice.role != "types" && choice.role != "switch" && choice.role != "logits") {
      return fault("there is no such role");
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<DecoderPorts> decoderPorts(const Signature& signature, const PortChoices& choices) {
  return PortFinder(signature, choices).find();
}

}  // namespace dyn
