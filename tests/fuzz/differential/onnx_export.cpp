#include "tests/fuzz/differential/onnx_export.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <set>

#include "compiler/ops/op_table.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::differential {

namespace {

using onnx::test::Msg;

constexpr int64_t kOpset = 18;
// AttributeProto.type
enum AttributeCode : int64_t { kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kGraph = 5, kInts = 7 };

// Where ONNX's name is another one than ours in capitals: reduce_sum is ReduceSum.
const std::map<std::string_view, const char*> kOtherNames = {{"less_equal", "LessOrEqual"},
                                                             {"greater_equal", "GreaterOrEqual"},
                                                             {"logical_and", "And"},
                                                             {"logical_or", "Or"},
                                                             {"logical_xor", "Xor"},
                                                             {"logical_not", "Not"},
                                                             {"argmax", "ArgMax"},
                                                             {"argmin", "ArgMin"},
                                                             {"cumsum", "CumSum"},
                                                             {"nonzero", "NonZero"},
                                                             {"topk", "TopK"},
                                                             {"matmul", "MatMul"}};

// Operations that take and give the same in ONNX, whose attributes have the same names.
const std::set<std::string_view> kSame = {"neg",
                                          "abs",
                                          "sign",
                                          "floor",
                                          "ceil",
                                          "round",
                                          "sqrt",
                                          "exp",
                                          "log",
                                          "sin",
                                          "cos",
                                          "tanh",
                                          "erf",
                                          "identity",
                                          "relu",
                                          "sigmoid",
                                          "add",
                                          "sub",
                                          "mul",
                                          "div",
                                          "mod",
                                          "min",
                                          "max",
                                          "equal",
                                          "less",
                                          "less_equal",
                                          "greater",
                                          "greater_equal",
                                          "logical_and",
                                          "logical_or",
                                          "logical_xor",
                                          "logical_not",
                                          "where",
                                          "clip",
                                          "reduce_sum",
                                          "reduce_mean",
                                          "reduce_max",
                                          "reduce_min",
                                          "reduce_prod",
                                          "argmax",
                                          "argmin",
                                          "cumsum",
                                          "softmax",
                                          "transpose",
                                          "reshape",
                                          "expand",
                                          "squeeze",
                                          "unsqueeze",
                                          "concat",
                                          "slice",
                                          "gather",
                                          "pad",
                                          "tile",
                                          "split",
                                          "topk",
                                          "unique",
                                          "nonzero",
                                          "compress",
                                          "range",
                                          "one_hot",
                                          "trilu",
                                          "shape",
                                          "size",
                                          "gather_nd",
                                          "gather_elements",
                                          "scatter_elements",
                                          "scatter_nd",
                                          "constant_of_shape",
                                          "cast"};

std::string onnxName(std::string_view name) {
  if (const auto other = kOtherNames.find(name); other != kOtherNames.end()) return other->second;
  std::string result;
  bool capital = true;
  for (char c : name) {
    if (c != '_') result += capital ? static_cast<char>(std::toupper(c)) : c;
    capital = c == '_';
  }
  return result;
}

Msg tensorProto(const HostTensor& tensor) {
  Msg proto;
  for (int64_t d : tensor.shape()) proto.num(1, d);
  proto.num(2, onnxCode(tensor.dtype()));
  return proto.sub(9, std::string_view(reinterpret_cast<const char*>(tensor.data()),
                                       static_cast<size_t>(tensor.sizeBytes())));
}

Msg attribute(std::string_view name, const AttributeValue& value) {
  Msg made = Msg().sub(1, name);
  if (const auto* integer = std::get_if<int64_t>(&value)) return made.num(3, *integer).num(20, kInt);
  if (const auto* real = std::get_if<double>(&value))
    return made.f32(2, static_cast<float>(*real)).num(20, kFloat);
  if (const auto* text = std::get_if<std::string>(&value)) return made.sub(4, *text).num(20, kString);
  if (const auto* tensor = std::get_if<HostTensor>(&value))
    return made.sub(5, tensorProto(*tensor)).num(20, kTensor);
  if (const auto* dtype = std::get_if<Dtype>(&value)) return made.num(3, onnxCode(*dtype)).num(20, kInt);
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value))
    for (int64_t i : *integers) made.num(8, i);
  return made.num(20, kInts);
}

