// BuiltinUse: how an operator calls a hand-written kernel; the one description of the call. Its row says
// which kernel, and a function fills the fields of dyn_builtin_calls.def by name; lowering writes the call
// from that.
//
//   Status fillPool(const BuiltinRequest& request, CallFields<calls::Pool>& call) {
//     call.numbers.axes = request.operandTypes[0].rank() - 2;
//     call.numbers.strides = ...; call.scalars.pads = ...
//
//   .builtin = calling<calls::Pool, fillPool>,
//
// The operands are the kernel's arguments, in their order, as far as it has names for them; operands behind
// these only say what the numbers and scalars are (k of topk). Where a kernel takes any number of arguments
// that are no epilogue's, it gets all operands.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/dims/dim.h"
#include "compiler/ir/module.h"
#include "vm/shared/dyn_builtin_calls.h"

namespace dyn {

struct BuiltinRequest {
  const Op& op;
  std::span<const Type> operandTypes;  // an invalid type: left out
  int32_t epilogue = 0;                // an EpilogueNumber (dyn_epilogue_form.h)
};

template <typename Call>
struct CallFields {
  typename Call::template Numbers<calls::Owned> numbers;
  typename Call::template Scalars<Dim, std::vector<Dim>> scalars;
};

struct BuiltinCall {
  std::vector<int32_t> numbers;
  std::vector<Dim> scalars;  // those of the epilogue come behind
};

template <typename Call>
BuiltinCall writeCall(const CallFields<Call>& fields) {
  calls::ScalarWriter<Dim> scalars;
  Call::walkScalars(fields.numbers, fields.scalars, scalars);
  return {calls::writeNumbers<Call>(fields.numbers), std::move(scalars.values)};
}

struct BuiltinUse {
  std::string_view row;  // empty: the operator has no hand-written kernel
  calls::RowTraits traits;
  calls::CallCounts counts;
  Result<BuiltinCall> (*describe)(const BuiltinRequest&) = nullptr;
  std::string (*fields)() = nullptr;  // in words

  bool empty() const { return row.empty(); }
  // It makes its results itself: their sizes depend on elements.
  bool makesResults() const { return !empty() && traits.onlyMakes(); }
  // So many operands, from the first on, are read wherever their strides say.
  size_t strided(const Op& op) const {
    return empty() ? 0 : std::min<size_t>(handed(op, op.operands.size()), traits.stridedArguments());
  }
  // So many of the operands of `op`, or of those in their place, are handed over, from the first on.
  size_t handed(const Op& op, size_t operands) const {
    if (traits.is(calls::SIZES)) return operands - std::min(operands, op.results.size());
    const bool takesAll = counts.arguments.most == calls::Count::kAny && !counts.epilogue;
    return takesAll ? operands : std::min<size_t>(operands, counts.namedArguments);
  }
};

template <typename Call>
using FillCall = Status (*)(const BuiltinRequest&, CallFields<Call>&);

template <typename Call, FillCall<Call> fill>
Result<BuiltinCall> describeBuiltinCall(const BuiltinRequest& request) {
  CallFields<Call> fields;
  if constexpr (requires { fields.numbers.epilogue; }) fields.numbers.epilogue = request.epilogue;
  if constexpr (fill != nullptr) DYN_CHECK(fill(request, fields));
  return writeCall<Call>(fields);
}

// The use of a row; without `fill` its numbers are what they are where nothing is said.
template <typename Call, FillCall<Call> fill = nullptr>
inline constexpr BuiltinUse calling = {Call::kRow, Call::kTraits, calls::countsOf<Call>(),
                                       describeBuiltinCall<Call, fill>, calls::describeCall<Call>};

}  // namespace dyn
