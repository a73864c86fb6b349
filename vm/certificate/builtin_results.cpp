#include "vm/certificate/builtin_results.h"

#include "vm/certificate/code_text.h"

namespace dyn::certificate {

namespace {

enum class Type : uint8_t {
#define DYN_DTYPE(name, text, storageBits, class, onnxCode) name,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
};

using Shapes = std::vector<std::optional<ResultShape>>;

ResultShape integers(std::vector<Polynomial> dims) {
  return {static_cast<uint8_t>(Type::i64), std::move(dims)};
}

// The place of an axis that may count from the end.
std::optional<size_t> place(const std::optional<int64_t>& axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  int64_t at = axis.value_or(count);
  if (at < 0) at += count;
  return at >= 0 && at < count ? std::optional<size_t>(at) : std::nullopt;
}

// Rows of the roots; then for each constructor its rows, the starts of heights, and a table for each field.
// The numbers: of each constructor how many fields, and of each -1, or its dtype, rank and sizes.
Shapes nodeTables(const BuiltinCall& call) {
  const Polynomial heights = call.anySize();
  Shapes results{integers({call.anySize()})};
  for (size_t at = 0; at < call.numbers.size();) {
    const Polynomial rows = call.anySize();
    Shapes fields;
    bool hasNodes = false;
    for (int32_t left = call.numbers[at++]; left > 0; --left) {
      if (at >= call.numbers.size()) return {};
      const int32_t dtype = call.numbers[at++];
      if (dtype < 0) {
        hasNodes = true;
        fields.push_back(integers({rows}));
        continue;
      }
      const size_t rank = at < call.numbers.size() ? static_cast<uint32_t>(call.numbers[at++]) : SIZE_MAX;
      if (rank > call.numbers.size() - at || static_cast<size_t>(dtype) >= kTypeCount) return {};
      ResultShape field{static_cast<uint8_t>(dtype), {rows}};
      for (size_t i = 0; i < rank; ++i) {
        const int32_t size = call.numbers[at++];
        field.dims.push_back(size < 0 ? call.anySize() : Polynomial(size));
      }
      fields.push_back(field);
    }
    results.push_back(integers({rows}));
    if (hasNodes) results.push_back(integers({heights}));
    results.insert(results.end(), fields.begin(), fields.end());
  }
  return results;
}

Shapes ofTensors(const BuiltinCall& call) {
  const std::string& name = call.name;
  const Object& x = *call.arguments[0];
  const size_t rank = x.dims.size();
  const ResultShape same{x.dtype, x.dims};
  const std::optional<int64_t> scalar = call.scalars.empty() ? std::nullopt : call.scalars[0].constant();
  const int32_t number = call.numbers.empty() ? -1 : call.numbers[0];
  const auto withAxis = [&](const std::optional<size_t>& axis, const Polynomial& dim) {
    ResultShape made = same;
    if (axis) made.dims[*axis] = dim;
    return axis ? std::optional(made) : std::nullopt;
  };
  if (name == "cumsum" || name == "copy" || name == "scatter_elements" || name == "scatter_nd") return {same};
  if (name == "sort") return {same, integers(x.dims)};
  if (name == "topk" && !call.scalars.empty()) {
    const auto made = withAxis(place(number, rank), call.scalars[0]);
    return made ? Shapes{made, integers(made->dims)} : Shapes();
  }
  if (name == "nonzero") return {integers({Polynomial(static_cast<int64_t>(rank)), call.anySize()})};
  if (name == "nms") return {integers({call.anySize(), Polynomial(3)})};
  if (name == "levels" && call.arguments.size() > 1)  // of the nodes that write, argument 1
    return {integers(call.arguments[1]->dims), integers({call.anySize()})};
  if (name == "range") return {ResultShape{x.dtype, {call.anySize()}}};
  if (name == "list_concat") return {withAxis(place(scalar, rank), call.anySize())};
  if (name == "list_stack") {
    const std::optional<size_t> axis = place(scalar, rank + 1);
    ResultShape made = same;
    if (axis) made.dims.insert(made.dims.begin() + static_cast<std::ptrdiff_t>(*axis), call.anySize());
    return axis ? Shapes{made} : Shapes();
  }
  if (name == "concat" || name == "append") {
    const std::optional<size_t> axis = place(name == "append" ? number : scalar, rank);
    if (name == "append" && !call.scalars.empty()) return Shapes{withAxis(axis, call.scalars[0])};
    Value whole = Polynomial();
    for (const ObjectRef& part : call.arguments)
      whole = axis && part->dims.size() == rank ? sum(whole, part->dims[*axis]) : Value();
    return whole ? Shapes{withAxis(axis, *whole)} : Shapes();
  }
  return {};
}

}  // namespace

Shapes resultsOf(const BuiltinCall& call) {
  if (call.name == "node_tables") return nodeTables(call);
  for (const ObjectRef& argument : call.arguments)
    if (argument->kind != ObjectKind::tensor) return {};
  return call.arguments.empty() ? Shapes() : ofTensors(call);
}

}  // namespace dyn::certificate
