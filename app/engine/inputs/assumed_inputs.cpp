#include "app/engine/inputs/assumed_inputs.h"

#include <algorithm>

#include "app/engine/inputs/padded_sequences.h"
#include "compiler/reference/random_tensor.h"

namespace dyn {

namespace {

bool isNumber(const std::string& dim) {
  return !dim.empty() && dim.find_first_not_of("0123456789") == std::string::npos;
}

// The axis along which the sequences of `input` lie: the first open one beside the batch, as in [batch, 80,
// frames].
size_t sequenceAxis(const Port& input, SequenceOrder order) {
  if (order == SequenceOrder::batchSecond) return 0;
  const std::vector<std::string>& dims = input.info.shape;
  for (size_t axis = 1; axis < dims.size(); ++axis)
    if (!isNumber(dims[axis])) return axis;
  return 1;
}

// How long the sequences are whose lengths `port` holds, the shortest of several inputs; nothing: of none.
Result<std::optional<int64_t>> longestOf(const Signature& signature, const Port& port,
                                         const CallDims& known) {
  std::optional<int64_t> size;
  for (const Port& input : signature.inputs) {
    const std::optional<SequenceOrder> order = sequencesBy(input, port, LengthsKnown::nothing);
    if (!order) continue;
    DYN_TRY(const std::vector<int64_t> shape, known.shapeOf(input));
    const int64_t here = shape[sequenceAxis(input, *order)];
    size = std::min(size.value_or(here), here);
  }
  return size;
}

}  // namespace

Result<std::optional<AssumedInput>> assumedInput(const Signature& signature, const Port& port,
                                                 const CallDims& known) {
  const std::optional<PortShape> shape = portShape(port);
  if (!shape || shape->dims.empty() || shape->elements == PortElements::other)
    return std::optional<AssumedInput>();
  const std::string name = port.info.name, begin = "input " + name + ": ";
  const bool lengths = shape->dims.size() == 1 && !isCalledMask(name);
  std::optional<int64_t> value;
  std::string note;
  if (lengths) {
    DYN_TRY(value, longestOf(signature, port, known));
    if (value) note = begin + std::to_string(*value) + " for each sequence, so that all is kept";
  } else if (isCalledMask(name)) {
    value = nameHas(name, "key_padding_mask") ? 0 : 1;
    note = begin + (*value == 0 ? "zeros" : "ones") + ", so that all is kept";
  }
  if (!value) return std::optional<AssumedInput>();
  DYN_TRY(std::vector<int64_t> sizes, known.shapeOf(port));
  DYN_TRY(HostTensor tensor, filledTensor(port.dtype, std::move(sizes), *value));
  const bool takesLengths = lengths || shape->dims.size() == 2;
  note +=
      takesLengths ? " (--lengths " + name + "=... gives others)" : " (--input " + name + "=... is another)";
  return std::optional(AssumedInput{std::move(tensor), std::move(note)});
}

}  // namespace dyn
