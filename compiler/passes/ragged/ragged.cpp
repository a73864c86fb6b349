// Ragged tensors as their rows: each sequence's behind those of the one before, without any padding.
//   requires: types.  provides: no type has a dim like `len[b]`.
//   before  fn @main(%x: Tensor[(b, len[b], 8), f32], %len: Tensor[(b), i64]) {
//             %y = layer_norm(matmul(%x, %w), ...)  return %y }
//   after   fn @main(%x: Tensor[(len.sum, 8), f32], %len: Tensor[(b), i64]) {
//             check_values(...)                                 no length is negative, their sum is len.sum
//             %x1 = reshape(%x)                                 (1, len.sum, 8)
//             %y1 = layer_norm(matmul(%x1, %w), ...)            the same operations over all rows
//             %y = reshape(%y1)  return %y }                    (len.sum, 8)
// What computes row by row stays as it is (ragged_rows.h proves it), with one long sequence instead of the
// batch; attention sees each sequence by itself (ragged_attention.h); an element for each sequence is taken
// for each of its rows; some operations that look across positions are made anew (ragged_across.h). What
// follows from the lengths is made once (ragged_prelude.h). Anything else is refused: `unsupported`, with the
// operation and what it reads. Of several batches, each with lengths of its own, one is laid out after the
// other: to it the lengths of others are sizes as any. Inputs and outputs are rows and lengths; a result with
// several axes of lengths, (b, len[b], more[b]), is its elements sequence by sequence. Cost in IR size: two
// operations for each ragged input and result, a prelude for each pattern of lengths, four operations for
// each reduction.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "compiler/ir/ragged_parameters.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/ragged/ragged_across.h"
#include "compiler/passes/ragged/ragged_apart.h"
#include "compiler/passes/ragged/ragged_attention.h"
#include "compiler/passes/ragged/ragged_calls.h"
#include "compiler/passes/ragged/ragged_recurrence.h"
#include "compiler/passes/ragged/ragged_regions.h"
#include "compiler/passes/ragged/ragged_windows.h"
#include "compiler/passes/rewrite/changed_main.h"

namespace dyn::passes {

namespace {

std::map<std::string, ValueId> parametersByName(const Module& module) {
  std::map<std::string, ValueId> byName;
  for (const Parameter& p : module.main()->parameters) byName[module.context->valueName(p.id)] = p.id;
  return byName;
}

// Operations that were refused where they run over all rows, and why.
using Refusals = std::unordered_map<const Op*, Error>;

std::unordered_set<const Op*> opsOf(const Refusals& refusals) {
  std::unordered_set<const Op*> ops;
  for (const auto& [op, why] : refusals) ops.insert(op);
  return ops;
}

class RaggedPacker {
 public:
  // `apart`: operations to be run for each sequence by itself.
  RaggedPacker(const InferredModule& inferred, Dim batch, const std::unordered_set<const Op*>& apart)
      : main_(*inferred.module.main()),
        ir_(*inferred.module.context),
        rows_(inferred, batch),
        attention_(inferred, rows_),
        maker_(ir_, ops_),
        prelude_(ir_, maker_, batch, parametersByName(inferred.module), inferred.module.main()->place),
        across_(ir_, rows_, maker_, prelude_, packed_),
        windows_(ir_, rows_, maker_, prelude_, packed_),
        recurrences_(inferred, rows_, maker_, prelude_, packed_, ops_),
        apart_(inferred, rows_, maker_, prelude_, packed_),
        regions_(rows_, neededOps({}), apart, [this](const Op& op) { return isSizes(op); }) {}

  // Of the operation that was refused, where it fails; null: no one's.
  const Op* refused() const { return refused_; }
  // Why the group of the refused operation can't run by sequence; "" where it did not try.
  const std::string& whyNotApart() const { return whyNotApart_; }

