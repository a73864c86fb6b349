// Attention within runs of positions that lie behind each other, without any padding between them: what pass
// `pack_sequences` makes of attention under a mask.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {
namespace {

constexpr AttributeSpec kPackedAttentionAttributes[] = {
    {"scale", AttributeKind::real, false, "of the products of q and k; default 1", Allowed::any()},
    {"fill", AttributeKind::real, false, "the score of a key that is not allowed; default -inf",
     Allowed::any()},
    {"nan_as_zero", AttributeKind::integer, false,
     "1: a probability that is not a number is 0, as where a query has no key at all; default 0",
     Allowed::flag()},
    {"causal", AttributeKind::integer, false,
     "1: a query sees no keys behind it, whatever their scores; default 0", Allowed::flag()},
};

constexpr OperandRule kOperandRules[] = {
    {3, ElementsAre::byKernel, "lengths of at least 0 that sum up to the number of positions"},
    {7, ElementsAre::byKernel, "places of at least 0 within the table"},
};

constexpr double kNoScore = -std::numeric_limits<double>::infinity();

Status inferPackedAttention(InferContext& c) {
  DYN_TRY(TensorOperand q, tensorOperand(c, 0, 4));
  DYN_TRY(TensorOperand k, tensorOperand(c, 1, 4));
  DYN_TRY(TensorOperand v, tensorOperand(c, 2, 4));
  DYN_TRY(TensorOperand lengths, tensorOperand(c, 3));
  const bool apart = lengths.rank() == 2;
  if (!apart && lengths.rank() != 1)
    return c.error(DiagnosticId::badOperands, "lengths of runs are a vector, or two: of queries and of keys");
  DYN_CHECK(requireDtype(c, q, Dtype::f32, "the queries"));
  DYN_CHECK(requireDtype(c, k, Dtype::f32, "the keys"));
  DYN_CHECK(requireDtype(c, v, Dtype::f32, "the values"));
  DYN_CHECK(requireDtype(c, lengths, Dtype::i64, "the lengths of the runs"));
  const Dim one = constantDim(c, 1), heads = q.dims[1], positions = q.dims[2], keys = v.dims[2];
  if (apart) {
    DYN_CHECK(c.requireEqual(lengths.dims[0], constantDim(c, 2), "lengths of queries and of keys"));
    if (c.hasOperand(6) || c.attributes().integer("causal", 0) != 0)
      return c.error(DiagnosticId::badOperands,
                     "a table and a causal mask need queries and keys of the same runs");
  } else {
    DYN_CHECK(c.requireEqual(keys, positions, "positions of values"));
  }
  for (const TensorOperand* operand : {&q, &k, &v}) {
    DYN_CHECK(c.requireEqual(operand->dims[0], one, "the first axis of packed positions"));
    DYN_CHECK(c.requireEqual(operand->dims[1], heads, "heads of attention"));
  }
  DYN_CHECK(c.requireEqual(k.dims[2], q.dims[3], "elements of queries and keys"));
  DYN_CHECK(c.requireEqual(k.dims[3], keys, "positions of keys"));
  if (c.hasOperand(4)) {
    DYN_TRY(TensorOperand bias, tensorOperand(c, 4, 1));
    DYN_CHECK(requireDtype(c, bias, Dtype::f32, "the bias of the keys"));
    DYN_CHECK(c.requireEqual(bias.dims[0], keys, "the bias, an element for each position of the keys"));
  }
  if (c.hasOperand(5)) {
    DYN_TRY(TensorOperand allowed, tensorOperand(c, 5, 1));
    DYN_CHECK(requireDtype(c, allowed, Dtype::boolean, "which keys are allowed"));
    DYN_CHECK(c.requireEqual(allowed.dims[0], keys, "which keys are allowed, of each position"));
  }
  if (c.hasOperand(6) != c.hasOperand(7))
    return c.error(DiagnosticId::badOperands, "a table and the positions in it stand together");
  if (c.hasOperand(6)) {
    DYN_TRY(TensorOperand table, tensorOperand(c, 6));
    const bool ofRuns = table.rank() == 4;
    if (!ofRuns && table.rank() != 3)
      return c.error(DiagnosticId::badOperands,
                     "a table of biases has three axes, or four: one more of runs");
    DYN_CHECK(requireDtype(c, table, Dtype::f32, "the table of biases"));
    if (ofRuns) DYN_CHECK(c.requireEqual(table.dims[0], lengths.dims[0], "runs of the table of biases"));
    if (!table.dims[ofRuns].isConstant(1))
      DYN_CHECK(c.requireEqual(table.dims[ofRuns], heads, "heads of the table of biases"));
    DYN_TRY(TensorOperand places, tensorOperand(c, 7, 1));
    DYN_CHECK(requireDtype(c, places, Dtype::i64, "the places in the table"));
    DYN_CHECK(c.requireEqual(places.dims[0], positions, "the places in the table, of each position"));
  }
  setTensor(c, {one, positions, heads, v.dims[3]}, Dtype::f32);
  return {};
}

// One query of one head over the keys of its run.
class Query {
 public:
  explicit Query(const EvalContext& c)
      : c_(c),
        q_(c.operand(0).as<float>()),
        k_(c.operand(1).as<float>()),
        v_(c.operand(2).as<float>()),
        positions_(c.operand(0).shape()[2]),
        keys_(c.operand(2).shape()[2]),
        depth_(c.operand(0).shape()[3]),
        width_(c.operand(2).shape()[3]),
        scale_(c.attributes().real("scale", 1)),
        fill_(c.attributes().real("fill", kNoScore)),
        nanAsZero_(c.attributes().integer("nan_as_zero", 0) != 0),
        causal_(c.attributes().integer("causal", 0) != 0) {}

