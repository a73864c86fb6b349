#include "compiler/passes/padding/masked_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "compiler/loop/expr_forms.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/element_bounds.h"
#include "compiler/passes/analysis/element_composer.h"
#include "compiler/passes/analysis/value_numbers.h"
#include "compiler/passes/padding/mask_zeros.h"

namespace dyn::passes {

namespace {

using loop::Expr;
using loop::ExprKind;

constexpr double kLowestBias = -1e38;  // below any score that is not hidden
constexpr size_t kMostBetween = 32;    // values between scores and their softmax

class Search {
 public:
  explicit Search(const InferredModule& inferred)
      : inferred_(inferred),
        ir_(*inferred.module.context),
        numbers_(inferred),
        types_(typesIn(*inferred.module.main())),
        madeBy_(makersIn(*inferred.module.main())) {}

  AttentionSearch run() {
    AttentionSearch all;
    for (const Op* op : inferred_.module.main()->ops) {
      if (!isProduct(*op) || isTransposed(*op)) continue;
      MaskedAttention attention;
      attention.product = op;
      const Op* softmax = softmaxBehind(*op, attention);
      if (!softmax) continue;
      attention.softmax = softmax;
      std::string why = read(attention);
      if (why.empty())
        all.found.push_back(std::move(attention));
      else if (readOthers(attention))
        all.others.push_back(std::move(attention));
      else
        all.refusals.push_back("softmax %" + ir_.valueName(softmax->results[0].id) + ": " + why);
    }
    return all;
  }

 private:
  static bool isProduct(const Op& op) {
    return op.def == &ops::matmulOp && op.attributes.integer("transpose_a", 0) == 0;
  }
  static bool isTransposed(const Op& product) { return product.attributes.integer("transpose_b", 0) != 0; }
  const Op* maker(ValueId v, const OpDef& def) const {
    const auto made = madeBy_.find(v);
    return made != madeBy_.end() && made->second->def == &def ? made->second : nullptr;
  }
  Type type(ValueId v) const { return types_.at(v); }

  // The one element, whatever the index, of a value that is the same everywhere.
  std::optional<double> constantOf(ValueId v) {
    const Type of = type(v);
    if (!of || !of.isTensor()) return std::nullopt;
    ElementComposer composer(inferred_, madeBy_, types_);
    std::vector<Expr> index;
    for (int i = 0; i < of.rank(); ++i) index.push_back(composer.loops().variable("i"));
    const Result<Expr> element = composer.element(v, index);
    if (!element.ok() || element->kind() != ExprKind::realConstant) return std::nullopt;
    return element->realValue();
  }

  // Through casts to what it is already.
  ValueId asItIs(ValueId v) const {
    for (const Op* cast = maker(v, ops::castOp); cast && type(cast->operands[0]).dtype() == type(v).dtype();
         cast = maker(v, ops::castOp))
      v = cast->operands[0];
    return v;
  }

  // softmax along the last axis, perhaps with its NaNs made 0.
  const Op* softmaxBehind(const Op& product, MaskedAttention& to) {
    ValueId p = asItIs(product.operands[0]);
    emptyUnder_ = kNoValue;
    if (const Op* where = maker(p, ops::whereOp); where && hiddenRows(*where) != kNoValue) {
      emptyUnder_ = hiddenRows(*where);
      to.nanAsZero = true;  // of a query without keys; numbers that are none already become 0 with it
      p = asItIs(where->operands[2]);
    } else if (where) {
      const Op* isNan = maker(where->operands[0], ops::is_nanOp);
      if (!isNan || isNan->operands[0] != where->operands[2] || constantOf(where->operands[1]) != 0.0)
        return nullptr;
      to.nanAsZero = true;
      p = asItIs(where->operands[2]);
    }
    const Op* softmax = maker(p, ops::softmaxOp);
    if (!softmax) return nullptr;
    const int64_t axis = softmax->attributes.integer("axis", -1), rank = type(p).rank();
    return rank == 4 && (axis == -1 || axis == rank - 1) ? softmax : nullptr;
  }

