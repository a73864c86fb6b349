#include "compiler/passes/fusion/recurrent_cell.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/contraction/contraction_version.h"
#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

using recurrence::Cell;

class Matcher {
 public:
  enum class Weights { packed, constant };
  Matcher(const InferredModule& inferred, const Makers& outer, const Op& loop, PathFacts& facts,
          PathFacts::Place place, Weights weights)
      : inferred_(inferred),
        loop_(loop),
        body_(inferred, outer, loop),
        facts_(facts),
        place_(place),
        weights_(weights) {}

  std::string run() {
    if (loop_.operands[0] == kNoValue || !body_.goesOn()) return "a step may end it";
    if (carried() < 1 || carried() > 2 || results().size() > 2 + carried()) return "it has other states";
    if (std::any_of(body_.function().ops.begin(), body_.function().ops.end(),
                    [](const Op* op) { return op->def->hasEffects || !op->regions.empty(); }))
      return "a step does more";
    found_.stacks = results().size() == 2 + carried();
    found_.state = loop_.operands[2];
    if (!unwrapStates()) return "its states are not those of a cell";
    const bool fits = carried() == 2 ? isLstm() : isGru() || isGruResetFirst() || isPlain();
    if (!fits) return "a step is not a known cell";
    if (!sizesFit()) return "its sizes are others";
    return "";
  }

  RecurrentCell& found() { return found_; }

 private:
  size_t carried() const { return body_.carried(); }
  const std::vector<ValueId>& results() const { return body_.function().results; }
  bool isNumber(ValueId v, double number) const {
    const HostTensor* value = body_.constantOf(v);
    return value && value->elementCount() == 1 && isReal(value->dtype()) && value->realAt(0) == number;
  }
  bool equal(Dim a, Dim b) { return facts_.equal(a, b, place_); }

  // The operands of an operation of two, in the order that `fits`.
  template <typename Fits>
  static bool either(const Op& op, const Fits& fits) {
    return op.operands.size() == 2 &&
           (fits(op.operands[0], op.operands[1]) || fits(op.operands[1], op.operands[0]));
  }
  // Sum or product of two that fit.
  template <typename Fits>
  bool pair(ValueId v, const OpDef& def, const Fits& fits) const {
    const Op* op = body_.maker(v, def);
    return op && either(*op, fits);
  }
  // What `def` is applied to; kNoValue: it is not.
  ValueId inside(ValueId v, const OpDef& def) const {
    const Op* op = body_.maker(v, def);
    return op ? op->operands[0] : kNoValue;
  }

  // --- the step and its ends

  bool isStep(ValueId v) {
    bool backward = false;
    if (const Op* difference = body_.maker(v, ops::subOp)) {
      const std::optional<Dim> last = body_.knownSize(body_.outerOf(difference->operands[0])),
                               steps = body_.knownSize(loop_.operands[0]);
      if (!last || !steps || difference->operands[1] != body_.stepNumber() ||
          !equal(*last + inferred_.module.context->dims().constant(1), *steps))
        return false;
      backward = true;
    } else if (v != body_.stepNumber()) {
      return false;
    }
    if (!direction_) direction_ = found_.backward = backward;
    return *direction_ == backward;
  }

  // less(step, lengths), seen as [b, 1].
  bool isRuns(ValueId v) {
    if (const Op* view = body_.maker(v); view && view->def->traits.view) {
      const Shape to = view->results[0].type.dims();
      if (to.size() != 2 || !to[1].isConstant(1)) return false;
      v = view->operands[0];
    }
    const Op* less = body_.maker(v, ops::lessOp);
    if (!less || !isStep(less->operands[0])) return false;
    const Type type = body_.typeOf(less->operands[1]);
    const ValueId lengths = body_.outerOf(less->operands[1]);
    if (lengths == kNoValue || type.rank() != 1 || type.dtype() != Dtype::i64) return false;
    lengthsSize_ = type.dims()[0];
    if (found_.lengths == kNoValue) found_.lengths = lengths;
    return found_.lengths == lengths;
  }

