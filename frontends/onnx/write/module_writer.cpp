#include "frontends/onnx/write/module_writer.h"

#include <algorithm>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/dim_nodes.h"
#include "frontends/onnx/write/write_table.h"

namespace dyn::onnx {
namespace {

constexpr int64_t kMostNodes = 4'000'000;  // functions that call each other can multiply

void addValue(std::string& fields, uint32_t field, const std::string& name, Type type) {
  WireWriter out;
  out.bytes(field, valueMessage(name, type));
  fields += out.str();
}

// What ONNX has types for.
bool isValueType(Type type) { return type && !typeMessage(type).empty(); }

}  // namespace

ModuleWriter::ModuleWriter(const Module& module, const SaveOptions& options)
    : module_(module), options_(options), parts_(*module.context) {
  if (options.typed != nullptr) learnTypes(*options.typed);
  learnTypes(module);
}

void ModuleWriter::learnTypes(const Module& module) {
  for (const FunctionVisit& visit : functionsOf(module)) {
    for (const Parameter& parameter : visit.function->parameters)
      parts_.setType(parameter.id, parameter.type);
    for (const Op* op : visit.function->ops)
      for (const ValueDef& result : op->results) parts_.setType(result.id, result.type);
  }
}

void ModuleWriter::run() {
  openMain();
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.next < frame.function->ops.size()) {
      if (frame.scope->graph->nodeCount > kMostNodes) {
        parts_.problem("@main", "with its calls written out it has more than 4 million nodes");
        return;
      }
      step(*frame.function->ops[frame.next++]);
    } else if (frame.kind == Frame::Kind::main) {
      closeMain(frame);
      frames_.pop_back();
    } else if (frame.kind == Frame::Kind::inlined) {
      closeInlined();
    } else {
      closeBody();
    }
  }
}

void ModuleWriter::openMain() {
  const Function& main = *module_.main();
  Frame frame{.kind = Frame::Kind::main, .function = &main, .ownScope = std::make_unique<Scope>()};
  frame.scope = frame.ownScope.get();
  frame.scope->graph = &graph_;
  const auto nameOf = [&](const std::vector<std::string>& names, size_t i, ValueId id) {
    return i < names.size() && !names[i].empty() ? names[i] : parts_.ir().valueName(id);
  };
  for (size_t i = 0; i < main.parameters.size(); ++i) {
    const Parameter& parameter = main.parameters[i];
    const std::string name = parts_.freshName(nameOf(options_.inputNames, i, parameter.id));
    addInput(graph_, name, parts_.typeOf(parameter.id), parameter.id);
    bind(*frame.scope, parameter.id, {.name = name}, parts_.typeOf(parameter.id));
  }
  for (size_t i = 0; i < main.results.size(); ++i) {
    const std::string name = nameOf(options_.outputNames, i, main.results[i]);
    parts_.reserve(name);
    outputs_.try_emplace(main.results[i], name);
  }
  for (const Parameter& parameter : main.parameters) outputs_.erase(parameter.id);
  wanted_ = outputs_;
  frames_.push_back(std::move(frame));
}

void ModuleWriter::addInput(GraphMessage& graph, const std::string& name, Type type, ValueId id) {
  if (!isValueType(type))
    parts_.problem("the input %" + parts_.ir().valueName(id),
                   type ? "ONNX has no type for " + type.toString() : "its type is not known");
  parts_.use(type);
  addValue(graph.inputs, 11, name, type);
}

void ModuleWriter::closeMain(Frame& frame) {
  const Function& main = *frame.function;
  std::unordered_set<std::string> given;
  for (size_t i = 0; i < main.results.size(); ++i) {
    const ValueId id = main.results[i];
    std::string name = tensorOf(*frame.scope, id, nullptr);
    const std::string wanted = i < options_.outputNames.size() && !options_.outputNames[i].empty()
                                   ? options_.outputNames[i]
                                   : parts_.ir().valueName(id);
    if (name != wanted || !given.insert(name).second)
      name = copied(graph_, name, parts_.takeReserved(wanted));
    const Type type = parts_.typeOf(id);
    if (!isValueType(type))
      parts_.problem("the output %" + parts_.ir().valueName(id),
                     type ? "ONNX has no type for " + type.toString() : "its type is not known");
    addValue(graph_.outputs, 12, name, type);
  }
}

