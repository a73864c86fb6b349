// conv, conv_packed of f32 and conv_pack: 1, 2 or 3 spatial dims, groups, strides, dilations, any padding.
// f32 goes one of the ways of convolution.h, f64 straight over the taps.
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/halves.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

ConvolutionCall onDirectWeights(const ConvolutionCall& work, const Convolution& direct) {
  return {work.call, direct, work.x,       work.inputEnd, work.weights + winogradDirectWeights(work.c),
          work.bias, work.y, work.epilogue};
}

// Images of one place lie the same in planes and with their channels last, and the ways of the latter share
// weights among images. Windows of several taps have the bits of their planes, as an image has whose pads
// were made apart; those that came as Winograd's never had them.
bool isAlsoLast(const Convolution& c, Way way, bool ofWinograd) {
  return c.inputSize() == 1 && c.outputSize() == 1 && !c.readsChannelsLast() && c.rank <= 2 &&
         way != Way::staged && (way != Way::direct || ofWinograd || c.taps() == 1);
}
Convolution withChannelsLast(Convolution c) {
  c.layout = ImageLayout::channelsLast;
  return c;
}

// `ofWinograd`: the weights are those that stand behind Winograd's.
Status convF32(FlatCall& memory, const ConvolutionCall& work, Way way, bool ofWinograd = false) {
  if (isAlsoLast(work.c, way, ofWinograd)) {
    const Convolution last = withChannelsLast(work.c);
    const Epilogue epilogue = work.c.makesChannelsLast()
                                  ? work.epilogue
                                  : work.epilogue.ofImagesOfOnePlace(last.groups * last.filters);
    return convF32(memory,
                   {work.call, last, work.x, work.inputEnd, work.weights, work.bias, work.y, epilogue}, way);
  }
  switch (way) {
    case Way::rows:
      return work.c.makesChannelsLast() ? convRowsLast(memory, work) : convRows(memory, work);
    case Way::staged:
      return convStaged(memory, work);
    case Way::direct:
      if (takesGathered(work.c)) return convGathered(memory, work);
      return work.c.isSparse() ? convTaps(memory, work) : convLiveTaps(memory, work);
    case Way::winograd:
      if (const auto direct = winogradAsDirect(work.c))
        return convF32(memory, onDirectWeights(work, *direct), Way::direct, true);
      return convWinograd(memory, work);
  }
  return okStatus();
}

int64_t convF32Scratch(const FlatCall& call, const Convolution& c, Way way, bool ofWinograd = false) {
  if (isAlsoLast(c, way, ofWinograd)) return convF32Scratch(call, withChannelsLast(c), way);
  const Epilogue none{};
  const ConvolutionCall work{call, c, nullptr, nullptr, nullptr, nullptr, nullptr, none};
  switch (way) {
    case Way::rows:
      return c.makesChannelsLast() ? convRowsLastScratch(work) : convRowsScratch(call, c);
    case Way::staged:
      return convStagedScratch(work);
    case Way::direct:
      if (takesGathered(c)) return convGatheredScratch(work);
      return c.isSparse() ? convTapsScratch(work) : convLiveTapsScratch(work);
    case Way::winograd:
      if (const auto direct = winogradAsDirect(c)) return convF32Scratch(call, *direct, Way::direct, true);
      return convWinogradScratch(work);
  }
  return 0;
}

void packAll(const CallInputs& call, const Convolution& c, Way way, FilterWidths widths, const float* w,
             float* packed) {
  const double elements = static_cast<double>(packedElementCount(c, way, widths));
  call.split(packUnits(c, way, widths), static_cast<uint32_t>(worthwhileTasks(call, elements)),
             [&](int64_t begin, int64_t end) {
               for (int64_t unit = begin; unit < end; ++unit) packUnit(c, way, widths, w, unit, packed);
             });
}

template <typename T>
void overTaps(const FlatCall& call, const Convolution& c, const TensorView* x, const TensorView* w,
              const T* bias, TensorView* y) {
  const int64_t planes = c.batch * c.groups * c.filters;
  const auto tasks = static_cast<uint32_t>(worthwhileTasks(call, c.steps()));
  // A unit is one output row.
  const int64_t rowsPerPlane = c.output[0] * c.output[1];
  call.split(planes * rowsPerPlane, tasks, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const int64_t plane = unit / rowsPerPlane, od = unit % rowsPerPlane / c.output[1],
                    oh = unit % c.output[1];
      const int64_t filter = plane % (c.groups * c.filters), image = plane / (c.groups * c.filters),
                    group = filter / c.filters;
      T* out = y->as<T>() + unit * c.output[2];
      std::fill_n(out, c.output[2], bias ? bias[filter] : T(0));
      const T* weight = w->as<T>() + filter * c.depth();
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        const T* from = x->as<T>() + ((image * c.groups + group) * c.channels + channel) * c.inputSize();
        for (int64_t tap = 0; tap < c.taps(); ++tap) {
          const int64_t kd = tap / (c.kernel[1] * c.kernel[2]), kh = tap / c.kernel[2] % c.kernel[1],
                        kw = tap % c.kernel[2];
          const int64_t id = od * c.stride[0] - c.pad[0] + kd * c.dilation[0],
                        ih = oh * c.stride[1] - c.pad[1] + kh * c.dilation[1];
          const T factor = weight[channel * c.taps() + tap];
          if (id < 0 || id >= c.input[0] || ih < 0 || ih >= c.input[1]) continue;
          const int64_t shift = kw * c.dilation[2] - c.pad[2];
          const auto [low, high] = placesInside(shift, c.stride[2], c.input[2]).within(0, c.output[2]);
          const T* row = from + (id * c.input[1] + ih) * c.input[2] + shift;
          if (c.stride[2] == 1)
            for (int64_t i = low; i < high; ++i) out[i] += factor * row[i];
          else
            for (int64_t i = low; i < high; ++i) out[i] += factor * row[i * c.stride[2]];
        }
      }
    }
  });
}

