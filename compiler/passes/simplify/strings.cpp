// Data movement of strings becomes data movement of numbers.
//   requires: types.  provides: no constant, no cast and no operation that moves elements has operands
//   or results of strings.
//   before  %y = gather(%x, %i) {axis = 1}                          %x [n, 4] string
//   after   %c = range(1, 4*n + 1, 1)  %p = reshape(%c, [n, 4])  %q = gather(%p, %i) {axis = 1}  %y = string_pick(%q, %x)
// What a string is, kernels do not know; where it goes, they do. The strings of all operands are counted from
// 1, so that the 0 with which an operation fills up is the empty string. Where the order of the elements
// matters (unique), the numbers are those of the sorted strings. Views that only give a tensor another shape
// stay: the host program does them. Cost in IR size: two operations for each operand, one for each result.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

enum class Numbers : uint8_t { places, ranks };

struct Mover {
  const OpDef* op;
  Numbers numbers = Numbers::places;
};

// Each element of a result of that type is an element of an operand of that type, or what fills it up.
constexpr Mover kMovers[] = {{&ops::transposeOp},
                             {&ops::expandOp},
                             {&ops::sliceOp},
                             {&ops::concatOp},
                             {&ops::splitOp},
                             {&ops::gatherOp},
                             {&ops::gather_ndOp},
                             {&ops::gather_elementsOp},
                             {&ops::scatter_elementsOp},
                             {&ops::scatter_ndOp},
                             {&ops::tensor_scatterOp},
                             {&ops::tileOp},
                             {&ops::padOp},
                             {&ops::center_crop_padOp},
                             {&ops::whereOp},
                             {&ops::compressOp},
                             {&ops::reverse_sequenceOp},
                             {&ops::depth_to_spaceOp},
                             {&ops::space_to_depthOp},
                             {&ops::one_hotOp},
                             {&ops::triluOp},
                             {&ops::resizeOp},
                             {&ops::uniqueOp, Numbers::ranks}};

bool isOfStrings(Type type) { return type.isTensor() && type.dtype() == Dtype::string; }

