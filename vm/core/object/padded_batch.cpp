#include "vm/core/object/padded_batch.h"

#include <algorithm>
#include <cstring>

#include "vm/base/checked.h"
#include "vm/shared/dyn_padded_batch.h"

namespace dyn::vm {

namespace {

void writeOne(DataType dtype, std::byte* to) {
  const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (dtype) {
    case DataType::f64:
      return put(1.0);
    case DataType::f32:
      return put(1.0f);
    case DataType::f16:
      return put(uint16_t{0x3c00});
    case DataType::bf16:
      return put(uint16_t{0x3f80});
    default:
      *to = std::byte{1};  // whole numbers and boolean
  }
}

auto lengthIn(const std::vector<int64_t>& lengths) {
  return [&](int64_t s) { return lengths[static_cast<size_t>(s)]; };
}

}  // namespace

Status longestOf(const ContractValue& input, const ContractDim& dim, const std::vector<int64_t>& lengths,
                 int64_t* longest) {
  const auto most = std::max_element(lengths.begin(), lengths.end());
  *longest = most == lengths.end() ? 0 : *most;
  const int64_t room = dim.value >= 0 ? dim.value : dim.high;
  if (*longest > room)
    return failure(DYN_INVALID_ARGUMENT, "input \"" + input.name + "\": sequence " +
                                             std::to_string(most - lengths.begin()) + " has " +
                                             std::to_string(*longest) + " positions, there is room for " +
                                             std::to_string(room));
  if (dim.value >= 0) {
    *longest = dim.value;
  } else {
    *longest = std::max(*longest, dim.low);
    *longest = std::min(room, (*longest + dim.multiple - 1) / dim.multiple * dim.multiple);
  }
  return okStatus();
}

Status padRows(const SequenceRowsView& rows, const std::vector<int64_t>& lengths, int64_t longest,
               bool batchSecond, PaddedElements* padded) {
  const auto batch = static_cast<int64_t>(lengths.size());
  padded->shape = {batch, longest};
  if (batchSecond) std::swap(padded->shape[0], padded->shape[1]);
  int64_t rowBytes = sizeBytes(rows.dtype), size = 0;
  for (int64_t d : rows.rowShape) {
    padded->shape.push_back(d);
    if (!checkedMul(rowBytes, d, rowBytes)) return failure(DYN_OUT_OF_MEMORY, "the system gives no memory");
  }
  if (!checkedMul(batch, longest, size) || !checkedMul(size, rowBytes, size))
    return failure(DYN_OUT_OF_MEMORY, "the system gives no memory");
  padded->bytes.resize(static_cast<size_t>(size));
  if (rowBytes == 0) return okStatus();
  const std::byte* from = rows.data;
  dyn::forEachPaddedRow(batch, longest, batchSecond, lengthIn(lengths), [&](int64_t row) {
    std::memcpy(padded->bytes.data() + row * rowBytes, from, static_cast<size_t>(rowBytes));
    from += rowBytes;
  });
  return okStatus();
}

PaddedElements lengthsElements(const ContractValue& input, const std::vector<int64_t>& lengths,
                               int64_t longest) {
  const auto dtype = static_cast<DataType>(input.type.dtype);
  const size_t size = sizeBytes(dtype);
  const bool mask = input.type.dims.size() == 2;
  PaddedElements made;
  made.shape = {static_cast<int64_t>(lengths.size()), longest};
  made.shape.resize(input.type.dims.size());
  made.bytes.resize(lengths.size() * (mask ? static_cast<size_t>(longest) : 1) * size);
  std::byte* to = made.bytes.data();
  for (int64_t length : lengths) {
    if (mask) {
      for (int64_t i = 0; i < longest; ++i, to += size)
        if (i < length) writeOne(dtype, to);
    } else {
      std::memcpy(to, &length, size);  // the low bytes
      to += size;
    }
  }
  return made;
}

void unpadRows(const std::byte* padded, uint64_t rowBytes, const std::vector<int64_t>& lengths,
               int64_t longest, bool batchSecond, std::byte* to) {
  if (rowBytes == 0) return;
  dyn::forEachPaddedRow(static_cast<int64_t>(lengths.size()), longest, batchSecond, lengthIn(lengths),
                        [&](int64_t row) {
                          std::memcpy(to, padded + static_cast<uint64_t>(row) * rowBytes, rowBytes);
                          to += rowBytes;
                        });
}

}  // namespace dyn::vm
