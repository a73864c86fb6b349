#include "app/engine/run/ram_bound.h"

#include <algorithm>

#include "app/engine/model/vm_value.h"
#include "compiler/dims/size_multiples.h"

namespace dyn {

namespace {

constexpr int64_t kMostCombinations = 20000;

struct Range {
  std::string name;
  int64_t low = 0, high = INT64_MAX, multiple = 1;
  int64_t first() const { return leastMultipleFrom(low, multiple); }
  int64_t count() const { return high < first() ? 0 : (high - first()) / multiple + 1; }
};

std::vector<Range> rangesOf(const dyn_module* module, const Signature& signature) {
  std::vector<Range> ranges;
  const CallDims dims(signature);
  for (const std::string& name : dims.names()) ranges.push_back({name});
  for (int32_t i = 0; i < dyn_module_input_count(module); ++i) {
    int32_t rank = 0;
    (void)dyn_module_input(module, i, nullptr, nullptr, nullptr, &rank);
    for (int32_t axis = 0; axis < rank; ++axis) {
      dyn_contract_dim dim{};
      if (dyn_module_input_dim(module, i, axis, &dim) != DYN_OK || dim.value >= 0) continue;
      for (Range& range : ranges) {
        if (range.name != dim.text) continue;
        range.low = std::max(range.low, dim.low);
        range.high = std::min(range.high, dim.high);
        range.multiple = std::max(range.multiple, dim.multiple);
      }
    }
  }
  return ranges;
}

// What a run with inputs of these shapes must be given.
Result<int64_t> laidOutBytes(dyn_module* module, const Signature& signature,
                             const std::vector<std::vector<int64_t>>& shapes) {
  dyn_options options{};
  options.dry_run = options.lay_out = 1;
  dyn_context* made = nullptr;
  if (const dyn_status status = dyn_context_create(module, &options, &made); status != DYN_OK)
    return vmError(status);
  const VmContext context(made);
  alignas(64) static const std::byte kUnread[64] = {};
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Dtype dtype = signature.inputs[i].dtype;
    int64_t bytes = storageBytes(dtype);
    for (int64_t size : shapes[i])
      if (__builtin_mul_overflow(bytes, size, &bytes))
        return makeError(DiagnosticId::dimOverflow, "the size of an input overflows");
    dyn_value* raw = nullptr;
    dyn_status status =
        dyn_value_borrow(made, static_cast<int32_t>(dtype), static_cast<int32_t>(shapes[i].size()),
                         shapes[i].data(), kUnread, static_cast<size_t>(bytes), nullptr, nullptr, &raw);
    if (status != DYN_OK) return vmError(status);
    const VmValue value(raw);
    status = dyn_context_set_input(made, static_cast<int32_t>(i), value.get());
    if (status != DYN_OK) return vmError(status);
  }
  if (const dyn_status status = dyn_context_run(made); status != DYN_OK) return vmError(status);
  dyn_statistics statistics{};
  dyn_context_statistics(made, &statistics);
  return static_cast<int64_t>(statistics.held_bytes);
}

}  // namespace

Result<RamBound> ramBound(dyn_module* module, const Signature& signature, const Interruption& interruption) {
  for (const Port& port : signature.inputs)
    if (port.info.kind != "tensor" || dtypeClass(port.dtype) == DtypeClass::text || port.rankIsOpen)
      return RamBound{std::nullopt, "the memory depends on what input " + port.info.name + " holds"};
  const std::vector<Range> ranges = rangesOf(module, signature);
  int64_t combinations = 1;
  for (const Range& range : ranges) {
    if (range.high == INT64_MAX) return RamBound{std::nullopt, "dim " + range.name + " has no bound"};
    if (__builtin_mul_overflow(combinations, range.count(), &combinations) ||
        combinations > kMostCombinations)
      return RamBound{std::nullopt, "there are more than " + std::to_string(kMostCombinations) +
                                        " sizes, and each would be tried"};
  }
  int64_t most = 0;
  for (int64_t i = 0; i < combinations; ++i) {
    if (interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    DimValues dims;
    int64_t rest = i;
    for (const Range& range : ranges) {
      dims[range.name] = range.first() + rest % range.count() * range.multiple;
      rest /= range.count();
    }
    DYN_TRY(const auto shapes, shapesFor(signature, dims));
    const Result<int64_t> bytes = laidOutBytes(module, signature, shapes);
    if (bytes.ok()) {
      most = std::max(most, *bytes);
    } else if (bytes.error().id == DiagnosticId::unsupportedFeature) {
      return RamBound{std::nullopt, "the memory depends on values: " + bytes.error().message};
    }  // else: a run with these sizes ends in an error, too, before it takes more
  }
  return RamBound{most, ""};
}

}  // namespace dyn
