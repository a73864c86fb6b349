// conv: 1, 2 or 3 spatial dims, groups, strides, dilations, any padding.
//
// f32 with at least kGemmRows output channels per group is an implicit GEMM: weights are A, and panels of the unfolded input are packed
// on the fly as B ([channel x taps] x [output positions]), so nothing of im2col size is ever stored. Depthwise and thin groups, and
// f64, go straight over the taps.
#include <algorithm>
#include <array>
#include <cstring>

#include "vm/base/checked.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/gemm.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kDepthBlock = 512;
constexpr int64_t kGemmRows = 4;
constexpr int64_t kStepsPerTask = 1 << 16;

// All shapes are seen with three spatial dims; missing leading ones are 1.
struct Convolution {
  int64_t batch = 0, groups = 1, channels = 0, filters = 0;  // channels and filters per group
  std::array<int64_t, 3> input{1, 1, 1}, kernel{1, 1, 1}, output{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1},
      pad{0, 0, 0};
  int64_t inputSize() const { return input[0] * input[1] * input[2]; }
  int64_t outputSize() const { return output[0] * output[1] * output[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return channels * taps(); }
};

Status describeConvolution(const BuiltinCall& call, const Tensor* x, const Tensor* w, const Tensor* y,
                           Convolution& c) {
  const int64_t rank = call.number(0, 0);
  if (rank < 1 || rank > 3) return failure(DYN_UNSUPPORTED, std::to_string(rank) + " spatial dims");
  if (static_cast<int64_t>(call.numbers.size()) < 2 + 2 * rank ||
      static_cast<int64_t>(call.scalars.size()) < rank)
    return failure(DYN_BAD_PROGRAM, "strides, dilations or pads are missing");
  auto wrong = [&] {
    return failure(DYN_BAD_INPUT,
                   "shapes do not fit: " + describe(x) + " * " + describe(w) + " -> " + describe(y));
  };
  if (x->rank != rank + 2 || w->rank != rank + 2 || y->rank != rank + 2 || x->dtype != w->dtype ||
      x->dtype != y->dtype)
    return wrong();
  c.batch = x->shape()[0];
  c.groups = call.number(1, 1);
  c.channels = w->shape()[1];
  if (c.groups < 1 || w->shape()[0] % c.groups != 0 || x->shape()[1] != c.channels * c.groups ||
      y->shape()[1] != w->shape()[0] || y->shape()[0] != c.batch)
    return wrong();
  c.filters = w->shape()[0] / c.groups;
  for (int64_t i = 0; i < rank; ++i) {
    const auto to = static_cast<size_t>(3 - rank + i);
    c.input[to] = x->shape()[2 + i];
    c.kernel[to] = w->shape()[2 + i];
    c.output[to] = y->shape()[2 + i];
    c.stride[to] = call.number(static_cast<size_t>(2 + i), 1);
    c.dilation[to] = call.number(static_cast<size_t>(2 + rank + i), 1);
    c.pad[to] = call.scalars[static_cast<size_t>(i)];
    // Positions are sums of these four: 2^60 each leaves room for all.
    constexpr int64_t kFarthest = int64_t{1} << 60;
    int64_t reach = 0, span = 0;
    if (c.stride[to] < 1 || c.dilation[to] < 1 || c.pad[to] < -kFarthest || c.pad[to] > kFarthest ||
        c.input[to] > kFarthest || !checkedMul(c.output[to], c.stride[to], reach) || reach > kFarthest ||
        !checkedMul(c.kernel[to], c.dilation[to], span) || span > kFarthest)
      return failure(DYN_BAD_INPUT, "stride, dilation or pad out of range");
  }
  // Where there are no channels no bytes stand behind the other dims.
  int64_t count = 0;
  if (!checkedElementCount(c.kernel.data(), 3, count) || !checkedMul(count, c.channels, count) ||
      !checkedElementCount(c.input.data(), 3, count) || !checkedMul(count, c.channels, count))
    return failure(DYN_BAD_INPUT, "the window or the input has too many elements");
  return okStatus();
}

// Output positions along the innermost axis whose tap lies inside the input: [low, high).
void insideRange(const Convolution& c, int64_t tap, int64_t first, int64_t count, int64_t& low,
                 int64_t& high) {
  const int64_t shift = tap * c.dilation[2] - c.pad[2];
  low = shift >= 0 ? 0 : (-shift + c.stride[2] - 1) / c.stride[2];
  high = c.input[2] <= shift ? 0 : (c.input[2] - shift + c.stride[2] - 1) / c.stride[2];
  low = std::clamp(low, first, first + count);
  high = std::clamp(high, low, first + count);
}

// Rows [k0, k0 + depth) of the unfolded input, columns [column, column + count), into a panel of `width`.
void packUnfolded(const Convolution& c, const float* x, int64_t k0, int64_t depth, int64_t column,
                  int64_t count, int64_t width, float* panel) {
  const int64_t taps = c.taps(), rowTaps = c.kernel[2], plane = c.output[1] * c.output[2];
  for (int64_t k = k0; k < k0 + depth; ++k, panel += width) {
    const int64_t channel = k / taps, tap = k % taps;
    const int64_t kd = tap / (c.kernel[1] * rowTaps), kh = tap / rowTaps % c.kernel[1], kw = tap % rowTaps;
    const float* from = x + channel * c.inputSize();
    // Runs of columns that share an output row.
    for (int64_t at = 0; at < count;) {
      const int64_t position = column + at, ow = position % c.output[2];
      const int64_t run = std::min(count - at, c.output[2] - ow);
      const int64_t id = position / plane * c.stride[0] - c.pad[0] + kd * c.dilation[0];
      const int64_t ih = position / c.output[2] % c.output[1] * c.stride[1] - c.pad[1] + kh * c.dilation[1];
      float* to = panel + at;
      if (id < 0 || id >= c.input[0] || ih < 0 || ih >= c.input[1]) {
        std::fill_n(to, run, 0.0f);
      } else {
        int64_t low, high;
        insideRange(c, kw, ow, run, low, high);
        const float* row = from + (id * c.input[1] + ih) * c.input[2] + kw * c.dilation[2] - c.pad[2];
        std::fill(to, to + (low - ow), 0.0f);
        if (c.stride[2] == 1) {
          if (high > low) memcpy(to + (low - ow), row + low, static_cast<size_t>(high - low) * sizeof(float));
        } else {
          for (int64_t i = low; i < high; ++i) to[i - ow] = row[i * c.stride[2]];
        }
        std::fill(to + (high - ow), to + run, 0.0f);
      }
      at += run;
    }
    std::fill(panel + count, panel + width, 0.0f);
  }
}

Status convGemm(BuiltinCall& call, const Convolution& c, const Tensor* x, const Tensor* w, const float* bias,
                Tensor* y, const Epilogue& epilogue) {
  const DynGemmFamily& family = *call.gemmFamily;
  const int64_t width = family.panelWidth, positions = c.outputSize(), depth = c.depth();
  const int64_t panels = panelCount(family, positions),
                block = std::max<int64_t>(1, std::min(depth, kDepthBlock));
  const double steps = static_cast<double>(c.batch * c.groups * c.filters) * static_cast<double>(positions) *
                       static_cast<double>(std::max<int64_t>(depth, 1));
  const auto tasks = std::max<int64_t>(
      1, std::min<int64_t>(call.threads->threadCount(), static_cast<int64_t>(steps / kStepsPerTask)));
  // Units are (image, group, chunk of filters, panel); filters are only cut when there are too few panels for the threads.
  const int64_t whole = c.batch * c.groups * panels;
  const int64_t chunks = whole >= 2 * tasks ? 1
                                            : std::min((c.filters + family.maxRows - 1) / family.maxRows,
                                                       (2 * tasks + whole - 1) / whole);
  Scratch scratch(call.pool, static_cast<uint64_t>(tasks * block * width) * sizeof(float));
  if (!scratch) return scratch.status();
  std::atomic<int32_t> fault{DYN_KERNEL_OK};
  std::atomic<int64_t> nextTask{0};
  call.threads->split(whole * chunks, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* panel = scratch.as<float>() + nextTask.fetch_add(1) * block * width;
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const int64_t column = unit % panels * width, chunk = unit / panels % chunks,
                    group = unit / panels / chunks % c.groups, image = unit / panels / chunks / c.groups;
      const int64_t columns = std::min(width, positions - column);
      const int64_t first = c.filters * chunk / chunks, rows = c.filters * (chunk + 1) / chunks - first;
      const int64_t filter = group * c.filters + first;
      const float* input = x->as<float>() + (image * c.groups + group) * c.channels * c.inputSize();
      const float* weights = w->as<float>() + filter * depth;
      const int64_t row = image * c.groups * c.filters + filter;
      float* out = y->as<float>() + row * positions + column;
      if (bias)
        for (int64_t i = 0; i < rows; ++i) std::fill_n(out + i * positions, columns, bias[filter + i]);
      for (int64_t k = 0; k < std::max<int64_t>(depth, 1); k += block) {
        const int64_t now = std::min(block, depth - k);
        packUnfolded(c, input, k, now, column, columns, width, panel);
        runRowTiles(family, rows, now, weights + k, depth, panel, out, positions, columns,
                    k > 0 || bias != nullptr);
      }
      if (!epilogue) continue;
      if (const int32_t code = epilogue.run(row, row + rows, column, column + columns); code != DYN_KERNEL_OK)
        fault.store(code, std::memory_order_relaxed);
    }
  });
  if (fault.load() != DYN_KERNEL_OK)
    return failure(DYN_KERNEL_FAULT, "fault " + std::to_string(fault.load()) + " in the epilogue");
  return okStatus();
}