std::string ModuleWriter::copied(GraphMessage& graph, const std::string& tensor, const std::string& name) {
  graph.add({"Identity", {tensor}, {name}});
  return name;
}

std::string ModuleWriter::tensorOf(Scope& scope, ValueId id, const Op* owner) {
  // An operation that reads the value: what asks is a result of a function.
  Op reader;
  reader.def = owner != nullptr ? owner->def : &ops::identityOp;
  reader.operands = {id};
  NodeWriter writer(parts_, scope, reader, {});
  const std::string tensor = writer.operand(0);
  if (writer.failed()) parts_.problem("%" + parts_.ir().valueName(id) + " as a result", writer.failure());
  return tensor;
}

std::vector<std::string> ModuleWriter::resultNames(const Op& op) {
  std::vector<std::string> names;
  for (const ValueDef& result : op.results) {
    const auto wanted = wanted_.find(result.id);
    if (wanted == wanted_.end()) {
      names.push_back(parts_.freshName(parts_.ir().valueName(result.id)));
    } else {
      names.push_back(parts_.takeReserved(wanted->second));
      wanted_.erase(wanted);
    }
  }
  return names;
}

void ModuleWriter::bind(Scope& scope, ValueId id, Bound bound, Type type) {
  if (bound.kind == Bound::Kind::tensor) scope.learnDims(bound.name, type);
  scope.values.insert_or_assign(id, std::move(bound));
}

void ModuleWriter::bindResults(const Op& op, const std::vector<std::string>& names) {
  Scope& scope = *frames_.back().scope;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Type type = parts_.typeOf(op.results[i].id);
    parts_.use(type);
    bind(scope, op.results[i].id, {.name = names[i]}, type);
    const auto output = outputs_.find(op.results[i].id);
    const bool isOutput = output != outputs_.end() && output->second == names[i];
    if (isValueType(type) && !isOutput) addValue(scope.graph->values, 13, names[i], type);
  }
}

void ModuleWriter::step(const Op& op) {
  const WriteRow* row = findWriteRow(op.def->name);
  if (row == nullptr) return parts_.problem(op, "the operator has no row in the table of the writer");
  if (row->saying == Saying::leftOut) return parts_.leaveOut(op);
  if (row->saying == Saying::walker) return stepWalker(op);
  const std::vector<std::string> names = resultNames(op);
  NodeWriter writer(parts_, *frames_.back().scope, op, names);
  runWriteRow(*row, writer);
  if (writer.failed()) parts_.problem(op, writer.failure());
  bindResults(op, names);
}

void ModuleWriter::stepWalker(const Op& op) {
  Scope& scope = *frames_.back().scope;
  const auto stands = [&](Bound bound) { scope.values.insert_or_assign(op.results[0].id, std::move(bound)); };
  if (op.def == &ops::constantOp) return stands({.kind = Bound::Kind::constant, .op = &op});
  if (op.def == &ops::dims_valueOp || op.def == &ops::dim_valueOp)
    return stands({.kind = Bound::Kind::dims, .op = &op});
  if (op.def == &ops::bind_dimsOp) return bindDims(op);
  if (op.def == &ops::fusedOp || op.def == &ops::intoOp) return openGroup(op);
  if (op.def == &ops::callOp) return openCall(op);
  if (op.def == &ops::ifOp || op.def == &ops::loopOp) return openBody(op, 0);
  // Memory: an `into` gives the value.
  if (op.def == &ops::allocOp || op.def == &ops::arenaOp || op.def == &ops::killOp) return;
  // Tuples and packed weights keep what they are made of.
  Bound bound{.kind = op.def == &ops::tupleOp ? Bound::Kind::tuple : Bound::Kind::packed, .op = &op};
  for (ValueId id : op.operands) {
    const Bound* field = scope.find(id);
    if (field == nullptr) return parts_.problem(op, "nothing has written its operand");
    bound.fields.push_back(*field);
  }
  if (op.def != &ops::tuple_getOp) return stands(std::move(bound));
  const auto index = static_cast<size_t>(op.attributes.integer("index"));
  const Bound& tuple = bound.fields.at(0);
  if (tuple.kind != Bound::Kind::tuple || index >= tuple.fields.size())
    return parts_.problem(op, "ONNX has no tuples as values of branches and loops");
  const Bound field = tuple.fields[index];
  bind(scope, op.results[0].id, field, parts_.typeOf(op.results[0].id));
}

