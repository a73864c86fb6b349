#include "vm/certificate/builtin_results.h"

namespace dyn::certificate {

namespace {

enum class Type : uint8_t {
#define DYN_DTYPE(name, text, storageBits, class, onnxCode) name,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
};

using Shapes = std::vector<std::optional<ResultShape>>;

// The place of an axis that may count from the end.
std::optional<size_t> place(const std::optional<int64_t>& axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  int64_t at = axis.value_or(count);
  if (at < 0) at += count;
  return at >= 0 && at < count ? std::optional<size_t>(at) : std::nullopt;
}

}  // namespace

Shapes resultsOf(const std::string& name, const std::vector<ObjectRef>& arguments,
                 const std::vector<Polynomial>& scalars, std::span<const int32_t> numbers) {
  for (const ObjectRef& argument : arguments)
    if (argument->kind != ObjectKind::tensor) return {};
  if (arguments.empty()) return {};
  const Object& x = *arguments[0];
  const auto number = [&](size_t i) {
    return i < numbers.size() ? std::optional<int64_t>(numbers[i]) : std::nullopt;
  };
  const std::optional<int64_t> scalar = scalars.empty() ? std::nullopt : scalars[0].constant();
  ResultShape same{x.dtype, {x.dims.begin(), x.dims.end()}};
  const auto withAxis = [&](std::optional<size_t> axis, const Value& dim) -> std::optional<ResultShape> {
    if (!axis) return std::nullopt;
    ResultShape made = same;
    made.dims[*axis] = dim;
    return made;
  };
  const auto indexes = [](std::optional<ResultShape> of) {
    if (of) of->dtype = static_cast<uint8_t>(Type::i64);
    return of;
  };
  if (name == "cumsum" || name == "copy" || name == "scatter_elements" || name == "scatter_nd") return {same};
  if (name == "sort") return {same, indexes(same)};
  if (name == "topk" && !scalars.empty()) {
    const auto made = withAxis(place(number(0) ? number(0) : -1, x.dims.size()), scalars[0]);
    return {made, indexes(made)};
  }
  if (name == "nonzero")
    return {ResultShape{static_cast<uint8_t>(Type::i64),
                        {Polynomial(static_cast<int64_t>(x.dims.size())), std::nullopt}}};
  if (name == "range") return {ResultShape{x.dtype, {std::nullopt}}};
  if (name == "list_stack") {
    const std::optional<size_t> axis = place(scalar, x.dims.size() + 1);
    if (!axis) return {};
    same.dims.insert(same.dims.begin() + static_cast<std::ptrdiff_t>(*axis), Value());
    return {same};
  }
  if (name == "list_concat") return {withAxis(place(scalar, x.dims.size()), std::nullopt)};
  if (name == "concat" || name == "append") {
    const std::optional<size_t> axis = place(name == "append" ? number(0) : scalar, x.dims.size());
    Value whole = Polynomial();
    for (const ObjectRef& part : arguments) {
      if (part->dims.size() != x.dims.size() || !axis) return {};
      whole = sum(whole, part->dims[*axis]);
    }
    return {withAxis(axis, whole)};
  }
  return {};
}

}  // namespace dyn::certificate