  // where(max(bias) == -infinity, 0, p): the bias. A query without any key has no probabilities.
  ValueId hiddenRows(const Op& where) {
    const Op* equal = maker(where.operands[0], ops::equalOp);
    if (!equal || constantOf(where.operands[1]) != 0.0 ||
        constantOf(equal->operands[1]) != -std::numeric_limits<double>::infinity())
      return kNoValue;
    const Op* most = maker(equal->operands[0], ops::reduce_maxOp);
    return most ? most->operands[0] : kNoValue;
  }

  std::string read(MaskedAttention& a) {
    steps_.clear();
    bounded_ = false;
    a.v = a.product->operands[1];
    std::string why = readScores(a);
    if (why.empty()) why = sizes(a);
    if (why.empty()) return "";
    // What stands below a mask, whatever it is, if it is not hidden in it.
    for (std::vector<Step> steps = steps_; !steps.empty(); steps.pop_back()) {
      steps_ = steps;
      MaskedAttention other;
      other.product = a.product;
      other.softmax = a.softmax;
      other.v = a.v;
      other.nanAsZero = a.nanAsZero;
      other.own = {steps.back().below};
      if (!isOwnScores(other.own[0]) || !sizes(other).empty()) continue;
      a = std::move(other);
      return "";
    }
    return why;
  }

  // Of queries that are no positions of the keys: a mask of keys, and tables besides.
  bool readOthers(MaskedAttention& a) {
    MaskedAttention other;
    other.product = a.product;
    other.softmax = a.softmax;
    other.v = a.v;
    other.nanAsZero = a.nanAsZero;
    steps_.clear();
    bounded_ = false;
    if (!readScores(other).empty() || other.q == kNoValue || bounded_) return false;
    const Type v = type(other.v);
    if (v.rank() != 4 || type(other.q).rank() != 4) return false;
    other.sequence = ir_.facts().canonical(v.dims()[2]);
    if (!sizes(other).empty() || !other.own.empty() || other.causal || other.window || other.pairs ||
        other.seesItself)
      return false;
    a = std::move(other);
    return true;
  }

  // Scores by pairs of positions, none of which is hidden at its own place.
  bool isOwnScores(ValueId v) {
    const Type of = type(v);
    return of.rank() == 4 && of.dtype() == Dtype::f32 && !hidesItself(v);
  }

  // May an element with query and key at one place be hidden by a number in it? What is chosen by places
  // shows them; numbers behind a product are not looked for.
  bool hidesItself(ValueId root) {
    std::vector<ValueId> pending{root};
    for (size_t k = 0; k < pending.size(); ++k) {
      const auto made = madeBy_.find(pending[k]);
      if (made == madeBy_.end() || isProduct(*made->second) || made->second->def->traits.readsShape) continue;
      if (k >= kMostBetween) return true;
      const Op& op = *made->second;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const ValueId v = op.operands[i];
        if (v == kNoValue || !isReal(type(v).dtype())) continue;
        const std::optional<double> number = constantOf(v);
        if (number && *number <= kMaskedBias && !isShownAtItself(op, i)) return true;
        if (!number) pending.push_back(v);
      }
    }
    return false;
  }

  // where(c, x, fill): does c hold at one place of query and key? `i`: of the operand that is the fill.
  bool isShownAtItself(const Op& where, size_t i) {
    const Type of = where.def == &ops::whereOp ? type(where.operands[0]) : Type();
    if (!of || i == 0 || of.rank() < 2) return false;
    ElementComposer composer(inferred_, madeBy_, types_);
    loop::LoopContext& loops = composer.loops();
    const Expr same = loops.variable("i"), other = loops.variable("b");
    loops.bound(same, loops.dim(of.dims().back()));
    std::vector<Expr> index(static_cast<size_t>(of.rank()), other);
    for (size_t axis = 0; axis < index.size(); ++axis)
      if (of.dims()[axis].isConstant(1))
        index[axis] = loops.integer(0);
      else if (axis + 2 >= index.size())
        index[axis] = same;
    const Result<Expr> element = composer.element(where.operands[0], index);
    if (!element.ok()) return false;
    const DimSolver& facts = ir_.facts();
    const Expr holds = decided(decided(*element, facts), facts);
    return holds.kind() == ExprKind::intConstant && (holds.intValue() != 0) == (i == 2);
  }