  Result<const Function*> run() {
    Function result = main_;
    DYN_CHECK(takeParameters(&result));
    findAttention();
    std::vector<const Op*> pending = neededOps(sites_);
    for (const Op* op : pending)
      if (!isSizes(*op))
        for (const ValueDef& r : op->results) open_.insert(r.id);
    // In their order, but a group, and who reads of it, where its last operation stands.
    while (!pending.empty()) {
      std::vector<const Op*> waiting;
      for (const Op* op : pending) {
        if (regions_.of(*op) && !regions_.isLast(*op)) continue;
        if (isReady(*op)) {
          DYN_CHECK(emitNow(*op));
        } else {
          waiting.push_back(op);
        }
      }
      if (waiting.size() == pending.size())
        return makeError(DiagnosticId::invalidIr, "groups of operations that wait for each other",
                         main_.place);
      pending = std::move(waiting);
    }
    maker_.standAt(main_.place);
    DYN_CHECK(giveResults(&result));
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  int64_t rowOps() const { return rowOps_; }
  int64_t attentions() const { return static_cast<int64_t>(sites_.size()); }
  int64_t recurrences() const { return recurrenceCount_; }
  int64_t windows() const { return windowOps_; }
  int64_t apartOps() const { return apartOps_; }
  int64_t preludes() const { return prelude_.count(); }

 private:
  // --- the order of operations

  using Sites = std::unordered_map<const Op*, RaggedAttention>;

  static std::array<ValueId, 5> operandsOf(const RaggedAttention& site) {
    return {site.q, site.k, site.v, site.bias, site.allowed};
  }

  // What results of the program and checks are made of; nothing is refused that nobody reads.
  std::vector<const Op*> neededOps(const Sites& sites) const {
    std::unordered_set<ValueId> read(main_.results.begin(), main_.results.end());
    std::vector<const Op*> needed;
    for (size_t i = main_.ops.size(); i-- > 0;) {
      const Op& op = *main_.ops[i];
      const bool wanted = op.def->hasEffects || op.results.empty() ||
                          std::any_of(op.results.begin(), op.results.end(),
                                      [&](const ValueDef& r) { return read.count(r.id) != 0; });
      if (!wanted) continue;
      needed.push_back(&op);
      if (const auto site = sites.find(&op); site != sites.end()) {
        const std::array<ValueId, 5> operands = operandsOf(site->second);
        read.insert(operands.begin(), operands.end());
      } else {
        read.insert(op.operands.begin(), op.operands.end());
      }
    }
    std::reverse(needed.begin(), needed.end());
    return needed;
  }

  // Attention of which no part runs by sequence anyway, or is a result.
  void findAttention() {
    const std::unordered_set<ValueId> results(main_.results.begin(), main_.results.end());
    for (const Op* op : main_.ops) {
      auto site = attention_.of(*op);
      const auto isApart = [&](const Op* step) {
        return regions_.of(*step) || std::any_of(step->results.begin(), step->results.end(),
                                                 [&](const ValueDef& r) { return results.count(r.id) != 0; });
      };
      if (!site || regions_.of(*op) || std::any_of(site->steps.begin(), site->steps.end(), isApart)) continue;
      inside_.insert(site->steps.begin(), site->steps.end());
      sites_.emplace(op, std::move(*site));
    }
    for (const Op* op : inside_)
      for (const ValueDef& r : op->results) insideValues_.insert(r.id);
  }

  // The operation, or the group that it is the last of.
  std::vector<const Op*> unitOf(const Op& op) const {
    return regions_.of(op) ? *regions_.of(op) : std::vector<const Op*>{&op};
  }

  // Is all there that it reads?
  bool isReady(const Op& op) const {
    if (isSizes(op)) return true;
    if (const auto site = sites_.find(&op); site != sites_.end()) {
      const std::array<ValueId, 5> read = operandsOf(site->second);  // not what its steps make of them
      return std::none_of(read.begin(), read.end(), [&](ValueId v) { return open_.count(v) != 0; });
    }
    std::unordered_set<ValueId> own;
    for (const Op* member : unitOf(op)) {
      for (ValueId v : member->operands)
        if (open_.count(v) != 0 && own.count(v) == 0) return false;
      for (const ValueDef& r : member->results) own.insert(r.id);
    }
    return true;
  }

  Status emitNow(const Op& op) {
    maker_.standAt(op.place);
    Status status = regions_.isLast(op) ? emitApart(*regions_.of(op)) : emit(op);
    if (!status.ok()) refused_ = &op;
    for (const Op* member : unitOf(op))
      for (const ValueDef& r : member->results) open_.erase(r.id);
    return status;
  }

  Status emitApart(const std::vector<const Op*>& group) {
    const std::unordered_set<const Op*> own(group.begin(), group.end());
    std::unordered_set<ValueId> read(main_.results.begin(), main_.results.end());
    for (const Op* op : main_.ops)
      if (own.count(op) == 0 && !isSizes(*op)) read.insert(op->operands.begin(), op->operands.end());
    std::vector<ValueId> results;
    for (const Op* op : group)
      for (const ValueDef& r : op->results)
        if (read.count(r.id) != 0) results.push_back(r.id);
    whyNotApart_ = apart_.emit(group, results, sizes_);
    if (!whyNotApart_.empty()) return refusal(*group.back(), whyNotApart_);
    apartOps_ += static_cast<int64_t>(group.size());
    return {};
  }

  // --- the borders

  Status takeParameters(Function* function) {
    std::vector<Dim> checked;
    maker_.standAt(main_.place);
    for (Parameter& p : function->parameters) {
      const RowAxes axes = rows_.axesOf(p.type);
      if (!axes.isRagged()) continue;
      if (std::find(checked.begin(), checked.end(), axes.length) == checked.end()) {
        checked.push_back(axes.length);
        prelude_.checkLengths(axes.length);
      }
      const Shape whole = rowShape(p.type, axes);
      Shape flat(whole.begin() + 1, whole.end());
      packed_[p.id] = maker_.reshape(p.id, whole);
      p.type = ir_.tensorType(std::move(flat), p.type.dtype());
    }
    return {};
  }

  Status giveResults(Function* function) {
    for (size_t i = 0; i < function->results.size(); ++i) {
      ValueId& v = function->results[i];
      const Type type = rows_.typeOf(v);
      const RowAxes axes = rows_.axesOf(type);
      if (axes.isRagged()) {
        const bool rows = axes.kind == RaggedKind::rows && axes.position == 1, made = packed_.count(v) != 0;
        if (axes.batch != 0 || (!rows && !(axes.isFlat && made)))
          return makeError(DiagnosticId::unsupportedFeature,
                           "unsupported: result %" + ir_.valueName(v) + " of type " + type.toString() +
                               ": a ragged one is (b, len[b], ...), or has several axes of lengths",
                           main_.place);
        Shape flat = rows ? rowShape(type, axes) : Shape{prelude_.rows(rows_.elementsOfSequence(type))};
        if (rows) flat.erase(flat.begin());
        function->resultTypes[i] = ir_.tensorType(flat, type.dtype());
        v = shown(v, std::move(flat));
        continue;
      }
      DYN_TRY(v, plain(v, "it is a result of the program"));
    }
    return {};
  }

  // The rows of a result, under its own id, by which its name is known; a parameter's is taken.
  ValueId shown(ValueId v, Shape flat) {
    ValueId& made = shown_.try_emplace(v, kNoValue).first->second;
    if (made != kNoValue) return made;
    const bool given = std::any_of(main_.parameters.begin(), main_.parameters.end(),
                                   [&](const Parameter& p) { return p.id == v; });
    made = maker_.reshape(packed_.at(v), std::move(flat), given ? kNoValue : v);
    return made;
  }

  Shape rowShape(Type type, const RowAxes& axes) {
    return *rows_.shapeOfRows(type.dims(), axes.length, prelude_.rows(axes.length));
  }

  // --- operations

  Error refusal(const Op& op, const std::string& why) const { return raggedRefusal(ir_, op, why); }

  Status emit(const Op& op) {
    if (inside_.count(&op) != 0) return {};
    if (const auto site = sites_.find(&op); site != sites_.end()) return emitAttention(op, site->second);
    if (isSizes(op)) {  // made where it is read
      for (const ValueDef& r : op.results) sizes_.insert(r.id);
      return {};
    }
    if (!rows_.isRaggedOp(op)) {
      Op copy = op;
      for (ValueId& v : copy.operands) {
        DYN_TRY(v, plain(v, std::string(op.def->name) + " reads it"));
      }
      ops_.push_back(copy.operands == op.operands ? &op : ir_.own(std::move(copy)));
      return {};
    }
    if (op.def->cls == OpClass::check) return emitCheck(op);
    if (RaggedRecurrences::isOne(op)) {
      ++recurrenceCount_;
      return recurrences_.emit(op);
    }
    DYN_TRY(const std::optional<AcrossPositions::Made> made, across_.emit(op));
    if (made && made->isRows) {
      packed_[op.results[0].id] = made->value;
      return {};
    }
    if (made) {  // readers find it under its own id
      maker_.make(ops::identityOp, {made->value}, {}, op.results[0].id);
      return {};
    }
    DYN_TRY(const std::optional<ValueId> windows, windows_.emit(op));
    if (windows) {
      ++windowOps_;
      packed_[op.results[0].id] = *windows;
      return {};
    }
    return emitByRow(op);
  }

  // Only the sizes of its operand are read, and all elements of the results are known.
  bool isSizes(const Op& op) const {
    if (op.results.empty() || op.def->hasEffects || op.def == &ops::constantOp) return false;
    bool ofSequences = false;
    for (const ValueDef& r : op.results) {
      const Contents* known = rows_.contentsOf(r.id);
      if (!known || r.type.rank() > 1 || r.type.dtype() != Dtype::i64) return false;
      for (Dim d : *known) ofSequences |= rows_.mentions(d);
    }
    return ofSequences || rows_.isRaggedOp(op);
  }

  // A value that is read as it is: no rows, and no sizes of sequences.
  Result<ValueId> plain(ValueId v, const std::string& who) {
    if (v == kNoValue) return v;
    if (rows_.axesOf(v).isRagged() || insideValues_.count(v) != 0)
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: %" + ir_.valueName(v) + " of type " + rows_.typeOf(v).toString() +
                           " is needed whole: " + who,
                       maker_.place());
    if (sizes_.count(v) == 0) return v;
    const Contents& known = *rows_.contentsOf(v);
    for (Dim d : known)
      if (rows_.hasLengths(d))
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: %" + ir_.valueName(v) + " is the length " + d.toString() +
                             " of a sequence, and is read as a number: " + who,
                         maker_.place());
    const ValueId made = rows_.typeOf(v).rank() == 0 ? maker_.size(known[0]) : maker_.sizes(known);
    return made;
  }

