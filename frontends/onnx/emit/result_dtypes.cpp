#include "frontends/onnx/emit/result_dtypes.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::onnx {
namespace {

struct FixedRow {
  const OpDef* op;
  int result;  // -1: every one
  Dtype dtype;
};

// Operators whose results do not have the type of their first operand.
constexpr FixedRow kFixed[] = {
    {&ops::equalOp, 0, Dtype::boolean},
    {&ops::lessOp, 0, Dtype::boolean},
    {&ops::less_equalOp, 0, Dtype::boolean},
    {&ops::greaterOp, 0, Dtype::boolean},
    {&ops::greater_equalOp, 0, Dtype::boolean},
    {&ops::is_nanOp, 0, Dtype::boolean},
    {&ops::is_infOp, 0, Dtype::boolean},
    {&ops::optional_hasOp, 0, Dtype::boolean},
    {&ops::regex_full_matchOp, 0, Dtype::boolean},
    {&ops::string_splitOp, 1, Dtype::i64},
    {&ops::tfidfOp, 0, Dtype::f32},
    {&ops::string_pickOp, 0, Dtype::string},
    {&ops::string_ranksOp, 0, Dtype::i64},
    {&ops::string_ranksOp, 1, Dtype::string},
    {&ops::shapeOp, 0, Dtype::i64},
    {&ops::sizeOp, 0, Dtype::i64},
    {&ops::argmaxOp, 0, Dtype::i64},
    {&ops::argminOp, 0, Dtype::i64},
    {&ops::nonzeroOp, 0, Dtype::i64},
    {&ops::non_max_suppressionOp, 0, Dtype::i64},
    {&ops::dims_valueOp, 0, Dtype::i64},
    {&ops::dim_valueOp, 0, Dtype::i64},
    {&ops::list_lengthOp, 0, Dtype::i64},
    {&ops::topkOp, 1, Dtype::i64},
    {&ops::uniqueOp, 1, Dtype::i64},
    {&ops::uniqueOp, 2, Dtype::i64},
    {&ops::uniqueOp, 3, Dtype::i64},
    {&ops::max_poolOp, 1, Dtype::i64},
    {&ops::layer_normOp, 1, Dtype::f32},
    {&ops::layer_normOp, 2, Dtype::f32},
    {&ops::matmul_integerOp, 0, Dtype::i32},
    {&ops::matmul_integer_packedOp, 0, Dtype::i32},
    {&ops::conv_integerOp, 0, Dtype::i32},
    {&ops::conv_integer_packedOp, 0, Dtype::i32},
    {&ops::walk_treesOp, 0, Dtype::i32},
    {&ops::constant_of_shapeOp, 0, Dtype::f32},  // without a value
    {&ops::dynamic_quantize_linearOp, 0, Dtype::u8},
    {&ops::dynamic_quantize_linearOp, 1, Dtype::f32},
    {&ops::dynamic_quantize_linearOp, 2, Dtype::u8},
};

struct OperandRow {
  const OpDef* op;
  size_t operand;
};

constexpr OperandRow kOfOperand[] = {{&ops::whereOp, 1},
                                     {&ops::one_hotOp, 2},
                                     {&ops::dequantize_linearOp, 1},
                                     {&ops::quantize_linearOp, 2},
                                     {&ops::compressOp, 0}};

constexpr const OpDef* kListMakers[] = {&ops::listOp,        &ops::list_ofOp,    &ops::list_appendOp,
                                        &ops::list_insertOp, &ops::list_eraseOp, &ops::split_to_sequenceOp};

}  // namespace

bool resultIsList(const Op& op, ValueTable& values) {
  if (op.def == &ops::optional_someOp || op.def == &ops::optional_getOp)
    return !op.operands.empty() && op.operands[0] != kNoValue && values.at(op.operands[0]).isList;
  if (op.def == &ops::optional_noneOp) {
    const Type type = op.attributes.type("type");
    return type && type.kind() == TypeKind::list;
  }
  return std::find(std::begin(kListMakers), std::end(kListMakers), op.def) != std::end(kListMakers);
}

std::optional<Dtype> resultDtype(const Op& op, size_t index, ValueTable& values) {
  for (const char* name : {"value", "values"})
    if (const HostTensor* value = op.attributes.tensor(name)) return value->dtype();
  for (const FixedRow& row : kFixed) {
    if (row.op == op.def && (row.result < 0 || static_cast<size_t>(row.result) == index)) return row.dtype;
  }
  for (const auto& [name, value] : op.attributes.all()) {
    if (kindOf(value) == AttributeKind::dtype && (name == "to" || name == "dtype" || name == "output_dtype"))
      return std::get<Dtype>(value);
  }
  // A tuple's fields differ; what a body returns is known where it was imported.
  if (op.def == &ops::tupleOp || op.def == &ops::tuple_getOp || !op.regions.empty()) return std::nullopt;
  size_t operand = 0;
  if ((op.def == &ops::list_appendOp || op.def == &ops::list_insertOp) && op.operands.size() > 1) operand = 1;
  for (const OperandRow& row : kOfOperand)
    if (row.op == op.def) operand = row.operand;
  if (operand >= op.operands.size() || op.operands[operand] == kNoValue) return std::nullopt;
  return values.at(op.operands[operand]).dtype;
}

}  // namespace dyn::onnx
