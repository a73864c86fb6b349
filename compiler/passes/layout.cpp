// Images between convolutions lie with their channels last.
//   needs: types.  establishes: in regions of convolutions of f32 or of bytes with constant weights, and of
//   what stands between them, no image lies in planes.
//   before  %a = conv(%x, %w)  %b = relu(%a)  %c = conv(%b, %v) with %v constant [m, c, 1, 1]
//   after   %p = pack_conv(%w)  %d = conv_packed(%x, %p) {layout = "to_channels_last"}  %e = relu(%d)
//           %f = matmul(%e, %u) {transpose_b = 1} with %u constant [m, c]
//           %c = transpose(%f) {perm = [0, 3, 1, 2]}
//   before  %c = conv_integer(%x, %k, %z) with %k constant [m, c, h, w] i8
//   after   %p = pack_bytes(%r)  %c = conv_integer_packed(%x, %p, %z) with %r constant [m, runs of the window]
// Why: a pointwise convolution then is a product of matrices without more, a depthwise one has its channels
// in the lanes of vectors, and no kernel turns what it reads or writes. A region is what image operations
// hang together by their values: convolutions, pools, elementwise operations, normalisations, joins along an
// axis, sums over all places. It is turned where it has at least twice as many convolutions as places at
// which images would have to be turned, and where that costs less (layout_cost.h). Sizes stay open. Versions
// of convolutions that someone names are those of planes: then nothing is turned. Cost in IR size: two
// operations per convolution, one per border.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/ir/walk.h"
#include "compiler/ops/contraction/contraction_version.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "compiler/ops/rules/window_rules.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/contraction_versions.h"
#include "compiler/passes/layout_cost.h"
#include "compiler/passes/op_series.h"

namespace dyn::passes {

namespace {

constexpr int kRank = 4;
const std::vector<int64_t> kToLast{0, 2, 3, 1}, kToPlanes{0, 3, 1, 2};

// Where axis i of planes stands with channels last.
constexpr int64_t kPlaceOfAxis[kRank] = {0, 3, 1, 2};

// spread: a transposed convolution whose windows do not overlap; bytes: a convolution of them; lookup: an
// element of a constant vector for each of an image.
enum class Role : uint8_t {
  none,
  pointwise,
  window,
  spread,
  bytes,
  pool,
  elementwise,
  lookup,
  norm,
  concat,
  sum
};

bool isConvolution(Role role) {
  return role == Role::pointwise || role == Role::window || role == Role::spread || role == Role::bytes;
}
bool isByte(Dtype dtype) { return dtype == Dtype::i8 || dtype == Dtype::u8; }

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

class Turner {
 public:
  // `lanes`: of a vector of f32. Unless `always`, a region is turned only where that costs less.
  Turner(const Function& function, IrContext& ir, int64_t lanes, bool always)
      : function_(function), ir_(ir), lanes_(lanes), always_(always) {
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) {
        types_[r.id] = r.type;
        definitions_[r.id] = op;
      }
  }

  const Function* run() {
    if (std::none_of(function_.ops.begin(), function_.ops.end(),
                     [](const Op* op) { return op->def == &ops::convOp || op->def == &ops::conv_integerOp; }))
      return &function_;
    findRegions();
    if (turned_ == 0) return &function_;
    for (const Op* op : function_.ops) {
      const Role role = isTurned(*op) ? roles_.at(op) : Role::none;
      if (role != Role::none) {
        emit(*op, role);
        continue;
      }
      for (ValueId v : op->operands) backToPlanes(v, op->place);
      ops_.push_back(op);
    }
    for (ValueId v : function_.results) backToPlanes(v, function_.place);
    Function result = function_;
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  int64_t turnedConvolutions() const { return turned_; }
  // What was decided of each region, and by what cost.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  // --- regions

  bool isImage(ValueId v) const {
    if (v == kNoValue) return false;
    const Type type = types_.at(v);
    return type.isTensor() && type.rank() == kRank;
  }
  const HostTensor* constantOf(ValueId v) const {
    auto it = definitions_.find(v);
    return it != definitions_.end() && it->second->def == &ops::constantOp
               ? it->second->attributes.tensor("value")
               : nullptr;
  }
  // An image of one place: both layouts are the same memory.
  bool isOnePlace(ValueId v) const {
    const Shape& dims = types_.at(v).dims();
    return dims[2].isConstant(1) && dims[3].isConstant(1);
  }

  Role roleOf(const Op& op) const {
    if (op.results.size() != 1 || !op.regions.empty() || op.operands.empty()) return Role::none;
    const Type type = op.results[0].type;
    if (!type.isTensor() || !std::all_of(op.operands.begin(), op.operands.end(),
                                         [&](ValueId v) { return v == kNoValue || types_.at(v).isTensor(); }))
      return Role::none;
    if (op.def == &ops::convOp) return roleOfConvolution(op);
    if (op.def == &ops::conv_transposeOp) return spreads(op) ? Role::spread : Role::none;
    if (op.def == &ops::conv_integerOp) return takesBytes(op) ? Role::bytes : Role::none;
    if (op.def->cls == OpClass::elementwise && op.def != &ops::batch_normOp)
      return type.rank() == kRank && !op.def->hasEffects && !knowsAxes(op) ? Role::elementwise : Role::none;
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

  // Along an axis go vectors: single numbers do not.
  bool knowsAxes(const Op& op) const {
    const auto isSingle = [&](ValueId v) {
      const Shape& dims = types_.at(v).dims();
      return std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.isConstant(1); });
    };
    return std::any_of(op.def->attributes.begin(), op.def->attributes.end(),
                       [](const AttributeSpec& spec) { return spec.name == "axis"; }) &&
           (op.operands.size() < 2 || !std::all_of(op.operands.begin() + 1, op.operands.end(),
                                                   [&](ValueId v) { return v == kNoValue || isSingle(v); }));
  }