  Status emitByRow(const Op& op) {
    if (const std::string why = rows_.whyNotByRow(op); !why.empty()) return refusal(op, why);
    ++rowOps_;
    const RowAxes axes = rows_.axesOf(op.results[0].type);
    const Dim count = prelude_.rows(axes.length);
    if (op.def->traits.view) {
      packed_[op.results[0].id] =
          maker_.reshape(packed_.at(op.operands[0]), rowShape(op.results[0].type, axes));
      return {};
    }
    Op copy = op;
    for (const auto& [name, value] : op.attributes.all())
      if (const Shape* dims = std::get_if<Shape>(&value))
        copy.attributes.set(name, *rows_.shapeOfRows(*dims, axes.length, count));
    const std::vector<size_t> shapes = rows_.shapeOperands(op);
    for (size_t i = 0; i < copy.operands.size(); ++i) {
      ValueId& v = copy.operands[i];
      if (v == kNoValue) continue;
      const RowAxes of = rows_.axesOf(v);
      if (std::find(shapes.begin(), shapes.end(), i) != shapes.end()) {
        v = maker_.sizes(*rows_.shapeOfRows(*rows_.contentsOf(v), axes.length, count));
      } else if (of.isRagged()) {
        v = packed_.at(v);
      } else if (of.kind == RaggedKind::ofBatch) {
        DYN_TRY(v, spread(op, v, of, axes));
      } else {
        DYN_TRY(v, plain(v, std::string(op.def->name) + " reads it"));
      }
    }
    for (size_t i = 0; i < copy.results.size(); ++i) {
      copy.results[i] = {ir_.newValue(), Type()};
      packed_[op.results[i].id] = copy.results[i].id;
    }
    ops_.push_back(ir_.own(std::move(copy)));
    return {};
  }