  std::string readScores(MaskedAttention& a) {
    ValueId x = a.softmax->operands[0];
    for (const Op* scores = nullptr; !scores;) {
      const auto made = madeBy_.find(x);
      if (made == madeBy_.end()) return "its scores are not a product";
      const Op& op = *made->second;
      if (isProduct(op)) {
        scores = a.scores = &op;
        a.q = op.operands[0];
        a.k = op.operands[1];
        a.keysAsQueries = isTransposed(op);
      } else if (std::string why = step(op, x, a); !why.empty()) {
        return why;
      }
    }
    return steps_.empty() ? "no mask of its keys" : "";
  }

  // What is added to the scores, or chooses between them and a constant; the last first.
  struct Step {
    ValueId added = kNoValue, condition = kNoValue;
    bool isNot = false;
    double fill = 0;
    ValueId below = kNoValue;  // the scores that it is added to, or chooses
  };

  // One operation between the product and the softmax: `x` goes on to its operand.
  std::string step(const Op& op, ValueId& x, MaskedAttention& a) {
    if (asItIs(x) != x) {
      x = asItIs(x);
      return "";
    }
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
      if (a.scale != 1) return "its scores are scaled after the mask is added";
      const size_t at = isScores(op.operands[0]) ? 1 : 0;
      x = op.operands[1 - at];
      steps_.push_back({.added = op.operands[at], .below = x});
      return "";
    }
    if (op.def == &ops::maxOp && op.operands.size() == 2) {  // what is added to a score may leave no number
      for (size_t at : {size_t{1}, size_t{0}})
        if (constantOf(op.operands[at]).value_or(0) <= kLowestBias) {
          x = op.operands[1 - at];
          bounded_ = true;
          return "";
        }
    }
    if (op.def == &ops::whereOp) {
      if (a.scale != 1) return "its scores are scaled after the mask";
      for (size_t at : {size_t{2}, size_t{1}}) {
        const std::optional<double> fill = constantOf(op.operands[at]);
        if (!fill) continue;
        if (!(*fill <= kMaskedBias))
          return "where the mask does not hold its scores are not a large negative number";
        x = op.operands[3 - at];
        steps_.push_back({kNoValue, op.operands[0], at == 1, *fill, x});
        return "";
      }
      return "the mask chooses between scores";
    }
    return "%" + ir_.valueName(x) + " = " + std::string(op.def->name) + " stands between its product and it";
  }

  // Does a product make it, by way of what stands between scores and their softmax?
  bool isScores(ValueId root) const {
    std::vector<ValueId> pending{root};
    for (size_t k = 0; k < pending.size() && k < kMostBetween; ++k) {
      const auto made = madeBy_.find(pending[k]);
      if (made == madeBy_.end()) continue;
      const Op& op = *made->second;
      if (isProduct(op)) return true;
      if (op.def->cls == OpClass::elementwise)
        pending.insert(pending.end(), op.operands.begin(), op.operands.end());
    }
    return false;
  }