  // Over both spatial axes, and no other.
  bool foldsPlaces(const Op& op) const {
    const HostTensor* axes = op.operands.size() == 2 ? constantOf(op.operands[1]) : nullptr;
    if (!axes || axes->elementCount() != 2) return false;
    std::vector<int64_t> named{axes->intAt(0), axes->intAt(1)};
    for (int64_t& axis : named) axis += axis < 0 ? kRank : 0;
    std::sort(named.begin(), named.end());
    return named == std::vector<int64_t>{2, 3};
  }

  Role roleOfConvolution(const Op& op) const {
    if (!constantWeights(op)) return Role::none;
    const Result<Window> window = dyn::windowOf(op, 2);
    if (!window.ok()) return Role::none;
    const contraction::ConvolutionWindow w = windowOf(op, types_.at(op.operands[1]).dims(), *window);
    const std::vector<int64_t> ones{1, 1}, zeros{0, 0};
    const bool pads =
        window->isSame() ? window->strides != ones : window->padsBegin != zeros || window->padsEnd != zeros;
    if (w.groups == 1 && w.taps() == 1 && window->strides == ones && !pads) return Role::pointwise;
    if (contraction::canGo(contraction::Way::rows, w) && w.groups > 1) return Role::window;
    // Of groups each fills lanes by itself.
    constexpr int64_t kFewFilters = 8;
    return w.groups == 1 || w.filters % kFewFilters == 0 ? Role::window : Role::none;
  }

  const HostTensor* constantWeights(const Op& op) const {
    const HostTensor* weights = constantOf(op.operands[1]);
    const bool fits = weights && weights->dtype() == Dtype::f32 && weights->rank() == kRank &&
                      weights->elementCount() > 0 && isImage(op.operands[0]) &&
                      op.results[0].type.rank() == kRank;
    return fits ? weights : nullptr;
  }

  // Of one group, or depthwise, with weights that are i8 once their zero points are taken off.
  bool takesBytes(const Op& op) const {
    const HostTensor* weights = constantOf(op.operands[1]);
    if (!weights || weights->rank() != kRank || weights->elementCount() == 0 || !isImage(op.operands[0]) ||
        op.results[0].type.rank() != kRank || op.attributes.integer("channels_last", 0) != 0 ||
        !dyn::windowOf(op, 2).ok())
      return false;
    const int64_t group = op.attributes.integer("group", 1);
    const bool depthwise = weights->shape()[1] == 1 && weights->shape()[0] == group;
    return (group == 1 || depthwise) && signedWeights(op).has_value();
  }