  // For each row the element of its sequence: (b, 1, c) becomes (1, rows, c).
  Result<ValueId> spread(const Op& op, ValueId v, const RowAxes& of, const RowAxes& axes) {
    const int shift = op.results[0].type.rank() - rows_.typeOf(v).rank();
    const int position = axes.position - shift;
    if (of.batch + shift != axes.batch || position < 0 ||
        !rows_.typeOf(v).dims()[static_cast<size_t>(position)].isConstant(1))
      return refusal(op, "its operand " + rows_.typeOf(v).toString() + " has no axis of positions of size 1");
    ValueId& made = spread_.try_emplace({v, axes.length.toString()}, kNoValue).first->second;
    if (made != kNoValue) return made;
    const ValueId taken = maker_.gather(v, prelude_.sequence(axes.length), of.batch);
    std::vector<int64_t> order;
    for (int axis = 0; axis < rows_.typeOf(v).rank(); ++axis) order.push_back(axis);
    std::swap(order[static_cast<size_t>(of.batch)], order[static_cast<size_t>(position)]);
    made = maker_.transposed(taken, order);
    return made;
  }

  Status emitCheck(const Op& op) {
    if (op.def == &ops::check_valuesOp) {
      Op copy = op;
      for (ValueId& v : copy.operands) {
        if (const auto found = packed_.find(v); found != packed_.end()) {
          v = found->second;
          continue;
        }
        DYN_TRY(v, plain(v, "check_values reads it"));
      }
      ops_.push_back(ir_.own(std::move(copy)));
      return {};
    }
    const std::string relation = op.attributes.string("relation"), what = op.attributes.string("what");
    const Dim lhs = op.def == &ops::checkOp ? op.attributes.dims("lhs").at(0) : Dim(),
              rhs = op.def == &ops::checkOp ? op.attributes.dims("rhs").at(0) : Dim();
    if (relation != "le" || rows_.hasLengths(lhs) == rows_.hasLengths(rhs))
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: " + what + ": " + (lhs ? lhs.toString() : "?") + " and " +
                           (rhs ? rhs.toString() : "?") + " cannot be compared for each sequence",
                       op.place);
    const bool most = rows_.hasLengths(lhs);
    const ValueId all = prelude_.lengths(most ? lhs : rhs), bound = maker_.size(most ? rhs : lhs);
    maker_.check(ops::check_valuesOp,
                 most ? std::vector<ValueId>{all, kNoValue, bound} : std::vector<ValueId>{all, bound},
                 {{"elements", std::string("in_range")}, {"what", what}});
    return {};
  }