  std::string sizes(MaskedAttention& a) {
    const DimSolver& facts = ir_.facts();
    const auto is = [&](Dim d, Dim other) { return facts.equal(d, other) == Answer::yes; };
    keyMask_.clear();
    hiddenBy_.clear();
    for (ValueId v : {a.q, a.k, a.v, a.product->results[0].id})
      if (v != kNoValue && (type(v).rank() != 4 || type(v).dtype() != Dtype::f32))
        return "its matrices are not of four axes of f32";
    const Shape q = type(a.q != kNoValue ? a.q : a.own[0]).dims(), v = type(a.v).dims();
    a.batch = facts.canonical(q[0]);
    a.queries = facts.canonical(q[2]);
    if (!a.sequence) a.sequence = a.queries;
    a.heads = q[1];
    if (!areApart(a.batch, a.sequence))
      return "batch and sequence are not two sizes of the inputs: " + a.batch.toString() + ", " +
             a.sequence.toString();
    const Shape k = a.k != kNoValue ? type(a.k).dims() : Shape{q[0], q[1], q[3], q[3]};
    if (!is(k[0], a.batch) || !is(v[0], a.batch) || !is(k[a.keysAsQueries ? 2 : 3], a.sequence) ||
        !is(v[2], a.sequence))
      return "queries and keys are not of the same positions";
    for (Dim heads : {k[1], v[1]})
      if (!is(heads, q[1]) && !heads.isConstant(1)) return "queries and keys differ in the number of heads";
    noMask_ = "no mask of its keys";
    for (const Step& one : steps_) {
      const std::string why = one.added != kNoValue ? added(one.added, a) : chosen(one, a);
      if (!why.empty()) return why;
    }
    if (a.bias == kNoValue && a.allowed == kNoValue) return noMask_;
    // Which queries have no key is what that bias says: not where another hides keys, too.
    if (emptyUnder_ != kNoValue && (steps_.size() != 1 || steps_[0].added != emptyUnder_ || !a.own.empty() ||
                                    a.table != kNoValue || a.seesItself))
      return "a query without keys has another result";
    // A query without keys sees others than without that bound: under a causal mask none such is computed.
    if (bounded_ && !a.causal) return "its scores are bounded behind the mask";
    if (a.seesItself && (a.window || a.causal || a.pairs || a.allowed != kNoValue))
      return "beside its mask of other keys there is another";
    if (a.window && a.causal) return "beside its mask of keys near by there is a causal one";
    // Beside a mask that is not the same for all queries a bias of the keys is one of each sequence's own.
    if ((a.pairs || a.window) && a.bias != kNoValue && a.allowed != kNoValue && biasKind_ == MaskKind::keys &&
        isOwn(a.bias, a)) {
      a.own.push_back(a.bias);
      a.bias = kNoValue;
    }
    if ((a.pairs || a.window) && a.bias != kNoValue && a.allowed != kNoValue)
      return "beside its mask of queries and keys there is another";
    if (a.pairs && a.causal) return "beside its mask of queries there is a causal one";
    a.mask = keyMask_.empty() || (a.bias != kNoValue && a.allowed != kNoValue)
                 ? std::to_string(numbers_(a.bias)) + " " + std::to_string(numbers_(a.allowed))
                 : keyMask_;
    if (a.bias == kNoValue || a.allowed == kNoValue) a.keys = hiddenBy_;
    a.mask += (a.allowed == kNoValue ? "" : a.allowedIsNot ? " not " : " is ") + std::to_string(a.fill);
    return "";
  }

  // Two sizes of the inputs, the sequence perhaps one that is computed from others: (samples - 10) / 5.
  static bool areApart(Dim batch, Dim sequence) {
    if (!batch.isSymbol() || sequence.isConstant()) return false;
    const std::vector<SymbolId> symbols = symbolsOf(sequence);
    return std::find(symbols.begin(), symbols.end(), batch.symbol()) == symbols.end();
  }

  // --- what is added or chosen: a mask of keys, a causal one, both in one, or a table

  enum class MaskKind : uint8_t { keys, otherKeys, causal, causalKeys, windowKeys, pairs, table, other };

  static void take(MaskKind kind, MaskedAttention& a) {
    a.causal |= kind == MaskKind::causal || kind == MaskKind::causalKeys;
    a.window |= kind == MaskKind::windowKeys;
    a.pairs |= kind == MaskKind::pairs;
  }

  // [b, h or 1, s or 1, s or 1] of f32.
  bool isOwn(ValueId v, const MaskedAttention& a) const {
    const Type of = type(v);
    return of.rank() == 4 && of.dtype() == Dtype::f32 && isTable(of, a) &&
           ir_.facts().equal(of.dims()[0], a.batch) == Answer::yes;
  }

  std::string added(ValueId all, MaskedAttention& a) {
    std::vector<ValueId> pending{all};
    for (int parts = 0; !pending.empty(); ++parts) {
      const ValueId v = pending.back();
      pending.pop_back();
      if (type(v).rank() == 0 && constantOf(v) == 0.0) continue;
      std::string why;
      const MaskKind kind = kindOf(v, a, std::nullopt, why);
      const Op* sum = maker(v, ops::addOp);
      if (kind == MaskKind::other && sum && parts < 8) {
        pending.insert(pending.end(), sum->operands.begin(), sum->operands.end());
        continue;
      }
      if (const Op* choice = maker(v, ops::whereOp); choice && kind == MaskKind::other && parts < 8) {
        // A mask with a bias where it holds.
        const size_t fill = constantOf(choice->operands[1]).value_or(0) <= kMaskedBias ? 1 : 2;
        const Step one{.condition = choice->operands[0],
                       .isNot = fill == 1,
                       .fill = constantOf(choice->operands[fill]).value_or(0)};
        if (one.fill <= kMaskedBias && chosen(one, a).empty()) {
          pending.push_back(choice->operands[3 - fill]);
          continue;
        }
      }
      if (kind == MaskKind::other) {
        if (!isOwn(v, a) || hidesItself(v)) return why;
        if (a.own.empty()) noMask_ = why;
        a.own.push_back(v);
        continue;
      }
      if (kind == MaskKind::pairs) return "its mask %" + ir_.valueName(v) + " of queries and keys is added";
      if (kind == MaskKind::table) {
        if (a.table != kNoValue) return "two tables are added to its scores";
        a.table = v;
        continue;
      }
      take(kind, a);
      if (kind == MaskKind::causal) continue;
      if (a.bias != kNoValue) return "two masks of keys are added to its scores";
      a.bias = v;
      biasKind_ = kind;
      if (kind != MaskKind::otherKeys) continue;
      a.seesItself = true;
      a.own.push_back(v);
    }
    return "";
  }

