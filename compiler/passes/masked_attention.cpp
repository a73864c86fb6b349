#include "compiler/passes/masked_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "compiler/ir/printer.h"
#include "compiler/loop/lower_context.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/element_bounds.h"

namespace dyn::passes {

namespace {

using loop::Expr;
using loop::ExprKind;

constexpr int kMostSteps = 200;        // operations that one element is composed of
constexpr int64_t kSmallBytes = 4096;  // constants that are compared by their elements

// Values by what they are made of: two of one number are equal.
class ValueNumbers {
 public:
  explicit ValueNumbers(const Module& module) : ir_(*module.context) {
    for (const Parameter& p : module.main()->parameters) numberOf(p.id);
    for (const Op* op : module.main()->ops) add(*op);
  }
  int operator()(ValueId v) { return v == kNoValue ? -1 : numberOf(v); }

 private:
  int numberOf(ValueId v) {
    return numbers_.try_emplace(v, static_cast<int>(numbers_.size()) + 1).first->second;
  }

  void add(const Op& op) {
    if (!op.regions.empty() || op.def->hasEffects || op.results.empty()) return;
    std::string key = std::string(op.def->name);
    for (ValueId v : op.operands) key += " " + std::to_string((*this)(v));
    for (const auto& [name, value] : op.attributes.all()) {
      const HostTensor* tensor = std::get_if<HostTensor>(&value);
      if (tensor && tensor->sizeBytes() > kSmallBytes) return;
      PrintOptions whole;
      whole.maxInlineElements = -1;
      key += " " + name + "=" + print(ir_, value, whole);
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      const auto [same, fresh] = made_.try_emplace(key + " " + std::to_string(i), op.results[i].id);
      if (!fresh) numbers_[op.results[i].id] = numberOf(same->second);
    }
  }

  const IrContext& ir_;
  std::unordered_map<ValueId, int> numbers_;
  std::unordered_map<std::string, ValueId> made_;
};

// An element of a value, written in elements of the inputs as far as definitions in loops go.
class Composer {
 public:
  Composer(const InferredModule& inferred, const std::unordered_map<ValueId, const Op*>& madeBy,
           const std::unordered_map<ValueId, Type>& types)
      : inferred_(inferred), madeBy_(madeBy), types_(types), loops_(inferred.module.context->dims()) {}

  loop::LoopContext& loops() { return loops_; }
  const DimSolver& facts() const { return inferred_.module.context->facts(); }

  Result<Expr> element(ValueId v, std::span<const Expr> index) {
    const auto made = madeBy_.find(v);
    if (made == madeBy_.end() || ++steps_ > kMostSteps) return load(v, index);
    const Op& op = *made->second;
    if (const HostTensor* tensor = op.attributes.tensor("value"); op.def == &ops::constantOp && tensor) {
      if (tensor->elementCount() != 1) return load(v, index);
      return isReal(tensor->dtype()) ? loops_.real(tensor->realAt(0), tensor->dtype())
                                     : loops_.cast(loops_.integer(tensor->intAt(0)), tensor->dtype());
    }
    if (!op.def->lower || !op.regions.empty()) return load(v, index);
    size_t result = 0;
    while (op.results[result].id != v) ++result;
    Step step(*this, op);
    return op.def->lower(step, static_cast<int>(result), index);
  }

 private:
  class Step : public loop::LowerContext {
   public:
    Step(Composer& composer, const Op& op) : composer_(composer), op_(op) {}
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
    Composer& composer_;
    const Op& op_;
  };

  Result<Expr> load(ValueId v, std::span<const Expr> index) {
    const Type type = types_.at(v);
    const loop::Buffer*& buffer = buffers_[v];
    if (!buffer) {
      std::vector<Expr> shape;
      for (Dim d : type.dims()) shape.push_back(loops_.dim(d));
      buffer = loops_.buffer("x" + std::to_string(v), type.dtype(), shape, loop::BufferRole::input);
    }
    return loops_.load(buffer, {index.begin(), index.end()});
  }

  const InferredModule& inferred_;
  const std::unordered_map<ValueId, const Op*>& madeBy_;
  const std::unordered_map<ValueId, Type>& types_;
  loop::LoopContext loops_;
  std::unordered_map<ValueId, const loop::Buffer*> buffers_;
  int steps_ = 0;
};

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

bool isZero(const Expr& e) {
  return (e.kind() == ExprKind::intConstant && e.intValue() == 0) ||
         (e.kind() == ExprKind::realConstant && e.realValue() == 0);
}

class Search {
 public:
  explicit Search(const InferredModule& inferred)
      : inferred_(inferred),
        ir_(*inferred.module.context),
        numbers_(inferred.module),
        types_(typesIn(*inferred.module.main())),
        madeBy_(makersIn(*inferred.module.main())) {}

  AttentionSearch run() {
    AttentionSearch all;
    for (const Op* op : inferred_.module.main()->ops) {
      if (!isProduct(*op)) continue;
      MaskedAttention attention;
      attention.product = op;
      const Op* softmax = softmaxBehind(*op, attention);
      if (!softmax) continue;
      attention.softmax = softmax;
      std::string why = read(attention);
      if (why.empty())
        all.found.push_back(std::move(attention));
      else
        all.refusals.push_back("softmax %" + ir_.valueName(softmax->results[0].id) + ": " + why);
    }
    return all;
  }