  // Those of queries, and where they are others, those of keys.
  ValueId lengthsOf(const RaggedAttention& site) {
    if (site.queries == site.length) return prelude_.lengths(site.length);
    const ValueId queries =
        maker_.make(ops::unsqueezeOp, {prelude_.lengths(site.queries), maker_.integers({0})});
    const ValueId keys = maker_.make(ops::unsqueezeOp, {prelude_.lengths(site.length), maker_.integers({0})});
    return maker_.make(ops::concatOp, {queries, keys}, {{"axis", int64_t{0}}});
  }

  Status emitAttention(const Op& op, const RaggedAttention& site) {
    const int rank = op.results[0].type.rank();
    const auto withHeads = [&](ValueId v) {
      return rank == 4 ? packed_.at(v) : maker_.make(ops::unsqueezeOp, {packed_.at(v), maker_.integers({1})});
    };
    const ValueId q = withHeads(site.q), v = withHeads(site.v);
    ValueId k = withHeads(site.k);
    if (site.transposedK) k = maker_.transposed(k, {0, 1, 3, 2});
    Attributes attributes;
    attributes.set("scale", site.scale);
    if (site.causal) attributes.set("causal", int64_t{1});
    std::vector<ValueId> operands{q, k, v, lengthsOf(site)};
    const auto ofKeys = [&](ValueId mask) {
      return maker_.reshape(packed_.at(mask), {prelude_.rows(site.length)});
    };
    if (site.bias != kNoValue || site.allowed != kNoValue)
      operands.push_back(site.bias == kNoValue ? kNoValue : ofKeys(site.bias));
    if (site.allowed != kNoValue) {
      const ValueId allowed = ofKeys(site.allowed);
      operands.push_back(site.allowedIsNot ? maker_.make(ops::logical_notOp, {allowed}) : allowed);
      attributes.set("fill", site.fill);
    }
    const ValueId z = maker_.make(ops::packed_attentionOp, std::move(operands), std::move(attributes));
    const ValueId result = op.results[0].id;
    if (rank == 4) {
      packed_[result] = maker_.transposed(z, {0, 2, 1, 3});
    } else {
      packed_[result] = maker_.make(ops::squeezeOp, {z, maker_.integers({2})});
    }
    return {};
  }

  const Function& main_;
  IrContext& ir_;
  RaggedRows rows_;
  RaggedAttentionSearch attention_;
  std::vector<const Op*> ops_;
  OpMaker maker_;
  RaggedPrelude prelude_;
  AcrossPositions across_;
  RaggedWindows windows_;
  RaggedRecurrences recurrences_;
  RaggedApart apart_;
  RaggedRegions regions_;
  Sites sites_;
  std::unordered_set<const Op*> inside_;  // steps of attention
  std::unordered_set<ValueId> insideValues_, sizes_;
  std::unordered_set<ValueId> open_;             // not there yet
  std::unordered_map<ValueId, ValueId> packed_;  // rows, as (1, rows, ...)
  std::unordered_map<ValueId, ValueId> shown_;   // results of the program, as rows
  std::map<std::pair<ValueId, std::string>, ValueId> spread_;
  const Op* refused_ = nullptr;
  std::string whyNotApart_;
  int64_t rowOps_ = 0, windowOps_ = 0, recurrenceCount_ = 0, apartOps_ = 0;
};

