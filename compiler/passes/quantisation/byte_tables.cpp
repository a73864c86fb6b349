#include "compiler/passes/quantisation/byte_tables.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

constexpr int64_t kBytes = 256;

bool isByteType(Type type) {
  return type.isTensor() && (type.dtype() == Dtype::u8 || type.dtype() == Dtype::i8);
}
// One number, which a vector of 256 leaves a vector.
bool isSingle(Type type) {
  return type.isTensor() && (type.rank() == 0 || (type.rank() == 1 && type.dims()[0].isConstant(1)));
}

class TableMaker {
 public:
  TableMaker(const Function& function, IrContext& ir) : function_(function), ir_(ir) {
    for (const Parameter& p : function.parameters) note(p.id, p.type);
  }

  const Function* run() {
    for (const Op* op : function_.ops) {
      const std::optional<Origin> origin = originOf(*op);
      for (const ValueDef& r : op->results) {
        note(r.id, r.type);
        definitions_[r.id] = op;
        if (origin) origins_[r.id] = *origin;
      }
      if (origin && origin->byReals && origin->cost >= kWorth && isByteType(op->results[0].type))
        lookUp(*op, origin->bytes);
      else
        ops_.push_back(op);
    }
    if (tables_ == 0) return &function_;
    Function result = function_;
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  int64_t tables() const { return tables_; }

 private:
  // What the elements of a value follow from.
  struct Origin {
    ValueId bytes = kNoValue;  // kNoValue: from constants alone
    bool byReals = false;
    int64_t cost = 0;  // of an element, in instructions, about
  };

  void note(ValueId v, Type type) {
    types_[v] = type;
    if (isByteType(type) && !isSingle(type)) origins_[v] = {v, false, 0};
  }

  static int64_t costOf(const Op& op) {
    constexpr int64_t kFunction = 8, kDequantize = 3, kQuantize = 5;
    if (op.def == &ops::dequantize_linearOp) return kDequantize;
    if (op.def == &ops::quantize_linearOp) return kQuantize;
    return op.def->traits.cost == ElementCost::function ? kFunction : 1;
  }

  // Nothing where its elements follow from more than one byte each.
  std::optional<Origin> originOf(const Op& op) const {
    if (op.results.size() != 1 || !op.regions.empty() || op.def->hasEffects || !op.def->evaluate ||
        !op.results[0].type.isTensor())
      return std::nullopt;
    const Type type = op.results[0].type;
    if (op.def == &ops::constantOp) return isSingle(type) ? std::optional(Origin{}) : std::nullopt;
    if (op.def->cls != OpClass::elementwise || op.def == &ops::batch_normOp) return std::nullopt;
    Origin origin;
    for (ValueId v : op.operands) {
      if (v == kNoValue) continue;
      const auto found = origins_.find(v);
      if (found == origins_.end()) return std::nullopt;
      const Origin& own = found->second;
      if (own.bytes != kNoValue && origin.bytes != kNoValue && own.bytes != origin.bytes) return std::nullopt;
      if (own.bytes == kNoValue && !isSingle(types_.at(v))) return std::nullopt;
      if (own.bytes != kNoValue) origin.bytes = own.bytes;
      origin.byReals |= own.byReals;
      origin.cost += own.cost;
    }
    origin.byReals |= isReal(type.dtype());
    origin.cost += costOf(op);
    if (origin.bytes == kNoValue) return isSingle(type) ? std::optional(origin) : std::nullopt;
    if (type.dims() != types_.at(origin.bytes).dims()) return std::nullopt;
    return origin;
  }

  ValueId emit(const OpDef& def, std::vector<ValueId> operands, Attributes attributes, Type type,
               const SourceLocation& place) {
    const ValueId id = ir_.newValue();
    add(def, std::move(operands), std::move(attributes), {id, type}, place);
    return id;
  }
  void add(const OpDef& def, std::vector<ValueId> operands, Attributes attributes, ValueDef result,
           const SourceLocation& place) {
    Op op;
    op.def = &def;
    op.operands = std::move(operands);
    op.attributes = std::move(attributes);
    op.results = {result};
    op.place = place;
    ops_.push_back(ir_.own(std::move(op)));
  }

  Type tableType(Dtype dtype) { return ir_.tensorType(Shape{ir_.dims().constant(kBytes)}, dtype); }

  // All bytes, in the order of their bits.
  ValueId everyByte(Dtype dtype, const SourceLocation& place) {
    HostTensor all = *HostTensor::create(dtype, {kBytes});
    for (int64_t i = 0; i < kBytes; ++i)
      all.setInt(i, dtype == Dtype::i8 ? int64_t{static_cast<int8_t>(i)} : i);
    return emit(ops::constantOp, {}, {{"value", std::move(all)}}, tableType(dtype), place);
  }

  // The value as it is for each byte of its origin.
  ValueId tableOf(ValueId root, ValueId bytes, const SourceLocation& place) {
    std::vector<ValueId> work{root};
    if (!table_.count(bytes)) table_[bytes] = everyByte(types_.at(bytes).dtype(), place);
    while (!work.empty()) {
      const ValueId v = work.back();
      if (table_.count(v)) {
        work.pop_back();
        continue;
      }
      const Op& op = *definitions_.at(v);
      std::vector<ValueId> operands = op.operands;
      bool ready = true;
      for (ValueId& operand : operands) {
        if (operand == kNoValue || origins_.at(operand).bytes == kNoValue) continue;
        const auto found = table_.find(operand);
        if (found == table_.end()) {
          work.push_back(operand);
          ready = false;
        } else {
          operand = found->second;
        }
      }
      if (!ready) continue;
      work.pop_back();
      Attributes attributes = op.attributes;
      attributes.erase("axis");  // of vectors of scales, which there are none of
      if (op.def == &ops::quantize_linearOp || op.def == &ops::dequantize_linearOp)
        attributes.set("axis", int64_t{0});
      table_[v] = emit(*op.def, std::move(operands), std::move(attributes),
                       tableType(op.results[0].type.dtype()), op.place);
    }
    return table_.at(root);
  }

  void lookUp(const Op& op, ValueId bytes) {
    ++tables_;
    const ValueDef& result = op.results[0];
    const ValueId table = tableOf(result.id, bytes, op.place);
    const Shape& dims = result.type.dims();
    ValueId at = bytes;
    if (types_.at(bytes).dtype() == Dtype::i8)
      at = emit(ops::castOp, {at}, {{"to", Dtype::u8}}, ir_.tensorType(dims, Dtype::u8), op.place);
    at = emit(ops::castOp, {at}, {{"to", Dtype::i32}}, ir_.tensorType(dims, Dtype::i32), op.place);
    add(ops::gatherOp, {table, at}, {{"axis", int64_t{0}}}, result, op.place);
  }

  static constexpr int64_t kWorth = 9;  // instructions that a look into a table takes the place of

  const Function& function_;
  IrContext& ir_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> definitions_;
  std::unordered_map<ValueId, Origin> origins_;  // of values that follow from one byte each, or from none
  std::unordered_map<ValueId, ValueId> table_;
  std::vector<const Op*> ops_;
  int64_t tables_ = 0;
};

}  // namespace

const Function* withByteTables(const Function& function, IrContext& ir, int64_t& tables) {
  TableMaker maker(function, ir);
  const Function* result = maker.run();
  tables += maker.tables();
  return result;
}

}  // namespace dyn::passes
