// Ragged tensors as their rows: each sequence's behind those of the one before, without any padding.
//   needs: types.  establishes: no type has a dim like `len[b]`.
//   before  fn @main(%x: Tensor[(b, len[b], 8), f32], %len: Tensor[(b), i64]) {
//             %y = layer_norm(matmul(%x, %w), ...)  return %y }
//   after   fn @main(%x: Tensor[(len.sum, 8), f32], %len: Tensor[(b), i64]) {
//             check_values(...)                                 no length is negative, their sum is len.sum
//             %x1 = reshape(%x)                                 (1, len.sum, 8)
//             %y1 = layer_norm(matmul(%x1, %w), ...)            the same operations over all rows
//             %y = reshape(%y1)  return %y }                    (len.sum, 8)
// What computes row by row stays as it is (ragged_rows.h proves it), with one long sequence instead of the
// batch; attention sees each sequence by itself (ragged_attention.h); an element for each sequence is taken
// for each of its rows; sums, means and extremes over a sequence are scattered by its number; concatenation
// along the positions takes rows from both. What follows from the lengths is made once (ragged_prelude.h).
// Anything else is refused: `unsupported`, with the operation and what it reads. Inputs and outputs are rows
// and lengths. Cost in IR size: two operations for each ragged input and result, a prelude for each pattern
// of lengths, four operations for each reduction.
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "compiler/ir/ragged_parameters.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/ragged_attention.h"
#include "compiler/passes/ragged_prelude.h"
#include "compiler/passes/ragged_rows.h"

namespace dyn::passes {

namespace {

std::map<std::string, ValueId> parametersByName(const Module& module) {
  std::map<std::string, ValueId> byName;
  for (const Parameter& p : module.main()->parameters) byName[module.context->valueName(p.id)] = p.id;
  return byName;
}

class RaggedPacker {
 public:
  RaggedPacker(const InferredModule& inferred, Dim batch)
      : main_(*inferred.module.main()),
        ir_(*inferred.module.context),
        rows_(inferred, batch),
        attention_(inferred, rows_),
        maker_(ir_, ops_),
        prelude_(ir_, maker_, parametersByName(inferred.module)) {}