  // Less their zero points; nothing where these are not known or the differences are not of 8 bits.
  std::optional<HostTensor> signedWeights(const Op& op) const {
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

  bool spreads(const Op& op) const {
    const HostTensor* weights = constantWeights(op);
    if (!weights || op.attributes.integer("group", 1) != 1 || op.attributes.has("output_shape")) return false;
    const Result<Window> window = dyn::windowOf(op, 2);
    if (!window.ok() || window->isSame()) return false;
    const std::vector<int64_t> kernel(weights->shape().begin() + 2, weights->shape().end()), ones{1, 1},
        zeros{0, 0};
    const std::vector<int64_t> extra = op.attributes.integers("output_padding");
    return window->strides == kernel && window->dilations == ones && window->padsBegin == zeros &&
           window->padsEnd == zeros && (extra.empty() || extra == zeros);
  }

  ValueId root(ValueId v) {
    while (region_.at(v) != v) v = region_[v] = region_.at(region_.at(v));
    return v;
  }

  struct Region {
    explicit Region(int64_t lanes) : cost(lanes) {}
    int64_t convolutions = 0, borders = 0;
    std::string first;  // its first convolution's result
    LayoutCost cost;
  };

  void findRegions() {
    for (const Op* op : function_.ops) {
      const Role role = roleOf(*op);
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
    for (const auto& [v, region] : regions) {
      if (region.convolutions < kFewConvolutions || region.convolutions < 2 * region.borders) continue;
      const bool isTurned = always_ || region.cost.last() < kWorth * region.cost.planes();
      char text[160];
      std::snprintf(text, sizeof text,
                    "%s: from %%%.60s on, %lld convolutions, channels last at %.2f of the cost",
                    isTurned ? "turned" : "in planes", region.first.c_str(),
                    static_cast<long long>(region.convolutions), region.cost.last() / region.cost.planes());
      remarks_.emplace_back(text);
      if (!isTurned) continue;
      turnedRegions_[v] = true;
      turned_ += region.convolutions;
    }
  }

  void addConvolution(Region& region, const Op& op, Role role) {
    if (region.first.empty()) region.first = ir_.valueName(op.results[0].id);
    ++region.convolutions;
    const Shape& weights = types_.at(op.operands[1]).dims();
    contraction::ConvolutionWindow window = windowOf(op, weights, *dyn::windowOf(op, 2));
    if (role == Role::spread) {  // [c, m, k...]: a place of the result is one of the operand
      window.channels = weights[0].constant().value_or(0);
      window.filters = weights[1].constant().value_or(0);
      window.kernel[1] = window.kernel[2] = 1;
    }
    region.cost.convolution(window, op.results[0].type.dims(), role == Role::bytes);
  }

  static bool isAlongChannels(const Op& op) {
    const int64_t axis = op.attributes.integer("axis", 0);
    return axis == 1 || axis == 1 - kRank;
  }

  // The images that an operation reads and makes, weights and constants aside.
  std::vector<ValueId> imagesOf(const Op& op) const {
    std::vector<ValueId> images;
    const size_t read = op.def->cls == OpClass::contraction ? 1 : op.operands.size();
    for (size_t i = 0; i < read; ++i)
      if (isImage(op.operands[i]) && !constantOf(op.operands[i])) images.push_back(op.operands[i]);
    if (isImage(op.results[0].id)) images.push_back(op.results[0].id);
    return images;
  }

  bool isTurned(const Op& op) {
    if (!roles_.count(&op)) return false;
    const std::vector<ValueId> images = imagesOf(op);
    return !images.empty() && turnedRegions_.count(root(images.front()));
  }

  // --- operations

  Shape lastOf(const Shape& planes) const { return withChannelsLast<Dim>(planes); }

  ValueId transpose(OpSeries& series, ValueId v, const Shape& shape, Dtype dtype,
                    const std::vector<int64_t>& perm, ValueId into = kNoValue) {
    Attributes attributes;
    attributes.set("perm", perm);
    return series.emit(&ops::transposeOp, {v}, std::move(attributes), shape, dtype, into);
  }

  ValueId constant(OpSeries& series, HostTensor value) {
    const Type type = ir_.tensorType(value.shape(), value.dtype());
    Attributes attributes;
    attributes.set("value", std::move(value));
    return series.emit(&ops::constantOp, {}, std::move(attributes), type.dims(), type.dtype());
  }

  // The image with its channels last; what broadcasts over images lies as they do.
  ValueId last(OpSeries& series, ValueId v) {
    if (v == kNoValue) return v;
    if (auto it = last_.find(v); it != last_.end()) return it->second;
    const Type type = types_.at(v);
    const Shape& dims = type.dims();
    if (dims.size() < kRank && std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.isConstant(1); }))
      return v;
    Shape planes(kRank - dims.size(), ir_.dims().constant(1));
    planes.insert(planes.end(), dims.begin(), dims.end());
    ValueId& made = last_[v];
    if (const HostTensor* value = constantOf(v)) {
      std::vector<int64_t> shape(kRank - dims.size(), 1);
      shape.insert(shape.end(), value->shape().begin(), value->shape().end());
      Result<HostTensor> moved = transposed(value->reshaped(std::move(shape)), kToLast);
      if (moved.ok()) return made = constant(series, *std::move(moved));
    }
    ValueId image = v;
    if (dims.size() < kRank) image = series.reshape(v, planes, type.dtype());
    return made = transpose(series, image, lastOf(planes), type.dtype(), kToLast);
  }

