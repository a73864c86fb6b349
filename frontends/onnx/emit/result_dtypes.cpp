#include "frontends/onnx/emit/result_dtypes.h"

#include <algorithm>
#include <string_view>

#include "compiler/ir/op_def.h"

namespace dyn::onnx {
namespace {

struct FixedRow {
  std::string_view op;
  int result;  // -1: every one
  Dtype dtype;
};

// Operators whose results do not have the type of their first operand.
constexpr FixedRow kFixed[] = {
    {"equal", 0, Dtype::boolean},
    {"less", 0, Dtype::boolean},
    {"less_equal", 0, Dtype::boolean},
    {"greater", 0, Dtype::boolean},
    {"greater_equal", 0, Dtype::boolean},
    {"is_nan", 0, Dtype::boolean},
    {"is_inf", 0, Dtype::boolean},
    {"optional_has", 0, Dtype::boolean},
    {"regex_full_match", 0, Dtype::boolean},
    {"string_split", 1, Dtype::i64},
    {"tfidf", 0, Dtype::f32},
    {"string_pick", 0, Dtype::string},
    {"string_ranks", 0, Dtype::i64},
    {"string_ranks", 1, Dtype::string},
    {"shape", 0, Dtype::i64},
    {"size", 0, Dtype::i64},
    {"argmax", 0, Dtype::i64},
    {"argmin", 0, Dtype::i64},
    {"nonzero", 0, Dtype::i64},
    {"non_max_suppression", 0, Dtype::i64},
    {"dims_value", 0, Dtype::i64},
    {"dim_value", 0, Dtype::i64},
    {"list_length", 0, Dtype::i64},
    {"topk", 1, Dtype::i64},
    {"unique", 1, Dtype::i64},
    {"unique", 2, Dtype::i64},
    {"unique", 3, Dtype::i64},
    {"max_pool", 1, Dtype::i64},
    {"layer_norm", 1, Dtype::f32},
    {"layer_norm", 2, Dtype::f32},
    {"matmul_integer", 0, Dtype::i32},
    {"matmul_integer_packed", 0, Dtype::i32},
    {"conv_integer", 0, Dtype::i32},
    {"conv_integer_packed", 0, Dtype::i32},
    {"walk_trees", 0, Dtype::i32},
    {"constant_of_shape", 0, Dtype::f32},  // without a value
    {"dynamic_quantize_linear", 0, Dtype::u8},
    {"dynamic_quantize_linear", 1, Dtype::f32},
    {"dynamic_quantize_linear", 2, Dtype::u8},
};

struct OperandRow {
  std::string_view op;
  size_t operand;
};

constexpr OperandRow kOfOperand[] = {
    {"where", 1}, {"one_hot", 2}, {"dequantize_linear", 1}, {"quantize_linear", 2}, {"compress", 0}};

constexpr std::string_view kListMakers[] = {"list", "list_append", "list_insert", "list_erase",
                                            "split_to_list"};

}  // namespace

bool makesList(const OpDef& op) {
  return std::find(std::begin(kListMakers), std::end(kListMakers), op.name) != std::end(kListMakers);
}

std::optional<Dtype> resultDtype(const Op& op, size_t index, ValueTable& values) {
  for (const char* name : {"value", "values"})
    if (const HostTensor* value = op.attributes.tensor(name)) return value->dtype();
  for (const FixedRow& row : kFixed) {
    if (row.op == op.def->name && (row.result < 0 || static_cast<size_t>(row.result) == index))
      return row.dtype;
  }
  for (const auto& [name, value] : op.attributes.all()) {
    if (kindOf(value) == AttributeKind::dtype && (name == "to" || name == "dtype" || name == "output_dtype"))
      return std::get<Dtype>(value);
  }
  // A tuple's fields differ; what a body returns is known where it was imported.
  if (op.def->name == "tuple" || op.def->name == "tuple_get" || !op.regions.empty()) return std::nullopt;
  size_t operand = 0;
  if ((op.def->name == "list_append" || op.def->name == "list_insert") && op.operands.size() > 1) operand = 1;
  for (const OperandRow& row : kOfOperand)
    if (row.op == op.def->name) operand = row.operand;
  if (operand >= op.operands.size() || op.operands[operand] == kNoValue) return std::nullopt;
  return values.at(op.operands[operand]).dtype;
}

}  // namespace dyn::onnx
