#include "compiler/passes/layout/layout_regions.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <unordered_set>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

constexpr int kRegionRank = ImageRegions::kRank;
constexpr int64_t kFewConvolutions = 3;
constexpr double kWorth = 0.985;  // of the cost: what is not clearly less stays in planes

bool isConvolution(Role role) {
  return role == Role::pointwise || role == Role::window || role == Role::spread || role == Role::bytes;
}
bool isByte(Dtype dtype) { return dtype == Dtype::i8 || dtype == Dtype::u8; }

bool isAlongChannels(const Op& op) {
  const int64_t axis = op.attributes.integer("axis", 0);
  return axis == 1 || axis == 1 - kRegionRank;
}

}  // namespace

contraction::ConvolutionWindow windowOf(const Op& conv, const Shape& weights, const Window& window) {
  contraction::ConvolutionWindow w;
  w.rank = 2;
  w.groups = conv.attributes.integer("group", 1);
  w.channels = weights[1].constant().value_or(0);
  w.filters = weights[0].constant().value_or(0) / w.groups;
  for (size_t i = 0; i < 2; ++i) {
    w.kernel[1 + i] = weights[2 + i].constant().value_or(0);
    w.stride[1 + i] = window.strides[i];
    w.dilation[1 + i] = window.dilations[i];
  }
  return w;
}

ImageRegions::ImageRegions(const Function& function, const IrContext& ir, int64_t lanes, bool always)
    : function_(function), ir_(ir), lanes_(lanes), always_(always) {
  for (const Parameter& p : function.parameters) types_[p.id] = p.type;
  for (const Op* op : function.ops)
    for (const ValueDef& r : op->results) {
      types_[r.id] = r.type;
      definitions_[r.id] = op;
    }
  findRegions();
}

Role ImageRegions::roleOf(const Op& op) const {
  const auto found = roles_.find(&op);
  return found == roles_.end() ? Role::none : found->second;
}

bool ImageRegions::isImage(ValueId v) const {
  if (v == kNoValue) return false;
  const Type type = types_.at(v);
  return type.isTensor() && type.rank() == kRegionRank;
}

const HostTensor* ImageRegions::constantOf(ValueId v) const {
  auto it = definitions_.find(v);
  return it != definitions_.end() && it->second->def == &ops::constantOp
             ? it->second->attributes.tensor("value")
             : nullptr;
}

bool ImageRegions::isOnePlace(ValueId v) const {
  const Shape& dims = types_.at(v).dims();
  return dims[2].isConstant(1) && dims[3].isConstant(1);
}

Role ImageRegions::kindOf(const Op& op) {
  if (op.results.size() != 1 || !op.regions.empty() || op.operands.empty()) return Role::none;
  const Type type = op.results[0].type;
  if (!type.isTensor() || !std::all_of(op.operands.begin(), op.operands.end(),
                                       [&](ValueId v) { return v == kNoValue || types_.at(v).isTensor(); }))
    return Role::none;
  if (op.def == &ops::convOp) return kindOfConvolution(op);
  if (op.def == &ops::conv_transposeOp) return spreads(op) ? Role::spread : Role::none;
  if (op.def == &ops::conv_integerOp) return takesBytes(op) ? Role::bytes : Role::none;
  if (op.def->cls == OpClass::elementwise && op.def != &ops::batch_normOp)
    return type.rank() == kRegionRank && !op.def->hasEffects && !knowsAxes(op) ? Role::elementwise
                                                                               : Role::none;
  if (op.def == &ops::gatherOp) {
    const HostTensor* table = constantOf(op.operands[0]);
    return table && table->rank() == 1 && isImage(op.operands[1]) ? Role::lookup : Role::none;
  }
  if (!isImage(op.operands[0])) return Role::none;
  const Dtype dtype = types_.at(op.operands[0]).dtype();
  if (dtype != Dtype::f32 && !isByte(dtype)) return Role::none;
  if (op.def == &ops::max_poolOp || op.def == &ops::average_poolOp) return Role::pool;
  if (op.def == &ops::concatOp)
    return std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return isImage(v); })
               ? Role::concat
               : Role::none;
  if (dtype != Dtype::f32) return Role::none;
  if (op.def == &ops::batch_normOp)
    return std::all_of(op.operands.begin() + 1, op.operands.end(),
                       [&](ValueId v) { return v != kNoValue && constantOf(v); })
               ? Role::norm
               : Role::none;
  for (const OpDef* sum : {&ops::reduce_meanOp, &ops::reduce_sumOp, &ops::reduce_maxOp, &ops::reduce_minOp})
    if (op.def == sum) return foldsPlaces(op) ? Role::sum : Role::none;
  return Role::none;
}

