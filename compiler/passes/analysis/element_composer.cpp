#include "compiler/passes/analysis/element_composer.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/op_def.h"
#include "compiler/ops/op_table.h"

namespace dyn::passes {

using loop::Expr;

namespace {

constexpr int kMostComposerSteps = 200;  // operations that one element is composed of

// 1 where row - column is within low..high, 0 elsewhere, of the last two axes: how exporters keep a causal
// mask, also one of keys near by. Where it reaches a corner of the matrix it goes on.
struct Band {
  int64_t low = 0, high = 0;
  bool fromCorner = false, toCorner = false;
};

std::optional<Band> bandOf(const HostTensor& tensor) {
  const int rank = tensor.rank();
  if (rank < 2 || tensor.elementCount() == 0 ||
      !(tensor.dtype() == Dtype::boolean || isReal(tensor.dtype()) || isInteger(tensor.dtype())))
    return std::nullopt;
  const int64_t rows = tensor.shape()[static_cast<size_t>(rank - 2)],
                columns = tensor.shape()[static_cast<size_t>(rank - 1)];
  if (rows != columns || rows < 2) return std::nullopt;
  const auto at = [&](int64_t i) {
    return isReal(tensor.dtype()) ? tensor.realAt(i) : static_cast<double>(tensor.intAt(i));
  };
  Band band{rows, -rows};
  for (int64_t i = 0; i < rows * columns; ++i)
    if (at(i) == 1) {
      band.low = std::min(band.low, i / columns - i % columns);
      band.high = std::max(band.high, i / columns - i % columns);
    }
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const int64_t apart = i / columns % rows - i % columns;
    if (at(i) != (apart >= band.low && apart <= band.high ? 1 : 0)) return std::nullopt;
  }
  band.fromCorner = band.low == 1 - rows;
  band.toCorner = band.high == rows - 1;
  return band.low <= band.high && band.fromCorner + band.toCorner < 2 ? std::optional(band) : std::nullopt;
}

Expr elementOf(const Band& band, Expr row, Expr column) {
  if (band.fromCorner) return row <= column + band.high;
  const Expr low = band.low == 0 ? column <= row : column + band.low <= row;
  return band.toCorner ? low : low && row <= column + band.high;
}

}  // namespace

std::unordered_map<ValueId, const Op*> makersIn(const Function& function) {
  std::unordered_map<ValueId, const Op*> makers;
  for (const Op* op : function.ops)
    for (const ValueDef& r : op->results) makers[r.id] = op;
  return makers;
}

std::unordered_map<ValueId, Type> typesIn(const Function& function) {
  std::unordered_map<ValueId, Type> types;
  for (const Parameter& p : function.parameters) types[p.id] = p.type;
  for (const Op* op : function.ops)
    for (const ValueDef& r : op->results) types[r.id] = r.type;
  return types;
}

class ElementComposer::Step : public loop::LowerContext {
 public:
  Step(ElementComposer& composer, const Op& op) : composer_(composer), op_(op) {}
  const Op& op() const override { return op_; }
  loop::LoopContext& loops() override { return composer_.loops_; }
  const DimSolver& solver() const override { return composer_.facts(); }
  Type operandType(int i) const override {
    const ValueId v = op_.operands[static_cast<size_t>(i)];
    return v == kNoValue ? Type() : composer_.types_.at(v);
  }
  Result<Expr> read(int i, std::span<const Expr> index) override {
    return composer_.element(op_.operands[static_cast<size_t>(i)], index);
  }
  Result<Expr> contents(int i, int64_t k) override {
    const auto known = composer_.inferred_.contents.find(op_.operands[static_cast<size_t>(i)]);
    const auto at = static_cast<size_t>(k);
    if (known != composer_.inferred_.contents.end() && at < known->second.size() && known->second[at])
      return dim(known->second[at]);
    const Expr index = integer(k);
    DYN_TRY(Expr element, read(i, std::span(&index, operandType(i).rank() > 0 ? 1 : 0)));
    return loops().cast(element, Dtype::i64);
  }
  Expr checked(Expr condition, Expr value, const loop::Check& check) override {
    return loops().checked(condition, check.code, value);
  }

 private:
  ElementComposer& composer_;
  const Op& op_;
};

Result<Expr> ElementComposer::element(ValueId v, std::span<const Expr> index) {
  const auto made = madeBy_.find(v);
  if (made == madeBy_.end() || ++steps_ > kMostComposerSteps) return load(v, index);
  const Op& op = *made->second;
  if (const HostTensor* tensor = op.attributes.tensor("value"); op.def == &ops::constantOp && tensor) {
    if (tensor->elementCount() != 1) {
      const std::optional<Band> band = bandOf(*tensor);
      if (!band) return load(v, index);
      return loops_.cast(elementOf(*band, index[index.size() - 2], index[index.size() - 1]), tensor->dtype());
    }
    return isReal(tensor->dtype()) ? loops_.real(tensor->realAt(0), tensor->dtype())
                                   : loops_.cast(loops_.integer(tensor->intAt(0)), tensor->dtype());
  }
  if (!op.def->lower || !op.regions.empty()) return load(v, index);
  size_t result = 0;
  while (op.results[result].id != v) ++result;
  Step step(*this, op);
  if (op.def->cls != OpClass::contraction) return op.def->lower(step, static_cast<int>(result), index);
  // Sums within sums grow with each iteration: what a second product is made of is not asked.
  if (insideProduct_) return load(v, index);
  insideProduct_ = true;
  Result<Expr> sum = op.def->lower(step, static_cast<int>(result), index);
  insideProduct_ = false;
  return sum;
}

ValueId ElementComposer::valueOf(const loop::Buffer* buffer) const {
  for (const auto& [value, known] : buffers_)
    if (known == buffer) return value;
  return kNoValue;
}

Result<Expr> ElementComposer::load(ValueId v, std::span<const Expr> index) {
  const Type type = types_.at(v);
  const loop::Buffer*& buffer = buffers_[v];
  if (!buffer) {
    std::vector<Expr> shape;
    for (Dim d : type.dims()) shape.push_back(loops_.dim(d));
    buffer = loops_.buffer("x" + std::to_string(v), type.dtype(), shape, loop::BufferRole::input);
  }
  return loops_.load(buffer, {index.begin(), index.end()});
}

}  // namespace dyn::passes