  std::string chosen(const Step& one, MaskedAttention& a) {
    std::string why;
    const MaskKind kind = kindOf(one.condition, a, one.isNot, why);
    if (kind == MaskKind::other || kind == MaskKind::table)
      return kind == MaskKind::other
                 ? why
                 : "its mask %" + ir_.valueName(one.condition) + " is the same for all of the batch";
    take(kind, a);
    if (kind == MaskKind::causal) return "";
    // The choice is the last word of a score.
    if (a.allowed != kNoValue || a.bias != kNoValue) return "it has two masks";
    a.allowed = one.condition;
    a.allowedIsNot = one.isNot;
    a.fill = one.fill;
    return "";
  }

  // `isNot`: of a condition, whether it says what is hidden; nothing: it is a bias.
  MaskKind kindOf(ValueId mask, const MaskedAttention& a, std::optional<bool> isNot, std::string& why) {
    const std::string name = "its mask %" + ir_.valueName(mask);
    const Type of = type(mask);
    const DimSolver& facts = ir_.facts();
    const auto is = [&](size_t axis, Dim d) { return facts.equal(of.dims()[axis], d) == Answer::yes; };
    const bool batched = of.rank() == 4 && !of.dims()[0].isConstant(1);
    if (of.rank() > 4 || of.rank() < 1 || (batched && (!is(0, a.batch) || !is(3, a.sequence)))) {
      why = name + " " + of.toString() + " is not of the batch and the keys";
      return MaskKind::other;
    }
    ElementComposer composer(inferred_, madeBy_, types_);
    loop::LoopContext& loops = composer.loops();
    const auto upTo = [&](const char* hint, Dim extent) {
      const Expr variable = loops.variable(hint);
      loops.bound(variable, loops.dim(extent));
      return variable;
    };
    const Expr row = upTo("b", a.batch), head = upTo("h", a.heads), query = upTo("i", a.queries),
               key = upTo("j", a.sequence), apart = upTo("t", a.sequence);
    const std::array<Expr, 4> place{row, head, query, key};
    std::vector<Expr> index;
    for (int axis = 0; axis < of.rank(); ++axis) {
      const Dim size = of.dims()[static_cast<size_t>(axis)];
      index.push_back(size.isConstant(1) ? loops.integer(0)
                                         : place[static_cast<size_t>(4 - of.rank() + axis)]);
    }
    const Result<Expr> element = composer.element(mask, index);
    if (!element.ok()) {
      why = name + ": " + element.error().message;
      return MaskKind::other;
    }
    const auto hides = [&](const Expr& e) {
      if (!isNot) return e.kind() == ExprKind::realConstant && e.realValue() <= kMaskedBias;
      return e.kind() == ExprKind::intConstant && (e.intValue() != 0) == *isNot;
    };
    const auto shows = [&](const Expr& e) {
      if (!isNot) return isZero(e);
      return e.kind() == ExprKind::intConstant && (e.intValue() != 0) != *isNot;
    };
    const Expr anywhere = decided(decided(*element, facts), facts);
    const bool byQuery = mentions(anywhere, query), byHead = mentions(anywhere, head);
    const bool addsTable = !isNot && of.dtype() == Dtype::f32 && isTable(of, a);
    if (batched && addsTable && !mentions(anywhere, row)) return MaskKind::table;
    const auto with = [&](const Expr& e, const Expr& part, const Expr& instead) {
      const auto change = [&](Expr now) -> Expr { return now.same(part) ? instead : Expr(); };
      return decided(loops.substitute(e, change), facts);
    };
    // The condition that alone says whether a sequence has the key, and what is left where it holds.
    Expr holds, places;
    for (const Expr& condition : loop::postorder(std::span(&anywhere, 1))) {
      if (!batched || condition.dtype() != Dtype::boolean || !mentions(condition, row) ||
          mentions(condition, query) || mentions(condition, head) ||
          !hides(with(anywhere, condition, loops.boolean(false))))
        continue;
      places = with(anywhere, condition, loops.boolean(true));
      if (mentions(places, row) || mentions(places, head)) continue;
      holds = condition;
    }
    if (!holds.isNull()) {
      hiddenBy_ = textOf(holds, {row, key});
      keyMask_ = hiddenBy_ + textOf(with(anywhere, holds, loops.boolean(false)), {});
    }
    if (batched && !byQuery && !byHead) {
      if (keyMask_.empty()) keyMask_ = hiddenBy_ = "as it is " + textOf(anywhere, {row, key});
      return MaskKind::keys;
    }
    if (batched && !isNot && !byHead && is(2, a.sequence) && of.dtype() == Dtype::f32)
      for (const Expr& own : loop::postorder(std::span(&anywhere, 1)))
        if (own.dtype() == Dtype::boolean && !mentions(own, row) && isTrue(with(own, query, key)) &&
            isFalse(with(own, key, query + 1 + apart)) && isFalse(with(own, query, key + 1 + apart)) &&
            !mentions(with(anywhere, own, loops.boolean(false)), query) &&
            everywhere(with(anywhere, own, loops.boolean(true)), shows))
          return MaskKind::otherKeys;
    const Expr before = with(anywhere, query, key + apart), behind = with(anywhere, key, query + 1 + apart);
    const bool causal = hides(behind) && !mentions(before, apart) && !mentions(before, head);
    if (causal && shows(before)) return MaskKind::causal;
    if (causal && batched && is(2, a.sequence)) return MaskKind::causalKeys;
    // Nothing between: a key counts, or it does not.
    const auto isChoice = [&](const Expr& root) {
      std::vector<Expr> pending{root};
      for (size_t k = 0; k < pending.size(); ++k) {
        const Expr e = pending[k];
        if (e.kind() == ExprKind::select)
          pending.insert(pending.end(), {e.operands()[1], e.operands()[2]});
        else if (!hides(e) && !shows(e))
          return false;
      }
      return true;
    };
    if (!holds.isNull() && is(2, a.sequence) && shows(with(places, query, key)) &&
        (isNot || isChoice(places)))
      return MaskKind::windowKeys;
    if (isNot && batched && is(2, a.sequence) && !byHead) {
      for (const Expr& condition : loop::postorder(std::span(&anywhere, 1)))
        if (condition.dtype() == Dtype::boolean && isOfBoth(loops, condition, query, key) &&
            hides(with(anywhere, condition, loops.boolean(false))) &&
            shows(with(anywhere, condition, loops.boolean(true)))) {
          keyMask_ = "both " + textOf(anywhere, {row, query, key});
          return MaskKind::pairs;
        }
    }
    if (!batched && addsTable) return MaskKind::table;
    why = name + (byHead    ? " differs from head to head"
                  : byQuery ? " differs from query to query"
                            : " " + of.toString() + " is not of the batch and the keys");
    return MaskKind::other;
  }

