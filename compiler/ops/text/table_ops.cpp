// Operators with a table among their attributes: lookup of single elements, tfidf of n-grams.
#include <algorithm>
#include <cmath>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/packed_numbers.h"
#include "compiler/ops/rules/strided_walk.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

namespace {

// --- lookup

constexpr AttributeSpec kLookupAttributes[] = {
    {"keys", AttributeKind::tensor, true, "[k] distinct, of the operand's element type",
     Allowed::byRule("a vector of distinct elements")},
    {"values", AttributeKind::tensor, true, "[k], one for each key", Allowed::byRule("one for each key")},
    {"default", AttributeKind::tensor, true, "the value of what is not a key, of one element",
     Allowed::byRule("one element")},
};

Status inferLookup(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  const HostTensor *keys = c.attributes().tensor("keys"), *values = c.attributes().tensor("values"),
                   *otherwise = c.attributes().tensor("default");
  if (!keys || !values || !otherwise || keys->elementCount() != values->elementCount() ||
      otherwise->elementCount() != 1 || otherwise->dtype() != values->dtype())
    return c.error(DiagnosticId::badAttribute,
                   "there is one value for each key, and one default of their type");
  if (keys->dtype() != x.dtype)
    return c.error(DiagnosticId::dtypeMismatch,
                   "keys of " + std::string(toString(keys->dtype())) + " for " + x.type.toString());
  setTensor(c, x.dims, values->dtype());
  return {};
}

bool sameElement(const HostTensor& a, int64_t i, const HostTensor& b, int64_t j) {
  if (a.dtype() == Dtype::string)
    return a.stringValues()[static_cast<size_t>(i)] == b.stringValues()[static_cast<size_t>(j)];
  if (!isReal(a.dtype())) return a.intAt(i) == b.intAt(j);
  return a.realAt(i) == b.realAt(j) || (std::isnan(a.realAt(i)) && std::isnan(b.realAt(j)));
}

Status evaluateLookup(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const HostTensor &keys = *c.attributes().tensor("keys"), &values = *c.attributes().tensor("values"),
                   &otherwise = *c.attributes().tensor("default");
  DYN_TRY(HostTensor result, newTensor(values.dtype(), x.shape()));
  const ElementCopier fromTable(result, values), fromDefault(result, otherwise);
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    int64_t place = 0;
    while (place < keys.elementCount() && !sameElement(x, i, keys, place)) ++place;
    if (place < keys.elementCount()) {
      fromTable.copy(i, place);
    } else {
      fromDefault.copy(i, 0);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillLookup(const BuiltinRequest& request, CallFields<calls::Lookup>& call) {
  const Attributes& attributes = request.op.attributes;
  call.numbers.keys = packedTensor(*attributes.tensor("keys"));
  call.numbers.values = packedTensor(*attributes.tensor("values"));
  call.numbers.otherwise = packedTensor(*attributes.tensor("default"));
  return {};
}

// --- tfidf

constexpr AttributeSpec kTfidfAttributes[] = {
    {"mode", AttributeKind::string, true,
     "tf: counts; idf: the weight where there is one; tfidf: count by weight",
     Allowed::oneOf("tf idf tfidf")},
    {"min_gram_length", AttributeKind::integer, true, "elements of the shortest n-gram", Allowed::atLeast(1)},
    {"max_gram_length", AttributeKind::integer, true, "elements of the longest",
     Allowed::byRule("at least min_gram_length")},
    {"max_skip_count", AttributeKind::integer, true, "elements left out between two of an n-gram, at most",
     Allowed::atLeast(0)},
    {"ngram_counts", AttributeKind::integers, true,
     "where in the pool the n-grams of 1, 2, ... elements begin",
     Allowed::byRule("ascending places of the pool")},
    {"ngram_indexes", AttributeKind::integers, true, "the place of each n-gram in the result",
     Allowed::atLeast(0)},
    {"pool", AttributeKind::tensor, true, "the n-grams, one behind the other: strings or i64",
     Allowed::byRule("a vector of the n-grams")},
    {"weights", AttributeKind::reals, false, "of each place of the result; default 1",
     Allowed::byRule("one for each n-gram")},
};

enum class TfidfMode : int32_t {
  counts = DYN_TFIDF_COUNTS,
  weights = DYN_TFIDF_WEIGHTS,
  weightedCounts = DYN_TFIDF_WEIGHTED_COUNTS
};

// One n-gram of the pool.
struct Gram {
  int64_t begin = 0, length = 0, place = 0;
};

struct TfidfTable {
  TfidfMode mode = TfidfMode::counts;
  int64_t least = 1, most = 1, skips = 0, size = 0;
  std::vector<Gram> grams;
};

Result<TfidfTable> tfidfTable(const Op& op) {
  TfidfTable table;
  const auto bad = [&](std::string message) {
    return makeError(DiagnosticId::badAttribute, "tfidf: " + std::move(message), op.place);
  };
  const std::string mode = op.attributes.string("mode");
  if (mode != "tf" && mode != "idf" && mode != "tfidf")
    return bad("mode \"" + mode + "\" is unknown: it is tf, idf or tfidf");
  table.mode = mode == "tf"    ? TfidfMode::counts
               : mode == "idf" ? TfidfMode::weights
                               : TfidfMode::weightedCounts;
  table.least = op.attributes.integer("min_gram_length");
  table.most = op.attributes.integer("max_gram_length");
  table.skips = op.attributes.integer("max_skip_count");
  if (table.least < 1 || table.most < table.least || table.most > INT32_MAX || table.skips < 0 ||
      table.skips > INT32_MAX)
    return bad("the lengths of n-grams or max_skip_count are out of range");
  const HostTensor* pool = op.attributes.tensor("pool");
  const std::vector<int64_t> begins = op.attributes.integers("ngram_counts"),
                             places = op.attributes.integers("ngram_indexes");
  if (!pool || (pool->dtype() != Dtype::string && pool->dtype() != Dtype::i64))
    return bad("the pool holds strings or i64");
  size_t next = 0;
  for (size_t k = 0; k < begins.size(); ++k) {
    const int64_t length = static_cast<int64_t>(k) + 1,
                  end = k + 1 < begins.size() ? begins[k + 1] : pool->elementCount();
    if (begins[k] < 0 || end < begins[k] || end > pool->elementCount() || (end - begins[k]) % length != 0)
      return bad("ngram_counts do not fit the pool");
    for (int64_t begin = begins[k]; begin < end; begin += length) {
      if (next == places.size()) return bad("there are fewer ngram_indexes than n-grams");
      table.grams.push_back({begin, length, places[next++]});
    }
  }
  for (int64_t place : places) {
    if (place < 0 || place > INT32_MAX) return bad("an ngram_index is out of range");
    table.size = std::max(table.size, place + 1);
  }
  const size_t weights = op.attributes.reals("weights").size();
  if (weights != 0 && static_cast<int64_t>(weights) < table.size) return bad("there are too few weights");
  return table;
}

Status inferTfidf(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TfidfTable table, tfidfTable(c.op()));
  const bool strings = c.attributes().tensor("pool")->dtype() == Dtype::string;
  if (strings != (x.dtype == Dtype::string) || (!strings && x.dtype != Dtype::i64 && x.dtype != Dtype::i32))
    return c.error(DiagnosticId::dtypeMismatch,
                   "the operand is not of the pool's type: " + x.type.toString());
  if (x.rank() > 2)
    return c.error(DiagnosticId::rankMismatch, "the operand is [m] or [b, m], it is " + x.type.toString());
  Shape shape(x.dims.begin(), x.dims.begin() + (x.rank() == 2 ? 1 : 0));
  shape.push_back(constantDim(c, table.size));
  setTensor(c, shape, Dtype::f32);
  return {};
}

// Elements whose distance is at most max_skip_count + 1 make an n-gram, all distances in it being equal.
Status evaluateTfidf(EvalContext& c) {
  const HostTensor &x = c.operand(0), &pool = *c.attributes().tensor("pool");
  DYN_TRY(TfidfTable table, tfidfTable(c.op()));
  const std::vector<double> weights = c.attributes().reals("weights");
  const int64_t length = x.rank() == 0 ? 1 : x.shape().back(), rows = x.rank() == 2 ? x.shape()[0] : 1;
  std::vector<int64_t> shape(x.shape().begin(), x.shape().begin() + (x.rank() == 2 ? 1 : 0));
  shape.push_back(table.size);
  DYN_TRY(HostTensor result, newTensor(Dtype::f32, shape));
  for (int64_t row = 0; row < rows; ++row) {
    for (const Gram& gram : table.grams) {
      if (gram.length < table.least || gram.length > table.most) continue;
      int64_t count = 0;
      for (int64_t step = 1; step <= (gram.length == 1 ? 1 : table.skips + 1); ++step) {
        for (int64_t start = 0; start + (gram.length - 1) * step < length; ++start) {
          bool same = true;
          for (int64_t k = 0; k < gram.length && same; ++k)
            same = sameElement(x, row * length + start + k * step, pool, gram.begin + k);
          count += same;
        }
      }
      if (count == 0) continue;
      const double weight =
          weights.empty() || table.mode == TfidfMode::counts ? 1 : weights[static_cast<size_t>(gram.place)];
      const int64_t to = row * table.size + gram.place;
      result.setReal(to, table.mode == TfidfMode::weights
                             ? weight
                             : result.realAt(to) + weight * static_cast<double>(count));
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillTfidf(const BuiltinRequest& request, CallFields<calls::Tfidf>& call) {
  const Attributes& attributes = request.op.attributes;
  DYN_TRY(TfidfTable table, tfidfTable(request.op));
  auto& n = call.numbers;
  n.mode = static_cast<int32_t>(table.mode);
  n.leastLength = static_cast<int32_t>(table.least);
  n.mostLength = static_cast<int32_t>(table.most);
  n.mostSkips = static_cast<int32_t>(table.skips);
  n.begins = packedTensor(HostTensor::vectorInt(Dtype::i64, attributes.integers("ngram_counts")));
  n.places = packedTensor(HostTensor::vectorInt(Dtype::i64, attributes.integers("ngram_indexes")));
  n.pool = packedTensor(*attributes.tensor("pool"));
  n.weights = packedTensor(HostTensor::vectorReal(Dtype::f32, attributes.reals("weights")));
  return {};
}

}  // namespace

namespace ops {

const OpDef lookupOp{
    .name = "lookup",
    .summary = "each element's value in a table",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kLookupAttributes,
    .infer = inferLookup,
    .evaluate = evaluateLookup,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Lookup, fillLookup>,
    .operandRules = kAnyElements,
    .doc = "[...] -> [...] of the values' type; a NaN finds a NaN",
    .example =
        "fn @main(%x: Tensor[(n), i64]) "
        "{ %y = lookup(%x) {keys = i64[2] [1, 2], values = f32[2] [0.5, 1.5], default = f32[] -1.0} return "
        "%y }",
};

const OpDef tfidfOp{
    .name = "tfidf",
    .summary = "how often the n-grams of a pool occur, weighted",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kTfidfAttributes,
    .infer = inferTfidf,
    .evaluate = evaluateTfidf,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Tfidf, fillTfidf>,
    .operandRules = kAnyElements,
    .doc =
        "[m] or [b, m] of strings, i64 or i32 -> [s] or [b, s] f32, s one more than the largest of "
        "ngram_indexes",
    .example =
        "fn @main(%x: Tensor[(n), i64]) { %y = tfidf(%x) {mode = \"tf\", min_gram_length = 1, "
        "max_gram_length = 2, "
        "max_skip_count = 0, ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool = i64[4] [5, 6, 5, 6]} "
        "return %y }",
};

}  // namespace ops
}  // namespace dyn