  // Before somebody outside of the region reads it.
  void backToPlanes(ValueId v, const SourcePlace& place) {
    auto it = v == kNoValue ? last_.end() : last_.find(v);
    if (it == last_.end() || !gone_.count(v)) return;
    gone_.erase(v);
    OpSeries series(ir_, place, ops_);
    const Type type = types_.at(v);
    if (isOnePlace(v))
      series.reshape(it->second, type.dims(), type.dtype(), v);
    else
      transpose(series, it->second, type.dims(), type.dtype(), kToPlanes, v);
  }

  void emit(const Op& op, Role role) {
    OpSeries series(ir_, op.place, ops_);
    const ValueId result = op.results[0].id;
    if (types_.at(result).rank() != kRank) {  // sums without the axes they are over
      emitAs(series, op, role, result);
      return;
    }
    last_[result] = emitAs(series, op, role, kNoValue);
    gone_[result] = true;
  }

  // kNoValue: a new value.
  ValueId emitAs(OpSeries& series, const Op& op, Role role, ValueId into) {
    const Type type = op.results[0].type;
    const Shape shape = type.rank() == kRank ? lastOf(type.dims()) : type.dims();
    const auto same = [&](std::vector<ValueId> operands, Attributes attributes) {
      return series.emit(op.def, std::move(operands), std::move(attributes), shape, type.dtype(), into);
    };
    Attributes attributes = op.attributes;
    std::vector<ValueId> operands = op.operands;
    switch (role) {
      case Role::pointwise:
        return pointwise(series, op, shape);
      case Role::window:
        return window(series, op, shape);
      case Role::spread:
        return spread(series, op, shape);
      case Role::bytes:
        return bytes(series, op, shape);
      case Role::norm:
        return norm(series, op, shape);
      case Role::pool:
        operands[0] = last(series, operands[0]);
        attributes.set("layout", std::string(kChannelsLast));
        return same(std::move(operands), std::move(attributes));
      case Role::concat: {
        const int64_t axis = attributes.integer("axis", 0);
        attributes.set("axis", kPlaceOfAxis[axis < 0 ? axis + kRank : axis]);
        for (ValueId& v : operands) v = last(series, v);
        return same(std::move(operands), std::move(attributes));
      }
      case Role::lookup:
        operands[1] = last(series, operands[1]);
        return same(std::move(operands), std::move(attributes));
      case Role::sum: {
        const int64_t places[] = {1, 2};
        operands = {last(series, operands[0]), constant(series, HostTensor::vectorInt(Dtype::i64, places))};
        return same(std::move(operands), std::move(attributes));
      }
      case Role::elementwise:
      case Role::none:
        for (ValueId& v : operands) v = last(series, v);
        return same(std::move(operands), std::move(attributes));
    }
    return kNoValue;
  }

  ValueId pointwise(OpSeries& series, const Op& op, const Shape& shape) {
    const HostTensor& weights = *constantOf(op.operands[1]);
    const ValueId matrix = constant(series, weights.reshaped({weights.shape()[0], weights.shape()[1]}));
    Attributes attributes;
    attributes.set("transpose_b", int64_t{1});
    const ValueId product = series.emit(&ops::matmulOp, {last(series, op.operands[0]), matrix},
                                        std::move(attributes), shape, Dtype::f32);
    return biased(series, op, product, shape);
  }

  ValueId biased(OpSeries& series, const Op& op, ValueId sums, const Shape& shape) {
    if (op.operands.size() < 3 || op.operands[2] == kNoValue) return sums;
    return series.emit(&ops::addOp, {sums, op.operands[2]}, {}, shape, Dtype::f32);
  }

