// conv_transpose: 1, 2 or 3 spatial dims, groups, strides, dilations, any padding; f32.
//
// For some filters at a time, a product of their weights [filters x taps, channels] with a panel of input positions gives what each position adds to
// the output at each tap; those are added where they belong. Output planes of different filters are different memory, so threads share nothing.
#include <algorithm>
#include <array>

#include "vm/kernels/builtins.h"
#include "vm/kernels/convolution.h"
#include "vm/kernels/gemm.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kRowsPerBlock = 144;  // of the product: filters x taps

// Adds from[i] to to[i * stride].
void addStrided(const float* from, int64_t count, int64_t stride, float* to) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * stride] += from[i];
  }
}

struct TransposedTask {
  const BuiltinCall& call;
  const DynGemmFamily& family;
  const Convolution& c;

  int64_t filtersPerBlock() const { return std::clamp<int64_t>(kRowsPerBlock / c.taps(), 1, c.filters); }
  int64_t blocks() const { return (c.filters + filtersPerBlock() - 1) / filtersPerBlock(); }
  int64_t weightElements() const { return filtersPerBlock() * c.taps() * oddLineStride(c.channels); }
  int64_t panelElements() const { return c.channels * family.panelWidth; }
  int64_t scratchElements() const {
    return oddLineStride(weightElements() + panelElements() +
                         filtersPerBlock() * c.taps() * family.panelWidth);
  }

  // Filters [first, last) of one group of one image; y is the plane of `first`.
  void run(const float* x, const float* w, int64_t first, int64_t last, const float* bias, float* y,
           float* scratch) const {
    const int64_t rows = (last - first) * c.taps(), leading = oddLineStride(c.channels),
                  width = family.panelWidth;
    float *a = scratch, *panel = a + weightElements(), *tile = panel + panelElements();
    for (int64_t channel = 0; channel < c.channels; ++channel)
      for (int64_t row = 0; row < rows; ++row)
        a[row * leading + channel] = w[(channel * c.filters + first) * c.taps() + row];
    for (int64_t filter = first; filter < last; ++filter)
      std::fill_n(y + (filter - first) * c.outputSize(), c.outputSize(), bias ? bias[filter] : 0.0f);
    for (int64_t position = 0; position < c.inputSize() && !call.cancelled(); position += width) {
      const int64_t count = std::min(width, c.inputSize() - position);
      packPanels(family, x + position, c.channels, count, c.inputSize(), 1, 0, 1, panel);
      runRowTiles(family, rows, c.channels, a, leading, panel, tile, width, count, false);
      for (int64_t row = 0; row < rows; ++row)
        addRow(tile + row * width, position, count, row % c.taps(), y + row / c.taps() * c.outputSize());
    }
  }

 private:
  // What `count` input positions give to one output plane at one tap.
  void addRow(const float* from, int64_t position, int64_t count, int64_t tap, float* plane) const {
    const int64_t td = tap / (c.kernel[1] * c.kernel[2]), th = tap / c.kernel[2] % c.kernel[1],
                  tw = tap % c.kernel[2];
    for (int64_t at = 0; at < count;) {
      const int64_t iw = (position + at) % c.input[2], run = std::min(count - at, c.input[2] - iw);
      const int64_t ih = (position + at) / c.input[2] % c.input[1],
                    id = (position + at) / (c.input[1] * c.input[2]);
      const int64_t od = id * c.stride[0] + td * c.dilation[0] - c.pad[0],
                    oh = ih * c.stride[1] + th * c.dilation[1] - c.pad[1];
      if (od >= 0 && od < c.output[0] && oh >= 0 && oh < c.output[1]) {
        // Elements low <= i < high of the run fall into the row.
        const int64_t ow = iw * c.stride[2] + tw * c.dilation[2] - c.pad[2];
        const auto [low, high] = placesInside(ow, c.stride[2], c.output[2]).within(0, run);
        float* row = plane + (od * c.output[1] + oh) * c.output[2];
        if (high > low) addStrided(from + at + low, high - low, c.stride[2], row + ow + low * c.stride[2]);
      }
      at += run;
    }
  }
};

}  // namespace

Status convTranspose(BuiltinCall& call) {
  const Tensor *x = call.argument(0), *w = call.argument(1), *b = call.argument(2);
  if (!x) return badArgument("conv_transpose", 0, "a tensor", call.arguments[0]);
  if (!w) return badArgument("conv_transpose", 1, "a tensor", call.arguments[1]);
  auto* y = static_cast<Tensor*>(call.results[0]);
  Convolution c;
  if (x->dtype != DataType::f32 || w->dtype != DataType::f32)
    return failure(DYN_UNSUPPORTED,
                   "dtypes " + std::string(text(x->dtype)) + " and " + std::string(text(w->dtype)));
  if (Status status = describeWindow(call, {w->shape(), w->rank}, true, c); !status.ok()) return status;
  if (Status status = describePositions(call, x, y, true, c); !status.ok()) return status;
  if (b && (b->dtype != x->dtype || b->elementCount != c.groups * c.filters))
    return badArgument("conv_transpose", 2, "one bias per output channel", call.arguments[2]);
  if (y->elementCount == 0) return okStatus();
  const float* bias = b ? b->as<float>() : nullptr;
  if (x->elementCount == 0 || w->elementCount == 0) {
    for (int64_t plane = 0; plane < c.batch * c.groups * c.filters && !call.rehearsal; ++plane)
      std::fill_n(y->as<float>() + plane * c.outputSize(), c.outputSize(),
                  bias ? bias[plane % (c.groups * c.filters)] : 0.0f);
    return okStatus();
  }
  const TransposedTask task{call, *call.gemmFamily, c};
  const int64_t blocks = task.blocks(), units = c.batch * c.groups * blocks, own = task.scratchElements();
  const int64_t tasks = std::min<int64_t>(call.threads->threadCount(), units);
  Scratch scratch(call.pool, 0, tasks, own);
  if (!scratch || call.rehearsal) return scratch.status();
  call.threads->split(units, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* memory = scratch.next();
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const int64_t plane = unit / blocks, group = plane % c.groups;
      const int64_t first = unit % blocks * task.filtersPerBlock(),
                    last = std::min(first + task.filtersPerBlock(), c.filters);
      task.run(x->as<float>() + plane * c.channels * c.inputSize(),
               w->as<float>() + group * c.channels * c.filters * c.taps(), first, last,
               bias ? bias + group * c.filters : nullptr,
               y->as<float>() + (plane * c.filters + first) * c.outputSize(), memory);
    }
  });
  return okStatus();
}

}  // namespace dyn::vm::kernels
