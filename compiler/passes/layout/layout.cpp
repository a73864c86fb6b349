// Images between convolutions lie with their channels last.
//   requires: types.  provides: in regions of convolutions of f32 or of bytes with constant weights, and of
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
// axis, sums over all places. A transposed convolution becomes a product or a convolution whose filters are
// the places that each place gives (spread_window.h), and a transposition that puts them in their rows. A
// region of bytes is turned, another one where it has at least twice as many convolutions as places at which
// images would have to be turned, and where that costs less (layout_cost.h). Sizes stay open. Versions of
// convolutions that someone names are those of planes: then nothing is turned. Cost in IR size: two
// operations per convolution, one per border.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "compiler/ops/rules/window_rules.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/layout/contraction_versions.h"
#include "compiler/passes/layout/layout_regions.h"
#include "compiler/passes/layout/spread_window.h"
#include "compiler/passes/rewrite/op_series.h"

namespace dyn::passes {

namespace {

constexpr int kRank = ImageRegions::kRank;
const std::vector<int64_t> kToLast{0, 2, 3, 1}, kToPlanes{0, 3, 1, 2};

// Where axis i of planes stands with channels last.
constexpr int64_t kPlaceOfAxis[kRank] = {0, 3, 1, 2};

class Turner {
 public:
  // `lanes`: of a vector of f32. Unless `always`, a region is turned only where that costs less.
  Turner(const Function& function, IrContext& ir, int64_t lanes, bool always)
      : function_(function), ir_(ir), regions_(function, ir, lanes, always) {}