  static bool isTrue(const Expr& e) { return e.kind() == ExprKind::intConstant && e.intValue() != 0; }
  static bool isFalse(const Expr& e) { return e.kind() == ExprKind::intConstant && e.intValue() == 0; }

  // Does it hold whatever the conditions in the expression do?
  template <typename Holds>
  bool everywhere(const Expr& e, const Holds& holds, int depth = 0) {
    if (holds(e)) return true;
    for (const Expr& condition : loop::postorder(std::span(&e, 1))) {
      if (condition.dtype() != Dtype::boolean || condition.kind() == ExprKind::intConstant) continue;
      const auto given = [&](bool value) {
        return e.context().substitute(
            e, [&](Expr now) -> Expr { return now.same(condition) ? e.context().boolean(value) : Expr(); });
      };
      return depth < 3 && everywhere(given(true), holds, depth + 1) &&
             everywhere(given(false), holds, depth + 1);
    }
    return false;
  }

  // Is it m[query] * m[key] != 0, or the same of conditions with `and`? Products of masks are taken not to
  // overflow.
  static bool isOfBoth(loop::LoopContext& loops, Expr c, const Expr& query, const Expr& key) {
    while (c.kind() == ExprKind::checked) c = c.operands()[1];
    if (const Expr number = zeroWhereNot(c); !number.isNull()) c = number;
    if (c.kind() != ExprKind::binary ||
        (c.binaryOp() != loop::BinaryOp::mul && c.binaryOp() != loop::BinaryOp::logicalAnd))
      return false;
    const auto isSameAt = [&](const Expr& ofKey, const Expr& ofQuery) {
      const auto change = [&](Expr now) -> Expr { return now.same(key) ? query : Expr(); };
      return mentions(ofKey, key) && !mentions(ofKey, query) && loops.substitute(ofKey, change).same(ofQuery);
    };
    const Expr a = c.operands()[0], b = c.operands()[1];
    return isSameAt(a, b) || isSameAt(b, a);
  }

