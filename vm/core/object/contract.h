// The contract at the border: do values fit what a program declares to take? Errors name the input and what
// was expected.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vm/base/status.h"
#include "vm/core/object/object.h"
#include "vm/isa/program.h"

namespace dyn::vm {

const char* contractKindText(ContractKind kind);  // "tensor"
// "f32[batch, 768]", "list(f32[?])"
std::string contractTypeText(const ContractType& type);
// Kind, dtype, rank, constant dims, declared bounds; of tuples, optionals and lists all parts. `role` is
// "input".
Status checkContractValue(const ContractValue& expected, const char* role, const Object* value);
// Two axes of tensors that have a dim of one name: the first that has it, and another.
struct ContractAxis {
  uint32_t input, axis;
};
struct SharedDim {
  ContractAxis first, other;
};
// All pairs, in the order of the others.
std::vector<SharedDim> sharedDims(std::span<const ContractValue> inputs);
// All are set (optionals may be null), and dims of one name have one value, also in parts; those of elements
// of lists alone have any. Each value is of its contract.
Status checkContractInputs(std::span<const ContractValue> expected, std::span<const SharedDim> shared,
                           std::span<Object* const> values);

}  // namespace dyn::vm
