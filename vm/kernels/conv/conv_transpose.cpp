// conv_transpose: 1, 2 or 3 spatial dims, groups, strides, dilations, any padding; f32.
//
// For some filters at a time, a product of their weights [filters x taps, channels] with a panel of input positions gives what each position adds to
// the output at each tap. It is added in a frame of phases: phase (p, q) holds the output rows p, p + stride, ... and of these the columns q, q + stride,
// ..., before anything is cut off. There a tap only shifts: what the positions of a panel give to it lies side by side, if the rows of the input are as
// far apart as those of a phase. Output planes of different filters are different memory, so threads share nothing.
#include <algorithm>
#include <array>
#include <bit>

#include "vm/kernels/builtins.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/gemm/gemm.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kWeightsPerBlock = 1 << 18;  // of the product: filters x taps x channels
constexpr int64_t kFramePerBlock = 1 << 16;    // elements of the frames of a block of filters
constexpr int64_t kLeastRows =
    48;  // of the product, where there are as many: each block packs the input anew

class TransposedTask {
 public:
  TransposedTask(const BuiltinCall& call, const Convolution& convolution)
      : call_(call), family_(*call.gemmFamily), c(convolution) {
    for (size_t axis = 0; axis < 3; ++axis) lines_[axis] = c.input[axis] + c.reach(axis) / c.stride[axis];
    const int64_t taps = c.taps(),
                  most = std::min(kWeightsPerBlock / std::max<int64_t>(c.channels * taps, 1),
                                  static_cast<int64_t>(static_cast<double>(kFramePerBlock) / planeSize())),
                  least = (kLeastRows + taps - 1) / taps;
    // Each thread gets some.
    const int64_t share = (c.filters * c.batch * c.groups + call.threads->threadCount() - 1) /
                          static_cast<int64_t>(call.threads->threadCount());
    filtersPerBlock_ = std::clamp<int64_t>(std::min(std::max(most, least), share), 1, c.filters);
    gaps_ = lines_[2] != c.input[2] || (c.input[0] > 1 && lines_[1] != c.input[1]);
  }

  int64_t filtersPerBlock() const { return filtersPerBlock_; }
  int64_t blocks() const { return (c.filters + filtersPerBlock_ - 1) / filtersPerBlock_; }
  // Elements of a frame, for the question whether it fits into memory.
  double planeSize() const {
    double size = 1;
    for (size_t axis = 0; axis < 3; ++axis)
      size *= static_cast<double>(c.stride[axis]) * static_cast<double>(lines_[axis]);
    return size;
  }
  int64_t scratchElements() const {
    return oddLineStride(weightElements() + panelElements() +
                         filtersPerBlock_ * (c.taps() * family_.panelWidth + planeElements()));
  }

  // Filters [first, last) of one group of one image; y is the plane of `first`.
  void run(const float* x, const float* w, int64_t first, int64_t last, const float* bias, float* y,
           float* scratch) const {
    const int64_t rows = (last - first) * c.taps(), leading = oddLineStride(c.channels),
                  width = family_.panelWidth;
    float *a = scratch, *panel = a + weightElements(), *tile = panel + panelElements(),
          *frames = tile + filtersPerBlock_ * c.taps() * width;
    writeTransposed(w + first * c.taps(), c.filters * c.taps(), c.channels, rows, nullptr, a, leading);
    std::fill_n(frames, (last - first) * planeElements(), 0.0f);
    // Zeros between the rows give nothing to the places they are added to, unless a weight is infinite or no number.
    const bool addsGaps = !gaps_ || areFinite(w + first * c.taps(), rows);
    const int64_t positions = ((c.input[0] - 1) * lines_[1] + c.input[1] - 1) * lines_[2] + c.input[2];
    for (int64_t position = 0; position < positions && !call_.cancelled(); position += width) {
      const int64_t count = std::min(width, positions - position);
      pack(x, position, count, panel);
      runRowTiles(family_, rows, c.channels, a, leading, panel, tile, width, count, false);
      for (int64_t row = 0; row < rows; ++row) {
        float* to = frames + row / c.taps() * planeElements() + offsetOf(row % c.taps()) + position;
        const float* from = tile + row * width;
        if (addsGaps)
          for (int64_t i = 0; i < count; ++i) to[i] += from[i];
        else
          eachRun(x, position, count, [&](const float*, int64_t at, int64_t held) {
            for (int64_t i = at; i < at + held; ++i) to[i] += from[i];
          });
      }
    }
    for (int64_t filter = first; filter < last; ++filter)
      write(frames + (filter - first) * planeElements(), bias ? bias[filter] : 0.0f,
            y + (filter - first) * c.outputSize());
  }

 private:
  int64_t weightElements() const { return filtersPerBlock_ * c.taps() * oddLineStride(c.channels); }
  int64_t panelElements() const { return c.channels * family_.panelWidth; }
  int64_t phaseElements() const { return lines_[0] * lines_[1] * lines_[2]; }
  int64_t planeElements() const { return c.stride[0] * c.stride[1] * c.stride[2] * phaseElements(); }