  Result<const Function*> run() {
    Function result = main_;
    DYN_CHECK(takeParameters(&result));
    for (const Op* op : main_.ops)
      if (const auto site = attention_.of(*op)) {
        sites_.emplace(op, *site);
        inside_.insert(site->steps.begin(), site->steps.end());
      }
    for (const Op* op : inside_)
      for (const ValueDef& r : op->results) insideValues_.insert(r.id);
    findNeeded();
    for (const Op* op : main_.ops) {
      if (needed_.count(op) == 0) continue;
      maker_.standAt(op->place);
      Status done = emit(*op);
      if (!done.ok()) return done.takeError();
    }
    maker_.standAt(main_.place);
    DYN_CHECK(giveResults(&result));
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  // What results of the program and checks are made of; nothing is refused that nobody reads.
  void findNeeded() {
    std::unordered_set<ValueId> read(main_.results.begin(), main_.results.end());
    for (size_t i = main_.ops.size(); i-- > 0;) {
      const Op& op = *main_.ops[i];
      const bool wanted = op.def->hasEffects || op.results.empty() ||
                          std::any_of(op.results.begin(), op.results.end(),
                                      [&](const ValueDef& r) { return read.count(r.id) != 0; });
      if (!wanted) continue;
      needed_.insert(&op);
      if (const auto site = sites_.find(&op); site != sites_.end())
        read.insert({site->second.q, site->second.k, site->second.v});
      else
        read.insert(op.operands.begin(), op.operands.end());
    }
  }

  int64_t rowOps() const { return rowOps_; }
  int64_t attentions() const { return static_cast<int64_t>(sites_.size()); }
  int64_t preludes() const { return prelude_.count(); }

 private:
  // --- the borders

  Status takeParameters(Function* function) {
    std::vector<Dim> checked;
    for (Parameter& p : function->parameters) {
      const RowAxes axes = rows_.axesOf(p.type);
      if (!axes.isRagged()) continue;
      SourcePlace place = main_.place;
      place.node = "prelude of " + axes.length.toString();
      maker_.standAt(place);
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
        if (axes.kind != RowKind::rows || axes.batch != 0 || axes.position != 1)
          return makeError(DiagnosticId::unsupportedFeature,
                           "unsupported: result %" + ir_.valueName(v) + " of type " + type.toString() +
                               ": a ragged one is (b, len[b], ...)",
                           main_.place);
        const Shape whole = rowShape(type, axes);
        Shape flat(whole.begin() + 1, whole.end());
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

  Error refusal(const Op& op, const std::string& why) const {
    std::string name(op.def->name);
    if (!op.results.empty()) name += " %" + ir_.valueName(op.results[0].id);
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: " + name + " over sequences of different lengths: " + why, op.place);
  }

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
    const auto rule = special().find(op.def);
    if (rule != special().end()) {
      DYN_TRY(const bool done, (this->*rule->second)(op));
      if (done) return {};
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
      if (isRagged(d))
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: %" + ir_.valueName(v) + " is the length " + d.toString() +
                             " of a sequence, which is read as a number: " + who,
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
      } else if (of.kind == RowKind::ofBatch) {
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
    if (relation != "le" || isRagged(lhs) == isRagged(rhs))
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: " + what + ": " + (lhs ? lhs.toString() : "?") + " and " +
                           (rhs ? rhs.toString() : "?") + " can not be compared for each sequence",
                       op.place);
    const bool most = isRagged(lhs);
    if (!sumOverBatch(most ? lhs : rhs)) return refusal(op, "its lengths are not linear");
    const ValueId all = prelude_.lengths(most ? lhs : rhs), bound = maker_.size(most ? rhs : lhs);
    maker_.check(ops::check_valuesOp,
                 most ? std::vector<ValueId>{all, kNoValue, bound} : std::vector<ValueId>{all, bound},
                 {{"elements", std::string("in_range")}, {"what", what}});
    return {};
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
    const ValueId z =
        maker_.make(ops::packed_attentionOp, {q, k, v, prelude_.lengths(site.length)}, std::move(attributes));
    const ValueId result = op.results[0].id;
    if (rank == 4) {
      packed_[result] = maker_.transposed(z, {0, 2, 1, 3});
    } else {
      packed_[result] = maker_.make(ops::squeezeOp, {z, maker_.integers({2})});
    }
    return {};
  }

  // --- operations that look across the positions of a sequence

  using Rule = Result<bool> (RaggedPacker::*)(const Op&);
  static const std::unordered_map<const OpDef*, Rule>& special() {
    static const std::unordered_map<const OpDef*, Rule> rules{
        {&ops::rangeOp, &RaggedPacker::emitRange},
        {&ops::reduce_sumOp, &RaggedPacker::emitReduction},
        {&ops::reduce_meanOp, &RaggedPacker::emitReduction},
        {&ops::reduce_maxOp, &RaggedPacker::emitReduction},
        {&ops::reduce_minOp, &RaggedPacker::emitReduction},
        {&ops::softmaxOp, &RaggedPacker::emitSoftmax},
        {&ops::concatOp, &RaggedPacker::emitConcat},
    };
    return rules;
  }

  // 0, 1, ... of each sequence.
  Result<bool> emitRange(const Op& op) {
    const Contents *start = rows_.contentsOf(op.operands[0]), *step = rows_.contentsOf(op.operands[2]);
    const RowAxes axes = rows_.axesOf(op.results[0].type);
    if (axes.kind != RowKind::alone || !start || !step || !(*step)[0].isConstant(1) || isRagged((*start)[0]))
      return refusal(op, "a range of positions counts up by one from the same number");
    ValueId made = prelude_.position(axes.length);
    if (!(*start)[0].isConstant(0)) made = maker_.make(ops::addOp, {made, maker_.size((*start)[0])});
    if (op.results[0].type.dtype() != Dtype::i64) made = maker_.cast(made, op.results[0].type.dtype());
    packed_[op.results[0].id] = made;
    return true;
  }

  // The axes that a reduction folds; empty: not known.
  std::vector<int> foldedAxes(const Op& op) const {
    const Contents* known =
        op.operands.size() > 1 && op.operands[1] != kNoValue ? rows_.contentsOf(op.operands[1]) : nullptr;
    std::vector<int> axes;
    if (!known) return axes;
    for (Dim d : *known) {
      if (!d.isConstant()) return {};
      const int64_t axis = *d.constant();
      axes.push_back(static_cast<int>(axis < 0 ? axis + rows_.typeOf(op.operands[0]).rank() : axis));
    }
    return axes;
  }

  // The rows along axis 0, the axes behind them in their order.
  ValueId rowsInFront(ValueId v) {
    const RowAxes axes = rows_.axesOf(v);
    const Type type = rows_.typeOf(v);
    std::vector<int64_t> order{axes.batch, axes.position};
    Shape flat{prelude_.rows(axes.length)};
    for (int axis = 0; axis < type.rank(); ++axis)
      if (axis != axes.batch && axis != axes.position) {
        order.push_back(axis);
        flat.push_back(type.dims()[static_cast<size_t>(axis)]);
      }
    return maker_.reshape(maker_.transposed(packed_.at(v), order), std::move(flat));
  }

  struct Segments {
    const char* reduction;
    double start;
  };

  // (rows, ...) to (b, ...): of each sequence the sum or an extreme.
  ValueId bySequence(ValueId front, Type type, const RowAxes& axes, const Segments& how) {
    Shape dims{rows_.batch()};
    for (int axis = 0; axis < type.rank(); ++axis)
      if (axis != axes.batch && axis != axes.position) dims.push_back(type.dims()[static_cast<size_t>(axis)]);
    HostTensor start = *HostTensor::create(type.dtype(), {1});
    start.setReal(0, how.start);
    const ValueId empty =
        maker_.make(ops::constant_of_shapeOp, {maker_.sizes(dims)}, {{"value", std::move(start)}});
    const ValueId numbers =
        maker_.make(ops::unsqueezeOp, {prelude_.sequence(axes.length), maker_.integers({1})});
    return maker_.make(ops::scatter_ndOp, {empty, numbers, front},
                       {{"reduction", std::string(how.reduction)}});
  }

  // (b, ...) with the axes of a reduction's operand, an axis of size 1 where the positions were.
  ValueId asReduced(ValueId v, Type type, const RowAxes& axes) {
    Shape front{rows_.batch(), ir_.dims().constant(1)};
    std::vector<int64_t> order{axes.batch, axes.position}, back(static_cast<size_t>(type.rank()));
    for (int axis = 0; axis < type.rank(); ++axis)
      if (axis != axes.batch && axis != axes.position) {
        order.push_back(axis);
        front.push_back(type.dims()[static_cast<size_t>(axis)]);
      }
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return maker_.transposed(maker_.reshape(v, std::move(front)), back);
  }

  Result<bool> emitReduction(const Op& op) {
    const ValueId x = op.operands[0];
    const RowAxes axes = rows_.axesOf(x);
    const std::vector<int> folded = foldedAxes(op);
    if (axes.kind != RowKind::rows || std::find(folded.begin(), folded.end(), axes.position) == folded.end())
      return false;
    const Type type = rows_.typeOf(x);
    if (folded.size() != 1) return refusal(op, "it folds the axis of positions and others at once");
    if (!isReal(type.dtype()))
      return refusal(op, "it folds positions of " + std::string(toString(type.dtype())));
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool most = op.def == &ops::reduce_maxOp, least = op.def == &ops::reduce_minOp;
    const Segments how = most    ? Segments{"max", -kInfinity}
                         : least ? Segments{"min", kInfinity}
                                 : Segments{"add", 0};
    ValueId made = asReduced(bySequence(rowsInFront(x), type, axes, how), type, axes);
    if (op.def == &ops::reduce_meanOp) made = maker_.make(ops::divOp, {made, lengthsAs(type, axes)});
    if (op.results[0].type.rank() == type.rank())
      finish(op, made);
    else
      finish(op, maker_.make(ops::squeezeOp, {made, maker_.integers({axes.position})}));
    return true;
  }

  // The lengths along the axis of the batch, to be broadcast over the others.
  ValueId lengthsAs(Type type, const RowAxes& axes) {
    Shape dims(static_cast<size_t>(type.rank()), ir_.dims().constant(1));
    dims[static_cast<size_t>(axes.batch)] = rows_.batch();
    return maker_.reshape(maker_.cast(prelude_.lengths(axes.length), type.dtype()), std::move(dims));
  }

  // A result that is no rows: readers find it under its own id.
  void finish(const Op& op, ValueId made) { maker_.make(ops::identityOp, {made}, {}, op.results[0].id); }

  // Over the positions: exp(x - peak) / sum.
  Result<bool> emitSoftmax(const Op& op) {
    const ValueId x = op.operands[0];
    const RowAxes axes = rows_.axesOf(x);
    const Type type = rows_.typeOf(x);
    int64_t axis = op.attributes.integer("axis", -1);
    if (axis < 0) axis += type.rank();
    if (axes.kind != RowKind::rows || axis != axes.position) return false;
    const ValueId numbers = prelude_.sequence(axes.length);
    const auto perRow = [&](ValueId ofSequence) { return maker_.gather(ofSequence, numbers, 0); };
    const ValueId front = rowsInFront(x);
    const ValueId peak =
        perRow(bySequence(front, type, axes, {"max", -std::numeric_limits<double>::infinity()}));
    const ValueId power = maker_.make(ops::expOp, {maker_.make(ops::subOp, {front, peak})});
    const ValueId sum = perRow(bySequence(power, type, axes, {"add", 0}));
    packed_[op.results[0].id] = rowsInPlace(maker_.make(ops::divOp, {power, sum}), type, axes);
    return true;
  }

  // (rows, ...) with the axes of `type`.
  ValueId rowsInPlace(ValueId front, Type type, const RowAxes& axes) {
    Shape dims{ir_.dims().constant(1), prelude_.rows(axes.length)};
    std::vector<int64_t> order{axes.batch, axes.position}, back(static_cast<size_t>(type.rank()));
    for (int axis = 0; axis < type.rank(); ++axis)
      if (axis != axes.batch && axis != axes.position) {
        order.push_back(axis);
        dims.push_back(type.dims()[static_cast<size_t>(axis)]);
      }
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return maker_.transposed(maker_.reshape(front, std::move(dims)), back);
  }

  // Along the positions: rows of all operands behind each other, taken sequence by sequence.
  Result<bool> emitConcat(const Op& op) {
    const Type type = op.results[0].type;
    const RowAxes axes = rows_.axesOf(type);
    int64_t axis = op.attributes.integer("axis", 0);
    if (axis < 0) axis += type.rank();
    if (axes.kind != RowKind::rows || axis != axes.position) return false;
    std::vector<ValueId> fronts;
    const ValueId numbers = prelude_.sequence(axes.length), position = prelude_.position(axes.length);
    ValueId at = kNoValue;
    Dim before = ir_.dims().constant(0), rowsBefore = before;
    for (ValueId v : op.operands) {
      const RowAxes of = rows_.axesOf(v);
      const Dim length = rows_.typeOf(v).dims()[static_cast<size_t>(axes.position)];
      if ((of.kind != RowKind::rows && of.kind != RowKind::ofBatch) || of.batch != axes.batch ||
          (of.kind == RowKind::rows && of.position != axes.position))
        return refusal(op, "its operand " + rows_.typeOf(v).toString() + " has no rows of each sequence");
      fronts.push_back(of.kind == RowKind::rows ? rowsInFront(v) : framedInFront(v, axes));
      // Row r of the result is row position - before of this operand's sequence, where that is not negative.
      const ValueId begins = of.kind == RowKind::rows
                                 ? maker_.gather(prelude_.offsets(length), numbers, 0)
                                 : maker_.make(ops::mulOp, {numbers, maker_.size(length)});
      const ValueId ahead =
          isRagged(before) ? maker_.gather(prelude_.lengths(before), numbers, 0) : maker_.size(before);
      const ValueId inOperand = maker_.make(ops::subOp, {position, ahead});
      const ValueId here =
          maker_.make(ops::addOp, {maker_.make(ops::addOp, {begins, inOperand}), maker_.size(rowsBefore)});
      at = at == kNoValue
               ? here
               : maker_.make(ops::whereOp, {maker_.make(ops::less_equalOp, {ahead, position}), here, at});
      before = before + length;
      rowsBefore = rowsBefore + (of.kind == RowKind::rows ? prelude_.rows(length) : rows_.batch() * length);
    }
    const ValueId all = maker_.make(ops::concatOp, std::move(fronts), {{"axis", int64_t{0}}});
    packed_[op.results[0].id] = rowsInPlace(maker_.gather(all, at, 0), type, axes);
    return true;
  }

  // (b, c, ...) with as many positions for all sequences, as rows (b*c, ...).
  ValueId framedInFront(ValueId v, const RowAxes& axes) {
    const Type type = rows_.typeOf(v);
    std::vector<int64_t> order{axes.batch, axes.position};
    Shape flat{rows_.batch() * type.dims()[static_cast<size_t>(axes.position)]};
    for (int axis = 0; axis < type.rank(); ++axis)
      if (axis != axes.batch && axis != axes.position) {
        order.push_back(axis);
        flat.push_back(type.dims()[static_cast<size_t>(axis)]);
      }
    return maker_.reshape(maker_.transposed(v, order), std::move(flat));
  }

  const Function& main_;
  IrContext& ir_;
  RaggedRows rows_;
  RaggedAttentionSearch attention_;
  std::vector<const Op*> ops_;
  OpMaker maker_;
  RaggedPrelude prelude_;
  std::unordered_map<const Op*, RaggedAttention> sites_;
  std::unordered_set<const Op*> inside_, needed_;  // inside: steps of attention
  std::unordered_set<ValueId> insideValues_, sizes_;
  std::unordered_map<ValueId, ValueId> packed_;  // rows, as (1, rows, ...)
  std::unordered_map<ValueId, ValueId> shown_;   // results of the program, as rows
  std::map<std::pair<ValueId, std::string>, ValueId> spread_;
  int64_t rowOps_ = 0;
};

// The symbol of the batch of all ragged parameters; null: there are none.
Result<Dim> batchOf(const Function& main) {
  Dim batch;
  for (const Parameter& p : main.parameters) {
    if (!p.type || !p.type.isTensor()) continue;
    for (Dim d : p.type.dims())
      for (Dim symbol : raggedSymbols(d)) {
        const Dim of = raggedDim(symbol)->batch;
        if (batch && of != batch)
          return makeError(
              DiagnosticId::unsupportedFeature,
              "unsupported: sequences of two batches, " + batch.toString() + " and " + of.toString(),
              main.place);
        batch = of;
      }
  }
  return batch;
}

Result<Module> runRagged(const Module& module, PassContext& context) {
  if (!module.main()) return module;
  for (const Function* function : module.functions)
    if (const std::vector<Diagnostic> faults = raggedFaults(module, *function); !faults.empty())
      return makeError(faults[0].id, faults[0].message, faults[0].place);
  DYN_TRY(const Dim batch, batchOf(*module.main()));
  if (!batch) return module;
  DYN_TRY(InferredModule inferred, inferTypes(module));
  if (!module.context->facts().canonical(batch).isSymbol())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a ragged tensor whose batch " + batch.toString() + " is " +
                         module.context->facts().canonical(batch).toString(),
                     module.main()->place);
  RaggedPacker packer(inferred, batch);
  DYN_TRY(const Function* changed, packer.run());
  context.counters["row_ops"] = packer.rowOps();
  context.counters["attentions"] = packer.attentions();
  context.counters["preludes"] = packer.preludes();
  Module result = inferred.module;
  for (const Function*& function : result.functions)
    if (function == inferred.module.main()) function = changed;
  DYN_TRY(InferredModule typed, inferTypes(result));
  return typed.module;
}

}  // namespace

PassDef raggedPass() {
  return {.name = "ragged",
          .summary = "lays the rows of ragged tensors behind each other",
          .needs = Property::types,
          .before = Property::groups,
          .run = runRagged,
          .required = true};
}

}  // namespace dyn::passes
