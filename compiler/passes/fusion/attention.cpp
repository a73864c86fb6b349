// Attention in one kernel: the matrix of scores is never in memory as a whole.
//   requires: groups.  provides: product, row-wise softmax and product are one group of kind `attention`.
//   before  %s = matmul_permuted(%q, %k) {...}                    [b, h, m, n]
//           %p = fused(%s, %mask) {kind = "loop"} body (...) { ...elementwise, one softmax along the last axis, elementwise... }
//           %z = matmul_permuted(%p, %v) {...}
//   after   %z = fused(%q, %k, %mask, %v) {kind = "attention"} body (...) { ...all of them... }
// The rows may be computed in f16 or bf16 between casts, as a model of halves has them.
// Scores and probabilities may have no other use, and what follows the softmax may not read the scores: a row
// of them is worked on in place. On a device, where heads have constant lengths up to 128, the group is
// loops, also of f16 and bf16.
// Cost: one sweep per function; IR size falls.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/path_facts.h"

namespace dyn::passes {

namespace {

bool isProduct(const Op& op) { return op.def == &ops::matmulOp || op.def == &ops::matmul_permutedOp; }

bool inOrder(const std::vector<int64_t>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// The steps of one attention, by their places in the function.
struct Steps {
  size_t scores, rows, product;
};

class Attention {
 public:
  Attention(const Function& function, IrContext& ir, PathFacts& facts, bool onDevice)
      : function_(function), ir_(ir), facts_(facts), body_(facts.bodyOf(function)), onDevice_(onDevice) {
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
    for (size_t i = 0; i < function.ops.size(); ++i) {
      for (const ValueDef& r : function.ops[i]->results) {
        types_[r.id] = r.type;
        madeBy_[r.id] = i;
      }
      for (ValueId v : function.ops[i]->operands)
        if (v != kNoValue) ++uses_[v];
    }
    for (ValueId v : function.results) ++uses_[v];
  }

  const Function* run() {
    std::vector<bool> gone(function_.ops.size(), false);
    std::unordered_map<size_t, Steps> groups;
    for (size_t i = 0; i < function_.ops.size(); ++i)
      if (std::optional<Steps> steps = stepsOf(i)) {
        gone[steps->scores] = gone[steps->rows] = true;
        groups.emplace(i, *steps);
      }
    if (groups.empty()) return &function_;
    Function result = function_;
    result.ops.clear();
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      if (gone[i]) continue;
      auto group = groups.find(i);
      result.ops.push_back(group == groups.end() ? function_.ops[i] : makeGroup(group->second));
    }
    count_ = static_cast<int64_t>(groups.size());
    return ir_.own(std::move(result));
  }

  int64_t count() const { return count_; }

 private:
  const Op* onlyUsedHere(ValueId value) const {
    auto made = madeBy_.find(value);
    return made != madeBy_.end() && uses_.at(value) == 1 ? function_.ops[made->second] : nullptr;
  }

  // Does operation `at` end an attention?
  std::optional<Steps> stepsOf(size_t at) const {
    const Op& product = *function_.ops[at];
    if (!isProduct(product) || !areScores(product.results[0].type)) return std::nullopt;
    if (product.def == &ops::matmul_permutedOp && !inOrder(product.attributes.integers("order_a")))
      return std::nullopt;
    if (product.def == &ops::matmulOp && product.attributes.integer("transpose_a", 0) != 0)
      return std::nullopt;
    const Op* rows = onlyUsedHere(product.operands[0]);
    if (!rows || rows->results.size() != 1 || product.operands[1] == product.operands[0]) return std::nullopt;
    const ValueId scoresValue = scoresOf(*rows, at);
    if (scoresValue == kNoValue) return std::nullopt;
    const Op* scores = onlyUsedHere(scoresValue);
    if (!scores || !isProduct(*scores)) return std::nullopt;
    if (scores->def == &ops::matmul_permutedOp && !inOrder(scores->attributes.integers("order_c")))
      return std::nullopt;
    const Type scoresType = scores->results[0].type;
    const int rank = scoresType.rank();
    // The kernel of the rows sees one row a unit: not where the row is a single element, and no reduction at
    // all.
    if (rank < 3 || scoresType.dims().back().isConstant(1) ||
        !sameShape(scoresType, rows->results[0].type, at))
      return std::nullopt;
    for (ValueId v : {scores->operands[0], scores->operands[1], product.operands[1]})
      if (types_.at(v).rank() != rank) return std::nullopt;
    if (!sameBatches(scoresType, product, at)) return std::nullopt;
    if (onDevice_ && !fitsDevice(*scores, product)) return std::nullopt;
    return Steps{madeBy_.at(scoresValue), madeBy_.at(product.operands[0]), at};
  }

  // A device computes it by loops of its own, whose heads are of a known length (device_attention.h).
  bool fitsDevice(const Op& scores, const Op& product) const {
    constexpr int64_t kLargestHead = 128;
    const auto isHead = [](Dim d) {
      const std::optional<int64_t> length = d.constant();
      return length && *length > 0 && *length <= kLargestHead;
    };
    return scores.def == &ops::matmulOp && product.def == &ops::matmulOp &&
           scores.attributes.integer("transpose_a", 0) == 0 && areScores(types_.at(scores.operands[0])) &&
           isHead(types_.at(scores.operands[0]).dims().back()) &&
           isHead(product.results[0].type.dims().back());
  }

  static bool isF32(Type type) { return type.isTensor() && type.dtype() == Dtype::f32; }
  // What is computed in f32.
  static bool isComputedInF32(Type type) { return isF32(type) || (type.isTensor() && isHalf(type.dtype())); }
  // A device rounds as each operation says, whatever it keeps elements in; elsewhere scores are f32.
  bool areScores(Type type) const { return onDevice_ ? isComputedInF32(type) : isF32(type); }
  // Asked where operation `at` stands, which is where the group will.
  bool sameShape(Type a, Type b, size_t at) const {
    return areScores(a) && isComputedInF32(b) && facts_.equalShapes(a.dims(), b.dims(), {body_, at});
  }
  // The second product adds no batches of its own: its rows are the rows of the scores.
  bool sameBatches(Type scores, const Op& product, size_t at) const {
    const Shape& dims = product.results[0].type.dims();
    Shape own = dims;
    if (product.def == &ops::matmul_permutedOp) {
      const std::vector<int64_t> order = product.attributes.integers("order_c");
      for (size_t i = 0; i < order.size(); ++i) own[i] = dims[static_cast<size_t>(order[i])];
    }
    for (int axis = 0; axis + 1 < scores.rank(); ++axis)
      if (!facts_.equal(own[static_cast<size_t>(axis)], scores.dims()[static_cast<size_t>(axis)],
                        {body_, at}))
        return false;
    return true;
  }

  // The value whose rows `rows` makes into probabilities; kNoValue when it is no such operation.
  ValueId scoresOf(const Op& rows, size_t at) const {
    if (rows.def == &ops::softmaxOp) return alongLast(rows) ? rows.operands[0] : kNoValue;
    if (rows.def != &ops::fusedOp || kernelKindOf(rows) != KernelKind::loop) return kNoValue;
    const Function& body = *rows.regions[0];
    const Op* softmax = nullptr;
    for (const Op* op : body.ops) {
      if (op->results.size() != 1) return kNoValue;
      if (op->def == &ops::softmaxOp) {
        if (softmax || !alongLast(*op)) return kNoValue;
        softmax = op;
      } else if (op->def->cls != OpClass::elementwise) {
        return kNoValue;
      }
    }
    if (!softmax) return kNoValue;
    // Among the parameters that reach the softmax with its own shape, the one that a product makes.
    for (size_t i = 0; i < body.parameters.size(); ++i) {
      const Op* made = onlyUsedHere(rows.operands[i]);
      if (!made || !isProduct(*made) || !sameShape(body.parameters[i].type, softmax->results[0].type, at))
        continue;
      if (readOnlyBefore(body, body.parameters[i].id, *softmax)) return rows.operands[i];
    }
    return kNoValue;
  }

  bool alongLast(const Op& softmax) const {
    const Type type = softmax.results[0].type;
    const int64_t axis = softmax.attributes.integer("axis", -1), rank = type.rank();
    return isComputedInF32(type) && (axis == -1 || axis == rank - 1);
  }

  // Does everything made from `value` go through the softmax?
  static bool readOnlyBefore(const Function& body, ValueId value, const Op& softmax) {
    std::unordered_set<ValueId> made{value};
    bool before = true;
    for (const Op* op : body.ops) {
      const bool reads = std::any_of(op->operands.begin(), op->operands.end(),
                                     [&](ValueId v) { return v != kNoValue && made.count(v) != 0; });
      if (op == &softmax) {
        if (!reads) return false;
        before = false;
        continue;
      }
      if (!reads) continue;
      if (!before) return false;
      made.insert(op->results[0].id);
    }
    return std::none_of(body.results.begin(), body.results.end(),
                        [&](ValueId v) { return made.count(v) != 0; });
  }

  const Op* makeGroup(const Steps& steps) {
    const Op &scores = *function_.ops[steps.scores], &rows = *function_.ops[steps.rows],
             &product = *function_.ops[steps.product];
    Function body;
    body.name = ir_.uniqueFunctionName("attention");
    body.place = rows.place;
    Op op;
    op.def = &ops::fusedOp;
    op.place = rows.place;
    setKernelKind(op, onDevice_ ? KernelKind::loop : KernelKind::attention);
    std::unordered_map<ValueId, ValueId> renamed;
    const auto inside = [&](ValueId v) {
      if (v == kNoValue) return v;
      auto [it, fresh] = renamed.try_emplace(v, kNoValue);
      if (fresh) {
        it->second = ir_.newValue();
        body.parameters.push_back({it->second, types_.at(v)});
        op.operands.push_back(v);
      }
      return it->second;
    };
    const auto add = [&](const Op& from) {
      Op inner = from;
      for (ValueId& v : inner.operands) v = inside(v);
      for (ValueDef& r : inner.results) {
        const ValueId outer = r.id;
        r.id = ir_.newValue();
        renamed[outer] = r.id;
      }
      body.ops.push_back(ir_.own(std::move(inner)));
    };
    add(scores);
    if (rows.def == &ops::fusedOp) {
      const Function& own = *rows.regions[0];
      for (size_t i = 0; i < own.parameters.size(); ++i)
        renamed[own.parameters[i].id] = inside(rows.operands[i]);
      for (const Op* inner : own.ops) add(*inner);
      renamed[rows.results[0].id] = renamed.at(own.results[0]);
    } else {
      add(rows);
    }
    add(product);
    op.results = product.results;
    body.results = {body.ops.back()->results[0].id};
    body.resultTypes = {product.results[0].type};
    op.regions = {ir_.own(std::move(body))};
    return ir_.own(std::move(op));
  }

  const Function& function_;
  IrContext& ir_;
  PathFacts& facts_;
  size_t body_;
  bool onDevice_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, size_t> madeBy_, uses_;
  int64_t count_ = 0;
};

Result<Module> runAttention(const Module& module, PassContext& context) {
  int64_t count = 0;
  PathFacts facts(module);
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    Attention attention(function, *module.context, facts, !context.target.isHostOnly());
    const Function* result = attention.run();
    count += attention.count();
    return result;
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["attentions"] = count;
  return result;
}

}  // namespace

PassDef attentionPass() {
  return {.name = "attention",
          .summary = "fuses product, softmax and product into one kernel that keeps a few rows of scores",
          .requiredProperties = Property::groups,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runAttention,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