void ModuleWriter::bindDims(const Op& op) {
  Scope& scope = *frames_.back().scope;
  NodeWriter writer(parts_, scope, op, {});
  const std::string tensor = writer.operand(0);
  if (writer.failed()) return parts_.problem(op, writer.failure());
  const Type type = writer.operandType(0);
  const Shape dims = op.attributes.dims("dims");
  const std::vector<int64_t> elements = op.attributes.integers("elements");
  for (size_t i = 0; i < dims.size(); ++i)
    scope.dims.insert_or_assign(
        dims[i].id(), DimSource{DimSource::Kind::element, tensor, elements[i], type ? type.rank() : -1,
                                type ? type.dtype() : Dtype::i64});
}

// The function's values are the group's: they live in the scope around.
void ModuleWriter::openGroup(const Op& op) {
  const Function& body = *op.regions[0];
  const auto written = static_cast<size_t>(op.def == &ops::intoOp ? op.attributes.integer("outputs") : 0);
  Scope& scope = *frames_.back().scope;
  size_t parameter = 0;
  for (size_t i = 0; i + written < op.operands.size(); ++i) {
    if (op.operands[i] == kNoValue) continue;
    const Bound* bound = scope.find(op.operands[i]);
    if (bound == nullptr) return parts_.problem(op, "nothing has written its operand");
    const Bound copy = *bound;
    scope.values.insert_or_assign(body.parameters[parameter++].id, copy);
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    const ValueId outer = written != 0 ? op.operands[op.operands.size() - written + i] : op.results[i].id;
    const auto wanted = wanted_.find(outer);
    wanted_[body.results[i]] = wanted != wanted_.end() ? wanted->second : parts_.ir().valueName(outer);
  }
  frames_.push_back({.kind = Frame::Kind::inlined, .function = &body, .owner = &op, .scope = &scope});
}

void ModuleWriter::openCall(const Op& op) {
  const Function* callee = module_.find(op.attributes.string("callee"));
  const bool isOpen =
      std::any_of(frames_.begin(), frames_.end(), [&](const Frame& f) { return f.function == callee; });
  const std::vector<std::string> names =
      isOpen || callee == nullptr ? resultNames(op) : std::vector<std::string>();
  if (isOpen) {
    parts_.problem(op, "@" + callee->name + " calls itself, and ONNX has no recursion");
    return bindResults(op, names);
  }
  if (callee == nullptr) return parts_.problem(op, "its function is not in the module");
  Frame frame{
      .kind = Frame::Kind::inlined, .function = callee, .owner = &op, .ownScope = std::make_unique<Scope>()};
  frame.scope = frame.ownScope.get();
  frame.scope->graph = frames_.back().scope->graph;
  NodeWriter writer(parts_, *frames_.back().scope, op, {});
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Parameter& parameter = callee->parameters[i];
    const Bound* bound = writer.bound(i);
    const bool stays =
        bound != nullptr && (bound->kind == Bound::Kind::tuple || bound->kind == Bound::Kind::packed);
    bind(*frame.scope, parameter.id, stays ? *bound : Bound{.name = writer.operand(i)}, parameter.type);
  }
  if (writer.failed()) parts_.problem(op, writer.failure());
  frames_.push_back(std::move(frame));
}

void ModuleWriter::closeInlined() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  const Op& op = *frame.owner;
  const size_t written = op.def == &ops::intoOp ? static_cast<size_t>(op.attributes.integer("outputs")) : 0;
  for (size_t i = 0; i < frame.function->results.size(); ++i) {
    const ValueId inner = frame.function->results[i];
    const ValueId outer = written != 0 ? op.operands[op.operands.size() - written + i] : op.results[i].id;
    const Bound* bound = frame.scope->find(inner);
    if (bound == nullptr) {
      parts_.problem(op, "nothing has written its result");
      continue;
    }
    Bound result = *bound;
    // The sizes of a callee are known in it only.
    if (frame.ownScope != nullptr && result.kind == Bound::Kind::dims)
      result = Bound{.name = tensorOf(*frame.scope, inner, &op)};
    bind(*frames_.back().scope, outer, std::move(result), parts_.typeOf(outer));
  }
}

