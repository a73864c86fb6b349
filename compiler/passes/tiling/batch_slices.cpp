// Convolutions over a batch whose images do not fit into the caches run over a slice of it at a time.
//   requires: groups.  provides: nothing that others rely on.
//   before  %a = fused(%x, ...) {...}  %b = fused(%a, ...) {...}  %y = fused(%b, ...) {...}     [n, ...] each
//   after   %l = list() : List[Tensor[(?, ...), f32]]
//           %m = loop(dims(slices), _, %l, %x, ...) {carried = 1} body (%i, %l, %x, ...) {
//             bind_dims(%i) {dims = dims(k)}  bind_dims(images of this slice) {dims = dims(s)}
//             %xs = strided(%x) {offset = dims(the first of the slice)}                          [s, ...]
//             %a = fused(%xs, ...)  %b = fused(%a, ...)  %ys = fused(%b, ...)                    [s, ...] each
//             return true, list_append(%l, %ys)
//           }
//           %y = concat_from_sequence(%m) {axis = 0}                                             [n, ...]
// batch_rows.h says what may run so, slice_regions.h where it is worth it. How many images a slice has is
// decided when the program runs, by what one takes: as many as fit into the second caches (or an eighth of
// the last), one at least, all slices alike. Where that is the whole batch there is one iteration, and what
// it made is the list's only item, which is handed on: nothing is copied. Memory is that of a slice, and what
// crosses. Sums have the same order for a slice as for a batch of that size. Cost in IR size: some ten
// operations a region, and one for each value that goes in or out.
#include <algorithm>
#include <charconv>

#include "compiler/dims/dim_numbers.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/rewrite/op_maker.h"
#include "compiler/passes/tiling/slice_regions.h"
#include "compiler/passes/tiling/slices.h"

namespace dyn::passes {

namespace {

// What a slice may take: the second caches of all cores, which share its layers; of the last one, which other
// programs use, too, an eighth.
int64_t cacheBytesOf(const MachineDescription& machine) {
  constexpr int64_t kShare = 8;
  const int64_t second = machine.l2Bytes * std::max(1, machine.coreCount), last = machine.l3Bytes / kShare;
  return last == 0 ? second : std::max(machine.l2Bytes, std::min(second, last));
}

class SliceLoop {
 public:
  SliceLoop(IrContext& ir, const Function& function, Dim batch, const BatchRows& rows)
      : ir_(ir), function_(function), batch_(batch), rows_(rows) {
    for (size_t i = 0; i < function.ops.size(); ++i)
      for (ValueId v : function.ops[i]->operands)
        if (v != kNoValue) lastUse_[v] = i;
    for (ValueId v : function.results) lastUse_[v] = SIZE_MAX;
    for (const Op* op : function.ops) {
      if (op->def->traits.contentsKnown) known_[op->results[0].id] = op;
      if (op->def == &ops::stridedOp) views_[op->results[0].id] = op;
    }
  }

  // The loop in place of the region's operations.
  void make(const SliceRegion& region, int64_t cacheBytes, std::vector<const Op*>& to) {
    region_ = &region;
    replaced_.clear();
    body_ = {};
    DimContext& dims = ir_.dims();
    iteration_ = dims.any("the number of a slice of the batch");
    images_ = dims.any("the images of a slice of the batch");
    (void)ir_.facts().addRange(iteration_, 0, std::nullopt, {"slices are counted from 0", {}});
    (void)ir_.facts().addRange(images_, 0, std::nullopt, {"a slice of the batch", {}});
    place_ = function_.ops[region.members.front()]->place;
    body_.name = ir_.uniqueFunctionName(function_.name + ".slices");
    body_.place = place_;
    const Type number = ir_.tensorType(Shape{}, Dtype::i64);
    each_ = dims.any("how many images a slice of the batch has, but the last");
    (void)ir_.facts().addRange(each_, 1, std::nullopt, {"a slice has at least one image", {}});
    const Dim one = dims.constant(1);
    const Dim fit = max(one, floorDiv(dims.constant(cacheBytes), max(one, region.imageBytes)));
    const Dim alike = max(one, ceilDiv(batch_, max(one, ceilDiv(batch_, fit))));
    bind(to, each_, emit(to, ops::dim_valueOp, {}, {{"value", Shape{alike}}}, number));
    std::vector<ValueId> outputs = outputsOf(region);
    std::vector<ValueId> initial;
    std::vector<Parameter> carried;
    for (ValueId v : outputs) {
      const Type list = ir_.listType(withFirst(rows_.typeOf(v), dims.any("the images of some slice")));
      initial.push_back(emit(to, ops::listOp, {}, {}, list));
      carried.push_back({ir_.newValue(), list});
    }
    const ValueId iterations =
        emit(to, ops::dim_valueOp, {}, {{"value", Shape{max(one, ceilDiv(batch_, each_))}}}, number);
    fillBody(outputs, carried);
    to.push_back(listLoop(ir_, place_, iterations, initial, outer_, carried, std::move(body_)));
    const std::vector<ValueDef>& lists = to.back()->results;
    for (size_t k = 0; k < outputs.size(); ++k)
      emit(to, ops::concat_from_sequenceOp, {lists[k].id}, {{"axis", int64_t{0}}}, rows_.typeOf(outputs[k]),
           outputs[k]);
  }

