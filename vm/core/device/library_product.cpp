#include "vm/core/device/library_product.h"

#include <algorithm>
#include <charconv>

#include "vm/core/device/launch_sizes.h"
#include "vm/include/dynvm.h"

namespace dyn::vm {
namespace {

using Text = std::string_view;

constexpr Text kRoles = "brck";
constexpr size_t kFields = 6, kFieldsOfMatrix = 4;
constexpr int64_t kMostSize = INT32_MAX;  // of rows and columns: what the library counts in 32 bits

struct Digit {
  char role = 'b';
  int64_t extent = 0;
};

// A run of digits as one: how many there are, and how far apart.
struct Axis {
  int64_t extent = 1, stride = 0;
};

std::optional<int64_t> numberOf(Text text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<int64_t> dtypeOf(Text text) {
  if (text == "f32") return DYN_F32;
  if (text == "f16") return DYN_F16;
  if (text == "bf16") return DYN_BF16;
  return std::nullopt;
}

std::optional<int64_t> roundingOf(Text text) {
  if (text == "fp32") return DYN_PRODUCT_EXACT;
  if (text == "tf32") return DYN_PRODUCT_TF32;
  if (text == "bf16") return DYN_PRODUCT_BF16;
  return std::nullopt;
}

bool isSize(Text text) {
  DynLaunch none{};
  if (text.empty()) return false;
  (void)takeSize(text, none);
  return text.empty();
}

bool isMatrix(Text text, size_t digitsCount) {
  const std::vector<Text> fields = partsOf(text, ':');
  if (fields.size() != kFieldsOfMatrix || !numberOf(fields[0]) || !dtypeOf(fields[1])) return false;
  const std::vector<Text> shape = partsOf(fields[2], '.'), digits = partsOf(fields[3], '.');
  return shape.size() == digits.size() && std::all_of(shape.begin(), shape.end(), isSize) &&
         std::all_of(digits.begin(), digits.end(), [&](Text digit) {
           return digit == "-" || numberOf(digit).value_or(INT64_MAX) < static_cast<int64_t>(digitsCount);
         });
}

class AtLaunch {
 public:
  AtLaunch(const std::vector<Text>& fields, const DynLaunch& launch) : fields_(fields), launch_(launch) {
    for (Text digit : partsOf(fields[0], ',')) {
      const char role = digit.front();
      digit.remove_prefix(1);
      digits_.push_back({role, takeSize(digit, launch)});
    }
  }

  std::optional<DynDeviceProduct> product(const char* name) {
    DynDeviceProduct made{};
    made.name = name;
    if (!takeExtents(made)) return std::nullopt;
    const std::vector<int64_t> left = strides(fields_[1]), right = strides(fields_[2]),
                               result = strides(fields_[3]);
    if (!layOut(fields_[1], left, 'r', 'k', made.left) || !layOut(fields_[2], right, 'k', 'c', made.right) ||
        !layOut(fields_[3], result, 'r', 'c', made.result))
      return std::nullopt;
    made.bias = fields_[4] == "-" ? -1 : *numberOf(fields_[4]);
    if (made.bias >= launch_.bufferCount) return std::nullopt;
    made.rounding = *roundingOf(fields_[5]);
    // A bias goes along the columns, which the library takes to be what lies side by side.
    if (made.bias >= 0 && made.result.columnStride != 1) return std::nullopt;
    return made;
  }

 private:
  bool takeExtents(DynDeviceProduct& made) const {
    int64_t* const sizes[] = {&made.count, &made.rows, &made.columns, &made.depth};
    for (int64_t* size : sizes) *size = 1;
    for (const Digit& digit : digits_) {
      int64_t& size = *sizes[kRoles.find(digit.role)];
      if (digit.extent <= 0 || __builtin_mul_overflow(size, digit.extent, &size)) return false;
    }
    return std::all_of(std::begin(sizes), std::end(sizes), [](int64_t* size) { return *size <= kMostSize; });
  }

  // Of a dense tensor, by digit. An axis of one element is the same for all.
  std::vector<int64_t> strides(Text matrix) const {
    const std::vector<Text> fields = partsOf(matrix, ':');
    std::vector<Text> shape = partsOf(fields[2], '.'), digits = partsOf(fields[3], '.');
    std::vector<int64_t> strides(digits_.size(), 0);
    int64_t stride = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      const int64_t size = takeSize(shape[axis], launch_);
      if (digits[axis] != "-" && size != 1) strides[static_cast<size_t>(*numberOf(digits[axis]))] += stride;
      stride *= size;
    }
    return strides;
  }

  // Nullopt: they do not lie evenly.
  std::optional<Axis> merged(const std::vector<int64_t>& strides, char role) const {
    Axis axis;
    for (size_t i = digits_.size(); i-- > 0;) {
      if (digits_[i].role != role || digits_[i].extent == 1) continue;
      if (axis.extent == 1)
        axis = {digits_[i].extent, strides[i]};
      else if (strides[i] == axis.extent * axis.stride)
        axis.extent *= digits_[i].extent;
      else
        return std::nullopt;
    }
    return axis;
  }

  bool layOut(Text matrix, const std::vector<int64_t>& strides, char rowRole, char columnRole,
              DynDeviceMatrix& made) const {
    const std::vector<Text> fields = partsOf(matrix, ':');
    made.buffer = *numberOf(fields[0]);
    made.dtype = *dtypeOf(fields[1]);
    if (made.buffer >= launch_.bufferCount) return false;
    const std::optional<Axis> batch = merged(strides, 'b'), rows = merged(strides, rowRole),
                              columns = merged(strides, columnRole);
    if (!batch || !rows || !columns) return false;
    made.matrixStride = batch->stride;
    // Side by side along the columns, or along the rows; of a single row or column any distance will do.
    const auto fits = [](const Axis& along, const Axis& across, int64_t& stride) {
      if (along.extent > 1 && along.stride != 1) return false;
      stride = across.extent > 1 ? across.stride : along.extent;
      return stride >= along.extent;
    };
    made.columnStride = 1;
    if (fits(*columns, *rows, made.rowStride)) return true;
    made.rowStride = 1;
    return fits(*rows, *columns, made.columnStride);
  }

  const std::vector<Text>& fields_;
  const DynLaunch& launch_;
  std::vector<Digit> digits_;
};

}  // namespace

bool isLibraryProduct(Text text) {
  const std::vector<Text> fields = partsOf(text, ';');
  if (fields.size() != kFields || !roundingOf(fields[5])) return false;
  const std::vector<Text> digits = partsOf(fields[0], ',');
  const bool known = std::all_of(digits.begin(), digits.end(), [](Text digit) {
    return !digit.empty() && kRoles.find(digit[0]) != Text::npos && isSize(digit.substr(1));
  });
  return known && (fields[4] == "-" || numberOf(fields[4])) &&
         std::all_of(fields.begin() + 1, fields.begin() + 4,
                     [&](Text matrix) { return isMatrix(matrix, digits.size()); });
}

std::optional<DynDeviceProduct> libraryProductAt(Text text, const DynLaunch& launch, const char* name) {
  const std::vector<Text> fields = partsOf(text, ';');
  return AtLaunch(fields, launch).product(name);
}

}  // namespace dyn::vm