// Bias and epilogue.
template <typename Call, typename Numbers>
Status readRest(const FlatCall& call, const char* name, const Numbers& n, const Convolution& c,
                const TensorView* x, const TensorView*& bias, Epilogue& epilogue) {
  bias = call.argument(Call::bias);
  if (bias && (bias->dtype() != x->dtype() || bias->elements != c.groups * c.filters))
    return badArgument(name, Call::bias, "one bias per output channel", bias);
  return epilogue.bindOf<Call>(call, n);
}

}  // namespace

Status convUnpacked(FlatCall& memory, ConvolutionCall work, Way way) {
  if (way == Way::staged) return convF32(memory, work, way);
  Scratch scratch(memory, packedElementCount(work.c, way), 0, 0);
  if (!scratch) return scratch.status();
  packAll(work.call, work.c, way, machineFilters(), work.weights, scratch.shared());
  work.weights = scratch.shared();
  return convF32(memory, work, way);
}

int64_t convUnpackedScratch(const FlatCall& call, const Convolution& c, Way way) {
  const int64_t packed = way == Way::staged ? 0 : scratchElements(packedElementCount(c, way), 0, 0);
  return packed + convF32Scratch(call, c, way);
}

namespace {

// The operands of a call of `conv`, and the way of f32.
struct ConvCall {
  using Call = calls::Conv;
  Call::Numbers<calls::Borrowed> n;
  const TensorView *x = nullptr, *w = nullptr, *y = nullptr;
  Convolution c;
  Way way{};

  // `way` is set where there is something to compute.
  Status read(const FlatCall& call) {
    x = call.argument(Call::x);
    w = call.argument(Call::weights);
    y = call.result(0);
    n = call.numbersOf<Call>();
    if (!x) return badArgument("conv", Call::x, "a tensor", x);
    if (!w || w->dtype() != x->dtype())
      return badArgument("conv", Call::weights, "a tensor of the input's dtype", w);
    const WindowFields window = windowOf<Call>(call, n);
    if (Status status = describeWindow(window, w->sizes(), false, c); !status.ok()) return status;
    if (Status status = describePositions(window, x, y, false, c); !status.ok()) return status;
    if (y->elements == 0 || x->dtype() != DataType::f32) return okStatus();
    if (Status status = wayOf(n.way, c, way); !status.ok()) return status;
    if (n.way == 0) way = contraction::wayByRule(c, convolutionKernels().narrow, c.batch * c.outputSize());
    if (way == Way::winograd && winogradAsDirect(c)) way = Way::direct;
    return okStatus();
  }
};

}  // namespace

Status convScratch(const FlatCall& call, int64_t& elements) {
  ConvCall v;
  if (Status status = v.read(call); !status.ok()) return status;
  if (v.y->elements == 0 || v.x->dtype() != DataType::f32) return okStatus();
  nameVersion(call, v.c, v.way, v.n.way);
  elements = convUnpackedScratch(call, v.c, v.way);
  return okStatus();
}

Status conv(FlatCall& call) {
  ConvCall v;
  if (Status status = v.read(call); !status.ok()) return status;
  const Convolution& c = v.c;
  const TensorView *x = v.x, *w = v.w, *bias = nullptr;
  TensorView* y = call.result(0);
  Epilogue epilogue;
  if (Status status = readRest<calls::Conv>(call, "conv", v.n, c, x, bias, epilogue); !status.ok())
    return status;
  if (y->elements == 0) return okStatus();
  if (x->dtype() == DataType::f32)
    return convUnpacked(call,
                        {call, c, x->as<float>(), x->as<float>() + x->elements, w->as<float>(),
                         bias ? bias->as<float>() : nullptr, y->as<float>(), epilogue},
                        v.way);
  if (x->dtype() != DataType::f64) return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype())));
  overTaps<double>(call, c, x, w, bias ? bias->as<double>() : nullptr, y);
  EpilogueFault fault;
  if (epilogue) fault.note(epilogue.run(0, y->shape()[0] * y->shape()[1], 0, c.outputSize()));
  return fault.status();
}