  // Of a table: is each place of the positions in it?
  bool placesFit() const {
    for (int64_t i = 0; c_.hasOperand(6) && i < positions_; ++i)
      for (const size_t behind : {size_t{2}, size_t{1}}) {
        const std::vector<int64_t>& shape = c_.operand(6).shape();
        const int64_t place = c_.operand(7).intAt(i), size = shape[shape.size() - behind];
        if (place < 0 || (size != 1 && place >= size)) return false;
      }
    return true;
  }

  void probabilities(int64_t run, int64_t head, int64_t position, int64_t begin, int64_t length) {
    row_.resize(static_cast<size_t>(length));
    double peak = kNoScore, sum = 0;
    for (int64_t j = 0; j < length; ++j) {
      const double score = scoreOf(run, head, position, begin + j);
      row_[static_cast<size_t>(j)] = score;
      peak = std::isnan(score) ? score : score > peak ? score : peak;
    }
    for (double score : row_) sum += std::exp(score - peak);
    for (double& score : row_) {
      score = std::exp(score - peak) / sum;
      if (nanAsZero_ && std::isnan(score)) score = 0;
    }
  }

  double weighted(int64_t head, int64_t begin, int64_t column) const {
    double sum = 0;
    for (size_t j = 0; j < row_.size(); ++j)
      sum += row_[j] *
             static_cast<double>(v_[(head * keys_ + begin + static_cast<int64_t>(j)) * width_ + column]);
    return sum;
  }

 private:
  double scoreOf(int64_t run, int64_t head, int64_t position, int64_t key) const {
    if (causal_ && key > position) return kNoScore;
    if (c_.hasOperand(5) && c_.operand(5).intAt(key) == 0) return fill_;
    double sum = 0;
    for (int64_t d = 0; d < depth_; ++d)
      sum += static_cast<double>(q_[(head * positions_ + position) * depth_ + d]) *
             static_cast<double>(k_[(head * depth_ + d) * keys_ + key]);
    // Rounded as the steps one by one: a large bias leaves few digits of a score.
    auto scaled = static_cast<float>(scale_ * sum);
    if (c_.hasOperand(6)) scaled += tableAt(run, head, position, key);
    return static_cast<double>(c_.hasOperand(4) ? scaled + static_cast<float>(c_.operand(4).realAt(key))
                                                : scaled);
  }

  float tableAt(int64_t run, int64_t head, int64_t position, int64_t key) const {
    const HostTensor& table = c_.operand(6);
    const size_t first = table.shape().size() - 3;  // 1 where each run has its own
    const auto size = [&](size_t axis) { return table.shape()[first + axis]; };
    const auto along = [&](size_t axis, int64_t index) { return size(axis) == 1 ? 0 : index; };
    const int64_t matrix = (first == 1 ? run * size(0) : 0) + along(0, head);
    const int64_t row = matrix * size(1) + along(1, c_.operand(7).intAt(position));
    return static_cast<float>(table.realAt(row * size(2) + along(2, c_.operand(7).intAt(key))));
  }

