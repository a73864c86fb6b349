// The nodes of trees, lists and graphs that are data values, as tables: what a recursion over them reads,
// for many nodes at once. Its evaluation is the interpreter's (node_values.cpp).
#include "compiler/ops/index/node_table_ops.h"
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"

namespace dyn {

std::string whyNoTables(const DataType& data) {
  for (const DataConstructor& constructor : data.constructors)
    for (size_t i = 0; i < constructor.fields.size(); ++i) {
      const Type field = constructor.fields[i];
      const std::string what = "field " + std::to_string(i) + " of " + constructor.name;
      if (isChildField(field, data)) continue;
      if (!field.isTensor()) return what + " is a " + field.toString();
      if (dtypeClass(field.dtype()) == DtypeClass::text)
        return what + " has elements of " + std::string(toString(field.dtype()));
      for (Dim d : field.dims())
        if (!d.isConstant()) return "the size of " + what + " differs from node to node: " + field.toString();
    }
  return "";
}

bool isChildField(Type field, const DataType& data) {
  return field.kind() == TypeKind::data && field.dataName() == data.name;
}

bool hasChildren(const DataConstructor& constructor, const DataType& data) {
  for (Type field : constructor.fields)
    if (isChildField(field, data)) return true;
  return false;
}

int tableCount(const DataType& data) {
  int count = 1;
  for (const DataConstructor& constructor : data.constructors)
    count += 1 + (hasChildren(constructor, data) ? 1 : 0) + static_cast<int>(constructor.fields.size());
  return count;
}

std::vector<int64_t> fieldNumbers(const DataType& data) {
  std::vector<int64_t> numbers;
  for (const DataConstructor& constructor : data.constructors) {
    numbers.push_back(static_cast<int64_t>(constructor.fields.size()));
    for (Type field : constructor.fields) numbers.push_back(isChildField(field, data) ? 0 : 1);
  }
  return numbers;
}

namespace {

std::string listed(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (int64_t number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

Status inferNodeTables(InferContext& c) {
  const Type list = c.operandType(0);
  if (list.kind() != TypeKind::list || list.element().kind() != TypeKind::data)
    return c.error(DiagnosticId::typeMismatch, "it needs a list of data values, not " + list.toString());
  const DataType* data = c.module().findData(list.element().dataName());
  if (!data)
    return c.error(DiagnosticId::textName, "there is no data type " + std::string(list.element().dataName()));
  if (const std::string why = whyNoTables(*data); !why.empty())
    return c.error(DiagnosticId::unsupportedFeature, "unsupported: tables of " + data->name + ": " + why);
  if (c.attributes().string("type") != data->name || c.attributes().integers("fields") != fieldNumbers(*data))
    return c.error(DiagnosticId::badAttribute, "the list's elements are of " + data->name +
                                                   ", its fields are " + listed(fieldNumbers(*data)));
  if (static_cast<int>(c.op().results.size()) != tableCount(*data))
    return c.error(DiagnosticId::badOperands,
                   "a " + data->name + " has " + std::to_string(tableCount(*data)) + " tables");
  int next = 0;
  setTensor(c, {c.fresh("as many as there are roots")}, Dtype::i64, next++);
  Dim heights;
  for (const DataConstructor& constructor : data->constructors) {
    const Dim count = c.fresh("as many as there are nodes of " + constructor.name);
    setTensor(c, {count}, Dtype::i64, next++);
    if (hasChildren(constructor, *data)) {
      if (!heights) heights = c.fresh("as many as there are heights above leaves, and one");
      setTensor(c, {heights}, Dtype::i64, next++);
    }
    for (Type field : constructor.fields) {
      Shape dims{count};
      if (field.isTensor()) dims.insert(dims.end(), field.dims().begin(), field.dims().end());
      setTensor(c, dims, field.isTensor() ? field.dtype() : Dtype::i64, next++);
    }
  }
  return {};
}

// What the tables are is read off the results' types: a vector of the rows begins each constructor.
Status fillNodeTables(const BuiltinRequest& request, CallFields<calls::NodeTables>& call) {
  std::vector<int32_t>& numbers = call.numbers.fields;
  const std::vector<int64_t> fields = request.op.attributes.integers("fields");
  size_t result = 1;
  for (size_t at = 0; at < fields.size();) {
    const int64_t count = fields[at++];
    numbers.push_back(static_cast<int32_t>(count));
    ++result;  // the rows
    bool inner = false;
    for (int64_t i = 0; i < count; ++i) inner = inner || fields[at + static_cast<size_t>(i)] == 0;
    result += inner ? 1 : 0;
    for (int64_t i = 0; i < count; ++i, ++result) {
      if (fields[at++] == 0) {
        numbers.push_back(-1);
        continue;
      }
      const Type type = request.op.results[result].type;
      numbers.push_back(static_cast<int32_t>(type.dtype()));
      numbers.push_back(type.rank() - 1);
      for (size_t axis = 1; axis < type.dims().size(); ++axis)
        numbers.push_back(static_cast<int32_t>(type.dims()[axis].constant().value_or(-1)));
    }
  }
  return {};
}

constexpr AttributeSpec kNodeTablesAttributes[] = {
    {"type", AttributeKind::string, true, "the data type",
     Allowed::byRule("the type of the list's elements")},
    {"fields", AttributeKind::integers, true,
     "of each constructor of the type how many fields, and for each 0: a value of the type, or 1: a tensor",
     Allowed::byRule("the fields of the type's constructors")}};

}  // namespace

namespace ops {

const OpDef node_tablesOp{
    .name = "node_tables",
    .summary = "the nodes of data values (trees, lists, graphs) as tables, one row a node, by height",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .results = -1,
    .attributes = kNodeTablesAttributes,
    .infer = inferNodeTables,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::NodeTables, fillNodeTables>,
    .operandRules = kAnyElements,
    .doc =
        "List[T] of m roots -> roots i64 [m], then for each constructor of T: rows i64 [n] of its nodes; "
        "where it has fields of T: starts i64 [heights + 1], its nodes of height 1 + k being those from "
        "starts[k] to starts[k + 1]; and a table for each field: i64 [n], the rows of nodes, or [n, ...]. "
        "Nodes without fields of T are of height 0, others of one more than the highest of their fields. "
        "Rows count from 0, by height, then by constructor; a value that is met again is one node.",
    .example =
        "type T { L(Tensor[(2), f32]), N(T, T) } fn @main(%x: Tensor[(2), f32]) { %a = construct(%x) {type = "
        "\"T\", constructor = \"L\"} %l = list(%a, %a) %roots, %leaves, %x0, %nodes, %starts, %a0, %b0 = "
        "node_tables(%l) {type = \"T\", fields = [1, 1, 2, 0, 0]} return %roots, %x0 }",
};

}  // namespace ops
}  // namespace dyn