  // The same text: the same expression of the same values. `variables`: by their order.
  std::string textOf(const Expr& root, const std::vector<Expr>& variables) {
    std::string text;
    std::unordered_map<uint32_t, size_t> numbers;
    for (const Expr& e : loop::postorder(std::span(&root, 1))) {
      numbers.emplace(e.id(), numbers.size());
      text += "(" + std::to_string(static_cast<int>(e.kind())) + " " + std::string(toString(e.dtype()));
      if (e.kind() == ExprKind::binary) text += " b" + std::to_string(static_cast<int>(e.binaryOp()));
      if (e.kind() == ExprKind::unary) text += " u" + std::to_string(static_cast<int>(e.unaryOp()));
      if (e.kind() == ExprKind::intConstant) text += " " + std::to_string(e.intValue());
      if (e.kind() == ExprKind::realConstant) text += " " + std::to_string(e.realValue());
      if (e.kind() == ExprKind::dim) text += " " + std::to_string(e.dimValue().id());
      if (e.kind() == ExprKind::load)
        text += " x" + std::to_string(numbers_(static_cast<ValueId>(std::stoul(e.buffer()->name.substr(1)))));
      for (size_t i = 0; i < variables.size(); ++i)
        if (e.same(variables[i])) text += " v" + std::to_string(i);
      for (const Expr& operand : e.operands()) text += " " + std::to_string(numbers.at(operand.id()));
      text += ")";
    }
    return text;
  }

  // [b or 1, h or 1, s or 1, s or 1], or its last axes. An exporter's min(512, s) is s wherever it is not 1.
  bool isTable(Type of, const MaskedAttention& a) const {
    const DimSolver& facts = ir_.facts();
    const std::array<Dim, 4> whole{a.batch, a.heads, a.queries, a.sequence};
    for (int axis = 0; axis < of.rank(); ++axis) {
      const Dim size = of.dims()[static_cast<size_t>(axis)];
      const auto place = static_cast<size_t>(4 - of.rank() + axis);
      const bool upToSequence = place >= 2 && facts.lessEqual(size, whole[place]) == Answer::yes;
      if (!size.isConstant(1) && !upToSequence && facts.equal(size, whole[place]) != Answer::yes)
        return false;
    }
    return true;
  }

  const InferredModule& inferred_;
  IrContext& ir_;
  ValueNumbers numbers_;
  const std::unordered_map<ValueId, Type> types_;
  const std::unordered_map<ValueId, const Op*> madeBy_;
  std::vector<Step> steps_;  // of the attention that is read
  MaskKind biasKind_ = MaskKind::other;
  bool bounded_ = false;           // its scores from below, by a number that none reaches unless it is hidden
  std::string noMask_;             // why it has none, where it has none
  ValueId emptyUnder_ = kNoValue;  // rows that this hides as a whole are 0
  std::string hiddenBy_;           // what a key counts by, in its last mask of keys; "": not known
  std::string keyMask_;  // of its last mask of keys, whatever hides keys by their places; "": not known
};

}  // namespace

AttentionSearch findMaskedAttention(const InferredModule& inferred) { return Search(inferred).run(); }

}  // namespace dyn::passes
