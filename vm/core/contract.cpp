#include "vm/core/contract.h"

#include <algorithm>
#include <cctype>

namespace dyn::vm {
namespace {

std::string quotedName(const ContractValue& value) { return "\"" + value.name + "\""; }

bool isSymbol(const std::string& text) {
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

Status checkContractInputs(std::span<const ContractValue> expected, std::span<Object* const> values) {
  struct Seen {
    const std::string* symbol;
    size_t input, axis;
    int64_t size;
    bool operator<(const Seen& other) const {
      const int order = symbol->compare(*other.symbol);
      return order != 0 ? order < 0 : std::pair(input, axis) < std::pair(other.input, other.axis);
    }
  };
  std::vector<Seen> seen;
  for (size_t i = 0; i < expected.size(); ++i) {
    const ContractValue& input = expected[i];
    if (!values[i]) {
      if (input.type.kind == ContractKind::optional) continue;
      return failure(DYN_INVALID_ARGUMENT, "input " + std::to_string(i) + " " + quotedName(input) +
                                               " is not set; expected " + contractTypeText(input.type));
    }
    if (input.type.kind != ContractKind::tensor) continue;
    const auto* tensor = static_cast<const Tensor*>(values[i]);
    for (size_t axis = 0; axis < input.type.dims.size(); ++axis) {
      const ContractDim& dim = input.type.dims[axis];
      if (dim.value >= 0 || !isSymbol(dim.text)) continue;
      seen.push_back({&dim.text, i, axis, tensor->shape()[axis]});
    }
  }
  // Those of one symbol side by side. Of several that differ from the first of theirs, the first is told.
  std::sort(seen.begin(), seen.end());
  const Seen *known = nullptr, *wrong = nullptr, *instead = nullptr;
  for (const Seen& row : seen) {
    if (!known || *known->symbol != *row.symbol) known = &row;
    if (row.size == known->size) continue;
    if (wrong && std::pair(wrong->input, wrong->axis) < std::pair(row.input, row.axis)) continue;
    wrong = &row;
    instead = known;
  }
  if (!wrong) return okStatus();
  return failure(DYN_BAD_INPUT, "dim " + *wrong->symbol + " is " + std::to_string(instead->size) +
                                    " in input " + quotedName(expected[instead->input]) + " (axis " +
                                    std::to_string(instead->axis) + ") but " + std::to_string(wrong->size) +
                                    " in input " + quotedName(expected[wrong->input]) + " (axis " +
                                    std::to_string(wrong->axis) + ")");
}

}  // namespace dyn::vm