// The symbol of the batch of the first ragged parameter; null: absent.
Dim batchOf(const Function& main) {
  for (const Parameter& p : main.parameters) {
    if (!p.type || !p.type.isTensor()) continue;
    for (Dim d : p.type.dims())
      for (Dim symbol : raggedSymbols(d)) return raggedDim(symbol)->batch;
  }
  return {};
}

// Lengths that a value is said to have are those of an input.
Status lengthsAreInputs(const Module& module) {
  const std::map<std::string, ValueId> inputs = parametersByName(module);
  std::unordered_map<ValueId, Type> types;
  for (const Parameter& p : module.main()->parameters) types[p.id] = p.type;
  const auto areInput = [&](const RaggedDim& dim) {
    const auto input = inputs.find(dim.lengths);
    if (input == inputs.end()) return false;
    const Type type = types.at(input->second);
    return type && type.isTensor() && type.rank() == 1 && type.dims()[0] == dim.batch;
  };
  for (const Op* op : module.main()->ops)
    for (const ValueDef& r : op->results)
      for (SymbolId id : r.type ? symbolsOf(r.type) : std::vector<SymbolId>()) {
        const std::optional<RaggedDim> dim = raggedDim(module.context->dims().symbolById(id));
        if (dim && !areInput(*dim))
          return makeError(DiagnosticId::textName,
                           "%" + module.context->valueName(r.id) + " is " + r.type.toString() +
                               ", but there is no input %" + dim->lengths + " of lengths",
                           op->place);
      }
  return {};
}

constexpr size_t kMostApart = 1000;

Error firstOf(const Module& module, const Refusals& refusals) {
  for (const Op* op : module.main()->ops)
    if (const auto why = refusals.find(op); why != refusals.end()) return why->second;
  return refusals.begin()->second;
}

// The rows of the sequences of one batch.
Result<Module> packBatch(const Module& module, Dim batch, PassContext& context) {
  DYN_TRY(InferredModule inferred, withRaggedCallsInlined(module));
  if (!module.context->facts().canonical(batch).isSymbol())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a ragged tensor whose batch " + batch.toString() + " is " +
                         module.context->facts().canonical(batch).toString(),
                     module.main()->place);
  DYN_CHECK(lengthsAreInputs(inferred.module));
  Refusals refusals;
  while (true) {
    RaggedPacker packer(inferred, batch, opsOf(refusals));
    Result<const Function*> changed = packer.run();
    if (!changed.ok()) {
      // What can't run over all rows may run for each sequence by itself.
      const Op* op = packer.refused();
      if (!op || op->def->cls == OpClass::check || refusals.size() >= kMostApart) return changed.takeError();
      if (const auto before = refusals.find(op); before != refusals.end()) return before->second;
      if (!packer.whyNotApart().empty()) return firstOf(inferred.module, refusals);
      refusals.emplace(op, changed.takeError());
      continue;
    }
    context.counters["row_ops"] += packer.rowOps();
    context.counters["attentions"] += packer.attentions();
    context.counters["preludes"] += packer.preludes();
    for (const auto& [name, count] :
         {std::pair("windows", packer.windows()), std::pair("recurrences", packer.recurrences()),
          std::pair("by_sequence", packer.apartOps())})
      if (count > 0) context.counters[name] += count;
    for (const Op* op : inferred.module.main()->ops)
      if (const auto why = refusals.find(op); why != refusals.end())
        context.remarks.push_back("by sequence: " + why->second.diagnostic().message);
    return withMain(inferred, *changed);
  }
}

Result<Module> runRagged(const Module& module, PassContext& context) {
  if (!module.main()) return module;
  for (const Function* function : module.functions)
    if (const std::vector<Diagnostic> faults = raggedFaults(module, *function); !faults.empty())
      return makeError(faults[0].id, faults[0].message, faults[0].place);
  // One batch after the other: lengths of one are sizes as any for the others.
  Module packed = module;
  while (const Dim batch = batchOf(*packed.main())) {
    DYN_TRY(packed, packBatch(packed, batch, context));
  }
  return packed;
}

}  // namespace

PassDef raggedPass() {
  return {.name = "ragged",
          .summary = "stores the rows of ragged tensors back to back",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::groups,
          .run = runRagged,
          .required = true};
}

}  // namespace dyn::passes
