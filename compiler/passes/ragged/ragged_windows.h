// Convolutions and pools along the positions of ragged tensors: each sequence by itself, as if nothing stood
// beside it.
//
//   %y = conv(%x, %w) {strides = [2], pads = [1, 1]}      %x (b, 4, len[b]), %w (8, 4, 3)
//
//   lengths [3, 0, 2]         each sequence gets a block of positions, a multiple of the stride, with what is
//   %r = gather(%x, places)   [. x x x . .  . .  . x x . ]        outside of it in between
//   %z = conv(%r, %w)         one convolution over all blocks; windows across two of them are computed too
//   %y = gather(%z, begins)   of each sequence the windows that are its own: (len[b] - 1) / 2 + 1 of them
//
// What lies between is 0 or, for maxima, -inf. Means divide by how many positions of the sequence a window
// holds, where padding does not count. Cost: the windows between sequences, as many as one has taps over its
// stride, and a copy to the blocks and from them; tables of a number for each row, once for all layers alike.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/passes/ragged/ragged_prelude.h"
#include "compiler/passes/ragged/ragged_rows.h"

namespace dyn::passes {

class RaggedWindows {
 public:
  // `packed`: rows of values, as (1, rows, ...). What it is given outlives it.
  RaggedWindows(IrContext& ir, const RaggedRows& rows, OpMaker& maker, RaggedPrelude& prelude,
                const std::unordered_map<ValueId, ValueId>& packed)
      : ir_(ir), rows_(rows), maker_(maker), prelude_(prelude), packed_(packed) {}

  // The rows of the result; nullopt: it has no windows along the positions.
  Result<std::optional<ValueId>> emit(const Op& op);

 private:
  // How the windows of one operation lie.
  struct Site {
    const Op* op = nullptr;
    int axis = 0;  // of the positions
    Dim length, count;
    int64_t before = 0, behind = 0, stride = 1, reach = 1;
    Dim blocks;  // windows of a sequence, and those that reach into the next
    Dim room() const { return blocks * stride; }
    bool isRowByRow() const { return reach == 1 && stride == 1 && before == 0 && count == length; }
  };
  Result<std::optional<Site>> siteOf(const Op& op) const;
  Result<Shape> kernelOf(const Op& op, int spatial) const;
  Result<Attributes> attributesOf(const Site& site) const;
  ValueId rowByRow(const Site& site, Attributes attributes);
  struct Tables {
    ValueId places = kNoValue;  // of each position of a block among the rows; behind them where it is none
    ValueId inside = kNoValue, padded = kNoValue;  // is it a position of the sequence, or of its padding?
    ValueId windows = kNoValue;                    // of each row of the result among all windows
  };
  const Tables& tablesOf(const Site& site);
  ValueId inBlocks(const Site& site, double outside);
  Result<ValueId> mean(const Site& site, ValueId blocks, Attributes attributes);
  bool countsTaps(const Site& site) const;

  IrContext& ir_;
  const RaggedRows& rows_;
  OpMaker& maker_;
  RaggedPrelude& prelude_;
  const std::unordered_map<ValueId, ValueId>& packed_;
  std::map<std::string, Tables> tables_;
};

}  // namespace dyn::passes
