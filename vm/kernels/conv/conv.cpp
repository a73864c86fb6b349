// conv, conv_packed and conv_pack: 1, 2 or 3 spatial dims, groups, strides, dilations, any padding. f32 goes one of the ways of convolution.h, f64
// straight over the taps.
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/halves.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

Status convF32(const ConvolutionCall& work, Way way) {
  switch (way) {
    case Way::rows:
      return convRows(work);
    case Way::staged:
      return convStaged(work);
    case Way::direct:
      return convDirect(work);
    case Way::winograd:
      return convWinograd(work);
  }
  return okStatus();
}

void packAll(BuiltinCall& call, const Convolution& c, Way way, const float* w, float* packed) {
  const double elements = static_cast<double>(packedElementCount(c, way));
  call.threads->split(packUnits(c, way), static_cast<uint32_t>(worthwhileTasks(call, elements)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t unit = begin; unit < end; ++unit) packUnit(c, way, w, unit, packed);
                      });
}

// The weights as they were given: ways that want them packed pack them for this call.
Status convUnpacked(ConvolutionCall work, Way way) {
  if (way == Way::staged) return convF32(work, way);
  Scratch scratch(work.call.pool, packedElementCount(work.c, way), 0, 0);
  if (!scratch) return scratch.status();
  if (!work.call.rehearsal) packAll(work.call, work.c, way, work.weights, scratch.shared());
  work.weights = scratch.shared();
  return convF32(work, way);
}

template <typename T>
void overTaps(BuiltinCall& call, const Convolution& c, const Tensor* x, const Tensor* w, const T* bias,
              Tensor* y) {
  const int64_t planes = c.batch * c.groups * c.filters;
  const auto tasks = static_cast<uint32_t>(worthwhileTasks(call, c.steps()));
  // A unit is one output row.
  const int64_t rowsPerPlane = c.output[0] * c.output[1];
  call.threads->split(planes * rowsPerPlane, tasks, [&](int64_t begin, int64_t end) {
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

// Bias and epilogue, which follow the weights in the arguments; the numbers before the epilogue's are `numbers`.
Status readRest(const BuiltinCall& call, const char* name, const Convolution& c, const Tensor* x,
                size_t numbers, const Tensor*& bias, Epilogue& epilogue) {
  bias = call.argument(2);
  if (bias && (bias->dtype != x->dtype || bias->elementCount != c.groups * c.filters))
    return badArgument(name, 2, "one bias per output channel", call.arguments[2]);
  return epilogue.bind(call, call.number(numbers, 0), 3, call.scalars.subspan(static_cast<size_t>(c.rank)));
}

}  // namespace

Status conv(BuiltinCall& call) {
  const Tensor *x = call.argument(0), *w = call.argument(1), *bias = nullptr;
  if (!x) return badArgument("conv", 0, "a tensor", call.arguments[0]);
  if (!w || w->dtype != x->dtype)
    return badArgument("conv", 1, "a tensor of the input's dtype", call.arguments[1]);
  auto* y = static_cast<Tensor*>(call.results[0]);
  Convolution c;
  Epilogue epilogue;
  if (Status status = describeWindow(call, {w->shape(), w->rank}, false, c); !status.ok()) return status;
  if (Status status = describePositions(call, x, y, false, c); !status.ok()) return status;
  if (Status status = readRest(call, "conv", c, x, 2 + 2 * static_cast<size_t>(c.rank), bias, epilogue);
      !status.ok())
    return status;
  if (y->elementCount == 0) return okStatus();
  if (x->dtype == DataType::f32) {
    Way way{};
    if (Status status = wayOf(call, c, way); !status.ok()) return status;
    nameVersion(call, c, way);
    return convUnpacked({call, c, x->as<float>(), x->as<float>() + x->elementCount, w->as<float>(),
                         bias ? bias->as<float>() : nullptr, y->as<float>(), epilogue},
                        way);
  }
  if (x->dtype != DataType::f64) return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype)));
  if (call.rehearsal) return okStatus();
  overTaps<double>(call, c, x, w, bias ? bias->as<double>() : nullptr, y);
  EpilogueFault fault;
  if (epilogue) fault.note(epilogue.run(0, y->shape()[0] * y->shape()[1], 0, c.outputSize()));
  return fault.status();
}

Status convPack(BuiltinCall& call) {
  const Tensor* w = call.argument(0);
  if (!w || (w->dtype != DataType::f32 && !isHalf(w)))
    return badArgument("conv_pack", 0, "f32, f16 or bf16", call.arguments[0]);
  Convolution c;
  if (Status status = describeWindow(call, {w->shape(), w->rank}, false, c); !status.ok()) return status;
  Way way{};
  if (Status status = wayOf(call, c, way); !status.ok()) return status;
  const int64_t count = w->elementCount == 0 ? 0 : packedElementCount(c, way);
  Tensor* packed = nullptr;
  if (Status status = call.result(0, DataType::f32, std::span(&count, 1), packed); !status.ok())
    return status;
  if (count == 0) return okStatus();
  const FloatElements elements(call, w);
  if (elements && !call.rehearsal) packAll(call, c, way, elements.data(), packed->as<float>());
  return elements.status();
}

Status describePacked(const BuiltinCall& call, const char* name, Convolution& c, Epilogue& epilogue) {
  const Tensor *x = call.argument(0), *packed = call.argument(1), *bias = nullptr;
  if (!x || x->dtype != DataType::f32) return badArgument(name, 0, "f32", call.arguments[0]);
  if (!packed || packed->dtype != DataType::f32)
    return badArgument(name, 1, "packed weights", call.arguments[1]);
  const auto rank = static_cast<size_t>(std::clamp<int64_t>(call.number(0, 0) & 7, 0, 3));
  std::vector<int64_t> shape;
  for (size_t i = 0; i < rank + 2; ++i) shape.push_back(call.number(2 + 2 * rank + i, -1));
  if (*std::min_element(shape.begin(), shape.end()) < 0)
    return failure(DYN_BAD_PROGRAM, "the weights' shape is missing");
  if (Status status = describeWindow(call, shape, false, c); !status.ok()) return status;
  if (Status status = describePositions(call, x, static_cast<const Tensor*>(call.results[0]), false, c);
      !status.ok())
    return status;
  return readRest(call, name, c, x, 4 + 3 * rank, bias, epilogue);
}

Status convPacked(BuiltinCall& call) {
  Convolution c;
  Epilogue epilogue;
  if (Status status = describePacked(call, "conv_packed", c, epilogue); !status.ok()) return status;
  const Tensor *x = call.argument(0), *packed = call.argument(1), *bias = call.argument(2);
  auto* y = static_cast<Tensor*>(call.results[0]);
  if (y->elementCount == 0) return okStatus();
  Way way{};
  if (Status status = wayOf(call, c, way); !status.ok()) return status;
  if (packed->elementCount != packedElementCount(c, way))
    return failure(DYN_BAD_INPUT, "the weights are not packed for this convolution: " + describe(packed));
  nameVersion(call, c, way);
  return convF32({call, c, x->as<float>(), x->as<float>() + x->elementCount, packed->as<float>(),
                  bias ? bias->as<float>() : nullptr, y->as<float>(), epilogue},
                 way);
}

}  // namespace dyn::vm::kernels
