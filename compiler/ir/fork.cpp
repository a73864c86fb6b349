#include "compiler/ir/fork.h"

#include "compiler/ir/walk.h"

namespace dyn {

namespace {

// DimContext and IrContext hand out what they have made to readers only through references that may write.
IrContext& readable(const IrContext& context) { return const_cast<IrContext&>(context); }

}  // namespace

IrFork::IrFork(const IrContext& from, IrContext& fresh) : fresh_(fresh) {
  const DimContext& dims = readable(from).dims();
  for (SymbolId id = 0; id < dims.symbolCount(); ++id) {
    const std::string name = dims.symbolName(id);
    Result<Dim> symbol = dims.isAnonymous(id) ? parseDim(fresh.dims(), name) : fresh.dims().symbol(name);
    dims_[dims.symbolById(id).id()] = symbol.ok() ? *symbol : fresh.dims().invalid();
    fresh.dims().setSymbolReason(id, dims.symbolReason(id));
  }
  for (ValueId id = 0; id < from.valueCount(); ++id)
    (void)fresh.newValue(from.hasName(id) ? from.valueName(id) : "");
}

// Parts before wholes, with a stack of its own: expressions and types may be nested as deep as a program
// makes them.
Dim IrFork::dim(Dim root) {
  if (!root) return root;
  std::vector<Dim> stack{root};
  while (!stack.empty()) {
    const Dim now = stack.back();
    const size_t before = stack.size();
    if (!dims_.count(now.id()))
      for (Dim part : now.operands())
        if (!dims_.count(part.id())) stack.push_back(part);
    if (stack.size() != before) continue;
    if (!dims_.count(now.id())) dims_[now.id()] = built(now);
    stack.pop_back();
  }
  return dims_.at(root.id());
}

Dim IrFork::built(Dim dim) {
  std::vector<Dim> parts;
  for (Dim part : dim.operands()) parts.push_back(dims_.at(part.id()));
  switch (dim.kind()) {
    case DimKind::constant:
      return fresh_.dims().constant(*dim.constant());
    case DimKind::add:
    case DimKind::mul: {
      Dim all = parts.at(0);
      for (size_t i = 1; i < parts.size(); ++i)
        all = dim.kind() == DimKind::add ? all + parts[i] : all * parts[i];
      return all;
    }
    case DimKind::floorDiv:
      return floorDiv(parts.at(0), parts.at(1));
    case DimKind::ceilDiv:
      return ceilDiv(parts.at(0), parts.at(1));
    case DimKind::mod:
      return mod(parts.at(0), parts.at(1));
    case DimKind::min:
      return min(parts.at(0), parts.at(1));
    case DimKind::max:
      return max(parts.at(0), parts.at(1));
    case DimKind::symbol:  // all are there from the beginning
    case DimKind::invalid:
      break;
  }
  return fresh_.dims().invalid();
}

Shape IrFork::shape(const Shape& dims) {
  Shape copy;
  for (Dim one : dims) copy.push_back(dim(one));
  return copy;
}

Type IrFork::type(Type root) {
  if (!root) return root;
  std::vector<Type> stack{root};
  while (!stack.empty()) {
    const Type now = stack.back();
    const size_t before = stack.size();
    if (!types_.count(now.id())) {
      for (std::span<const Type> parts : {now.elements(), now.results()})
        for (Type part : parts)
          if (part && !types_.count(part.id())) stack.push_back(part);
    }
    if (stack.size() != before) continue;
    if (!types_.count(now.id())) types_[now.id()] = built(now);
    stack.pop_back();
  }
  return types_.at(root.id());
}

std::vector<Type> IrFork::types(std::span<const Type> list) {
  std::vector<Type> copies;
  for (Type one : list) copies.push_back(type(one));
  return copies;
}

Type IrFork::built(Type type) {
  switch (type.kind()) {
    case TypeKind::tensor:
      return fresh_.tensorType(shape(type.dims()), type.dtype());
    case TypeKind::tuple:
      return fresh_.tupleType(types(type.elements()));
    case TypeKind::list:
      return fresh_.listType(types(type.elements())[0]);
    case TypeKind::optional:
      return fresh_.optionalType(types(type.elements())[0]);
    case TypeKind::function:
      return fresh_.functionType(types(type.elements()), types(type.results()));
    case TypeKind::data:
      break;
  }
  return fresh_.dataType(type.dataName());
}

const Op* IrFork::op(const Op& op) {
  Op copy = op;
  for (ValueDef& result : copy.results) result.type = type(result.type);
  for (const auto& [name, value] : op.attributes.all()) {
    if (const Shape* dims = std::get_if<Shape>(&value)) copy.attributes.set(name, shape(*dims));
    if (const Type* t = std::get_if<Type>(&value)) copy.attributes.set(name, type(*t));
  }
  for (const Function*& region : copy.regions) region = functions_.at(region);
  return fresh_.own(std::move(copy));
}

const Function* IrFork::function(const Function& function) {
  Function copy = function;
  for (Parameter& parameter : copy.parameters) parameter.type = type(parameter.type);
  for (Type& result : copy.resultTypes) result = type(result);
  for (const Op*& one : copy.ops) one = op(*one);
  return fresh_.own(std::move(copy));
}

std::shared_ptr<const DataType> IrFork::dataType(const DataType& type) {
  auto copy = std::make_shared<DataType>(type);
  for (DataConstructor& constructor : copy->constructors)
    for (Type& field : constructor.fields) field = this->type(field);
  return copy;
}

Module IrFork::module(const Module& module) {
  const std::vector<FunctionVisit> visits = functionsOf(module);
  for (size_t i = visits.size(); i-- > 0;)  // inner before outer
    functions_[visits[i].function] = function(*visits[i].function);
  Module copy;
  copy.context = &fresh_;
  for (const Function* one : module.functions) copy.functions.push_back(functions_.at(one));
  for (const auto& type : module.dataTypes) copy.dataTypes.push_back(dataType(*type));
  return copy;
}

}  // namespace dyn