  // The next states, without what keeps them behind the end; what is stacked is the first of them, or 0.
  bool unwrapStates() {
    for (size_t k = 0; k < carried(); ++k) {
      const ValueId result = results()[1 + k];
      const Op* where = body_.maker(result, ops::whereOp);
      if (where && (where->operands[2] != body_.stateOf(k) || !isRuns(where->operands[0]))) return false;
      next_[k] = where ? where->operands[1] : result;
      if (k > 0 && (where != nullptr) != (found_.lengths != kNoValue)) return false;
    }
    if (!found_.stacks) return true;
    const ValueId stacked = results().back();
    if (found_.lengths == kNoValue) return stacked == next_[0];
    const Op* where = body_.maker(stacked, ops::whereOp);
    return where && isRuns(where->operands[0]) && where->operands[1] == next_[0] &&
           isNumber(where->operands[2], 0);
  }

  // --- gates

  // The rows of the step, of something around.
  bool isInput(ValueId v) {
    const Op* gather = body_.maker(v, ops::gatherOp);
    if (!gather || gather->attributes.integer("axis", 0) != 0 || !isStep(gather->operands[1])) return false;
    const ValueId gates = body_.outerOf(gather->operands[0]);
    if (gates == kNoValue || body_.typeOf(gather->operands[0]).rank() != 3) return false;
    found_.gates = gates;
    gatesType_ = body_.typeOf(gather->operands[0]);
    return true;
  }

  // A product with weights that are the same in each step.
  struct Product {
    ValueId weights = kNoValue;
    Dim units, columns;
    Dtype dtype = Dtype::f32;
    std::optional<bool> transposed;  // of weights that are not packed
  };
  // `left`: is this what is multiplied?
  template <typename Fits>
  bool isProductOf(ValueId v, const Fits& left, Product& product) {
    if (weights_ == Weights::constant) return isPlainProductOf(v, left, product);
    if (const Op* plain = body_.maker(v, ops::matmulOp)) return isUnpackedProduct(*plain, left, product);
    const Op* gemm = body_.maker(v, ops::gemm_packedOp);
    if (!gemm || !left(gemm->operands[0])) return false;
    const std::optional<contraction::Version> version =
        contraction::parseProductVersion(gemm->attributes.string("schedule", "auto"));
    if (!version || contraction::isLibrary(*version)) return false;
    const Dtype packed = body_.typeOf(gemm->operands[1]).dtype();
    if (packed != Dtype::f32 && packed != Dtype::bf16) return false;
    product = {carriedOut(gemm->operands[1]), gemm->attributes.dims("k").at(0),
               gemm->attributes.dims("n").at(0), packed, std::nullopt};
    return product.weights != kNoValue;
  }

  // Weights that are no constants: those of a step are the same as of all.
  template <typename Fits>
  bool isUnpackedProduct(const Op& product, const Fits& left, Product& found) const {
    const Type type = body_.typeOf(product.operands[1]);
    const ValueId weights = body_.outerOf(product.operands[1]);
    if (!left(product.operands[0]) || weights == kNoValue || type.rank() != 2 || type.dtype() != Dtype::f32 ||
        product.attributes.integer("transpose_a", 0) != 0 ||
        product.attributes.string("schedule", "auto") != "auto")
      return false;
    const bool transposed = product.attributes.integer("transpose_b", 0) != 0;
    found = {weights, type.dims()[transposed ? 1 : 0], type.dims()[transposed ? 0 : 1], Dtype::f32,
             transposed};
    return true;
  }

  template <typename Fits>
  bool isPlainProductOf(ValueId v, const Fits& left, Product& found) const {
    const Op* product = body_.maker(v, ops::matmulOp);
    if (!product || !left(product->operands[0]) || product->attributes.integer("transpose_a", 0) != 0)
      return false;
    const HostTensor* weights = body_.constantOf(product->operands[1]);
    if (!weights || weights->dtype() != Dtype::f32 || weights->rank() != 2) return false;
    const Shape dims = body_.typeOf(product->operands[1]).dims();
    const bool transposed = product->attributes.integer("transpose_b", 0) != 0;
    found = {product->operands[1], dims[transposed ? 1 : 0], dims[transposed ? 0 : 1], Dtype::f32,
             std::nullopt};
    return true;
  }

  // Of the state.
  bool isProduct(ValueId v) {
    const auto isState = [&](ValueId left) { return left == body_.stateOf(0); };
    if (!isProductOf(v, isState, product_)) return false;
    found_.weights = product_.weights;
    found_.transposed = product_.transposed.value_or(false);
    return true;
  }