class StringMoves {
 public:
  StringMoves(const Function& function, IrContext& ir) : function_(function), ir_(ir) {
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) types_[r.id] = r.type;
  }

  const Function* run() {
    for (const Op* op : function_.ops) {
      place_ = op->place;
      if (op->def == &ops::constantOp && isOfStrings(op->results[0].type)) {
        makeConstant(*op);
      } else if (op->def == &ops::castOp && touchesStrings(*op)) {
        castStrings(*op);
      } else if (const Mover* mover = moverOf(*op)) {
        move(*op, *mover);
      } else {
        ops_.push_back(op);
        continue;
      }
      ++moved_;
    }
    if (moved_ == 0) return &function_;
    Function result = function_;
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  int64_t moved() const { return moved_; }

 private:
  bool touchesStrings(const Op& op) const {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return v != kNoValue && isOfStrings(types_.at(v)); }) ||
           std::any_of(op.results.begin(), op.results.end(),
                       [](const ValueDef& r) { return isOfStrings(r.type); });
  }

  const Mover* moverOf(const Op& op) const {
    const auto found = std::find_if(std::begin(kMovers), std::end(kMovers),
                                    [&](const Mover& mover) { return mover.op == op.def; });
    return found != std::end(kMovers) && touchesStrings(op) ? found : nullptr;
  }

  ValueId emit(const OpDef& def, std::vector<ValueId> operands, Attributes attributes, Type type) {
    return emit(def, std::move(operands), std::move(attributes), {{ir_.newValue(), type}});
  }
  ValueId emit(const OpDef& def, std::vector<ValueId> operands, Attributes attributes,
               std::vector<ValueDef> results) {
    Op op;
    op.def = &def;
    op.place = place_;
    op.operands = std::move(operands);
    op.attributes = std::move(attributes);
    op.results = std::move(results);
    ops_.push_back(ir_.own(std::move(op)));
    return ops_.back()->results[0].id;
  }
  ValueId size(Dim d) {
    return emit(ops::dim_valueOp, {}, {{"value", Shape{d}}}, ir_.tensorType(Shape(), Dtype::i64));
  }

  void castStrings(const Op& op) {
    const ValueDef& result = op.results[0];
    if (isOfStrings(types_.at(op.operands[0])) && isOfStrings(result.type))
      emit(ops::identityOp, {op.operands[0]}, {}, {result});
    else
      emit(ops::string_castOp, {op.operands[0]}, {{"to", result.type.dtype()}}, {result});
  }

  // A table, looked up at every place: programs hold numbers as constants, and tables with their operations.
  void makeConstant(const Op& op) {
    const ValueDef& result = op.results[0];
    const HostTensor& value = *op.attributes.tensor("value");
    std::vector<int64_t> places(static_cast<size_t>(value.elementCount()));
    std::iota(places.begin(), places.end(), int64_t{0});
    const HostTensor keys = HostTensor::vectorInt(Dtype::i64, places);
    const ValueId at = emit(ops::constantOp, {}, {{"value", keys.reshaped(value.shape())}},
                            ir_.tensorType(result.type.dims(), Dtype::i64));
    emit(ops::lookupOp, {at},
         {{"keys", keys},
          {"values", value.reshaped({value.elementCount()})},
          {"default", HostTensor::strings({}, {""})}},
         {result});
  }

  // first, first + 1, ... in the shape of the operand.
  ValueId counted(const Shape& dims, Dim first, Dim count) {
    const Dim one = ir_.dims().constant(1);
    const ValueId flat = emit(ops::rangeOp, {size(first), size(first + count), size(one)}, {},
                              ir_.tensorType({count}, Dtype::i64));
    const ValueId shape =
        emit(ops::dims_valueOp, {}, {{"value", dims}},
             ir_.tensorType({ir_.dims().constant(static_cast<int64_t>(dims.size()))}, Dtype::i64));
    return emit(ops::reshapeOp, {flat, shape}, {{"allowzero", int64_t{1}}}, ir_.tensorType(dims, Dtype::i64));
  }

  // The numbers of operand x, and where its strings are found by them.
  ValueId numbersOf(ValueId x, Numbers kind, Dim& next, std::vector<ValueId>& texts) {
    const Shape& dims = types_.at(x).dims();
    if (kind == Numbers::ranks) {
      const ValueDef ranks{ir_.newValue(), ir_.tensorType(dims, Dtype::i64)};
      const Dim distinct = ir_.dims().any("string_ranks counts distinct strings");
      texts.push_back(ir_.newValue());
      return emit(ops::string_ranksOp, {x}, {},
                  {ranks, {texts.back(), ir_.tensorType({distinct}, Dtype::string)}});
    }
    const Dim count = elementCount(ir_.dims(), dims), first = next;
    next = next + count;
    texts.push_back(x);
    return counted(dims, first, count);
  }

  void move(const Op& op, const Mover& mover) {
    Op moved = op;
    std::vector<ValueId> texts;
    Dim next = ir_.dims().constant(1);
    for (ValueId& operand : moved.operands)
      if (operand != kNoValue && isOfStrings(types_.at(operand)))
        operand = numbersOf(operand, mover.numbers, next, texts);
    std::vector<std::pair<ValueId, ValueDef>> picks;
    for (ValueDef& result : moved.results) {
      if (!isOfStrings(result.type)) continue;
      const ValueDef strings = result;
      result = {ir_.newValue(), ir_.tensorType(strings.type.dims(), Dtype::i64)};
      picks.emplace_back(result.id, strings);
    }
    ops_.push_back(ir_.own(std::move(moved)));
    for (const auto& [numbers, strings] : picks) {
      std::vector<ValueId> operands = {numbers};
      operands.insert(operands.end(), texts.begin(), texts.end());
      emit(ops::string_pickOp, std::move(operands), {}, {strings});
    }
  }

  const Function& function_;
  IrContext& ir_;
  SourceLocation place_;
  std::unordered_map<ValueId, Type> types_;
  std::vector<const Op*> ops_;
  int64_t moved_ = 0;
};

Result<Module> runStrings(const Module& module, PassContext& context) {
  int64_t moved = 0;
  DYN_TRY(Module result, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            StringMoves moves(function, *module.context);
            const Function* rewritten = moves.run();
            moved += moves.moved();
            return rewritten;
          }));
  context.counters["moved_strings"] = moved;
  return result;
}

}  // namespace

PassDef stringsPass() {
  return {.name = "strings",
          .summary = "turns data movement of strings into data movement of numbers",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .run = runStrings,
          .required = true};
}

}  // namespace dyn::passes