// With a shape: its rank, and the dims that are numbers.
Msg valueInfo(const std::string& name, Type type, bool withShape) {
  Msg tensor = Msg().num(1, onnxCode(type.dtype()));
  Msg shape;
  for (Dim d : type.dims())
    shape.sub(1, d.constant()   ? Msg().num(1, *d.constant())
                 : d.isSymbol() ? Msg().sub(2, d.toString())
                                : Msg());
  if (withShape) tensor.sub(2, shape);
  return onnx::test::valueInfo(name, Msg().sub(1, tensor));
}

class Exporter {
 public:
  explicit Exporter(const Module& module) : module_(module) {}

  Result<std::string> run() {
    const Function& main = *module_.main();
    Scope scope;
    Msg graph = Msg().sub(2, "random");
    for (size_t i = 0; i < main.parameters.size(); ++i) {
      const Parameter& p = main.parameters[i];
      scope.names[p.id] = "input_" + std::to_string(i);
      scope.types[p.id] = p.type;
      graph.sub(11, valueInfo(scope.names[p.id], p.type, true));
    }
    DYN_CHECK(body(main, scope, graph));
    for (size_t i = 0; i < main.results.size(); ++i) {
      const std::string name = "output_" + std::to_string(i);
      node(graph, "Identity", {scope.names.at(main.results[i])}, {name});
      DYN_CHECK(requireTensor(main.resultTypes[i]));
      graph.sub(12, valueInfo(name, main.resultTypes[i], false));
    }
    return Msg().num(1, 8).sub(8, Msg().num(2, kOpset)).sub(7, graph).bytes;
  }

 private:
  struct Scope {
    std::map<ValueId, std::string> names;
    std::map<ValueId, Type> types;
  };
  using Attribute = std::pair<std::string, AttributeValue>;

  static Error notThere(std::string_view what) {
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: ONNX has no " + std::string(what));
  }
  static Status requireTensor(Type type) {
    if (!type || !type.isTensor()) return notThere("value but tensors");
    return {};
  }

  std::string fresh() { return "t" + std::to_string(count_++); }

  static void node(Msg& graph, std::string_view op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const std::vector<Attribute>& attributes = {},
                   const std::vector<std::pair<std::string, Msg>>& graphs = {}) {
    Msg made;
    for (const std::string& name : inputs) made.sub(1, name);
    for (const std::string& name : outputs) made.sub(2, name);
    made.sub(4, op);
    for (const auto& [name, value] : attributes) made.sub(5, attribute(name, value));
    for (const auto& [name, inner] : graphs) made.sub(5, Msg().sub(1, name).sub(6, inner).num(20, kGraph));
    graph.sub(1, made);
  }

  // The operations of a function whose parameters have names already.
  Status body(const Function& function, Scope& scope, Msg& graph) {
    for (const Op* op : function.ops) DYN_CHECK(operation(*op, scope, graph));
    return {};
  }

  Status operation(const Op& op, Scope& scope, Msg& graph) {
    if (op.def == &ops::checkOp || op.def == &ops::check_valuesOp || op.def == &ops::bind_dimsOp) return {};
    std::vector<std::string> inputs, outputs;
    for (ValueId v : op.operands) inputs.push_back(v == kNoValue ? "" : scope.names.at(v));
    for (const ValueDef& result : op.results) {
      DYN_CHECK(requireTensor(result.type));
      outputs.push_back(fresh());
      scope.names[result.id] = outputs.back();
      scope.types[result.id] = result.type;
    }
    if (op.def == &ops::callOp) return call(op, scope, graph);
    if (op.def == &ops::ifOp) return branches(op, inputs, outputs, scope, graph);
    if (op.def == &ops::loopOp) return loop(op, inputs, outputs, scope, graph);
    std::vector<Attribute> attributes(op.attributes.all().begin(), op.attributes.all().end());
    if (op.def == &ops::constantOp) {
      node(graph, "Constant", {}, outputs, attributes);
      return {};
    }
    if (kSame.count(op.def->name) == 0) return notThere(op.def->name);
    if (op.def->name == "one_hot" && scope.types.at(op.operands[0]).rank() == 0)
      return notThere("one-hot of a number without axes");
    if (op.def == &ops::matmulOp) {
      attributes.clear();
      if (op.attributes.integer("transpose_a") != 0)
        inputs[0] = transposed(graph, inputs[0], scope.types.at(op.operands[0]));
      if (op.attributes.integer("transpose_b") != 0)
        inputs[1] = transposed(graph, inputs[1], scope.types.at(op.operands[1]));
    }
    if (op.def == &ops::topkOp) inputs[1] = vectorOf(graph, inputs[1]);
    if (op.def == &ops::splitOp && inputs.size() < 2) {
      const int64_t axis = op.attributes.integer("axis"), parts = static_cast<int64_t>(outputs.size());
      const Type type = scope.types.at(op.operands[0]);
      const Dim size = type.dims()[static_cast<size_t>(axis < 0 ? axis + type.rank() : axis)];
      if (size.constant().value_or(0) < parts) return notThere("parts without elements");
      attributes = {{"axis", axis}, {"num_outputs", parts}};
    }
    node(graph, onnxName(op.def->name), inputs, outputs, attributes);
    return {};
  }

