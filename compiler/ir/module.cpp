#include "compiler/ir/module.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/checksum.h"
#include "compiler/ir/type_node.h"
#include "compiler/ir/value_names.h"

namespace dyn {
namespace {

size_t mix(size_t seed, size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15ull + (seed >> 29); }

struct TypeHash {
  size_t operator()(const TypeNode* node) const {
    size_t hash = mix(static_cast<size_t>(node->kind), static_cast<size_t>(node->dtype));
    for (Dim dim : node->dims) hash = mix(hash, dim ? dim.id() + 1 : 0);
    for (Type type : node->elements) hash = mix(hash, type ? type.id() + 1 : 0);
    for (Type type : node->results) hash = mix(hash, type ? type.id() + 3 : 0);
    return mix(hash, std::hash<std::string_view>{}(node->dataName));
  }
};

struct TypeEqual {
  bool operator()(const TypeNode* a, const TypeNode* b) const {
    return a->kind == b->kind && a->dtype == b->dtype && a->dims == b->dims && a->elements == b->elements &&
           a->results == b->results && a->dataName == b->dataName;
  }
};

void addSymbols(std::vector<SymbolId>* into, const std::vector<SymbolId>& symbols) {
  if (symbols.empty()) return;
  into->insert(into->end(), symbols.begin(), symbols.end());
  std::sort(into->begin(), into->end());
  into->erase(std::unique(into->begin(), into->end()), into->end());
}

// The number a name like "12" stands for: such names belong to the unnamed values.
std::optional<uint32_t> asNumber(std::string_view name) {
  uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, number);
  if (name.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  if (name.size() > 1 && name[0] == '0') return std::nullopt;
  return number;
}

}  // namespace

const Function* Module::find(std::string_view name) const {
  for (const Function* function : functions) {
    if (function->name == name) return function;
  }
  return nullptr;
}

const DataType* Module::findData(std::string_view name) const {
  for (const auto& type : dataTypes) {
    if (type->name == name) return type.get();
  }
  return nullptr;
}

struct IrContext::Impl {
  DimContext dims;
  DimSolver facts{dims};
  std::deque<TypeNode> types;
  std::unordered_set<const TypeNode*, TypeHash, TypeEqual> interned;
  std::deque<Op> ops;
  std::deque<Function> functions;
  std::unordered_set<std::string> functionNames;
  std::unordered_map<std::string, uint32_t> lastFunctionNumber;  // per base
  ValueNames names;
  std::unordered_map<const std::byte*, std::pair<int64_t, uint32_t>> checksums;  // address → size, CRC-32
  std::unordered_map<std::string, uint32_t> lastSuffix;  // per name given more than once

  const TypeNode* intern(TypeNode node) {
    const auto found = interned.find(&node);
    if (found != interned.end()) return *found;
    for (Dim dim : node.dims) {
      if (dim) addSymbols(&node.symbols, symbolsOf(dim));
    }
    for (Type type : node.elements) addSymbols(&node.symbols, symbolsOf(type));
    for (Type type : node.results) addSymbols(&node.symbols, symbolsOf(type));
    node.id = static_cast<uint32_t>(types.size());
    types.push_back(std::move(node));
    interned.insert(&types.back());
    return &types.back();
  }

  bool nameTaken(const std::string& name, ValueId by) const {
    const ValueId owner = names.find(name);
    if (owner != kNoValue) return owner != by;
    const auto number = asNumber(name);
    return number && *number != by && *number < names.count() && !names.has(*number);
  }