  // The windows of all places, then their rows one below the other.
  ValueId spread(OpSeries& series, const Op& op, const Shape& shape) {
    const HostTensor& weights = *constantOf(op.operands[1]);
    const std::vector<int64_t>& sizes = weights.shape();  // [c, m, k...]
    const Result<HostTensor> moved = transposed(weights, kToLast);
    const ValueId matrix = constant(series, moved->reshaped({sizes[0], sizes[1] * sizes[2] * sizes[3]}));
    const Shape x = lastOf(types_.at(op.operands[0]).dims());
    const Dim rows = ir_.dims().constant(sizes[2]), row = ir_.dims().constant(sizes[3] * sizes[1]);
    const ValueId windows = series.emit(&ops::matmulOp, {last(series, op.operands[0]), matrix}, {},
                                        {x[0], x[1], x[2], rows * row}, Dtype::f32);
    const ValueId parted = series.reshape(windows, {x[0], x[1], x[2], rows, row}, Dtype::f32);
    const ValueId placed =
        transpose(series, parted, {x[0], x[1], rows, x[2], row}, Dtype::f32, {0, 1, 3, 2, 4});
    return biased(series, op, series.reshape(placed, shape, Dtype::f32), shape);
  }

  ValueId window(OpSeries& series, const Op& op, const Shape& shape) {
    const Shape weights = types_.at(op.operands[1]).dims();
    const contraction::ConvolutionWindow w = windowOf(op, weights, *dyn::windowOf(op, 2));
    const contraction::Way rule = contraction::wayByRule(w, 1);
    const contraction::Way way = rule == contraction::Way::staged ? contraction::Way::direct : rule;
    const std::string name(contraction::kWayNames[static_cast<size_t>(way)]);
    Attributes packing;
    for (const char* attribute : {"strides", "dilations", "group"})
      if (const AttributeValue* value = op.attributes.find(attribute)) packing.set(attribute, *value);
    packing.set("way", name);
    const Dim length = ir_.dims().any("the layout of packed weights is the machine's");
    const ValueId packed =
        series.emit(&ops::pack_convOp, {op.operands[1]}, std::move(packing), Shape{length}, Dtype::f32);
    Attributes attributes = op.attributes;
    attributes.erase("kernel_shape");  // was compared with the weights
    attributes.set("weights", weights);
    attributes.set("way", name);
    // What nobody has turned yet is turned by the way direct as it goes.
    const bool turns = way == contraction::Way::direct && !last_.count(op.operands[0]);
    attributes.set("layout", std::string(turns ? kToChannelsLast : kChannelsLast));
    std::vector<ValueId> operands{turns ? op.operands[0] : last(series, op.operands[0]), packed};
    // Sums begin with the bias, but Winograd's: there it goes with what follows.
    const bool apart = way == contraction::Way::winograd;
    if (op.operands.size() > 2 && !apart) operands.push_back(op.operands[2]);
    const ValueId sums =
        series.emit(&ops::conv_packedOp, std::move(operands), std::move(attributes), shape, Dtype::f32);
    return apart ? biased(series, op, sums, shape) : sums;
  }

  ValueId bytes(OpSeries& series, const Op& op, const Shape& shape) {
    const HostTensor weights = *signedWeights(op);
    Attributes attributes = op.attributes;
    attributes.erase("kernel_shape");  // was compared with the weights
    attributes.erase("channels_last");
    attributes.set("weights", types_.at(op.operands[1]).dims());
    const bool depthwise = op.attributes.integer("group", 1) > 1;
    std::vector<ValueId> operands{last(series, op.operands[0]),
                                  depthwise
                                      ? placesOf(series, weights)
                                      : packedRuns(series, weights, dyn::windowOf(op, 2)->dilations[1])};
    if (op.operands.size() > 2 && op.operands[2] != kNoValue) operands.push_back(op.operands[2]);
    return series.emit(&ops::conv_integer_packedOp, std::move(operands), std::move(attributes), shape,
                       Dtype::i32);
  }

  // [channels, 1, h, w] as [h * w * channels].
  ValueId placesOf(OpSeries& series, const HostTensor& weights) {
    const int64_t channels = weights.shape()[0], taps = weights.elementCount() / channels;
    HostTensor places = *HostTensor::create(Dtype::i8, {weights.elementCount()});
    const std::byte* from = weights.data();
    std::byte* to = places.mutableData();
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t channel = 0; channel < channels; ++channel) *to++ = from[channel * taps + tap];
    return constant(series, std::move(places));
  }

