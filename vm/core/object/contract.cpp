#include "vm/core/object/contract.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <span>
#include <string_view>

#include "vm/shared/dyn_axis_name.h"

namespace dyn::vm {
namespace {

std::string quotedName(const ContractValue& value) { return "\"" + value.name + "\""; }

bool isContractSymbol(const std::string& text) {
  if (text.empty() || text == "?") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '?' || c == '.';
  });
}

Status checkTensor(const ContractValue& expected, const char* role, const Object* value) {
  const ContractType& type = expected.type;
  auto wrong = [&](const std::string& why) {
    return failure(DYN_BAD_INPUT, std::string(role) + " " + quotedName(expected) + ": expected " +
                                      contractTypeText(type) + ", got " + describe(value) + why);
  };
  if (value->kind != ObjectKind::tensor) return wrong("");
  const auto* tensor = static_cast<const Tensor*>(value);
  if (static_cast<uint8_t>(tensor->dtype) != type.dtype || tensor->rank != type.dims.size()) return wrong("");
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    const ContractDim& dim = type.dims[axis];
    const int64_t size = tensor->shape()[axis];
    const std::string at = ": dim " + std::to_string(axis) + " is " + std::to_string(size);
    if (dim.value >= 0) {
      if (size != dim.value) return wrong(at);
    } else if (size < dim.low || size > dim.high) {
      return wrong(at + ", allowed is " + std::to_string(dim.low) + ".." +
                   (dim.high == INT64_MAX ? "" : std::to_string(dim.high)));
    } else if (dim.multiple > 1 && size % dim.multiple != 0) {
      return wrong(at + ", not a multiple of " + std::to_string(dim.multiple));
    }
  }
  return okStatus();
}

// "element 1 is i8[3]": the first part of a value that is not of its type; "" where all are. `self` names the
// value, "" the one that is given. Programs read parts without a look at their types. Types nest at most 32
// deep.
std::string misfit(const ContractType& type, const Object* value, const std::string& self) {
  const std::string what = (self.empty() ? "it" : self) + " is " + (value ? describe(value) : "absent");
  if (!value) return type.kind == ContractKind::optional ? "" : what;
  const auto misfitIn = [&](std::span<Object* const> parts, const std::string& name) {
    for (size_t i = 0; i < parts.size(); ++i) {
      const ContractType& part = type.elements[type.kind == ContractKind::tuple ? i : 0];
      const std::string number = type.kind == ContractKind::optional ? "" : " " + std::to_string(i);
      std::string wrong = misfit(part, parts[i], (self.empty() ? "" : self + ", ") + name + number);
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  };
  switch (type.kind) {
    case ContractKind::tensor: {
      const auto* tensor = static_cast<const Tensor*>(value);
      if (value->kind != ObjectKind::tensor || static_cast<uint8_t>(tensor->dtype) != type.dtype ||
          tensor->rank != type.dims.size())
        return what;
      for (size_t axis = 0; axis < type.dims.size(); ++axis)
        if (type.dims[axis].value >= 0 && tensor->shape()[axis] != type.dims[axis].value) return what;
      return "";
    }
    case ContractKind::tuple: {
      const auto* tuple = static_cast<const Tuple*>(value);
      if (type.elements.empty()) return "";  // what a list holds that is empty in the program
      if (value->kind != ObjectKind::tuple) return what;
      return tuple->count == type.elements.size()
                 ? misfitIn({const_cast<Tuple*>(tuple)->fields(), tuple->count}, "field")
                 : what;
    }
    case ContractKind::optional: {
      const auto* tuple = static_cast<const Tuple*>(value);
      if (value->kind != ObjectKind::tuple || tuple->count > 1 ||
          tuple->tag != static_cast<int>(tuple->count))
        return what;
      return type.elements.empty()
                 ? ""
                 : misfitIn({const_cast<Tuple*>(tuple)->fields(), tuple->count}, "the optional's value");
    }
    case ContractKind::list: {
      const auto* list = static_cast<const List*>(value);
      if (value->kind != ObjectKind::list) return what;
      return type.elements.empty() ? ""
                                   : misfitIn({list->items, static_cast<size_t>(list->count)}, "element");
    }
    case ContractKind::closure:
      return value->kind == ObjectKind::closure ? "" : what;
    case ContractKind::data:
      return value->kind == ObjectKind::tuple ? "" : what;
  }
  return "";
}

// Sizes by the names of dims, of the tensors in values that are of their types.
class NamedSizes {
 public:
  // False: a size differs from one that has the same name. First all that lie in no list; elements of lists
  // have sizes of their own, where none of these has the name.
  bool add(const ContractType& type, const Object* value, bool ofLists, bool inList = false) {
    if (!value) return true;
    const auto addAll = [&](std::span<Object* const> parts, bool inside) {
      for (size_t i = 0; i < parts.size(); ++i)
        if (!add(type.elements[type.kind == ContractKind::tuple ? i : 0], parts[i], ofLists, inside))
          return false;
      return true;
    };
    if (type.kind == ContractKind::tensor) {
      return inList != ofLists || addTensor(type, static_cast<const Tensor*>(value), inList);
    }
    if (type.elements.empty()) return true;
    if (type.kind == ContractKind::list) {
      const auto* list = static_cast<const List*>(value);
      return !ofLists || addAll({list->items, static_cast<size_t>(list->count)}, true);
    }
    auto* tuple = const_cast<Tuple*>(static_cast<const Tuple*>(value));  // or an optional
    return addAll({tuple->fields(), tuple->count}, inList);
  }
  const std::string& wrong() const { return wrong_; }

 private:
  bool addTensor(const ContractType& type, const Tensor* tensor, bool inList) {
    for (size_t axis = 0; axis < type.dims.size(); ++axis) {
      const std::string& name = type.dims[axis].text;
      if (type.dims[axis].value >= 0 || !isContractSymbol(name)) continue;
      const int64_t size = tensor->shape()[axis];
      const auto known = inList ? sizes_.find(name) : sizes_.try_emplace(name, size).first;
      if (known == sizes_.end() || known->second == size) continue;
      wrong_ = "dim " + name + " is " + std::to_string(known->second) + ", but " + std::to_string(size) +
               " in " + describe(tensor);
      return false;
    }
    return true;
  }

  std::map<std::string_view, int64_t> sizes_;
  std::string wrong_;
};

// Sizes in tuples, optionals and lists.
Status checkPartSizes(std::span<const ContractValue> expected, std::span<Object* const> values) {
  NamedSizes sizes;
  for (const bool ofLists : {false, true})
    for (size_t i = 0; i < expected.size(); ++i)
      if (!sizes.add(expected[i].type, values[i], ofLists))
        return failure(DYN_BAD_INPUT, "input " + quotedName(expected[i]) + ": " + sizes.wrong());
  return okStatus();
}

}  // namespace