  std::string freeName(std::string_view wanted, ValueId by) {
    std::string name(wanted);
    if (!nameTaken(name, by)) return name;
    // The copy of a copy counts on from the original: "x_2" again is "x_3". Else names in bodies nested n
    // deep would hold n numbers.
    const size_t end = name.find_last_of('_');
    if (end != std::string::npos && asNumber(std::string_view(name).substr(end + 1)) &&
        lastSuffix.count(name.substr(0, end)))
      name.resize(end);
    uint32_t& last = lastSuffix[name];
    if (last == 0) last = 1;
    std::string candidate;
    do {
      candidate = name + "_" + std::to_string(++last);
    } while (nameTaken(candidate, by));
    return candidate;
  }
};

IrContext::IrContext() : impl_(std::make_unique<Impl>()) {}
IrContext::~IrContext() = default;

DimContext& IrContext::dims() { return impl_->dims; }
DimSolver& IrContext::facts() { return impl_->facts; }

Type IrContext::tensorType(Shape dims, Dtype dtype) {
  TypeNode node;
  node.kind = TypeKind::tensor;
  node.dims = std::move(dims);
  node.dtype = dtype;
  return Type(impl_->intern(std::move(node)));
}

Type IrContext::tensorType(std::span<const int64_t> dims, Dtype dtype) {
  Shape shape;
  shape.reserve(dims.size());
  for (int64_t dim : dims) shape.push_back(impl_->dims.constant(dim));
  return tensorType(std::move(shape), dtype);
}

Type IrContext::tupleType(std::vector<Type> fields) {
  TypeNode node;
  node.kind = TypeKind::tuple;
  node.elements = std::move(fields);
  return Type(impl_->intern(std::move(node)));
}

Type IrContext::listType(Type element) {
  TypeNode node;
  node.kind = TypeKind::list;
  node.elements = {element};
  return Type(impl_->intern(std::move(node)));
}

Type IrContext::optionalType(Type element) {
  TypeNode node;
  node.kind = TypeKind::optional;
  node.elements = {element};
  return Type(impl_->intern(std::move(node)));
}

Type IrContext::functionType(std::vector<Type> parameters, std::vector<Type> results) {
  TypeNode node;
  node.kind = TypeKind::function;
  node.elements = std::move(parameters);
  node.results = std::move(results);
  return Type(impl_->intern(std::move(node)));
}

Type IrContext::dataType(std::string_view name) {
  TypeNode node;
  node.kind = TypeKind::data;
  node.dataName = name;
  return Type(impl_->intern(std::move(node)));
}

ValueId IrContext::newValue(std::string_view name) {
  const ValueId id = impl_->names.add();
  if (!name.empty()) setValueName(id, name);
  return id;
}

std::string IrContext::valueName(ValueId id) const {
  if (id == kNoValue) return "_";
  if (id >= impl_->names.count()) return std::to_string(id);
  if (impl_->names.has(id)) return std::string(impl_->names.of(id));
  std::string name = std::to_string(id);
  // A name out of a text may be this number already.
  while (impl_->names.find(name) != kNoValue) name += "_";
  return name;
}

void IrContext::setValueName(ValueId id, std::string_view name) {
  if (id >= impl_->names.count() || impl_->names.of(id) == name) return;
  impl_->names.take(id);
  if (!name.empty()) impl_->names.give(id, impl_->freeName(name, id));
}

bool IrContext::hasName(ValueId id) const { return impl_->names.has(id); }

ValueId IrContext::findValue(std::string_view name) const {
  if (const ValueId owner = impl_->names.find(name); owner != kNoValue) return owner;
  const auto number = asNumber(name.substr(0, name.find_last_not_of('_') + 1));
  return number && *number < impl_->names.count() && valueName(*number) == name ? *number : kNoValue;
}

uint32_t IrContext::valueCount() const { return impl_->names.count(); }

const Op* IrContext::own(Op op) {
  impl_->ops.push_back(std::move(op));
  return &impl_->ops.back();
}

const Function* IrContext::own(Function function) {
  impl_->functionNames.insert(function.name);
  impl_->functions.push_back(std::move(function));
  return &impl_->functions.back();
}

uint32_t IrContext::checksum(const HostTensor& tensor) const {
  // Small tensors are quick to read, and may be temporaries whose address is used again.
  constexpr int64_t kRememberBytes = 1 << 16;
  if (!tensor.valid() || tensor.dtype() == Dtype::string || tensor.sizeBytes() < kRememberBytes) {
    return crc32(tensor);
  }
  auto& known = impl_->checksums[tensor.bytes()];
  if (known.first != tensor.sizeBytes()) known = {tensor.sizeBytes(), crc32(tensor)};
  return known.second;
}

std::string IrContext::uniqueFunctionName(std::string_view base) {
  uint32_t& last = impl_->lastFunctionNumber[std::string(base)];
  std::string name;
  do {
    name = std::string(base) + std::to_string(++last);
  } while (!impl_->functionNames.insert(name).second);
  return name;
}

}  // namespace dyn