bool ImageRegions::knowsAxes(const Op& op) const {
  const auto isSingle = [&](ValueId v) {
    const Shape& dims = types_.at(v).dims();
    return std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.isConstant(1); });
  };
  return std::any_of(op.def->attributes.begin(), op.def->attributes.end(),
                     [](const AttributeSpec& spec) { return spec.name == "axis"; }) &&
         (op.operands.size() < 2 || !std::all_of(op.operands.begin() + 1, op.operands.end(),
                                                 [&](ValueId v) { return v == kNoValue || isSingle(v); }));
}

bool ImageRegions::foldsPlaces(const Op& op) const {
  const HostTensor* axes = op.operands.size() == 2 ? constantOf(op.operands[1]) : nullptr;
  if (!axes || axes->elementCount() != 2) return false;
  std::vector<int64_t> named{axes->intAt(0), axes->intAt(1)};
  for (int64_t& axis : named) axis += axis < 0 ? kRegionRank : 0;
  std::sort(named.begin(), named.end());
  return named == std::vector<int64_t>{2, 3};
}

Role ImageRegions::kindOfConvolution(const Op& op) const {
  if (!constantWeights(op)) return Role::none;
  const Result<Window> window = dyn::windowOf(op, 2);
  if (!window.ok()) return Role::none;
  const contraction::ConvolutionWindow w = windowOf(op, types_.at(op.operands[1]).dims(), *window);
  const std::vector<int64_t> ones{1, 1}, zeros{0, 0};
  const bool pads = window->isSame()
                        ? window->strides != ones
                        : window->padsBegin != zeros || window->padsEnd != zeros || !window->padding.empty();
  if (w.groups == 1 && w.taps() == 1 && window->strides == ones && !pads) return Role::pointwise;
  if (contraction::canGo(contraction::Way::rows, w) && w.groups > 1) return Role::window;
  // Of groups each fills lanes by itself.
  constexpr int64_t kFewFilters = 8;
  return w.groups == 1 || w.filters % kFewFilters == 0 ? Role::window : Role::none;
}

const HostTensor* ImageRegions::constantWeights(const Op& op) const {
  const HostTensor* weights = constantOf(op.operands[1]);
  const bool fits = weights && weights->dtype() == Dtype::f32 && weights->rank() == kRegionRank &&
                    weights->elementCount() > 0 && isImage(op.operands[0]) &&
                    op.results[0].type.rank() == kRegionRank;
  return fits ? weights : nullptr;
}

bool ImageRegions::takesBytes(const Op& op) const {
  const HostTensor* weights = constantOf(op.operands[1]);
  if (!weights || weights->rank() != kRegionRank || weights->elementCount() == 0 ||
      !isImage(op.operands[0]) || op.results[0].type.rank() != kRegionRank ||
      op.attributes.integer("channels_last", 0) != 0 || !dyn::windowOf(op, 2).ok())
    return false;
  const int64_t group = op.attributes.integer("group", 1);
  const bool depthwise = weights->shape()[1] == 1 && weights->shape()[0] == group;
  return (group == 1 || depthwise) && signedWeights(op).has_value();
}

std::optional<HostTensor> ImageRegions::signedWeights(const Op& op) const {
  const HostTensor& weights = *constantOf(op.operands[1]);
  const ValueId zeros = op.operands.size() > 3 ? op.operands[3] : kNoValue;
  const HostTensor* zero = zeros == kNoValue ? nullptr : constantOf(zeros);
  if (zeros != kNoValue && !zero) return std::nullopt;
  Result<HostTensor> result = HostTensor::create(Dtype::i8, weights.shape());
  if (!result.ok()) return std::nullopt;
  const int64_t perFilter = weights.elementCount() / weights.shape()[0];
  if (zero && zero->elementCount() != 1 && zero->elementCount() != weights.shape()[0]) return std::nullopt;
  const bool isSigned = weights.dtype() == Dtype::i8;
  const auto* from = reinterpret_cast<const uint8_t*>(weights.data());
  auto* to = reinterpret_cast<int8_t*>(result->mutableData());
  for (int64_t m = 0; m < weights.shape()[0]; ++m) {
    const int64_t less = zero ? zero->intAt(zero->elementCount() == 1 ? 0 : m) : 0;
    for (int64_t i = 0; i < perFilter; ++i, ++from) {
      const int64_t value = (isSigned ? int64_t{static_cast<int8_t>(*from)} : int64_t{*from}) - less;
      if (value < -128 || value > 127) return std::nullopt;
      *to++ = static_cast<int8_t>(value);
    }
  }
  return *std::move(result);
}

bool ImageRegions::spreads(const Op& op) {
  const HostTensor* weights = constantWeights(op);
  if (!weights) return false;
  const std::optional<SpreadWindow> spread = spreadWindowOf(op, *weights, types_.at(op.operands[0]).dims());
  if (spread) spreads_.emplace(&op, *spread);
  return spread.has_value();
}