  // A value of the body that is the same in each step: as it is around, or with the operations that make it.
  ValueId carriedOut(ValueId v) {
    if (const ValueId outer = body_.outerOf(v); outer != kNoValue) return outer;
    const Op* op = body_.maker(v);
    if (op && op->def->traits.packsWeights) {
      const Op* constant = body_.maker(op->operands[0], ops::constantOp);
      if (!constant) return kNoValue;
      add(*constant);
    } else if (!op || op->def != &ops::constantOp) {
      return kNoValue;
    }
    add(*op);
    return v;
  }
  void add(const Op& op) {
    if (std::find(found_.inside.begin(), found_.inside.end(), &op) == found_.inside.end())
      found_.inside.push_back(&op);
  }

  bool isSum(ValueId v) {
    return pair(v, ops::addOp, [&](ValueId a, ValueId b) { return isInput(a) && isProduct(b); });
  }
  // The product and its bias.
  bool isBiased(ValueId v) {
    if (isProduct(v)) return true;
    return pair(v, ops::addOp, [&](ValueId a, ValueId b) {
      if (!isProduct(a) || body_.typeOf(b).rank() != 1) return false;
      found_.bias = carriedOut(b);
      biasSize_ = body_.typeOf(b).dims()[0];
      return found_.bias != kNoValue;
    });
  }

  // Part `k` of `count` equal ones along the last axis; the first that is asked for decides of what.
  bool isPart(ValueId v, size_t k, int64_t count, ValueId& whole) const {
    const Op* split = body_.maker(v, ops::splitOp);
    if (!split || split->operands.size() != 1 || split->results.size() != static_cast<size_t>(count) ||
        split->results[k].id != v || split->results[0].type.rank() != 2)
      return false;
    const int64_t axis = split->attributes.integer("axis", 0);
    if (axis != 1 && axis != -1) return false;
    if (whole == kNoValue) whole = split->operands[0];
    return whole == split->operands[0];
  }

  // --- cells

  bool isLstm() {
    ValueId sums = kNoValue;
    const auto gate = [&](ValueId v, const OpDef& function, size_t k) {
      return isPart(inside(v, function), k, 4, sums);
    };
    const bool hidden = pair(next_[0], ops::mulOp, [&](ValueId a, ValueId b) {
      return gate(a, ops::sigmoidOp, 1) && inside(b, ops::tanhOp) == next_[1];
    });
    const bool inner = pair(next_[1], ops::addOp, [&](ValueId kept, ValueId fresh) {
      return pair(
                 kept, ops::mulOp,
                 [&](ValueId a, ValueId b) { return gate(a, ops::sigmoidOp, 2) && b == body_.stateOf(1); }) &&
             pair(fresh, ops::mulOp, [&](ValueId a, ValueId b) {
               return gate(a, ops::sigmoidOp, 0) && gate(b, ops::tanhOp, 3);
             });
    });
    found_.cell = Cell::lstm;
    found_.inner = loop_.operands[3];
    return hidden && inner && isSum(sums);
  }

  // h = (1 - z) fresh + z h, of which `isCandidate` says what fresh is.
  template <typename Fits>
  bool isMixture(ValueId v, ValueId& update, const Fits& isCandidate) {
    return pair(v, ops::addOp, [&](ValueId fresh, ValueId kept) {
      if (!pair(kept, ops::mulOp, [&](ValueId z, ValueId h) {
            update = z;
            return h == body_.stateOf(0) && z != h;
          }))
        return false;
      return pair(fresh, ops::mulOp, [&](ValueId rest, ValueId candidate) {
        const Op* difference = body_.maker(rest, ops::subOp);
        return difference && isNumber(difference->operands[0], 1) && difference->operands[1] == update &&
               isCandidate(candidate);
      });
    });
  }