  std::string transposed(Msg& graph, const std::string& matrix, Type type) {
    std::vector<int64_t> order;
    for (int axis = 0; axis < type.rank(); ++axis) order.push_back(axis);
    if (order.size() > 1) std::swap(order[order.size() - 1], order[order.size() - 2]);
    const std::string result = fresh();
    node(graph, "Transpose", {matrix}, {result}, {{"perm", order}});
    return result;
  }

  std::string vectorOf(Msg& graph, const std::string& scalar) {
    const std::string shape = fresh(), result = fresh();
    node(graph, "Constant", {}, {shape},
         {{"value", HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{1})}});
    node(graph, "Reshape", {scalar, shape}, {result});
    return result;
  }

  Status call(const Op& op, Scope& scope, Msg& graph) {
    const Function* callee = module_.find(op.attributes.string("callee"));
    if (!callee || !calls_.insert(callee).second) return notThere("recursion");
    Scope inside;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      inside.names[callee->parameters[i].id] = scope.names.at(op.operands[i]);
      inside.types[callee->parameters[i].id] = callee->parameters[i].type;
    }
    DYN_CHECK(body(*callee, inside, graph));
    for (size_t i = 0; i < op.results.size(); ++i)
      node(graph, "Identity", {inside.names.at(callee->results[i])}, {scope.names.at(op.results[i].id)});
    calls_.erase(callee);
    return {};
  }

  // A body as a graph: its captures are read from the graph around it.
  Result<Msg> region(const Function& function, size_t captures, const std::vector<std::string>& captured,
                     Scope& scope) {
    Msg graph = Msg().sub(2, "body");
    const size_t own = function.parameters.size() - captures;
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      const Parameter& p = function.parameters[i];
      DYN_CHECK(requireTensor(p.type));
      scope.types[p.id] = p.type;
      scope.names[p.id] = i < own ? fresh() : captured[i - own];
      if (i >= own) continue;
      graph.sub(11, valueInfo(scope.names[p.id], p.type, i == 0));
      if (i == 0)  // of loops: the condition, which no body of ours reads, comes behind the iteration
        graph.sub(11, onnx::test::valueInfo(fresh(), onnx::test::tensorType(onnxCode(Dtype::boolean), {})));
    }
    DYN_CHECK(body(function, scope, graph));
    for (size_t i = 0; i < function.results.size(); ++i) {
      DYN_CHECK(requireTensor(function.resultTypes[i]));
      const std::string name = fresh();
      node(graph, "Identity", {scope.names.at(function.results[i])}, {name});
      graph.sub(12, valueInfo(name, function.resultTypes[i], true));
    }
    return graph;
  }

  Status branches(const Op& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, Scope& scope, Msg& graph) {
    const std::vector<std::string> captured(inputs.begin() + 1, inputs.end());
    DYN_TRY(Msg yes, region(*op.regions[0], captured.size(), captured, scope));
    DYN_TRY(Msg no, region(*op.regions[1], captured.size(), captured, scope));
    node(graph, "If", {inputs[0]}, outputs, {}, {{"then_branch", yes}, {"else_branch", no}});
    return {};
  }

  Status loop(const Op& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
              Scope& scope, Msg& graph) {
    const size_t carried = static_cast<size_t>(op.attributes.integer("carried")), given = 2 + carried;
    for (size_t i = carried; i < op.results.size(); ++i)
      for (size_t axis = 1; axis < op.results[i].type.dims().size(); ++axis)
        if (!op.results[i].type.dims()[axis].isConstant())
          return notThere("size for what a loop without iterations has stacked");
    const std::vector<std::string> captured(inputs.begin() + static_cast<std::ptrdiff_t>(given),
                                            inputs.end());
    DYN_TRY(Msg inner, region(*op.regions[0], captured.size(), captured, scope));
    node(graph, "Loop", {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(given)}, outputs, {},
         {{"body", inner}});
    return {};
  }

  const Module& module_;
  std::set<const Function*> calls_;  // being written out
  int64_t count_ = 0;
};

}  // namespace

Result<std::string> toOnnx(const Module& module) { return Exporter(module).run(); }

}  // namespace dyn::differential
