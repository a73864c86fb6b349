#include "vm/certificate/inner_launch.h"

#include "vm/certificate/code_text.h"

namespace dyn::certificate {

namespace {

constexpr int32_t kKernelBits = 27;  // of the number of an epilogue; its form is above
constexpr int32_t kEvenForm = 6;
constexpr uint32_t kLayoutUnit = 64;  // of the number of a convolution's way; its layout is above
constexpr int64_t kProductBytes = 4;

Value productOf(const std::vector<Polynomial>& dims, size_t begin, size_t end) {
  Value whole = Polynomial(1);
  for (size_t i = begin; i < end && whole; ++i) whole = product(*whole, dims[i]);
  return whole;
}

// `dims` in an order of axes.
std::vector<Polynomial> ordered(const std::vector<Polynomial>& dims, std::span<const int32_t> order) {
  std::vector<Polynomial> result;
  for (const int32_t axis : order)
    if (axis >= 0 && static_cast<size_t>(axis) < dims.size())
      result.push_back(dims[static_cast<size_t>(axis)]);
  return result;
}

}  // namespace

std::optional<InnerLaunch> innerLaunch(const std::string& name, std::span<const int32_t> numbers,
                                       const std::vector<ObjectRef>& arguments, const Object& result) {
  InnerLaunch inner;
  const auto number = [&](size_t i) { return i < numbers.size() ? numbers[i] : 0; };
  const auto bits = static_cast<uint32_t>(number(0));
  const size_t rank = result.dims.size();
  std::vector<Polynomial> dims = result.dims;
  size_t at = 0, rowAxes = rank - 1;  // where the epilogue is named; how many axes are rows
  if (name == "attention") {
    const auto axes = static_cast<size_t>(number(1));
    if (numbers.size() != 2 + 4 * axes || arguments.size() < 3) return std::nullopt;
    inner.kernel = static_cast<size_t>(number(0));
    inner.firstArgument = 3;
    inner.isElsewhere = true;
    dims = ordered(result.dims, numbers.subspan(2 + 3 * axes));
    const std::vector<Polynomial> keys = ordered(arguments[1]->dims, numbers.subspan(2 + axes, axes));
    if (dims.size() == axes && keys.size() == axes && axes >= 2) {
      inner.rows = productOf(dims, 0, axes - 1);
      inner.columns = keys.back();
    }
    return inner;
  }
  const size_t axes = bits & 7;  // of a convolution
  if (name == "gemm") {
    const bool isOrdered = (bits >> 3 & 1) != 0, isDispatched = (bits >> 4 & 1) != 0;
    at = isDispatched ? 2 + 2 * static_cast<size_t>(number(1)) : 1;
    inner.firstArgument = 2;
    if (isOrdered && numbers.size() >= at + 1 + rank) dims = ordered(dims, numbers.last(rank));
  } else if (name == "bytegemm") {
    at = 1;
    inner.firstArgument = 4;
  } else if (name == "conv" || name == "conv_packed" || name == "byteconv") {
    at = 2 + 2 * axes + (name == "conv_packed" ? axes + 2 : 0);
    const bool isOfBytes = name == "byteconv";
    inner.firstArgument = isOfBytes ? 4 : 3;
    inner.firstScalar = axes;
    // Rows are planes; with the channels last they are places.
    const bool isLast = isOfBytes ? (bits >> 3 & 1) != 0 : (bits >> 3) / kLayoutUnit != 0;
    rowAxes = isLast ? rank - 1 : 2;
  } else {
    return std::nullopt;
  }
  const int32_t kernel = number(at) & ((1 << kKernelBits) - 1);
  if (kernel == 0) return std::nullopt;
  inner.kernel = static_cast<size_t>(kernel) - 1;
  inner.takesColumns = true;
  inner.isEven = number(at) >> kKernelBits == kEvenForm;
  inner.readsElsewhere = kElementBytes[result.dtype] < kProductBytes;
  if (rank >= 2 && dims.size() == rank) {
    inner.rows = productOf(dims, 0, rowAxes);
    inner.columns = productOf(dims, rowAxes, rank);
  }
  return inner;
}

}  // namespace dyn::certificate