  bool isGru() {
    ValueId inputs = kNoValue, products = kNoValue;
    const auto gate = [&](ValueId v, size_t k) {
      return pair(inside(v, ops::sigmoidOp), ops::addOp,
                  [&](ValueId a, ValueId b) { return isPart(a, k, 3, inputs) && isPart(b, k, 3, products); });
    };
    ValueId update = kNoValue;
    const bool hidden = isMixture(next_[0], update, [&](ValueId candidate) {
      return pair(inside(candidate, ops::tanhOp), ops::addOp, [&](ValueId input, ValueId product) {
        return isPart(input, 2, 3, inputs) && pair(product, ops::mulOp, [&](ValueId reset, ValueId own) {
                 return isPart(own, 2, 3, products) && gate(reset, 1);
               });
      });
    });
    found_.cell = Cell::gru;
    return hidden && inputs != products && gate(update, 0) && isInput(inputs) && isBiased(products);
  }

  bool isGruResetFirst() {
    ValueId inputs = kNoValue, products = kNoValue;
    const auto gate = [&](ValueId v, size_t k) {
      return pair(inside(v, ops::sigmoidOp), ops::addOp,
                  [&](ValueId a, ValueId b) { return isPart(a, k, 3, inputs) && isPart(b, k, 2, products); });
    };
    const auto isReset = [&](ValueId v) {
      return pair(v, ops::mulOp,
                  [&](ValueId reset, ValueId h) { return h == body_.stateOf(0) && gate(reset, 1); });
    };
    ValueId update = kNoValue;
    Product second;
    const bool hidden = isMixture(next_[0], update, [&](ValueId candidate) {
      return pair(inside(candidate, ops::tanhOp), ops::addOp, [&](ValueId input, ValueId product) {
        return isPart(input, 2, 3, inputs) && isProductOf(product, isReset, second);
      });
    });
    if (!hidden || inputs == products || !gate(update, 0) || !isInput(inputs) || !isProduct(products))
      return false;
    found_.cell = Cell::gruResetFirst;
    found_.inner = second.weights;
    second_ = second;
    return second.dtype == product_.dtype && second.transposed == product_.transposed;
  }

  bool isPlain() {
    for (const Cell cell : {Cell::tanh, Cell::relu}) {
      const ValueId sum = inside(next_[0], cell == Cell::tanh ? ops::tanhOp : ops::reluOp);
      found_.cell = cell;
      if (sum != kNoValue && isSum(sum)) return true;
    }
    return false;
  }

  // Nothing is broadcast.
  bool sizesFit() {
    const std::optional<Dim> steps = body_.knownSize(loop_.operands[0]);
    const Type state = body_.typeOf(body_.stateOf(0));
    if (!steps || !state.isTensor() || state.rank() != 2 || state.dtype() != Dtype::f32 ||
        gatesType_.dtype() != Dtype::f32)
      return false;
    const Dim rows = state.dims()[0], units = state.dims()[1],
              columns = units * recurrence::gatesOf(found_.cell);
    return facts_.equalShapes(gatesType_.dims(), {*steps, rows, columns}, place_) &&
           equal(units, product_.units) &&
           equal(units * recurrence::productGatesOf(found_.cell), product_.columns) &&
           (!second_ || (equal(units, second_->units) && equal(units, second_->columns))) &&
           (!biasSize_ || equal(columns, *biasSize_)) && (!lengthsSize_ || equal(rows, *lengthsSize_)) &&
           (carried() < 2 || facts_.equalShapes(state.dims(), body_.typeOf(body_.stateOf(1)).dims(), place_));
  }

  const InferredModule& inferred_;
  const Op& loop_;
  const LoopBody body_;
  PathFacts& facts_;
  const PathFacts::Place place_;
  const Weights weights_;
  std::optional<bool> direction_;
  std::optional<Dim> biasSize_, lengthsSize_;
  ValueId next_[2] = {kNoValue, kNoValue};
  Type gatesType_;
  Product product_;
  std::optional<Product> second_;  // of a state that was reset
  RecurrentCell found_;
};

}  // namespace

std::string findRecurrentCell(const InferredModule& inferred, const Makers& outer, const Op& loop,
                              PathFacts& facts, PathFacts::Place place, RecurrentCell& found) {
  Matcher matcher(inferred, outer, loop, facts, place, Matcher::Weights::packed);
  std::string why = matcher.run();
  if (why.empty()) found = std::move(matcher.found());
  return why;
}

bool willBeRecurrentCell(const InferredModule& inferred, const Makers& outer, const Op& loop,
                         PathFacts& facts, PathFacts::Place place) {
  return Matcher(inferred, outer, loop, facts, place, Matcher::Weights::constant).run().empty();
}

}  // namespace dyn::passes