 private:
  static bool isProduct(const Op& op) {
    return op.def == &ops::matmulOp && op.attributes.integer("transpose_a", 0) == 0 &&
           op.attributes.integer("transpose_b", 0) == 0;
  }
  const Op* maker(ValueId v, const OpDef& def) const {
    const auto made = madeBy_.find(v);
    return made != madeBy_.end() && made->second->def == &def ? made->second : nullptr;
  }
  Type type(ValueId v) const { return types_.at(v); }

  // The one element, whatever the index, of a value that is the same everywhere.
  std::optional<double> constantOf(ValueId v) {
    const Type of = type(v);
    if (!of || !of.isTensor()) return std::nullopt;
    Composer composer(inferred_, madeBy_, types_);
    std::vector<Expr> index;
    for (int i = 0; i < of.rank(); ++i) index.push_back(composer.loops().variable("i"));
    const Result<Expr> element = composer.element(v, index);
    if (!element.ok() || element->kind() != ExprKind::realConstant) return std::nullopt;
    return element->realValue();
  }

  // softmax along the last axis, perhaps with its NaNs made 0.
  const Op* softmaxBehind(const Op& product, MaskedAttention& to) {
    ValueId p = product.operands[0];
    if (const Op* where = maker(p, ops::whereOp)) {
      const Op* isNan = maker(where->operands[0], ops::is_nanOp);
      if (!isNan || isNan->operands[0] != where->operands[2] || constantOf(where->operands[1]) != 0.0)
        return nullptr;
      to.nanAsZero = true;
      p = where->operands[2];
    }
    const Op* softmax = maker(p, ops::softmaxOp);
    if (!softmax) return nullptr;
    const int64_t axis = softmax->attributes.integer("axis", -1), rank = type(p).rank();
    return rank == 4 && (axis == -1 || axis == rank - 1) ? softmax : nullptr;
  }

  std::string read(MaskedAttention& a) {
    ValueId x = a.softmax->operands[0];
    for (const Op* scores = nullptr; !scores;) {
      const auto made = madeBy_.find(x);
      if (made == madeBy_.end()) return "its scores are no product";
      const Op& op = *made->second;
      if (isProduct(op)) {
        scores = &op;
        a.q = op.operands[0];
        a.k = op.operands[1];
      } else if (std::string why = step(op, x, a); !why.empty()) {
        return why;
      }
    }
    a.v = a.product->operands[1];
    if (a.bias == kNoValue && a.allowed == kNoValue) return "no mask of its keys";
    return sizes(a);
  }

  // One operation between the product and the softmax: `x` goes on to its operand.
  std::string step(const Op& op, ValueId& x, MaskedAttention& a) {
    const bool divides = op.def == &ops::divOp;
    if (op.def == &ops::mulOp || divides) {
      for (size_t at : {size_t{1}, size_t{0}}) {
        if (divides && at == 0) continue;
        const std::optional<double> factor = constantOf(op.operands[at]);
        if (!factor || (divides && *factor == 0)) continue;
        a.scale = divides ? a.scale / *factor : a.scale * *factor;
        x = op.operands[1 - at];
        return "";
      }
      return "its scores are scaled by no constant";
    }
    if (op.def == &ops::addOp) {
      if (a.bias != kNoValue) return "two values are added to its scores";
      if (a.scale != 1) return "its scores are scaled after the mask is added";
      const size_t at = isScores(op.operands[0]) ? 1 : 0;
      a.bias = op.operands[at];
      x = op.operands[1 - at];
      return "";
    }
    if (op.def == &ops::whereOp) {
      if (a.allowed != kNoValue || a.bias != kNoValue) return "it has two masks";
      if (a.scale != 1) return "its scores are scaled after the mask";
      for (size_t at : {size_t{2}, size_t{1}}) {
        const std::optional<double> fill = constantOf(op.operands[at]);
        if (!fill) continue;
        if (!(*fill <= kMaskedBias))
          return "where the mask does not hold its scores are no large negative number";
        a.allowed = op.operands[0];
        a.allowedIsNot = at == 1;
        a.fill = *fill;
        x = op.operands[3 - at];
        return "";
      }
      return "the mask chooses between scores";
    }
    return "%" + ir_.valueName(x) + " = " + std::string(op.def->name) + " stands between its product and it";
  }

  // Does a product make it, by way of constants?
  bool isScores(ValueId v) const {
    for (int steps = 0; steps < 8; ++steps) {
      const auto made = madeBy_.find(v);
      if (made == madeBy_.end()) return false;
      const Op& op = *made->second;
      if (isProduct(op) || op.def == &ops::whereOp) return isProduct(op) || !isMaskShape(v);
      if (op.def != &ops::mulOp && op.def != &ops::divOp) return false;
      const bool left = type(op.operands[0]).rank() >= type(op.operands[1]).rank();
      v = op.operands[left ? 0 : 1];
    }
    return false;
  }
  bool isMaskShape(ValueId v) const { return type(v).rank() == 4 && type(v).dims()[1].isConstant(1); }

