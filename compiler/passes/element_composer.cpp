#include "compiler/passes/element_composer.h"

#include "compiler/ir/op_def.h"
#include "compiler/ops/op_table.h"

namespace dyn::passes {

using loop::Expr;

namespace {

constexpr int kMostSteps = 200;  // operations that one element is composed of

// 1 on and below the diagonal of its last two axes, 0 above: how exporters keep a causal mask.
bool isTriangle(const HostTensor& tensor) {
  const int rank = tensor.rank();
  if (rank < 2 || tensor.elementCount() == 0 ||
      !(tensor.dtype() == Dtype::boolean || isReal(tensor.dtype()) || isInteger(tensor.dtype())))
    return false;
  const int64_t rows = tensor.shape()[static_cast<size_t>(rank - 2)],
                columns = tensor.shape()[static_cast<size_t>(rank - 1)];
  if (rows != columns || rows < 2) return false;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const int64_t row = i / columns % rows, column = i % columns;
    const double element = isReal(tensor.dtype()) ? tensor.realAt(i) : static_cast<double>(tensor.intAt(i));
    if (element != (column <= row ? 1 : 0)) return false;
  }
  return true;
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
  if (made == madeBy_.end() || ++steps_ > kMostSteps) return load(v, index);
  const Op& op = *made->second;
  if (const HostTensor* tensor = op.attributes.tensor("value"); op.def == &ops::constantOp && tensor) {
    if (tensor->elementCount() != 1) {
      if (!isTriangle(*tensor)) return load(v, index);
      return loops_.cast(index[index.size() - 1] <= index[index.size() - 2], tensor->dtype());
    }
    return isReal(tensor->dtype()) ? loops_.real(tensor->realAt(0), tensor->dtype())
                                   : loops_.cast(loops_.integer(tensor->intAt(0)), tensor->dtype());
  }
  if (!op.def->lower || !op.regions.empty()) return load(v, index);
  size_t result = 0;
  while (op.results[result].id != v) ++result;
  Step step(*this, op);
  return op.def->lower(step, static_cast<int>(result), index);
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