 private:
  // Made inside, read behind it.
  std::vector<ValueId> outputsOf(const SliceRegion& region) const {
    std::vector<ValueId> outputs;
    for (size_t i : region.members)
      for (const ValueDef& r : function_.ops[i]->results)
        if (const auto last = lastUse_.find(r.id);
            last != lastUse_.end() && last->second > region.members.back())
          outputs.push_back(r.id);
    return outputs;
  }

  ValueId emit(std::vector<const Op*>& to, const OpDef& def, std::vector<ValueId> operands,
               Attributes attributes, Type type, ValueId into = kNoValue) {
    return appendOp(ir_, to, place_, def, std::move(operands), std::move(attributes), type, into);
  }

  Type withFirst(Type type, Dim first) const {
    Shape dims = type.dims();
    dims[0] = first;
    return ir_.tensorType(std::move(dims), type.dtype());
  }

  Dim ofSlice(SymbolId s) const { return batch_.isSymbol() && s == batch_.symbol() ? images_ : Dim(); }
  Type ofSlice(ValueId value, Type type) const {
    return rows_.kindOf(value) == BatchRows::Kind::own ? withFirst(type, images_) : type;
  }
  const Op* ofSlice(const Op& op) const {
    Op copy = *substituteDims(ir_, op, [this](SymbolId s) { return ofSlice(s); });
    for (ValueDef& r : copy.results) r.type = ofSlice(r.id, r.type);
    return ir_.own(std::move(copy));
  }

  void bind(std::vector<const Op*>& to, Dim symbol, ValueId from) {
    emit(to, ops::bind_dimsOp, {from}, {{"dims", Shape{symbol}}, {"elements", std::vector<int64_t>{0}}},
         Type());
  }

  void fillBody(const std::vector<ValueId>& outputs, const std::vector<Parameter>& carried) {
    const Type number = ir_.tensorType(Shape{}, Dtype::i64);
    const Parameter iteration{ir_.newValue(), number};
    outer_.clear();
    parameters_ = {iteration};
    parameters_.insert(parameters_.end(), carried.begin(), carried.end());
    bind(body_.ops, iteration_, iteration.id);
    bind(body_.ops, images_,
         emit(body_.ops, ops::dim_valueOp, {}, {{"value", Shape{min(each_, batch_ - iteration_ * each_)}}},
              number));
    for (size_t i : region_->members) take(*function_.ops[i]);
    body_.results = {emit(body_.ops, ops::constantOp, {},
                          {{"value", HostTensor::scalarInt(Dtype::boolean, 1)}},
                          ir_.tensorType(Shape{}, Dtype::boolean))};
    for (size_t k = 0; k < outputs.size(); ++k)
      body_.results.push_back(emit(body_.ops, ops::list_appendOp, {carried[k].id, replaced_.at(outputs[k])},
                                   {}, carried[k].type));
    body_.resultTypes = {ir_.tensorType(Shape{}, Dtype::boolean)};
    for (const Parameter& p : carried) body_.resultTypes.push_back(p.type);
    body_.parameters = std::move(parameters_);
  }