template <typename T>
void convDirect(BuiltinCall& call, const Convolution& c, const Tensor* x, const Tensor* w, const T* bias,
                Tensor* y) {
  const int64_t planes = c.batch * c.groups * c.filters, positions = c.outputSize();
  const double steps = static_cast<double>(planes) * static_cast<double>(positions) *
                       static_cast<double>(std::max<int64_t>(c.depth(), 1));
  const auto tasks = static_cast<uint32_t>(std::max<int64_t>(
      1, std::min<int64_t>(call.threads->threadCount(), static_cast<int64_t>(steps / kStepsPerTask))));
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
          int64_t low, high;
          insideRange(c, kw, 0, c.output[2], low, high);
          const T* row = from + (id * c.input[1] + ih) * c.input[2] + kw * c.dilation[2] - c.pad[2];
          if (c.stride[2] == 1)
            for (int64_t i = low; i < high; ++i) out[i] += factor * row[i];
          else
            for (int64_t i = low; i < high; ++i) out[i] += factor * row[i * c.stride[2]];
        }
      }
    }
  });
}

}  // namespace

Status conv(BuiltinCall& call) {
  const Tensor *x = call.argument(0), *w = call.argument(1), *b = call.argument(2);
  if (!x) return badArgument("conv", 0, "a tensor", call.arguments[0]);
  if (!w) return badArgument("conv", 1, "a tensor", call.arguments[1]);
  auto* y = static_cast<Tensor*>(call.results[0]);
  Convolution c;
  if (Status status = describeConvolution(call, x, w, y, c); !status.ok()) return status;
  if (b && (b->dtype != x->dtype || b->elementCount != c.groups * c.filters))
    return badArgument("conv", 2, "one bias per output channel", call.arguments[2]);
  const auto rank = static_cast<size_t>(call.number(0, 0));
  Epilogue epilogue;
  if (Status status = epilogue.bind(call, call.number(2 + 2 * rank, 0), 3, call.scalars.subspan(rank));
      !status.ok())
    return status;
  if (y->elementCount == 0) return okStatus();
  if (x->dtype == DataType::f32 && c.filters >= kGemmRows)
    return convGemm(call, c, x, w, b ? b->as<float>() : nullptr, y, epilogue);
  if (x->dtype == DataType::f32)
    convDirect<float>(call, c, x, w, b ? b->as<float>() : nullptr, y);
  else if (x->dtype == DataType::f64)
    convDirect<double>(call, c, x, w, b ? b->as<double>() : nullptr, y);
  else
    return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype)));
  if (epilogue)
    if (const int32_t fault = epilogue.run(0, y->shape()[0] * y->shape()[1], 0, c.outputSize());
        fault != DYN_KERNEL_OK)
      return failure(DYN_KERNEL_FAULT, "fault " + std::to_string(fault) + " in the epilogue");
  return okStatus();
}

}  // namespace dyn::vm::kernels
