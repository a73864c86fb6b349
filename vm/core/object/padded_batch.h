// Sequences behind each other as a padded tensor, and back: what the C API and exported libraries share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vm/base/dtype.h"
#include "vm/base/status.h"
#include "vm/isa/program.h"

namespace dyn::vm {

struct PaddedElements {
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  const void* data() const { return bytes.empty() ? nullptr : bytes.data(); }
};

// Rows of sequences that lie behind each other, of `rowShape` elements each.
struct SequenceRowsView {
  const std::byte* data = nullptr;
  DataType dtype = DataType::f32;
  std::vector<int64_t> rowShape;
};

// How many positions sequences of the axis `dim` of `input` are padded to: as the longest has, and as the
// program wants it; an error says which sequence has no room.
Status longestOf(const ContractValue& input, const ContractDim& dim, const std::vector<int64_t>& lengths,
                 int64_t* longest);
// [batch, longest, ...], or [longest, batch, ...], with zeros behind the end of each sequence.
Status padRows(const SequenceRowsView& rows, const std::vector<int64_t>& lengths, int64_t longest,
               bool batchSecond, PaddedElements* padded);
// The elements of an input that says how long they are: whole numbers of its type, or a mask of as many
// positions as `longest`.
PaddedElements lengthsElements(const ContractValue& input, const std::vector<int64_t>& lengths,
                               int64_t longest);
// The rows that the sequences have of a padded tensor, whose rows take `rowBytes` each, behind each other
// into `to`, which has room for as many as the sum of the lengths.
void unpadRows(const std::byte* padded, uint64_t rowBytes, const std::vector<int64_t>& lengths,
               int64_t longest, bool batchSecond, std::byte* to);

}  // namespace dyn::vm
