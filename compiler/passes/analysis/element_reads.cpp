#include "compiler/passes/analysis/element_reads.h"

#include <algorithm>

#include "compiler/ir/op_def.h"
#include "compiler/loop/builder/lower_context.h"

namespace dyn::passes {

using loop::Expr;

// An operation whose operands are memory.
class ElementReads::Definition : public loop::LowerContext {
 public:
  Definition(ElementReads& all, const Op& op, const std::vector<Type>& types,
             const std::vector<const Op*>& makers)
      : all_(all), op_(op), types_(types), makers_(makers) {}

  const Op& op() const override { return op_; }
  loop::LoopContext& loops() override { return all_.loops_; }
  const DimSolver& solver() const override { return all_.ir_.facts(); }
  Type operandType(int i) const override { return types_[static_cast<size_t>(i)]; }

  Result<Expr> read(int i, std::span<const Expr> index) override {
    const ValueId value = op_.operands[static_cast<size_t>(i)];
    const Type type = operandType(i);
    reads_.push_back({value, all_.tupleOf(index)});
    const loop::Buffer*& buffer = all_.buffers_[value];
    if (!buffer) {
      std::vector<Expr> shape;
      for (Dim d : type.dims()) shape.push_back(dim(d));
      buffer = loops().buffer("x" + std::to_string(value), type.dtype(), shape, loop::BufferRole::input);
    }
    return loops().load(buffer, {index.begin(), index.end()});
  }

  Result<Expr> contents(int i, int64_t k) override {
    const Op* maker = makers_[static_cast<size_t>(i)];
    const HostTensor* tensor = maker ? maker->attributes.tensor("value") : nullptr;
    if (tensor && isInteger(tensor->dtype()) && k < tensor->elementCount()) return integer(tensor->intAt(k));
    const Expr index = integer(k);
    DYN_TRY(Expr element, read(i, std::span(&index, operandType(i).rank() > 0 ? 1 : 0)));
    return loops().cast(element, Dtype::i64);
  }

  Expr checked(Expr, Expr value, const loop::Check&) override { return value; }

  std::vector<OperandRead> distinct() {
    const auto byValue = [](const OperandRead& a, const OperandRead& b) {
      return std::pair(a.value, a.tuple) < std::pair(b.value, b.tuple);
    };
    std::sort(reads_.begin(), reads_.end(), byValue);
    const auto same = [](const OperandRead& a, const OperandRead& b) {
      return a.value == b.value && a.tuple == b.tuple;
    };
    reads_.erase(std::unique(reads_.begin(), reads_.end(), same), reads_.end());
    return std::move(reads_);
  }

