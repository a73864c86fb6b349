#include "app/session/model/padded_sequences.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "app/session/model/batch_lengths.h"
#include "app/session/model/ragged_port.h"
#include "vm/shared/dyn_padded_batch.h"

namespace dyn {

namespace {

// The axis of the batch in `port`, if `other` says how long its sequences are; nothing: it does not.
std::optional<size_t> batchAxisBy(const Port& port, const Port& other) {
  const std::vector<std::string>&shape = port.info.shape, &of = other.info.shape;
  if (&other == &port || other.info.kind != "tensor" || shape.size() < 2) return std::nullopt;
  if (of.size() == 2 && of[0] == shape[0] && of[1] == shape[1] && isCalledMask(other.info.name))
    return size_t{0};
  if (of.size() != 1 || !isInteger(other.dtype)) return std::nullopt;
  for (size_t axis : {size_t{0}, size_t{1}})
    if (of[0] == shape[axis]) return axis;
  return std::nullopt;
}

// [longest, b, ...] or [b, longest, ...] of rows behind each other.
Result<HostTensor> padded(const Sequences& sequences, size_t batchAxis) {
  const int64_t batch = sequences.lengths.elementCount();
  int64_t longest = 0;
  for (int64_t i = 0; i < batch; ++i) longest = std::max(longest, sequences.lengths.intAt(i));
  std::vector<int64_t> shape{batch, longest};
  if (batchAxis == 1) std::swap(shape[0], shape[1]);
  shape.insert(shape.end(), sequences.rows.shape().begin() + 1, sequences.rows.shape().end());
  DYN_TRY(HostTensor value, HostTensor::create(sequences.rows.dtype(), shape));
  const int64_t rows = sequences.rows.shape()[0];
  const auto bytes = static_cast<size_t>(rows == 0 ? 0 : sequences.rows.sizeBytes() / rows);
  const std::byte* from = sequences.rows.data();
  if (bytes == 0) return value;
  forEachPaddedRow(
      batch, longest, batchAxis == 1, [&](int64_t s) { return sequences.lengths.intAt(s); },
      [&](int64_t row) {
        std::memcpy(value.mutableData() + static_cast<size_t>(row) * bytes, from, bytes);
        from += bytes;
      });
  return value;
}

}  // namespace

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
    if (batchAxisBy(port, other)) (isOpen(other) ? open : given).push_back(&other);
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
  DYN_TRY(made.value, padded(sequences, *batchAxisBy(port, *made.lengths)));
  BatchLengths lengths{made.lengths->info.name, {}};
  for (int64_t i = 0; i < sequences.lengths.elementCount(); ++i)
    lengths.lengths.push_back(sequences.lengths.intAt(i));
  DYN_TRY(LengthsOfCall call, lengthsOfCall(signature, lengths, {}));
  made.lengthsValue = std::move(call.value);
  return made;
}

}  // namespace dyn