  std::string sizes(MaskedAttention& a) {
    const DimSolver& facts = ir_.facts();
    for (ValueId v : {a.q, a.k, a.v, a.product->results[0].id})
      if (type(v).rank() != 4 || type(v).dtype() != Dtype::f32)
        return "its matrices are not of four axes of f32";
    const Shape q = type(a.q).dims(), k = type(a.k).dims(), v = type(a.v).dims();
    a.batch = facts.canonical(q[0]);
    a.sequence = facts.canonical(q[2]);
    if (!a.batch.isSymbol() || !a.sequence.isSymbol() || a.batch == a.sequence)
      return "batch and sequence are no two sizes of the inputs: " + a.batch.toString() + ", " +
             a.sequence.toString();
    const auto is = [&](Dim d, Dim other) { return facts.equal(d, other) == Answer::yes; };
    if (!is(k[0], a.batch) || !is(v[0], a.batch) || !is(k[3], a.sequence) || !is(v[2], a.sequence))
      return "queries and keys are not of the same positions";
    if (!is(k[1], q[1]) || !is(v[1], q[1])) return "queries and keys differ in the number of heads";
    for (ValueId mask : {a.bias, a.allowed})
      if (std::string why = mask == kNoValue ? "" : maskOfKeys(mask, a); !why.empty()) return why;
    a.mask = std::to_string(numbers_(a.bias)) + " " + std::to_string(numbers_(a.allowed)) +
             (a.allowedIsNot ? " not " : " ") + std::to_string(a.fill);
    return "";
  }

  // [b, *, *, s], the same for all heads and queries.
  std::string maskOfKeys(ValueId mask, const MaskedAttention& a) {
    const std::string name = "its mask %" + ir_.valueName(mask);
    const Type of = type(mask);
    const DimSolver& facts = ir_.facts();
    if (of.rank() != 4 || facts.equal(of.dims()[0], a.batch) != Answer::yes ||
        facts.equal(of.dims()[3], a.sequence) != Answer::yes)
      return name + " " + of.toString() + " is not of the batch and the keys";
    if (of.dims()[1].isConstant(1) && of.dims()[2].isConstant(1)) return "";
    Composer composer(inferred_, madeBy_, types_);
    std::vector<Expr> index;
    for (Dim d : of.dims()) {
      index.push_back(d.isConstant(1) ? composer.loops().integer(0) : composer.loops().variable("i"));
      if (!d.isConstant(1)) composer.loops().bound(index.back(), composer.loops().dim(d));
    }
    const Result<Expr> element = composer.element(mask, index);
    if (!element.ok()) return name + ": " + element.error().message;
    const Expr simple = decided(*element, facts);
    for (const Expr& e : loop::postorder(std::span(&simple, 1)))
      for (size_t axis : {size_t{1}, size_t{2}})
        if (e.kind() == ExprKind::variable && e.same(index[axis]))
          return name + (axis == 1 ? " differs from head to head" : " differs from query to query");
    return "";
  }

  const InferredModule& inferred_;
  IrContext& ir_;
  ValueNumbers numbers_;
  const std::unordered_map<ValueId, Type> types_;
  const std::unordered_map<ValueId, const Op*> madeBy_;
};

}  // namespace

AttentionSearch findMaskedAttention(const InferredModule& inferred) { return Search(inferred).run(); }

bool isZeroWhereMasked(const InferredModule& inferred, const MaskedAttention& site, ValueId value) {
  if (site.allowed == kNoValue || site.allowedIsNot || site.bias != kNoValue) return false;
  const auto types = typesIn(*inferred.module.main());
  const auto makers = makersIn(*inferred.module.main());
  const DimSolver& facts = inferred.module.context->facts();
  Composer composer(inferred, makers, types);
  loop::LoopContext& loops = composer.loops();
  const Expr row = loops.variable("b"), position = loops.variable("s");
  loops.bound(row, loops.dim(site.batch));
  loops.bound(position, loops.dim(site.sequence));
  const auto elementOf = [&](ValueId v) {
    std::vector<Expr> index;
    for (Dim d : types.at(v).dims()) {
      const Dim size = facts.canonical(d);
      index.push_back(size == site.batch ? row : size == site.sequence ? position : loops.integer(0));
      if (size != site.batch && size != site.sequence && !size.isConstant(1))
        index.back() = loops.variable("i");
    }
    return composer.element(v, index);
  };
  // Of a mask that is expanded any head and query will do: they are all the same.
  const std::array<Expr, 4> place{row, loops.integer(0), loops.integer(0), position};
  const Result<Expr> holds = composer.element(site.allowed, place), element = elementOf(value);
  if (!holds.ok() || !element.ok()) return false;
  if (element->kind() == ExprKind::cast) return element->operands()[0].same(*holds);
  return element->kind() == ExprKind::select && element->operands()[0].same(*holds) &&
         isZero(element->operands()[2]);
}

}  // namespace dyn::passes
