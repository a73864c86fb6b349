#include "app/engine/inputs/padded_sequences.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/inputs/ragged_port.h"
#include "vm/shared/dyn_padded_batch.h"

namespace dyn {

namespace {

// [longest, b, ...] or [b, longest, ...] of rows behind each other.
Result<HostTensor> padded(const Sequences& sequences, SequenceOrder order) {
  const bool batchSecond = order == SequenceOrder::batchSecond;
  const int64_t batch = sequences.lengths.elementCount();
  int64_t longest = 0;
  for (int64_t i = 0; i < batch; ++i) longest = std::max(longest, sequences.lengths.intAt(i));
  std::vector<int64_t> shape{batch, longest};
  if (batchSecond) std::swap(shape[0], shape[1]);
  shape.insert(shape.end(), sequences.rows.shape().begin() + 1, sequences.rows.shape().end());
  DYN_TRY(HostTensor value, HostTensor::create(sequences.rows.dtype(), shape));
  const int64_t rows = sequences.rows.shape()[0];
  const auto bytes = static_cast<size_t>(rows == 0 ? 0 : sequences.rows.sizeBytes() / rows);
  const std::byte* from = sequences.rows.data();
  if (bytes == 0) return value;
  forEachPaddedRow(
      batch, longest, batchSecond, [&](int64_t s) { return sequences.lengths.intAt(s); },
      [&](int64_t row) {
        std::memcpy(value.mutableData() + static_cast<size_t>(row) * bytes, from, bytes);
        from += bytes;
      });
  return value;
}

}  // namespace

std::optional<PortShape> portShape(const Port& port) {
  if (port.info.kind != "tensor" || port.rankIsOpen) return std::nullopt;
  PortShape shape{port.info.name, PortElements::plain, port.info.shape};
  const DtypeClass kind = dtypeClass(port.dtype);
  if (isInteger(port.dtype)) shape.elements = PortElements::whole;
  if (kind == DtypeClass::text || kind == DtypeClass::complex) shape.elements = PortElements::other;
  return shape;
}

std::optional<SequenceOrder> sequencesBy(const Port& input, const Port& other, LengthsKnown known) {
  const std::optional<PortShape> sequences = portShape(input), says = portShape(other);
  if (&input == &other || !sequences || !says) return std::nullopt;
  return sequencesBy(*sequences, *says, known);
}

bool isListOfTensors(const std::string& spec) {
  if (!isListOfSequences(spec)) return false;
  for (size_t at = 0; at < spec.size();) {
    const size_t comma = std::min(spec.find(',', at), spec.size());
    if (!std::string_view(spec).substr(at, comma - at).ends_with(".npy")) return false;
    at = comma + 1;
  }
  return true;
}

Result<PaddedSequences> readPaddedSequences(const Signature& signature, const Port& port,
                                            const std::string& spec,
                                            const std::function<bool(const Port&)>& isOpen) {
  // Those that nobody gives, and those that are given.
  std::vector<const Port*> open, given;
  for (const Port& other : signature.inputs)
    if (sequencesBy(port, other, LengthsKnown::given)) (isOpen(other) ? open : given).push_back(&other);
  if (open.size() > 1) {
    std::string list;
    for (const Port* one : open) list += (list.empty() ? "" : ", ") + one->info.name;
    return makeError(DiagnosticId::usageError, "input " + port.info.name + ": any of " + list +
                                                   " could say how long the sequences are; give all but one");
  }
  PaddedSequences made;
  if (open.size() == 1) made.lengths = open[0];
  if (open.empty() && given.size() == 1) made.lengths = given[0];
  if (!made.lengths)
    return makeError(DiagnosticId::inputMissing, "input " + port.info.name +
                                                     " takes no list of sequences: no input of " +
                                                     port.info.type + "'s batch says how long each is")
        .note("that is a vector of whole numbers, or a mask of its first two axes with `mask` in its name");
  DYN_TRY(const Sequences sequences, readSequences(port, spec));
  DYN_TRY(made.value, padded(sequences, *sequencesBy(port, *made.lengths, LengthsKnown::given)));
  BatchLengths lengths{made.lengths->info.name, {}};
  for (int64_t i = 0; i < sequences.lengths.elementCount(); ++i)
    lengths.lengths.push_back(sequences.lengths.intAt(i));
  DYN_TRY(LengthsOfCall call, lengthsOfCall(signature, lengths, {}));
  made.lengthsValue = std::move(call.value);
  return made;
}

}  // namespace dyn