 private:
  ElementReads& all_;
  const Op& op_;
  const std::vector<Type>& types_;
  const std::vector<const Op*>& makers_;
  std::vector<OperandRead> reads_;
};

std::vector<OperandRead> ElementReads::readsOf(const Op& op, const std::vector<Type>& operandTypes,
                                               const std::vector<const Op*>& makers) {
  ownPlace(op.results[0].type.rank());
  const std::vector<Expr> index(index_.begin(), index_.begin() + op.results[0].type.rank());
  // Operands of the result's own shape are read at its own index. Asking for the definition of each would
  // keep a buffer for each: half a kilobyte an operation.
  const Shape& own = op.results[0].type.dims();
  if (op.def->cls == OpClass::elementwise && op.results.size() == 1 &&
      std::all_of(operandTypes.begin(), operandTypes.end(),
                  [&](const Type& type) { return type.isTensor() && type.dims() == own; })) {
    std::vector<OperandRead> reads;
    for (ValueId v : op.operands)
      if (std::none_of(reads.begin(), reads.end(),
                       [&](const OperandRead& known) { return known.value == v; }))
        reads.push_back({v, tupleOf(index)});
    return reads;
  }
  Definition definition(*this, op, operandTypes, makers);
  if (op.def->lower && op.def->lower(definition, 0, index).ok()) return definition.distinct();
  std::vector<OperandRead> reads;
  for (ValueId v : op.operands)
    if (v != kNoValue) {
      const Expr unknown = loops_.variable("unknown");
      reads.push_back({v, tupleOf(std::span(&unknown, 1))});
    }
  return reads;
}

uint32_t ElementReads::numberOf(Ids key, std::map<Ids, uint32_t>& numbers, std::vector<Ids>& all) {
  const auto [known, fresh] = numbers.try_emplace(key, static_cast<uint32_t>(all.size()));
  if (fresh) all.push_back(std::move(key));
  return known->second;
}

uint32_t ElementReads::tupleOf(std::span<const Expr> index) {
  Ids ids;
  for (Expr e : index) {
    expressions_.emplace(e.id(), e);
    ids.push_back(e.id());
  }
  return numberOf(std::move(ids), tupleNumbers_, tuples_);
}

uint32_t ElementReads::ownPlace(int rank) {
  Ids parts;
  for (size_t axis = 0; axis < static_cast<size_t>(rank); ++axis) {
    if (axis == index_.size()) {
      index_.push_back(loops_.variable("i"));
      axisOf_[index_.back().id()] = axis;
    }
    const Ids key{index_[axis].id()};
    const auto [known, fresh] = partNumbers_.try_emplace(key, static_cast<uint32_t>(partLengths_.size()));
    if (fresh) partLengths_.push_back(1);
    parts.push_back(known->second);
  }
  return numberOf(std::move(parts), placeNumbers_, places_);
}

uint32_t ElementReads::placeOf(uint32_t place, uint32_t tuple) {
  const Ids from = places_[place];
  Ids parts;
  for (uint32_t id : tuples_[tuple]) parts.push_back(partOf(expressions_.at(id), from));
  return numberOf(std::move(parts), placeNumbers_, places_);
}

// `e` with the parts of `place` for the axes it mentions.
uint32_t ElementReads::partOf(Expr e, const Ids& place) {
  if (const auto axis = axisOf_.find(e.id()); axis != axisOf_.end() && axis->second < place.size())
    return place[axis->second];
  Ids key{e.id()};
  std::unordered_map<uint32_t, int64_t> lengths;
  for (Expr part : loop::postorder(std::span(&e, 1))) {
    int64_t length = 1;
    if (const auto axis = axisOf_.find(part.id()); axis != axisOf_.end() && axis->second < place.size()) {
      key.push_back(place[axis->second]);
      length = partLengths_[key.back()];
    }
    for (Expr o : part.operands()) length = std::min(kLongest, length + lengths.at(o.id()));
    lengths[part.id()] = length;
  }
  const auto [known, fresh] =
      partNumbers_.try_emplace(std::move(key), static_cast<uint32_t>(partLengths_.size()));
  if (fresh) partLengths_.push_back(lengths.at(e.id()));
  return known->second;
}

int64_t ElementReads::length(uint32_t place) const {
  int64_t longest = 1;
  for (uint32_t part : places_[place]) longest = std::max(longest, partLengths_[part]);
  return longest;
}

void GroupPlaces::add(const Op& op, const std::vector<OperandRead>& reads, ElementReads& all, bool isResult) {
  std::vector<uint32_t> needed;
  for (const ValueDef& result : op.results)
    if (const auto places = places_.find(result.id); places != places_.end())
      needed.insert(needed.end(), places->second.begin(), places->second.end());
  if (isResult) needed.push_back(all.ownPlace(op.results[0].type.rank()));
  for (const OperandRead& read : reads) {
    std::vector<uint32_t>& places = places_[read.value];
    for (uint32_t place : needed) {
      const uint32_t at = all.placeOf(place, read.tuple);
      const auto before = std::lower_bound(places.begin(), places.end(), at);
      if (before != places.end() && *before == at) continue;
      repeated_ += places.empty() ? 0 : 1;
      places.insert(before, at);
    }
  }
}

bool GroupPlaces::takes(ValueId value, const std::vector<OperandRead>& reads, const ElementReads& all) const {
  const auto known = places_.find(value);
  if (known == places_.end()) return true;
  int64_t longest = 0;
  for (uint32_t place : known->second) longest = std::max(longest, all.length(place));
  if (longest > kLongestIndex) return false;
  // Each further place needs all that the operation reads once more.
  return known->second.size() == 1 || repeated_ + (known->second.size() - 1) * reads.size() <= kMostRepeated;
}

size_t GroupPlaces::countOf(ValueId value) const {
  const auto known = places_.find(value);
  return known == places_.end() ? 0 : known->second.size();
}

}  // namespace dyn::passes