const char* contractKindText(ContractKind kind) {
  static constexpr const char* kTexts[] = {"tensor", "tuple", "list", "optional", "closure", "data"};
  return kTexts[static_cast<size_t>(kind)];
}

// Types nest at most 32 deep (program_file.cpp), so this recursion is bounded.
std::string contractTypeText(const ContractType& type) {
  std::string result;
  if (type.kind == ContractKind::tensor) {
    result = std::string(kDataTypes[type.dtype].text) + "[";
    for (size_t i = 0; i < type.dims.size(); ++i)
      result += (i ? ", " : "") +
                (type.dims[i].value >= 0 ? std::to_string(type.dims[i].value) : type.dims[i].text);
    return result + "]";
  }
  result = std::string(contractKindText(type.kind)) + "(";
  for (size_t i = 0; i < type.elements.size(); ++i)
    result += (i ? ", " : "") + contractTypeText(type.elements[i]);
  return result + ")";
}

Status checkContractValue(const ContractValue& expected, const char* role, const Object* value) {
  const auto kindIs = [&](ObjectKind kind) {
    if (value->kind == kind) return okStatus();
    return failure(DYN_BAD_INPUT, std::string(role) + " " + quotedName(expected) + ": expected " +
                                      contractTypeText(expected.type) + ", got " + describe(value));
  };
  switch (expected.type.kind) {
    case ContractKind::tensor:
      return checkTensor(expected, role, value);
    case ContractKind::tuple:
    case ContractKind::optional:  // without a value it may also be null, which does not come here
    case ContractKind::data:
      if (value->kind != ObjectKind::tuple) return kindIs(ObjectKind::tuple);
      break;
    case ContractKind::list:
      if (value->kind != ObjectKind::list) return kindIs(ObjectKind::list);
      break;
    case ContractKind::closure:
      return kindIs(ObjectKind::closure);
  }
  const std::string wrong = misfit(expected.type, value, "");
  if (!wrong.empty())
    return failure(DYN_BAD_INPUT, std::string(role) + " " + quotedName(expected) + ": expected " +
                                      contractTypeText(expected.type) + ", got " + describe(value) + "; " +
                                      wrong);
  return okStatus();
}

std::vector<SharedDim> sharedDims(std::span<const ContractValue> inputs) {
  std::vector<SharedDim> shared;
  std::map<std::string_view, ContractAxis> firsts;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const ContractType& type = inputs[i].type;
    for (uint32_t axis = 0; type.kind == ContractKind::tensor && axis < type.dims.size(); ++axis) {
      const ContractDim& dim = type.dims[axis];
      if (dim.value >= 0 || !isContractSymbol(dim.text)) continue;
      const auto [first, fresh] = firsts.try_emplace(dim.text, ContractAxis{i, axis});
      if (!fresh) shared.push_back({first->second, {i, axis}});
    }
  }
  return shared;
}

Status checkContractInputs(std::span<const ContractValue> expected, std::span<const SharedDim> shared,
                           std::span<Object* const> values) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (!values[i] && expected[i].type.kind != ContractKind::optional)
      return failure(DYN_INVALID_ARGUMENT, "input " + std::to_string(i) + " " + quotedName(expected[i]) +
                                               " is not set; expected " + contractTypeText(expected[i].type));
  const auto size = [&](ContractAxis at) {
    return static_cast<const Tensor*>(values[at.input])->shape()[at.axis];
  };
  const auto told = [&](ContractAxis at) {
    return std::to_string(size(at)) + " in input " + quotedName(expected[at.input]) + " (axis " +
           std::to_string(at.axis) + ")";
  };
  for (const SharedDim& dim : shared)
    if (size(dim.first) != size(dim.other))
      return failure(DYN_BAD_INPUT, "dim " + expected[dim.first.input].type.dims[dim.first.axis].text +
                                        " is " + told(dim.first) + " but " + told(dim.other) +
                                        "; if these are two sizes: " +
                                        ownAxisAdvice(expected[dim.other.input].name, dim.other.axis));
  if (std::any_of(expected.begin(), expected.end(),
                  [](const ContractValue& input) { return !input.type.elements.empty(); }))
    return checkPartSizes(expected, values);
  return okStatus();
}

}  // namespace dyn::vm
