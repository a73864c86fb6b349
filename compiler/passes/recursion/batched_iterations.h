// The operations of a loop's body for many iterations at once: every value that differs from iteration to
// iteration gets one more axis, the first, of the iterations.
//
//   one iteration  %w = gather(%words, %i)           %p = matmul(%w, %U)  %q = add(%p, %b)    [5], [8], [8]
//   many           %w = gather(%words, %iterations)  %p = matmul(%w, %U)  %q = add(%p, %b)    [m, 5], [m, 8], [m, 8]
//
// Which operations are known, and how each is written for many iterations, is one table
// (batched_iterations.cpp). Each element is computed by the same operator from the same operands as in one
// iteration; only sums of products may be in another order.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/passes/rewrite/op_maker.h"

namespace dyn::passes {

class BatchedIterations {
 public:
  // `iterations`: i64 [m], the numbers of the iterations, a value of the function that gets the operations.
  BatchedIterations(const InferredModule& inferred, const std::unordered_map<ValueId, Type>& types,
                    ValueId iterations)
      : inferred_(inferred), ir_(*inferred.module.context), types_(types), iterations_(iterations) {}
  BatchedIterations(const BatchedIterations&) = delete;

  // A value of the body is `id` here: the same in all iterations, or many, with an axis of the iterations.
  void bind(ValueId ofBody, ValueId id, bool many) { values_[ofBody] = {id, many}; }
  bool isBound(ValueId ofBody) const { return values_.count(ofBody) != 0; }
  bool isMany(ValueId ofBody) const { return values_.at(ofBody).many; }
  ValueId at(ValueId ofBody) const { return values_.at(ofBody).id; }
  // With an axis of the iterations, also where it is the same in all of them.
  ValueId manyOf(ValueId ofBody);

  // The operation of the body, whose operands are bound; binds its results. "" or why it can't be done.
  std::string emit(const Op& op);

  // One more operation; its type follows from inference.
  ValueId make(const OpDef& def, std::vector<ValueId> operands, Attributes attributes = {}) {
    return maker_.make(def, std::move(operands), std::move(attributes));
  }
  // The same, its result being this value.
  void makeAs(ValueId result, const OpDef& def, std::vector<ValueId> operands, Attributes attributes = {}) {
    maker_.make(def, std::move(operands), std::move(attributes), result);
  }
  // One without results.
  void effect(const OpDef& def, std::vector<ValueId> operands, Attributes attributes) {
    maker_.check(def, std::move(operands), std::move(attributes));
  }
  ValueId integers(const std::vector<int64_t>& values) { return maker_.integers(values); }
  ValueId integer(int64_t value) { return maker_.integer(value); }
  // `id` [m, ...] as [m, dims...].
  ValueId reshaped(ValueId id, const Shape& dims);
  ValueId expanded(ValueId id, const Shape& dims);
  void setPlace(SourceLocation place) { maker_.standAt(std::move(place)); }
  // How many iterations there are, where it is known without their numbers, which then may never be needed.
  void setCount(Dim count) { count_ = count; }

  std::vector<const Op*>& ops() { return ops_; }

 private:
  struct Here {
    ValueId id = kNoValue;
    bool many = false;
  };
  struct Rule;
  static const Rule* ruleOf(const Op& op);

  int rankOf(ValueId ofBody) const { return types_.at(ofBody).rank(); }
  bool has(const Op& op, size_t i) const { return i < op.operands.size() && op.operands[i] != kNoValue; }
  bool manyAt(const Op& op, size_t i) const { return has(op, i) && isMany(op.operands[i]); }
  std::optional<std::vector<int64_t>> known(ValueId ofBody) const;
  ValueId sizes(const Shape& dims);
  // With axes of size 1 behind that of the iterations, so that it has `rank` others.
  ValueId aligned(ValueId ofBody, int rank);
  std::string finish(const Op& op, ValueId result);
  std::string again(const Op& op, std::vector<ValueId> operands, Attributes attributes);
  std::vector<ValueId> here(const Op& op) const;
  bool knownSizes(const Op& op);

  std::string sameInAll(const Op& op);
  std::string elementwise(const Op& op);
  std::string product(const Op& op);
  std::string gather(const Op& op);
  std::string slice(const Op& op);
  std::string alongAxis(const Op& op);
  std::string concat(const Op& op);
  std::string reduce(const Op& op);
  std::string reshape(const Op& op);
  std::string expand(const Op& op);
  std::string squeeze(const Op& op);
  std::string unsqueeze(const Op& op);
  std::string transpose(const Op& op);

  const InferredModule& inferred_;
  IrContext& ir_;
  const std::unordered_map<ValueId, Type>& types_;
  const ValueId iterations_;
  Dim count_;
  std::unordered_map<ValueId, Here> values_;
  std::vector<const Op*> ops_;
  OpMaker maker_{ir_, ops_};
};

}  // namespace dyn::passes
