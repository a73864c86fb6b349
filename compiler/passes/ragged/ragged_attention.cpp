#include "compiler/passes/ragged/ragged_attention.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/padding/masked_attention.h"

namespace dyn::passes {

namespace {

constexpr int kMostAttentionSteps = 16;

bool flag(const Op& op, const char* name) { return op.attributes.integer(name, 0) != 0; }

}  // namespace

RaggedAttentionSearch::RaggedAttentionSearch(const InferredModule& inferred, const RaggedRows& rows)
    : rows_(rows) {
  for (const Op* op : inferred.module.main()->ops)
    for (const ValueDef& r : op->results) makers_[r.id] = op;
}

const Op* RaggedAttentionSearch::maker(ValueId v) const {
  const auto found = makers_.find(v);
  return found == makers_.end() ? nullptr : found->second;
}

// Of a constant of one element.
std::optional<double> RaggedAttentionSearch::numberOf(ValueId v) const {
  const Op* op = maker(v);
  const HostTensor* tensor = op && op->def == &ops::constantOp ? op->attributes.tensor("value") : nullptr;
  if (!tensor || tensor->elementCount() != 1) return std::nullopt;
  return tensor->realAt(0);
}

// The axis from the end along which a value counts positions from 0: 1 for [len] and [1, len], 2 for [len,
// 1].
std::optional<int> RaggedAttentionSearch::axisOfRange(ValueId v, Dim length) const {
  const RowAxes axes = rows_.axesOf(v);
  if (axes.kind != RaggedKind::alone || axes.length != length) return std::nullopt;
  const Type type = rows_.typeOf(v);
  for (int axis = 0; axis < type.rank(); ++axis)
    if (axis != axes.position && !type.dims()[static_cast<size_t>(axis)].isConstant(1)) return std::nullopt;
  const Op* op = maker(v);
  for (int i = 0; op && i < kMostAttentionSteps && (op->def->traits.view || op->def == &ops::castOp); ++i)
    op = maker(op->operands[0]);
  if (!op || op->def != &ops::rangeOp) return std::nullopt;
  const Contents *start = rows_.contentsOf(op->operands[0]), *step = rows_.contentsOf(op->operands[2]);
  if (!start || !step || !(*start)[0].isConstant(0) || !(*step)[0].isConstant(1)) return std::nullopt;
  return type.rank() - axes.position;
}

// Does `seen` say of (query, key) that the key is not behind the query? `keysSeen` false: that it is.
bool RaggedAttentionSearch::isCausal(ValueId seen, RaggedAttention* site, bool* keysSeen) const {
  *keysSeen = true;
  const Op* op = maker(seen);
  for (int i = 0; op && i < kMostAttentionSteps && (op->def->traits.view || op->def == &ops::logical_notOp);
       ++i) {
    if (op->def == &ops::logical_notOp) *keysSeen = !*keysSeen;
    const Type from = rows_.typeOf(op->operands[0]), to = op->results[0].type;
    // Axes of size 1 before the last two may come and go.
    if (from.rank() < 2 || to.rank() < 2 || rows_.axesOf(from).kind != RaggedKind::other) return false;
    for (size_t behind = 1; behind <= 2; ++behind)
      if (from.dims()[from.dims().size() - behind] != to.dims()[to.dims().size() - behind]) return false;
    site->steps.push_back(op);
    op = maker(op->operands[0]);
  }
  if (!op || op->operands.size() != 2) return false;
  site->steps.push_back(op);
  const auto left = axisOfRange(op->operands[0], site->length),
             right = axisOfRange(op->operands[1], site->length);
  if (!left || !right || *left + *right != 3) return false;
  const bool keyFirst = *left == 1;
  if (op->def == (keyFirst ? &ops::less_equalOp : &ops::greater_equalOp)) return true;
  *keysSeen = !*keysSeen;
  return op->def == (keyFirst ? &ops::greaterOp : &ops::lessOp);
}

// Takes one step from probabilities back to the first product.
bool RaggedAttentionSearch::stepBack(const Op& op, RaggedAttention* site, ValueId* scores) const {
  if (op.def == &ops::mulOp || op.def == &ops::divOp) {
    const std::optional<double> right = numberOf(op.operands[1]);
    const std::optional<double> left = op.def == &ops::mulOp ? numberOf(op.operands[0]) : std::nullopt;
    if (!left && !right) return false;
    *scores = right ? op.operands[0] : op.operands[1];
    site->scale *= op.def == &ops::divOp ? 1 / *right : right ? *right : *left;
    return true;
  }
  // What hides keys is said of scores that are scaled already.
  return site->scale == 1 && stepOverMask(op, site, scores);
}

// (b, 1.., len[b]): the same for all queries.
bool RaggedAttentionSearch::isOfKeys(ValueId v, int rank, Dim length, Dtype dtype) const {
  const RowAxes axes = rows_.axesOf(v);
  const Type type = rows_.typeOf(v);
  if (axes.kind != RaggedKind::rows || axes.length != length || type.rank() != rank ||
      type.dtype() != dtype || axes.batch != 0 || axes.position != rank - 1)
    return false;
  return std::all_of(type.dims().begin() + 1, type.dims().end() - 1, [](Dim d) { return d.isConstant(1); });
}

// One of: keys behind the query, keys that a mask leaves out (also of what is biased), a bias. Keys that two
// of them hide would count in other ways than in packed attention.
bool RaggedAttentionSearch::stepOverMask(const Op& op, RaggedAttention* site, ValueId* scores) const {
  const int rank = op.results[0].type.rank();
  if (op.def == &ops::addOp && !site->causal && site->bias == kNoValue)
    for (const size_t i : {size_t{0}, size_t{1}})
      if (isOfKeys(op.operands[i], rank, site->length, Dtype::f32)) {
        site->bias = op.operands[i];
        *scores = op.operands[1 - i];
        return true;
      }
  if (op.def != &ops::whereOp || site->causal || site->allowed != kNoValue || site->bias != kNoValue)
    return false;
  bool keysSeen = true;
  const bool ofKeys = isOfKeys(op.operands[0], rank, site->length, Dtype::boolean);
  if (ofKeys)
    keysSeen = numberOf(op.operands[2]).has_value();
  else if (!isCausal(op.operands[0], site, &keysSeen))
    return false;
  const std::optional<double> fill = numberOf(op.operands[keysSeen ? 2 : 1]);
  if (!fill || (!ofKeys && *fill > kMaskedBias)) return false;
  if (ofKeys) {
    site->allowed = op.operands[0];
    site->allowedIsNot = !keysSeen;
    site->fill = *fill;
  } else {
    site->causal = true;
  }
  *scores = op.operands[keysSeen ? 1 : 2];
  return true;
}

std::optional<RaggedAttention> RaggedAttentionSearch::of(const Op& product) const {
  if (product.def != &ops::matmulOp || flag(product, "transpose_a") || flag(product, "transpose_b"))
    return std::nullopt;
  RaggedAttention site;
  const Op* softmax = maker(product.operands[0]);
  const RowAxes values = rows_.axesOf(product.operands[1]);
  if (!softmax || softmax->def != &ops::softmaxOp || values.kind != RaggedKind::rows) return std::nullopt;
  const Type type = softmax->results[0].type;
  const int64_t axis = softmax->attributes.integer("axis", -1);
  if (type.rank() < 3 || type.rank() > 4 || (axis != -1 && axis != type.rank() - 1)) return std::nullopt;
  site.v = product.operands[1];
  site.length = values.length;
  ValueId scores = softmax->operands[0];
  site.steps.push_back(softmax);
  for (int i = 0; i < kMostAttentionSteps; ++i) {
    const Op* op = maker(scores);
    if (!op) return std::nullopt;
    site.steps.push_back(op);
    if (op->def == &ops::matmulOp) {
      if (flag(*op, "transpose_a")) return std::nullopt;
      site.q = op->operands[0];
      site.k = op->operands[1];
      site.transposedK = flag(*op, "transpose_b");
      break;
    }
    if (!stepBack(*op, &site, &scores)) return std::nullopt;
  }
  if (site.q == kNoValue) return std::nullopt;
  site.queries = rows_.axesOf(site.q).length;
  if (site.causal && site.queries != site.length) return std::nullopt;
  const auto fits = [&](ValueId v, Dim length, int positionFromEnd) {
    const RowAxes axes = rows_.axesOf(v);
    return axes.kind == RaggedKind::rows && axes.length == length && axes.batch == 0 &&
           axes.position == type.rank() - positionFromEnd && rows_.typeOf(v).rank() == type.rank() &&
           rows_.typeOf(v).dtype() == Dtype::f32;
  };
  if (!fits(site.q, site.queries, 2) || !fits(site.k, site.length, site.transposedK ? 2 : 1) ||
      !fits(site.v, site.length, 2))
    return std::nullopt;
  return site;
}

}  // namespace dyn::passes
