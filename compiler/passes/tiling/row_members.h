// Which operations make rows of an image from a few rows of their operands: those that may run over a slice
// of the rows at a time.
//
//   RowMembers rows(module);
//   rows.note(function);                 // its parameters; then each operation, in order:
//   rows.note(*op);
//   if (auto member = rows.memberOf(i, *op)) ... member->window: which rows of what it reads a row reaches
//
// Rows are the second axis of [images, rows, columns, channels]: convolutions and pools with their channels
// last, products of each place's channels, and what is computed element by element. At most one window in a
// group, before which all values have the rows that it reads, and behind which those that it makes.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/ops/rules/window_rules.h"

namespace dyn::passes {

enum class RowKind : uint8_t {
  whole,  // the same for each slice
  image,  // [images, 1, 1, ...]: one for each image
  read,   // rows that a window reads
  made,   // rows as they are made
};

struct RowMember {
  size_t at = 0;  // which operation of the function
  std::vector<RowKind> operands;
  std::unordered_map<ValueId, RowKind> inside;  // values of a group's body
  std::optional<WindowAxis> window;             // along rows
  ValueId windowAt = kNoValue;                  // result of the operation that has it
  Dim images, rows;                             // of what it makes
  double products = 0;                          // for each element of the result, of the sums behind it
};

class RowMembers {
 public:
  static constexpr int kRank = 4;

  explicit RowMembers(const Module& module) { inferred_.module = module; }

  void note(const Function& function);
  void note(const Op& op);
  std::optional<RowMember> memberOf(size_t at, const Op& op);
  Type typeOf(ValueId v) const { return types_.at(v); }

 private:
  struct Asked;
  bool readBody(const std::vector<const Op*>& ops, Asked& asked);
  bool findWindow(const std::vector<const Op*>& ops, Asked& asked) const;
  bool readOp(const Op& op, Asked& asked) const;
  bool readsOwnRows(const Op& op, const Asked& asked) const;
  RowKind kindOf(ValueId v, const Asked& asked, bool beforeWindow) const;

  InferredModule inferred_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> views_;  // `strided`, by result
};

}  // namespace dyn::passes