  const Function* run() {
    if (regions_.turnedConvolutions() == 0) return &function_;
    for (const Op* op : function_.ops) {
      const Role role = regions_.roleOf(*op);
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

  const ImageRegions& regions() const { return regions_; }

 private:
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
    const Type type = regions_.typeOf(v);
    const Shape& dims = type.dims();
    if (dims.size() < kRank && std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.isConstant(1); }))
      return v;
    Shape planes(kRank - dims.size(), ir_.dims().constant(1));
    planes.insert(planes.end(), dims.begin(), dims.end());
    ValueId& made = last_[v];
    if (const HostTensor* value = regions_.constantOf(v)) {
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
  void backToPlanes(ValueId v, const SourceLocation& place) {
    auto it = v == kNoValue ? last_.end() : last_.find(v);
    if (it == last_.end() || !gone_.count(v)) return;
    gone_.erase(v);
    OpSeries series(ir_, place, ops_);
    const Type type = regions_.typeOf(v);
    if (regions_.isOnePlace(v))
      series.reshape(it->second, type.dims(), type.dtype(), v);
    else
      transpose(series, it->second, type.dims(), type.dtype(), kToPlanes, v);
  }

  void emit(const Op& op, Role role) {
    OpSeries series(ir_, op.place, ops_);
    const ValueId result = op.results[0].id;
    if (regions_.typeOf(result).rank() != kRank) {  // sums without the axes they are over
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
    const HostTensor& weights = *regions_.constantOf(op.operands[1]);
    return biased(
        series, op,
        product(series, op.operands[0], weights.reshaped({weights.shape()[0], weights.shape()[1]}), shape),
        shape);
  }

  // The channels of each place times `matrix` [filters, channels].
  ValueId product(OpSeries& series, ValueId image, HostTensor matrix, const Shape& shape) {
    const ValueId weights = constant(series, std::move(matrix));
    Attributes attributes;
    attributes.set("transpose_b", int64_t{1});
    return series.emit(&ops::matmulOp, {last(series, image), weights}, std::move(attributes), shape,
                       Dtype::f32);
  }

  ValueId biased(OpSeries& series, const Op& op, ValueId sums, const Shape& shape) {
    if (op.operands.size() < 3 || op.operands[2] == kNoValue) return sums;
    return series.emit(&ops::addOp, {sums, op.operands[2]}, {}, shape, Dtype::f32);
  }

  // The phases of all places, then their rows one below the other; what the pads cut off is left out.
  ValueId spread(OpSeries& series, const Op& op, const Shape& shape) {
    const SpreadWindow& spread = regions_.spreadOf(op);
    const HostTensor weights = phaseWeights(*regions_.constantOf(op.operands[1]), spread);
    const Shape x = lastOf(regions_.typeOf(op.operands[0]).dims());
    const auto size = [&](int64_t n) { return ir_.dims().constant(n); };
    const Dim rows = size(spread.phases[0]), columns = size(spread.phases[1]);
    const Shape sums{x[0], x[1] + (spread.taps[0] - 1), x[2] + (spread.taps[1] - 1),
                     rows * columns * shape[3]};
    const ValueId phases = spread.overlaps()
                               ? overlapping(series, op.operands[0], weights, sums)
                               : product(series, op.operands[0],
                                         weights.reshaped({weights.shape()[0], weights.shape()[1]}), sums);
    const ValueId parted =
        series.reshape(phases, {sums[0], sums[1], sums[2], rows, columns * shape[3]}, Dtype::f32);
    const ValueId placed = transpose(series, parted, {sums[0], sums[1], rows, sums[2], columns * shape[3]},
                                     Dtype::f32, {0, 1, 3, 2, 4});
    ValueId whole =
        series.reshape(placed, {sums[0], sums[1] * rows, sums[2] * columns, shape[3]}, Dtype::f32);
    if (spread.cuts()) {
      const auto behind = [](int64_t cut) { return cut == 0 ? INT64_MAX : -cut; };
      const int64_t ends[] = {behind(spread.cutEnd[0]), behind(spread.cutEnd[1])}, axes[] = {1, 2};
      const std::vector<ValueId> operands{
          whole, constant(series, HostTensor::vectorInt(Dtype::i64, spread.cutBegin)),
          constant(series, HostTensor::vectorInt(Dtype::i64, ends)),
          constant(series, HostTensor::vectorInt(Dtype::i64, axes))};
      whole = series.emit(&ops::sliceOp, operands, {}, shape, Dtype::f32);
    }
    return biased(series, op, whole, shape);
  }

  // The phases of a transposed convolution whose windows overlap.
  ValueId overlapping(OpSeries& series, ValueId image, const HostTensor& weights, const Shape& shape) {
    const std::vector<int64_t>& sizes = weights.shape();
    contraction::ConvolutionWindow w;
    w.rank = 2;
    w.filters = sizes[0];
    w.channels = sizes[1];
    std::copy(sizes.begin() + 2, sizes.end(), w.kernel.begin() + 1);
    Attributes attributes;
    attributes.set("pads", std::vector<int64_t>{sizes[2] - 1, sizes[3] - 1, sizes[2] - 1, sizes[3] - 1});
    const ValueId constants = constant(series, weights);
    return packed(series, w, image, constants, kNoValue, std::move(attributes), shape);
  }

  ValueId window(OpSeries& series, const Op& op, const Shape& shape) {
    const contraction::ConvolutionWindow w =
        windowOf(op, regions_.typeOf(op.operands[1]).dims(), *dyn::windowOf(op, 2));
    Attributes attributes = op.attributes;
    attributes.erase("kernel_shape");  // was compared with the weights
    const ValueId bias = op.operands.size() > 2 ? op.operands[2] : kNoValue;
    return packed(series, w, op.operands[0], op.operands[1], bias, std::move(attributes), shape);
  }

  // A convolution by weights [m, c, h, w] that are packed.
  ValueId packed(OpSeries& series, const contraction::ConvolutionWindow& w, ValueId image, ValueId weights,
                 ValueId bias, Attributes attributes, const Shape& shape) {
    const contraction::Way rule = contraction::wayByRule(w, 1);
    const contraction::Way way = rule == contraction::Way::staged ? contraction::Way::direct : rule;
    const std::string name(contraction::kWayNames[static_cast<size_t>(way)]);
    Attributes packing;
    for (const char* attribute : {"strides", "dilations", "group"})
      if (const AttributeValue* value = attributes.find(attribute)) packing.set(attribute, *value);
    packing.set("way", name);
    const Dim length = ir_.dims().any("the layout of packed weights is the machine's");
    const ValueId panels =
        series.emit(&ops::pack_convOp, {weights}, std::move(packing), Shape{length}, Dtype::f32);
    Shape window;
    for (int64_t size : {w.groups * w.filters, w.channels, w.kernel[1], w.kernel[2]})
      window.push_back(ir_.dims().constant(size));
    attributes.set("weights", window);
    attributes.set("way", name);
    // What nobody has turned yet is turned by the way direct as it goes.
    const bool turns = way == contraction::Way::direct && !last_.count(image);
    attributes.set("layout", std::string(turns ? kToChannelsLast : kChannelsLast));
    std::vector<ValueId> operands{turns ? image : last(series, image), panels};
    // Sums begin with the bias, but Winograd's: there it goes with what follows.
    const bool apart = way == contraction::Way::winograd;
    if (!apart) operands.push_back(bias);
    if (operands.back() == kNoValue) operands.pop_back();
    const ValueId sums =
        series.emit(&ops::conv_packedOp, std::move(operands), std::move(attributes), shape, Dtype::f32);
    return apart && bias != kNoValue ? series.emit(&ops::addOp, {sums, bias}, {}, shape, Dtype::f32) : sums;
  }

  ValueId bytes(OpSeries& series, const Op& op, const Shape& shape) {
    const HostTensor weights = *regions_.signedWeights(op);
    Attributes attributes = op.attributes;
    attributes.erase("kernel_shape");  // was compared with the weights
    attributes.erase("channels_last");
    attributes.set("weights", regions_.typeOf(op.operands[1]).dims());
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
    const HostTensor &scale = *regions_.constantOf(op.operands[1]),
                     &bias = *regions_.constantOf(op.operands[2]),
                     &mean = *regions_.constantOf(op.operands[3]),
                     &variance = *regions_.constantOf(op.operands[4]);
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

  const Function& function_;
  IrContext& ir_;
  const ImageRegions regions_;
  std::unordered_map<ValueId, ValueId> last_;  // images with their channels last
  std::unordered_map<ValueId, bool> gone_;     // images that are not there in planes
  std::vector<const Op*> ops_;
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
  const std::string which = regions == context.options.end() ? "cost" : regions->second;
  if (which != "cost" && which != "all")
    return makeError(DiagnosticId::usageError, "layout: regions are cost or all, not " + which);
  const int64_t lanes = std::max(1, context.target.machine.vectorBits / 32);
  int64_t turned = 0;
  DYN_TRY(Module result, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            Turner turner(function, *module.context, lanes, which == "all");
            const Function* rewritten = turner.run();
            turned += turner.regions().turnedConvolutions();
            const std::vector<std::string>& remarks = turner.regions().remarks();
            context.remarks.insert(context.remarks.end(), remarks.begin(), remarks.end());
            return rewritten;
          }));
  context.counters["turned_convolutions"] = turned;
  return result;
}

}  // namespace

PassDef layoutPass() {
  return {.name = "layout",
          .summary = "stores images between convolutions with their channels last (NHWC)",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {{"conv", "auto, or a version of convolutions: images then stay in planes"},
                      {"regions", "cost: those that cost less so, or all; default cost"}},
          .run = runLayout,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
