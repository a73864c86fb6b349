#include "vm/core/object/contract.h"

#include <algorithm>
#include <cctype>
#include <map>
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
      if (value->kind == ObjectKind::tuple && !expected.type.elements.empty() &&
          static_cast<const Tuple*>(value)->count != expected.type.elements.size())
        return failure(DYN_BAD_INPUT, std::string(role) + " " + quotedName(expected) + ": expected " +
                                          contractTypeText(expected.type) + ", got " + describe(value));
      return kindIs(ObjectKind::tuple);
    case ContractKind::list:
      return kindIs(ObjectKind::list);
    case ContractKind::closure:
      return kindIs(ObjectKind::closure);
    case ContractKind::data:
      return kindIs(ObjectKind::tuple);
    case ContractKind::optional:
      return okStatus();
  }
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
  return okStatus();
}

}  // namespace dyn::vm