Status convPack(BuiltinCall& call) {
  using Call = calls::ConvPack;
  const Tensor* w = call.argument(Call::weights);
  if (!w || (w->dtype != DataType::f32 && !isHalf(w)))
    return badArgument("conv_pack", Call::weights, "f32, f16 or bf16", call.arguments[Call::weights]);
  const auto n = call.numbersOf<Call>();
  Convolution c;
  if (Status status = describeWindow(windowOf<Call>(call, n), {w->shape(), w->rank}, false, c); !status.ok())
    return status;
  const FilterWidths widths =
      call.panels ? FilterWidths{call.panels->wideFilters, call.panels->narrowFilters} : machineFilters();
  Way way{};
  if (Status status = wayOf(n.way, c, way, widths); !status.ok()) return status;
  const int64_t count = w->elementCount == 0 ? 0 : packedElementCount(c, way, widths);
  Tensor* packed = nullptr;
  if (Status status = call.result(0, DataType::f32, std::span(&count, 1), packed); !status.ok())
    return status;
  if (count == 0) return okStatus();
  const FloatElements elements(call, w);
  if (elements) packAll(call, c, way, widths, elements.data(), packed->as<float>());
  return elements.status();
}

Status describePackedShapes(const FlatCall& call, const char* name, Convolution& c) {
  using Call = calls::ConvPacked;
  const TensorView *x = call.argument(Call::x), *packed = call.argument(Call::weights);
  if (!x || x->dtype() != DataType::f32) return badArgument(name, Call::x, "f32", x);
  if (!packed || packed->dtype() != DataType::f32)
    return badArgument(name, Call::weights, "packed weights", packed);
  const auto n = call.numbersOf<Call>();
  std::array<int64_t, 5> shape{};
  if (n.sizes.size() > shape.size() || n.sizes.empty() ||
      std::any_of(n.sizes.begin(), n.sizes.end(), [](int32_t size) { return size < 0; }))
    return failure(DYN_BAD_PROGRAM, "the weights' shape is missing");
  std::copy(n.sizes.begin(), n.sizes.end(), shape.begin());
  const WindowFields window = windowOf<Call>(call, n);
  if (Status status = describeWindow(window, std::span(shape).first(n.sizes.size()), false, c); !status.ok())
    return status;
  const LaidNumber laid = LaidNumber::parted(n.way);
  if (!laid.isKnown()) return failure(DYN_BAD_PROGRAM, "there is no layout for " + std::to_string(n.way));
  c.layout = laid.layout;
  if (c.makesChannelsLast() && c.rank > 2)
    return failure(DYN_UNSUPPORTED, "channels last in three spatial dims");
  return describePositions(window, x, call.result(0), false, c);
}

Status describePacked(const FlatCall& call, const char* name, Convolution& c, Epilogue& epilogue) {
  if (Status status = describePackedShapes(call, name, c); !status.ok()) return status;
  using Call = calls::ConvPacked;
  const TensorView* bias = nullptr;
  return readRest<Call>(call, name, call.numbersOf<Call>(), c, call.argument(Call::x), bias, epilogue);
}

// Staged weights stand in rows beside positions in lanes, which lie apart where the channels come last.
static Status wayOfPacked(int32_t number, const Convolution& c, Way& way) {
  if (Status status = wayOf(LaidNumber::parted(number).number, c, way); !status.ok()) return status;
  switch (c.layout) {
    case ImageLayout::planes:
      return okStatus();
    case ImageLayout::channelsLast:
      if (way != Way::staged) return okStatus();
      break;
    case ImageLayout::toChannelsLast:
      if (way == Way::direct) return okStatus();
      break;
  }
  return failure(DYN_BAD_PROGRAM, "the way " + std::string(contraction::kWayNames[static_cast<size_t>(way)]) +
                                      " cannot do this layout");
}

Status convPackedFloatsScratch(const FlatCall& call, int64_t& elements) {
  Convolution c;
  if (Status status = describePackedShapes(call, "conv_packed", c); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  Way way{};
  const int32_t named = call.numbersOf<calls::ConvPacked>().way;
  if (Status status = wayOfPacked(named, c, way); !status.ok()) return status;
  nameVersion(call, c, way == Way::winograd && winogradAsDirect(c) ? Way::direct : way,
              LaidNumber::parted(named).number);
  elements = convF32Scratch(call, c, way);
  return okStatus();
}

Status convPackedFloats(FlatCall& call) {
  Convolution c;
  Epilogue epilogue;
  if (Status status = describePacked(call, "conv_packed", c, epilogue); !status.ok()) return status;
  using Call = calls::ConvPacked;
  const TensorView *x = call.argument(Call::x), *packed = call.argument(Call::weights),
                   *bias = call.argument(Call::bias);
  TensorView* y = call.result(0);
  if (y->elements == 0) return okStatus();
  Way way{};
  if (Status status = wayOfPacked(call.numbersOf<Call>().way, c, way); !status.ok()) return status;
  if (packed->elements != packedElementCount(c, way))
    return failure(DYN_BAD_INPUT, "the weights are not packed for this convolution: " + describe(packed));
  return convF32(call,
                 {call, c, x->as<float>(), x->as<float>() + x->elements, packed->as<float>(),
                  bias ? bias->as<float>() : nullptr, y->as<float>(), epilogue},
                 way);
}

}  // namespace dyn::vm::kernels