  // An operation of the region, over a slice.
  void take(const Op& op) {
    Op copy = *ofSlice(op);
    const bool shaped = op.def == &ops::reshapeOp && rows_.kindOf(op.operands[0]) == BatchRows::Kind::own;
    for (size_t i = 0; i < copy.operands.size(); ++i)
      if (ValueId& v = copy.operands[i]; v != kNoValue)
        v = shaped && i == 1 ? shapeOf(copy.results[0].type) : inside(v);
    if (shaped) copy.attributes.set("allowzero", int64_t{1});
    for (ValueDef& r : copy.results) {
      const ValueId own = lastUse_.count(r.id) && lastUse_.at(r.id) > region_->members.back()
                              ? ir_.newValue(ir_.valueName(r.id))
                              : r.id;
      replaced_[r.id] = own;
      r.id = own;
    }
    for (const Function*& body : copy.regions) body = ofSlice(*body);
    body_.ops.push_back(ir_.own(std::move(copy)));
  }

  const Function* ofSlice(const Function& kernel) {
    const DimReplacement replacement = [this](SymbolId s) { return ofSlice(s); };
    Function changed = kernel;
    for (Parameter& p : changed.parameters) p.type = ofSlice(p.id, substituteDims(ir_, p.type, replacement));
    for (size_t i = 0; i < changed.results.size(); ++i)
      changed.resultTypes[i] =
          ofSlice(changed.results[i], substituteDims(ir_, changed.resultTypes[i], replacement));
    for (const Op*& op : changed.ops) op = ofSlice(*op);
    return ir_.own(std::move(changed));
  }

  ValueId shapeOf(Type type) {
    const Dim rank = ir_.dims().constant(type.rank());
    return emit(body_.ops, ops::dims_valueOp, {}, {{"value", type.dims()}},
                ir_.tensorType(Shape{rank}, Dtype::i64));
  }

  // What stands for a value in the body: made there, the rows of the slice, or captured as it is.
  ValueId inside(ValueId v) {
    if (const auto made = replaced_.find(v); made != replaced_.end()) return made->second;
    if (const auto sizes = known_.find(v);
        sizes != known_.end() && !sizes->second->attributes.tensor("value")) {
      Op copy = *substituteDims(ir_, *sizes->second, [this](SymbolId s) { return ofSlice(s); });
      copy.results[0].id = ir_.newValue();
      const ValueId id = copy.results[0].id;
      body_.ops.push_back(ir_.own(std::move(copy)));
      return replaced_[v] = id;
    }
    const bool isOwn = rows_.kindOf(v) == BatchRows::Kind::own;
    // Rows of a view are rows of what it shows: elements that do not lie side by side are seen no other way.
    const auto view = isOwn ? views_.find(v) : views_.end();
    const ValueId base = view == views_.end() ? v : view->second->operands[0];
    const Parameter parameter{ir_.newValue(), rows_.typeOf(base)};
    parameters_.push_back(parameter);
    outer_.push_back(base);
    if (!isOwn) return replaced_[v] = parameter.id;
    const Type type = rows_.typeOf(v);
    Dim offset = ir_.dims().constant(0);
    Shape strides(type.dims().size(), ir_.dims().constant(1));
    if (view != views_.end()) {
      offset = view->second->attributes.dims("offset")[0];
      strides = view->second->attributes.dims("strides");
    } else {
      for (size_t axis = strides.size() - 1; axis-- > 0;)
        strides[axis] = strides[axis + 1] * type.dims()[axis + 1];
    }
    offset = offset + iteration_ * each_ * strides[0];
    return replaced_[v] = emit(body_.ops, ops::stridedOp, {parameter.id},
                               {{"offset", Shape{offset}}, {"strides", strides}}, withFirst(type, images_));
  }

