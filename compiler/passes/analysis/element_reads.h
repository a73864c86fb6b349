// How often one element of a group's result needs elements of the values inside, and how long the expressions
// are that say which: what fusion bounds the size of a kernel by.
//
//   %a = concat(%x, %x) {axis = 0}     element i of %b needs two elements of %a, each of which needs two of %x:
//   %b = concat(%a, %a) {axis = 0}     the kernel of both has 1 + 2 definitions and 4 loads
//
// A place is an index at which a value is needed, expressions over the index of the group's result.
// Operations that read at their own index share it, so that a chain or a ladder of elementwise operations has
// one place however long it is. Each operation's definition is asked once, over a plain index of its own;
// its places in a group are those of its readers, put together. Cost: one definition for each operation.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/loop/expr.h"

namespace dyn::passes {

// What one element of an operation's result reads: operand `value` at the index `tuple` of ElementReads.
struct OperandRead {
  ValueId value = kNoValue;
  uint32_t tuple = 0;
};

class ElementReads {
 public:
  explicit ElementReads(IrContext& ir) : ir_(ir), loops_(ir.dims()) {}

  // Distinct reads of one element of the first result. Where the definition is not known here (it asks for
  // contents that only lowering has), each operand at one index that nothing else shares.
  std::vector<OperandRead> readsOf(const Op& op, const std::vector<Type>& operandTypes,
                                   const std::vector<const Op*>& makers);
  // The group's own index.
  uint32_t ownPlace(int rank);
  // The place at which an operation reads with `tuple` when its own element is needed at `place`.
  uint32_t placeOf(uint32_t place, uint32_t tuple);
  // Nodes of the longest expression of the place, shared parts counted each time. At most kLongest.
  int64_t length(uint32_t place) const;

  static constexpr int64_t kLongest = int64_t{1} << 30;

 private:
  class Definition;
  using Ids = std::vector<uint32_t>;

  uint32_t tupleOf(std::span<const loop::Expr> index);
  uint32_t partOf(loop::Expr e, const Ids& place);
  static uint32_t numberOf(Ids key, std::map<Ids, uint32_t>& numbers, std::vector<Ids>& all);

  IrContext& ir_;
  loop::LoopContext loops_;
  std::vector<loop::Expr> index_;                // stand for the axes of any result
  std::unordered_map<uint32_t, size_t> axisOf_;  // by variable
  std::map<Ids, uint32_t> tupleNumbers_, placeNumbers_;
  std::vector<Ids> tuples_;                               // by axis: ids of expressions
  std::vector<Ids> places_;                               // by axis: parts
  std::unordered_map<uint32_t, loop::Expr> expressions_;  // of tuples, by id
  std::map<Ids, uint32_t> partNumbers_;  // an expression and the parts that stand for its axes
  std::vector<int64_t> partLengths_;
  std::unordered_map<ValueId, const loop::Buffer*> buffers_;
};

// The places at which the values of one group are needed.
class GroupPlaces {
 public:
  // `op` belongs to the group: it is needed where members read it, and at the group's own index if it is one
  // of the group's results.
  void add(const Op& op, const std::vector<OperandRead>& reads, ElementReads& all, bool isResult);
  // Would the group stay small with the maker of `value` in it, which reads so?
  bool takes(ValueId value, const std::vector<OperandRead>& reads, const ElementReads& all) const;
  // Places at which members read `value`.
  size_t countOf(ValueId value) const;

 private:
  // Definitions and loads that a kernel may have beyond those of a group in which each is needed once.
  static constexpr size_t kMostRepeated = 96;
  static constexpr int64_t kLongestIndex = 4096;

  std::unordered_map<ValueId, std::vector<uint32_t>> places_;
  size_t repeated_ = 0;
};

}  // namespace dyn::passes
