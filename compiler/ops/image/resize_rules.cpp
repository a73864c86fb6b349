#include "compiler/ops/image/resize_rules.h"

#include <algorithm>
#include <cmath>

namespace dyn {

namespace {

// Position of the text in the list, or an error that names the choices.
template <typename Enum>
Status choose(const Op& op, std::string_view name, std::initializer_list<std::string_view> choices,
              Enum* value) {
  const std::string text = op.attributes.string(name, std::string(*choices.begin()));
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found == choices.end())
    return makeError(DiagnosticId::badAttribute,
                     "resize: " + std::string(name) + " cannot be \"" + text + "\"", op.place);
  *value = static_cast<Enum>(found - choices.begin());
  return {};
}

}  // namespace

Result<ResizeOptions> resizeOptions(const Op& op, int rank) {
  ResizeOptions o;
  DYN_CHECK(choose(op, "mode", {"nearest", "linear", "cubic"}, &o.mode));
  DYN_CHECK(choose(op, "coordinate_transformation_mode",
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                    "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                   &o.coordinates));
  DYN_CHECK(choose(op, "nearest_mode",
                   {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "by_scale"}, &o.nearest));
  DYN_CHECK(choose(op, "keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}, &o.policy));
  o.antialias = op.attributes.integer("antialias", 0) != 0;
  if (o.antialias && o.mode == ResizeMode::nearest)
    return makeError(DiagnosticId::badAttribute, "resize: the nearest element knows no antialias", op.place);
  if (o.antialias && o.coordinates == Coordinates::cropAndResize)
    return makeError(DiagnosticId::unsupportedFeature, "resize: antialias of a region is not supported",
                     op.place);
  o.cubicA = op.attributes.real("cubic_coeff_a", -0.75);
  o.extrapolation = op.attributes.real("extrapolation_value", 0);
  o.excludeOutside = op.attributes.integer("exclude_outside", 0) != 0;
  if (!op.attributes.has("axes")) {
    for (int axis = 0; axis < rank; ++axis) o.axes.push_back(axis);
    return o;
  }
  for (int64_t axis : op.attributes.integers("axes")) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || std::count(o.axes.begin(), o.axes.end(), axis) > 0)
      return makeError(DiagnosticId::badAttribute, "resize: axes are distinct axes of the operand", op.place);
    o.axes.push_back(static_cast<int>(axis));
  }
  return o;
}

Dim scaledSize(Dim input, float scale) {
  DimContext& dims = input.context();
  if (!(scale > 0) || !(scale < 1e9f)) return dims.invalid();
  constexpr int64_t kLargestDenominator = 4096;
  for (int64_t q = 1; q <= kLargestDenominator; ++q) {
    const int64_t p = std::llround(static_cast<double>(scale) * static_cast<double>(q));
    if (static_cast<float>(static_cast<double>(p) / static_cast<double>(q)) == scale)
      return floorDiv(input * p, dims.constant(q));
  }
  // An f32 is a whole number of 2^-k.
  int exponent = 0;
  const double mantissa = std::frexp(static_cast<double>(scale), &exponent);
  const int64_t whole = static_cast<int64_t>(std::ldexp(mantissa, 24));
  if (exponent >= 24) return input * whole * (int64_t{1} << (exponent - 24));
  if (24 - exponent > 62) return dims.constant(0);
  return floorDiv(input * whole, dims.constant(int64_t{1} << (24 - exponent)));
}

std::optional<double> commonScale(AspectPolicy policy, std::span<const int64_t> sizes,
                                  std::span<const int64_t> inputs) {
  if (policy == AspectPolicy::stretch || sizes.empty()) return std::nullopt;
  double common = 0;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const double scale = static_cast<double>(sizes[k]) / static_cast<double>(inputs[k]);
    if (k == 0) common = scale;
    common = policy == AspectPolicy::notLarger ? std::min(common, scale) : std::max(common, scale);
  }
  return common;
}

int64_t roundedSize(double scale, int64_t input) {
  const double size = std::floor(scale * static_cast<double>(input) + 0.5);
  return size >= 0 && size < 0x1p62 ? static_cast<int64_t>(size) : -1;
}

}  // namespace dyn