ValueId ImageRegions::root(ValueId v) {
  while (region_.at(v) != v) v = region_[v] = region_.at(region_.at(v));
  return v;
}

void ImageRegions::findRegions() {
  for (const Op* op : function_.ops) {
    const Role role = kindOf(*op);
    if (role == Role::none) continue;
    roles_[op] = role;
    const std::vector<ValueId> images = imagesOf(*op);
    for (ValueId v : images) {
      region_.try_emplace(v, v);
      region_[root(v)] = root(images.front());
    }
  }
  std::map<ValueId, Region> regions;
  const auto regionOf = [&](ValueId v) -> Region& {
    return regions.try_emplace(root(v), lanes_).first->second;
  };
  for (const Op* op : function_.ops) {
    const auto found = roles_.find(op);
    if (found == roles_.end()) continue;
    if (isConvolution(found->second)) addConvolution(regionOf(op->results[0].id), *op, found->second);
    if (found->second == Role::concat && isAlongChannels(*op))
      regionOf(op->results[0].id).cost.join(op->results[0].type.dims(), op->operands.size());
  }
  // Each image that comes from outside, or is wanted there, is turned once.
  std::unordered_map<ValueId, bool> wanted;
  for (const Op* op : function_.ops)
    if (!roles_.count(op))
      for (ValueId v : op->operands) wanted[v] = true;
  for (ValueId v : function_.results) wanted[v] = true;
  for (const auto& [v, parent] : region_) {
    if (isOnePlace(v)) continue;
    auto made = definitions_.find(v);
    const bool comes = made == definitions_.end() || !roles_.count(made->second);
    const int64_t borders = (comes ? 1 : 0) + (wanted.count(v) ? 1 : 0);
    if (borders == 0) continue;
    Region& region = regionOf(v);
    region.borders += borders;
    const Type type = types_.at(v);
    for (int64_t i = 0; i < borders; ++i) region.cost.border(type.dims(), storageBytes(type.dtype()));
  }
  std::unordered_set<ValueId> turned;  // roots
  for (const auto& [v, region] : regions) {
    // In planes a convolution of bytes turns its images by itself each time: borders cost nothing more.
    const bool ofBytes = region.convolutions == region.byteConvolutions;
    if (region.convolutions < kFewConvolutions || (!ofBytes && region.convolutions < 2 * region.borders))
      continue;
    const bool isTurned = always_ || ofBytes || region.cost.ratio() < kWorth;
    char cost[64] = "of bytes";
    if (!ofBytes) std::snprintf(cost, sizeof cost, "channels last at %.2f of the cost", region.cost.ratio());
    char text[224];
    std::snprintf(text, sizeof text, "%s: from %%%.60s on, %lld convolutions, %s",
                  isTurned ? "turned" : "in planes", region.first.c_str(),
                  static_cast<long long>(region.convolutions), cost);
    remarks_.emplace_back(text);
    if (!isTurned) continue;
    turned.insert(v);
    turned_ += region.convolutions;
  }
  std::erase_if(roles_, [&](const auto& row) {
    const std::vector<ValueId> images = imagesOf(*row.first);
    return images.empty() || turned.count(root(images.front())) == 0;
  });
}

void ImageRegions::addConvolution(Region& region, const Op& op, Role role) const {
  if (region.first.empty()) region.first = ir_.valueName(op.results[0].id);
  ++region.convolutions;
  if (role == Role::bytes) ++region.byteConvolutions;
  const Shape& weights = types_.at(op.operands[1]).dims();
  contraction::ConvolutionWindow window = windowOf(op, weights, *dyn::windowOf(op, 2));
  const Shape& image = op.results[0].type.dims();
  if (role == Role::spread) {  // [c, m, k...]: a place of the result is some taps of the operand
    const SpreadWindow& spread = spreadOf(op);
    window.channels = weights[0].constant().value_or(0);
    window.filters = weights[1].constant().value_or(0);
    std::copy(spread.taps.begin(), spread.taps.end(), window.kernel.begin() + 1);
    if (spread.overlaps()) {
      window.filters *= spread.phases[0] * spread.phases[1];
      return region.cost.transposed(window, types_.at(op.operands[0]).dims(), image);
    }
  }
  region.cost.convolution(window, image, role == Role::bytes);
}

std::vector<ValueId> ImageRegions::imagesOf(const Op& op) const {
  std::vector<ValueId> images;
  const size_t read = op.def->cls == OpClass::contraction ? 1 : op.operands.size();
  for (size_t i = 0; i < read; ++i)
    if (isImage(op.operands[i]) && !constantOf(op.operands[i])) images.push_back(op.operands[i]);
  if (isImage(op.results[0].id)) images.push_back(op.results[0].id);
  return images;
}

}  // namespace dyn::passes