void ModuleWriter::openBody(const Op& op, size_t region) {
  const Function& body = *op.regions[region];
  Scope& around = *frames_.back().scope;
  Frame frame{.kind = Frame::Kind::body,
              .function = &body,
              .owner = &op,
              .ownScope = std::make_unique<Scope>(),
              .ownGraph = std::make_unique<GraphMessage>()};
  frame.scope = frame.ownScope.get();
  frame.scope->outer = &around;
  frame.scope->graph = frame.ownGraph.get();
  // Iteration and carried values of a loop are its inputs; what it captures it sees.
  const bool isLoop = op.def == &ops::loopOp;
  const size_t inputs = isLoop ? 1 + static_cast<size_t>(op.attributes.integer("carried")) : 0;
  for (size_t i = 0; i < body.parameters.size(); ++i) {
    const Parameter& parameter = body.parameters[i];
    if (i >= inputs) {
      const Bound* bound = around.find(op.operands[i + 1]);
      if (bound != nullptr) frame.scope->values.insert_or_assign(parameter.id, *bound);
      continue;
    }
    Type type = parts_.typeOf(parameter.id);
    if (i == 0 && !type) type = parts_.ir().tensorType(Shape{}, Dtype::i64);
    const std::string name = parts_.freshName(parts_.ir().valueName(parameter.id));
    addInput(*frame.ownGraph, name, type, parameter.id);
    bind(*frame.scope, parameter.id, {.name = name}, type);
    if (i == 0)
      addValue(frame.ownGraph->inputs, 11, parts_.freshName("condition"),
               parts_.ir().tensorType(Shape{}, Dtype::boolean));
  }
  frames_.push_back(std::move(frame));
}

void ModuleWriter::closeBody() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  const Op& op = *frame.owner;
  GraphMessage& graph = *frame.ownGraph;
  std::unordered_set<std::string> given;
  for (size_t i = 0; i < frame.function->results.size(); ++i) {
    const ValueId id = frame.function->results[i];
    std::string name = tensorOf(*frame.scope, id, &op);
    // A body gives what a node of its own has made, each once.
    if (graph.made.count(name) == 0 || !given.insert(name).second)
      name = copied(graph, name, parts_.freshName(parts_.ir().valueName(id)));
    Type type = i < frame.function->resultTypes.size() ? frame.function->resultTypes[i] : Type();
    if (!type) type = parts_.typeOf(id);
    if (!isValueType(type))
      parts_.problem(op, "a result of its body is " + (type ? type.toString() : "of a type not known"));
    addValue(graph.outputs, 12, name, type);
  }
  frames_.back().bodies.push_back(graph.bytes(frame.function->name));
  const size_t done = frames_.back().bodies.size();
  if (done < op.regions.size()) return openBody(op, done);
  finishControl(op);
}

void ModuleWriter::finishControl(const Op& op) {
  const std::vector<std::string> bodies = std::move(frames_.back().bodies);
  frames_.back().bodies.clear();
  const std::vector<std::string> names = resultNames(op);
  NodeWriter writer(parts_, *frames_.back().scope, op, names);
  AttributeMessages attributes;
  if (op.def == &ops::ifOp) {
    attributes.graph("then_branch", bodies[0]);
    attributes.graph("else_branch", bodies[1]);
    std::string condition = writer.operand(0);
    const Type type = writer.operandType(0);
    if (type && type.isTensor() && type.dtype() != Dtype::boolean)
      condition = writer.cast(condition, Dtype::boolean);
    writer.finish("If", {condition}, std::move(attributes));
  } else {
    attributes.graph("body", bodies[0]);
    std::vector<std::string> inputs{writer.inI64(0), writer.operand(1)};
    const auto carried = static_cast<size_t>(op.attributes.integer("carried"));
    for (size_t i = 0; i < carried; ++i) inputs.push_back(writer.operand(2 + i));
    constexpr size_t kCountAndCondition = 2;
    writer.finish("Loop", std::move(inputs), std::move(attributes), "", kCountAndCondition);
  }
  if (writer.failed()) parts_.problem(op, writer.failure());
  bindResults(op, names);
}

}  // namespace dyn::onnx
