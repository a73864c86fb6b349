// Zeros that are put around an image for convolutions alone become the pads of these convolutions.
//   requires: types.  provides: no pad of zeros stands between an image and convolutions that can do it by themselves.
//   before  %p = pad(%x, [0, 0, 0, 0, 0, 0, 1, 1])  %y = conv(%p, %w) {strides = [2, 2]}
//   after   %y = conv(%x, %w) {pads = [0, 0, 1, 1], strides = [2, 2]}
//   before  %p = pad(%x, [0, 0, 0, 0, 0, 0, mod(h, 2), 0])  %y = conv(%p, %w)
//   after   %y = conv(%x, %w) {padding = dims(0, 0, mod(h, 2), 0)}
// So TensorFlow's padding comes out of exporters, which depends on the image's size, and that of frameworks
// whose convolutions pad all sides alike. Amounts may be less than 0, as what is computed may be: then a
// convolution that has no pads there passes over the outermost places. Weights must be finite numbers: 0
// times another would be none. A pad by nothing goes, whoever reads it.
// Cost in IR size: none. Without it, an image is copied for its margin, by itself or behind an elementwise
// operation that could have gone into the convolution before it.
#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/dims/ragged_dim.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/window_rules.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

// What is put around a value: [begin..., end...], of all its axes.
struct Margin {
  ValueId image = kNoValue;
  Shape amounts;
  bool isNothing() const {
    return std::all_of(amounts.begin(), amounts.end(), [](Dim d) { return d.isConstant(0); });
  }
};

// Of constants; more than an image can be long is left to `pad`.
constexpr int64_t kMost = 1 << 30;

bool hasFiniteValues(const HostTensor& weights) {
  if (!isReal(weights.dtype())) return isInteger(weights.dtype());
  for (int64_t i = 0; i < weights.elementCount(); ++i)
    if (!std::isfinite(weights.realAt(i))) return false;
  return true;
}

class PadFinder {
 public:
  PadFinder(const InferredModule& inferred)
      : ir_(*inferred.module.context), contents_(inferred.contents), uses_(inferred.module) {}

  Result<const Function*> run(const Function& function) {
    types_.clear();
    constants_.clear();
    fromOutside_.clear();
    for (const Parameter& p : function.parameters) {
      types_[p.id] = p.type;
      for (SymbolId s : symbolsOf(p.type)) fromOutside_.insert(s);
    }
    std::unordered_map<ValueId, Margin> margins;
    ValueMap replaced;
    Function result = function;
    for (size_t i = 0; i < result.ops.size(); ++i) {
      const Op& op = *result.ops[i];
      for (const ValueDef& r : op.results) types_[r.id] = r.type;
      if (op.def == &ops::constantOp) constants_[op.results[0].id] = &op;
      if (op.def == &ops::padOp) {
        std::optional<Margin> margin = marginOf(op);
        if (margin && margin->isNothing() && op.results[0].type == types_.at(margin->image)) {
          replaced[op.results[0].id] = margin->image;
          ++nothing_;
        } else if (margin && isZeros(op, *margin) && isForConvolutions(op.results[0].id, *margin)) {
          margins.emplace(op.results[0].id, std::move(*margin));
          ++taken_;
        }
      } else if (op.def == &ops::convOp) {
        if (const auto margin = margins.find(op.operands[0]); margin != margins.end())
          result.ops[i] = padded(op, margin->second);
      }
    }
    if (margins.empty() && replaced.empty()) return &function;
    std::erase_if(result.ops, [&](const Op* op) {
      return op->def == &ops::padOp &&
             (margins.count(op->results[0].id) != 0 || replaced.count(op->results[0].id) != 0);
    });
    return replaceValues(ir_, *ir_.own(std::move(result)), replaced);
  }

  int64_t taken_ = 0, nothing_ = 0;

 private:
  const HostTensor* constantOf(ValueId v) const {
    const auto found = constants_.find(v);
    return found == constants_.end() ? nullptr : found->second->attributes.tensor("value");
  }

  // Nothing where an amount is not known.
  std::optional<Margin> marginOf(const Op& pad) const {
    const Type image = types_.at(pad.operands[0]);
    const auto amounts = contents_.find(pad.operands[1]);
    if (!image.isTensor() || amounts == contents_.end()) return std::nullopt;
    const size_t rank = static_cast<size_t>(image.rank());
    std::vector<int64_t> axes;
    if (pad.operands.size() > 3 && pad.operands[3] != kNoValue) {
      const HostTensor* given = constantOf(pad.operands[3]);
      if (!given) return std::nullopt;
      for (int64_t i = 0; i < given->elementCount(); ++i)
        axes.push_back(given->intAt(i) + (given->intAt(i) < 0 ? image.rank() : 0));
    } else {
      for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    }
    if (amounts->second.size() != 2 * axes.size()) return std::nullopt;
    Margin margin{pad.operands[0], Shape(2 * rank, ir_.dims().constant(0))};
    for (size_t k = 0; k < axes.size(); ++k)
      for (size_t side : {size_t{0}, size_t{1}}) {
        const Dim amount = amounts->second[side * axes.size() + k];
        if (!amount || amount.isInvalid()) return std::nullopt;
        margin.amounts[side * rank + static_cast<size_t>(axes[k])] = amount;
      }
    return margin;
  }