  const EvalContext& c_;
  const float *q_, *k_, *v_;
  int64_t positions_, keys_, depth_, width_;
  double scale_, fill_;
  bool nanAsZero_, causal_;
  std::vector<double> row_;
};

// Do the lengths from `first` on sum up to the positions?
Status checkRuns(EvalContext& c, int64_t first, int64_t runs, int64_t positions, const std::string& of) {
  int64_t begin = 0;
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t length = c.operand(3).intAt(first + run);
    if (length < 0 || length > positions - begin)
      return c.error(DiagnosticId::runtimeError, "run " + std::to_string(run) + of + " has " +
                                                     std::to_string(length) + " of " +
                                                     std::to_string(positions) + " positions");
    begin += length;
  }
  if (begin == positions) return {};
  return c.error(DiagnosticId::runtimeError, "the runs" + of + " have " + std::to_string(begin) + " of " +
                                                 std::to_string(positions) + " positions");
}

Status evaluatePackedAttention(EvalContext& c) {
  const HostTensor &q = c.operand(0), &v = c.operand(2), &lengths = c.operand(3);
  const int64_t heads = q.shape()[1], positions = q.shape()[2], width = v.shape()[3];
  DYN_TRY(HostTensor result, newTensor(Dtype::f32, {1, positions, heads, width}));
  Query query(c);
  if (!query.placesFit())
    return c.error(DiagnosticId::runtimeError, "a position has no place in the table of biases");
  const bool apart = lengths.shape().size() == 2;
  const int64_t runs = lengths.shape().back();
  DYN_CHECK(checkRuns(c, 0, runs, positions, ""));
  if (apart) DYN_CHECK(checkRuns(c, runs, runs, v.shape()[2], " of keys"));
  int64_t begin = 0, firstKey = 0;
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t length = lengths.intAt(run), keys = apart ? lengths.intAt(runs + run) : length;
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t head = 0; head < heads; ++head) {
        query.probabilities(run, head, i, firstKey, keys);
        for (int64_t e = 0; e < width; ++e)
          result.setReal((i * heads + head) * width + e, query.weighted(head, firstKey, e));
      }
    begin += length;
    firstKey += keys;
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillPackedAttention(const BuiltinRequest& request, CallFields<calls::PackedAttention>& call) {
  const Attributes& attributes = request.op.attributes;
  call.numbers.nanAsZero = attributes.integer("nan_as_zero", 0) != 0;
  call.numbers.causal = attributes.integer("causal", 0) != 0;
  call.numbers.scale = static_cast<float>(attributes.real("scale", 1));
  call.numbers.fill = static_cast<float>(attributes.real("fill", kNoScore));
  return {};
}

}  // namespace

namespace ops {

const OpDef packed_attentionOp{
    .name = "packed_attention",
    .summary = "attention within consecutive runs of positions, without padding",
    .cls = OpClass::opaque,
    .minOperands = 4,
    .maxOperands = 8,
    .attributes = kPackedAttentionAttributes,
    .infer = inferPackedAttention,
    .evaluate = evaluatePackedAttention,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::PackedAttention, fillPackedAttention>,
    .operandRules = kOperandRules,
    .doc =
        "q [1, h, n, d], k [1, h, d, n], v [1, h, n, e] f32, lengths i64 [m] of the runs, which sum up to n "
        "-> [1, n, h, e]; or keys and values of other positions, k [1, h, d, o], v [1, h, o, e], with "
        "lengths "
        "i64 [2, m] of the queries' runs and of the keys'. A query sees the keys of its own run: "
        "softmax(scale q k + bias) v. bias f32 [n] "
        "and "
        "allowed bool [n] are of the keys and may be left out; where allowed does not hold the score is "
        "`fill`. A table f32 [h or 1, s or 1, s or 1], or [m, h or 1, s or 1, s or 1] with one for each run, "
        "is added to the scores at the places i64 [n] of query and key.",
    .example =
        "fn @main(%q: Tensor[(1, 2, n, 4), f32], %k: Tensor[(1, 2, 4, n), f32], %v: Tensor[(1, 2, n, 4), "
        "f32], %l: Tensor[(m), i64]) { %y = packed_attention(%q, %k, %v, %l) {scale = 0.5} return %y }",
};

}  // namespace ops
}  // namespace dyn