  // `rows` weights of each channel.
  bool areFinite(const float* w, int64_t rows) const {
    uint32_t greatest = 0;
    for (int64_t channel = 0; channel < c.channels; ++channel)
      for (int64_t row = 0; row < rows; ++row)
        greatest = std::max(greatest,
                            std::bit_cast<uint32_t>(w[channel * c.filters * c.taps() + row]) & 0x7fffffffu);
    return greatest < 0x7f800000u;
  }

  // Where the place of each axis, counted in the frame, lies.
  int64_t placeOf(int64_t d, int64_t h, int64_t w) const {
    const int64_t phase = (d % c.stride[0] * c.stride[1] + h % c.stride[1]) * c.stride[2] + w % c.stride[2];
    return phase * phaseElements() + (d / c.stride[0] * lines_[1] + h / c.stride[1]) * lines_[2] +
           w / c.stride[2];
  }
  int64_t offsetOf(int64_t tap) const {
    return placeOf(tap / (c.kernel[1] * c.kernel[2]) * c.dilation[0],
                   tap / c.kernel[2] % c.kernel[1] * c.dilation[1], tap % c.kernel[2] * c.dilation[2]);
  }

  // Input positions, as far apart as in a phase: zeros between the rows.
  void pack(const float* x, int64_t position, int64_t count, float* panel) const {
    const int64_t width = family_.panelWidth;
    if (!gaps_) return packPanels(family_, x + position, c.channels, count, c.inputSize(), 1, 0, 1, panel);
    std::fill_n(panel, panelElements(), 0.0f);
    eachRun(x, position, count, [&](const float* from, int64_t at, int64_t held) {
      for (int64_t channel = 0; channel < c.channels; ++channel)
        std::copy_n(from + channel * c.inputSize(), held, panel + channel * width + at);
    });
  }

  // The parts of `count` positions that are input: visit(input, first of them, how many).
  template <typename Visit>
  void eachRun(const float* x, int64_t position, int64_t count, const Visit& visit) const {
    for (int64_t at = 0; at < count;) {
      const int64_t column = (position + at) % lines_[2], row = (position + at) / lines_[2] % lines_[1],
                    slice = (position + at) / (lines_[2] * lines_[1]),
                    run = std::min(lines_[2] - column, count - at),
                    held = row < c.input[1] ? std::min(run, c.input[2] - column) : 0;
      if (held > 0) visit(x + (slice * c.input[1] + row) * c.input[2] + column, at, held);
      at += run;
    }
  }

  // The output plane of a frame: padding is cut off, the phases are put together again.
  void write(const float* frame, float bias, float* plane) const {
    const auto inFrame = [&](size_t axis, int64_t place) {
      return place >= 0 && place < c.stride[axis] * lines_[axis];
    };
    const Places inside = Places{-c.pad[2], c.stride[2] * lines_[2] - c.pad[2]}.within(0, c.output[2]);
    for (int64_t od = 0; od < c.output[0]; ++od)
      for (int64_t oh = 0; oh < c.output[1]; ++oh) {
        float* row = plane + (od * c.output[1] + oh) * c.output[2];
        const int64_t d = od + c.pad[0], h = oh + c.pad[1];
        if (!inFrame(0, d) || !inFrame(1, h) || inside.high == inside.low) {
          std::fill_n(row, c.output[2], bias);
          continue;
        }
        std::fill_n(row, inside.low, bias);
        std::fill(row + inside.high, row + c.output[2], bias);
        writeRow(frame, d, h, inside, bias, row);
      }
  }
  void writeRow(const float* frame, int64_t d, int64_t h, Places inside, float bias, float* row) const {
    const int64_t stride = c.stride[2], count = inside.high - inside.low, start = inside.low + c.pad[2];
    float* to = row + inside.low;
    if (stride == 2) {
      const float *even = frame + placeOf(d, h, start), *odd = frame + placeOf(d, h, start + 1);
      for (int64_t i = 0; i < count / 2; ++i) {
        to[2 * i] = even[i] + bias;
        to[2 * i + 1] = odd[i] + bias;
      }
      if (count % 2 != 0) to[count - 1] = even[count / 2] + bias;
      return;
    }
    for (int64_t q = 0; q < std::min(stride, count); ++q) {
      const float* from = frame + placeOf(d, h, start + q);
      if (stride == 1)
        for (int64_t i = 0; i < count; ++i) to[i] = from[i] + bias;
      else
        for (int64_t i = 0; q + i * stride < count; ++i) to[q + i * stride] = from[i] + bias;
    }
  }

  const BuiltinCall& call_;
  const DynGemmFamily& family_;
  const Convolution& c;
  std::array<int64_t, 3> lines_{1, 1, 1};  // places of a phase along each axis
  int64_t filtersPerBlock_ = 1;
  bool gaps_ = false;  // rows of a phase are longer than those of the input
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
  const TransposedTask task(call, c);
  if (task.planeSize() > 0x1p40) return failure(DYN_OUT_OF_MEMORY, "windows reach too far beyond the output");
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