  // Zeros around the places of an image, of amounts that are there where a convolution runs.
  bool isZeros(const Op& pad, const Margin& margin) const {
    if (pad.attributes.string("mode", "constant") != "constant") return false;
    if (pad.operands.size() > 2 && pad.operands[2] != kNoValue) {
      const HostTensor* value = constantOf(pad.operands[2]);
      if (!value || value->elementCount() != 1 ||
          (isReal(value->dtype()) ? value->realAt(0) != 0
                                  : !isInteger(value->dtype()) || value->intAt(0) != 0))
        return false;
    }
    const Shape& image = types_.at(margin.image).dims();
    const size_t rank = image.size();
    if (rank < 3 || isRagged(image)) return false;
    std::set<SymbolId> known = fromOutside_;
    for (const Type type : {types_.at(margin.image), pad.results[0].type})
      for (SymbolId s : symbolsOf(type)) known.insert(s);
    for (size_t i = 0; i < 2 * rank; ++i) {
      const Dim amount = margin.amounts[i];
      if (amount.isConstant(0)) continue;
      const int64_t number = amount.isConstant() ? *amount.constant() : 0;
      if (i % rank < 2 || number > kMost || number < -kMost) return false;
      for (SymbolId s : symbolsOf(amount))
        if (known.count(s) == 0) return false;
    }
    return true;
  }

  // Every reader is a convolution of the image by constant weights.
  bool isForConvolutions(ValueId padded, const Margin& margin) const {
    const std::span<const Use> uses = uses_.of(padded);
    return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return use.op && use.op->def == &ops::convOp && use.index == 0 && canPad(*use.op, margin);
    });
  }

  bool canPad(const Op& conv, const Margin& margin) const {
    const std::string mode = conv.attributes.string("auto_pad", "NOTSET");
    if ((mode != "NOTSET" && mode != "VALID") || conv.attributes.has("padding")) return false;
    // Where it pads already, what was cut off would be there again.
    const size_t rank = margin.amounts.size() / 2;
    const std::vector<int64_t> pads = conv.attributes.integers("pads");
    for (size_t i = 0; i < pads.size(); ++i) {
      const Dim amount = margin.amounts[i < rank - 2 ? i + 2 : i + 4];
      if (pads[i] != 0 && !(amount.isConstant() && *amount.constant() >= 0)) return false;
    }
    const Definition& weights = uses_.definition(conv.operands[1]);
    const HostTensor* value =
        weights.op && weights.op->def == &ops::constantOp ? weights.op->attributes.tensor("value") : nullptr;
    return value && hasFiniteValues(*value);
  }

  const Op* padded(const Op& conv, const Margin& margin) const {
    const size_t rank = margin.amounts.size() / 2, spatial = rank - 2;
    std::vector<int64_t> pads = conv.attributes.integers("pads");
    pads.resize(2 * spatial, 0);
    Shape padding(2 * spatial, ir_.dims().constant(0));
    bool isComputed = false;
    for (size_t side : {size_t{0}, size_t{1}})
      for (size_t axis = 0; axis < spatial; ++axis) {
        const Dim amount = margin.amounts[side * rank + 2 + axis];
        const size_t at = side * spatial + axis;
        if (amount.isConstant() && *amount.constant() >= 0) {
          pads[at] += *amount.constant();
        } else {
          padding[at] = amount;
          isComputed = true;
        }
      }
    Op own = conv;
    own.operands[0] = margin.image;
    own.attributes.erase("auto_pad");
    own.attributes.set("pads", pads);
    if (isComputed) own.attributes.set("padding", padding);
    return ir_.own(std::move(own));
  }

  IrContext& ir_;
  const std::unordered_map<ValueId, Contents>& contents_;
  const Uses uses_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> constants_;
  std::set<SymbolId> fromOutside_;
};

Result<Module> runFoldPads(const Module& module, PassContext& context) {
  bool any = false;
  forEachOp(module, [&](const Function&, const Op& op) { any = any || op.def == &ops::padOp; });
  if (!any) return module;
  DYN_TRY(InferredModule inferred, inferTypes(module));
  PadFinder finder(inferred);
  // Values do not cross functions, and only operations with bodies are remade on the way: what the uses say
  // of a pad and its convolutions still holds.
  DYN_TRY(Module result,
          rewriteFunctions(inferred.module, [&](const Function& function) { return finder.run(function); }));
  context.counters["pads_of_convolutions"] = finder.taken_;
  context.counters["pads_by_nothing"] = finder.nothing_;
  return finder.taken_ + finder.nothing_ > 0 ? result : module;
}

}  // namespace

PassDef fold_padsPass() {
  return {.name = "fold_pads",
          .summary = "folds zero padding around images into the convolutions",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runFoldPads};
}

}  // namespace dyn::passes