  IrContext& ir_;
  const Function& function_;
  const Dim batch_;
  const BatchRows& rows_;
  std::unordered_map<ValueId, size_t> lastUse_;
  std::unordered_map<ValueId, const Op*> known_, views_;
  const SliceRegion* region_ = nullptr;
  Dim iteration_, images_, each_;  // which slice, how many it has, how many each has but the last
  SourceLocation place_;
  Function body_;
  std::vector<Parameter> parameters_;
  std::vector<ValueId> outer_;  // what the parameters behind the carried ones stand for
  ValueMap replaced_;
};

// First axes of parameters that look like images, in order: symbols, and numbers of several.
std::vector<Dim> batchesOf(const Function& function) {
  std::vector<Dim> found;
  for (const Parameter& p : function.parameters) {
    if (!p.type.isTensor() || p.type.rank() < 3) continue;
    const Dim batch = p.type.dims()[0];
    if (!batch.isSymbol() && batch.constant().value_or(0) < 2) continue;
    if (std::find(found.begin(), found.end(), batch) == found.end()) found.push_back(batch);
  }
  return found;
}

std::string describe(const Function& function, const SliceRegion& region, IrContext& ir, Dim batch) {
  const auto nameOf = [&](size_t member) {
    return "%" + ir.valueName(function.ops[region.members[member]]->results[0].id);
  };
  return "sliced along " + (batch.isSymbol() ? batch.toString() : "the batch of " + batch.toString()) + ": " +
         std::to_string(region.members.size()) + " operations from " + nameOf(0) + " to " +
         nameOf(region.members.size() - 1) + "; at a time one of it takes " +
         shortText(region.imageBytes, 200) + " bytes";
}

Result<Module> runBatchSlices(const Module& module, PassContext& context) {
  int64_t cacheBytes = cacheBytesOf(context.target.machine);
  if (const auto option = context.options.find("bytes"); option != context.options.end()) {
    const std::string& text = option->second;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), cacheBytes);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || cacheBytes < 1)
      return makeError(DiagnosticId::usageError, "batch_slices: bytes is a number from 1 on, not " + text);
  }
  if (!context.target.isHostOnly() || !context.target.hasHeap || cacheBytes <= 0) return module;
  IrContext& ir = *module.context;
  int64_t regions = 0, operations = 0;
  const auto change = [&](const Function& function) -> Result<const Function*> {
    if (module.find(function.name) == nullptr) return &function;
    for (const Dim batch : batchesOf(function)) {
      BatchRows rows(module, batch);
      const std::vector<SliceRun> runs = findSliceRuns(module, function, batch, rows, cacheBytes);
      if (runs.empty()) continue;
      Function changed = function;
      changed.ops.clear();
      SliceLoop loop(ir, function, batch, rows);
      size_t next = 0;
      for (const SliceRun& run : runs) {
        for (; next < run.begin; ++next) changed.ops.push_back(function.ops[next]);
        for (size_t i : run.before) changed.ops.push_back(function.ops[i]);
        std::unordered_map<size_t, const SliceRegion*> regionOf;
        for (const SliceRegion& region : run.regions) {
          for (size_t i : region.members) regionOf[i] = &region;
          ++regions;
          operations += static_cast<int64_t>(region.members.size());
          context.remarks.push_back(describe(function, region, ir, batch));
        }
        for (; next < run.end; ++next) {
          if (std::binary_search(run.before.begin(), run.before.end(), next)) continue;
          const auto region = regionOf.find(next);
          if (region == regionOf.end())
            changed.ops.push_back(function.ops[next]);
          else if (region->second->members.front() == next)
            loop.make(*region->second, cacheBytes, changed.ops);
        }
      }
      for (; next < function.ops.size(); ++next) changed.ops.push_back(function.ops[next]);
      return ir.own(std::move(changed));
    }
    return &function;
  };
  DYN_TRY(Module changed, rewriteFunctions(module, change));
  context.counters["sliced_regions"] = regions;
  context.counters["sliced_operations"] = operations;
  return changed;
}

}  // namespace

PassDef batch_slicesPass() {
  return {.name = "batch_slices",
          .summary = "runs convolutions over slices of a batch that fit the caches",
          .requiredProperties = Property::groups,
          .forbiddenProperties = Property::destinations,
          .options = {{"bytes", "what a slice may take; default: the second caches, of the last an eighth"}},
          .run = runBatchSlices,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