  // [m, c, h, w] as rows of runs (dyn_byte_window.h), packed.
  ValueId packedRuns(OpSeries& series, const HostTensor& weights, int64_t dilation) {
    const std::vector<int64_t>& sizes = weights.shape();
    const int64_t channels = sizes[1], taps = sizes[2] * sizes[3];
    const ByteRuns runs = ByteRuns::of(sizes[2], sizes[3], dilation, channels);
    const int64_t perRun = taps / std::max<int64_t>(runs.count(), 1);  // places
    HostTensor rows = *HostTensor::create(Dtype::i8, {sizes[0], runs.depth()});
    const std::byte* from = weights.data();
    std::byte* to = rows.mutableData();
    std::fill_n(to, rows.elementCount(), std::byte{0});
    for (int64_t m = 0; m < sizes[0]; ++m, to += runs.depth())
      for (int64_t channel = 0; channel < channels; ++channel)
        for (int64_t tap = 0; tap < taps; ++tap)
          to[tap / perRun * runs.padded + tap % perRun * channels + channel] = *from++;
    Attributes packing;
    packing.set("transpose", int64_t{1});
    const Dim length = ir_.dims().any("the layout of packed weights is the machine's");
    return series.emit(&ops::pack_bytesOp, {constant(series, std::move(rows))}, std::move(packing),
                       Shape{length}, Dtype::i8);
  }

  // x * a + b, with a and b of the constants.
  ValueId norm(OpSeries& series, const Op& op, const Shape& shape) {
    std::vector<double> factors, terms;
    const HostTensor &scale = *constantOf(op.operands[1]), &bias = *constantOf(op.operands[2]),
                     &mean = *constantOf(op.operands[3]), &variance = *constantOf(op.operands[4]);
    const double epsilon = op.attributes.real("epsilon", 1e-5);
    for (int64_t i = 0; i < scale.elementCount(); ++i) {
      factors.push_back(scale.realAt(i) / std::sqrt(variance.realAt(i) + epsilon));
      terms.push_back(bias.realAt(i) - mean.realAt(i) * factors.back());
    }
    const ValueId a = constant(series, HostTensor::vectorReal(Dtype::f32, factors)),
                  b = constant(series, HostTensor::vectorReal(Dtype::f32, terms));
    const ValueId scaled = series.emit(&ops::mulOp, {last(series, op.operands[0]), a}, {}, shape, Dtype::f32);
    return series.emit(&ops::addOp, {scaled, b}, {}, shape, Dtype::f32);
  }

  static constexpr int64_t kFewConvolutions = 3;
  static constexpr double kWorth = 0.985;  // of the cost: what is not clearly less stays in planes

  const Function& function_;
  IrContext& ir_;
  const int64_t lanes_;
  const bool always_;
  std::vector<std::string> remarks_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> definitions_;
  std::unordered_map<const Op*, Role> roles_;
  std::unordered_map<ValueId, ValueId> region_;      // union-find over images
  std::unordered_map<ValueId, bool> turnedRegions_;  // by root
  std::unordered_map<ValueId, ValueId> last_;        // images with their channels last
  std::unordered_map<ValueId, bool> gone_;           // images that are not there in planes
  std::vector<const Op*> ops_;
  int64_t turned_ = 0;
};

// Does anybody name a version of convolutions, all of them or one? Those are of planes.
bool namesVersions(const PassOptions& options) {
  return std::any_of(options.begin(), options.end(), [](const auto& option) {
    return kindOfKey(option.first) == ContractionKind::convolution && option.second != "auto";
  });
}

Result<Module> runLayout(const Module& module, PassContext& context) {
  if (namesVersions(context.options)) {
    context.remarks.push_back("images stay in planes: versions of convolutions are named");
    return module;
  }
  const auto regions = context.options.find("regions");
  const std::string_view which = regions == context.options.end() ? "cost" : regions->second;
  if (which != "cost" && which != "all")
    return makeError(DiagnosticId::usageError, "layout: regions are cost or all, not " + std::string(which));
  const int64_t lanes = std::max(1, context.target.machine.vectorBits / 32);
  int64_t turned = 0;
  DYN_TRY(Module result, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            Turner turner(function, *module.context, lanes, which == "all");
            const Function* rewritten = turner.run();
            turned += turner.turnedConvolutions();
            context.remarks.insert(context.remarks.end(), turner.remarks().begin(), turner.remarks().end());
            return rewritten;
          }));
  context.counters["turned_convolutions"] = turned;
  return result;
}

}  // namespace

PassDef layoutPass() {
  return {.name = "layout",
          .summary = "images between convolutions lie with their channels last",
          .needs = Property::types,
          .before = Property::destinations,
          .options = {{"conv", "auto, or a version of convolutions: images then stay in planes"},
                      {"regions", "cost: those that cost less so, or all; default cost"}},
          .run = runLayout,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
