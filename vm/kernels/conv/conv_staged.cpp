// Convolutions with few filters: filters stand in the rows of a tile, positions in its lanes.
//
// A product without unfolding: weights are A [filters, channels x taps], and row (channel, tap) of B is the
// input itself, read at that tap's offset. For that the rows of input that some output rows need are staged:
// padded, and with a stride parted by their position modulo the stride, so that every tap finds its elements
// one after the other. An output position is its place in the staged rows; the few places between the end of
// one output row and the start of the next are computed and thrown away.
#include <array>
#include <numeric>
#include <vector>

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/four.h"
#include "vm/kernels/gemm/gemm.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kDepthBlock = 768;           // k steps whose weights stay in L2
constexpr int64_t kPositions = 1024;           // output positions of a chunk, about
constexpr int64_t kDepthwisePositions = 8192;  // the same with one channel
constexpr int64_t kStagedElements = 1 << 17;   // of input staged for a chunk, at most where one row allows it
constexpr int64_t kTileElements = 1 << 15;     // of results kept until their rows are written

// to[i] = from[i * stride], stride > 1
void copyRun(const float* from, int64_t count, int64_t stride, float* to) {
  int64_t i = 0;
  if (stride == 2) {
    for (; i + 8 < count; i += 8) {  // reads one float behind the last it takes
      const Four a = four(from + 2 * i), b = four(from + 2 * i + 4), c = four(from + 2 * i + 8),
                 d = four(from + 2 * i + 12);
      four(to + i) = __builtin_shufflevector(a, b, 0, 2, 4, 6);
      four(to + i + 4) = __builtin_shufflevector(c, d, 0, 2, 4, 6);
    }
  }
  for (; i < count; ++i) to[i] = from[i * stride];
}

// How the input of a chunk of output rows lies while it is worked on. Along axis i, output o and tap t meet
// at o * stride + t * dilation in the padded input: in the plane of phase (t * dilation) % stride, at place o
// + (t * dilation) / stride.
struct Staging {
  std::array<int64_t, 3> reach{};       // largest place beyond o
  std::array<int64_t, 3> periods{};     // taps of an axis, after which the phases come again
  std::array<int64_t, 3> phaseCount{};  // that occur: those of the first taps
  int64_t rows = 0;                     // output rows of a chunk
  int64_t rowLength = 0, sliceSize = 0, planeSize = 0, channelStride = 0;
  bool inPlace = false;    // the input itself has this layout
  Table<int64_t> offsets;  // of each (channel, tap)

  explicit Staging(const Convolution& c) {
    for (size_t i = 0; i < 3; ++i) {
      reach[i] = std::max<int64_t>(c.kernel[i] - 1, 0) * c.dilation[i] / c.stride[i];
      periods[i] = c.stride[i] / std::gcd(c.dilation[i], c.stride[i]);
      phaseCount[i] = std::min(c.kernel[i], periods[i]);
    }
    const int64_t planes = phaseCount[0] * phaseCount[1] * phaseCount[2];
    rowLength = c.output[2] + reach[2];
    const int64_t positions = c.channels == 1 && c.filters == 1 ? kDepthwisePositions : kPositions;
    rows = std::clamp<int64_t>(positions / std::max<int64_t>(rowLength, 1), 1, c.output[1]);
    auto stagedElements = [&] {
      return c.channels * planes * (reach[0] + 1) * (rows + reach[1]) * rowLength;
    };
    while (rows > 1 && stagedElements() > kStagedElements) rows = (rows + 1) / 2;
    rows = evenPart(c.output[1], rows);
    // Read in place, a tile takes a few lines from every channel: good from the L2 cache only, and not from a
    // plane whose size is a power of two, which maps all channels to the same lines.
    inPlace = c.isPointwise() && c.channels * c.inputSize() <= kStagedElements &&
              (c.inputSize() % 1024 != 0 || c.channels < 32);
    if (inPlace) {
      sliceSize = c.input[1] * c.input[2];
      channelStride = c.inputSize();
    } else {
      sliceSize = (rows + reach[1]) * rowLength;
      planeSize = sliceSize * (reach[0] + 1) + convolutionKernels().narrow;  // beyond the last row
      channelStride = oddLineStride(planes * planeSize);
    }
  }

  void makeTable(const Convolution& c, float* memory) {
    offsets = Table<int64_t>(memory);
    for (int64_t channel = 0; channel < c.channels; ++channel)
      for (int64_t d = 0; d < c.kernel[0]; ++d)
        for (int64_t h = 0; h < c.kernel[1]; ++h)
          for (int64_t w = 0; w < c.kernel[2]; ++w) {
            const int64_t plane =
                (d % periods[0] * phaseCount[1] + h % periods[1]) * phaseCount[2] + w % periods[2];
            auto place = [&](size_t axis, int64_t tap) { return tap * c.dilation[axis] / c.stride[axis]; };
            offsets.add(channel * channelStride + plane * planeSize + place(0, d) * sliceSize +
                        place(1, h) * rowLength + place(2, w));
          }
  }
  static int64_t phase(const Convolution& c, size_t axis, int64_t index) {
    return index * c.dilation[axis] % c.stride[axis];
  }

  int64_t elementCount(const Convolution& c) const { return inPlace ? 0 : c.channels * channelStride; }

  // The input of output rows [first, first + count) of slice `slice`, for one group.
  void fill(const Convolution& c, const float* x, int64_t slice, int64_t first, int64_t count,
            float* staged) const {
    const bool pairs = c.stride[2] == 2 && phaseCount[2] == 2;
    if (c.stride[2] > 1 && !pairs) return fillPhases(c, x, slice, first, count, staged);
    for (int64_t channel = 0; channel < c.channels; ++channel, x += c.inputSize()) {
      if (channel + 1 < c.channels) prefetchRows(c, x + c.inputSize(), slice, first, count);
      float* plane = staged + channel * channelStride;
      for (int64_t d = 0; d < phaseCount[0]; ++d)
        for (int64_t h = 0; h < phaseCount[1]; ++h, plane += phaseCount[2] * planeSize)
          for (int64_t qd = 0; qd <= reach[0]; ++qd) {
            const int64_t id = phase(c, 0, d) + (slice + qd) * c.stride[0] - c.pad[0];
            fillRows(c, x + id * c.input[1] * c.input[2], id >= 0 && id < c.input[0],
                     phase(c, 1, h) + first * c.stride[1] - c.pad[1], count + reach[1],
                     plane + qd * sliceSize, pairs);
          }
    }
  }

 private:
  // So many rows of a slice: `from`, from + stride, ...; of pairs both phases. What lies outside, or all
  // where the slice does, is zero.
  void fillRows(const Convolution& c, const float* slice, bool isInside, int64_t from, int64_t rows,
                float* to, bool pairs) const {
    const ConvolutionKernels& machine = convolutionKernels();
    const int64_t stride = c.stride[1] * c.input[2];
    const Places inside = isInside ? placesInside(from, c.stride[1], c.input[1]).within(0, rows) : Places{};
    const auto fillThose = [&](int64_t begin, int64_t end, int64_t columns) {
      if (begin == end) return;
      const float* row = slice + (columns > 0 ? from * c.input[2] + begin * stride : 0);
      float* at = to + begin * rowLength;
      if (pairs)
        machine.padPairs(row, stride, end - begin, c.pad[2], columns, rowLength, at, at + planeSize);
      else
        machine.pad(row, stride, end - begin, c.pad[2], columns, rowLength, at);
    };
    fillThose(0, inside.low, 0);
    fillThose(inside.low, inside.high, c.input[2]);
    fillThose(inside.high, rows, 0);
  }

  void fillPhases(const Convolution& c, const float* x, int64_t slice, int64_t first, int64_t count,
                  float* staged) const {
    std::array<Span, 8> kept;  // of the first phases of a row
    const auto keptCount = std::min<int64_t>(phaseCount[2], static_cast<int64_t>(kept.size()));
    for (int64_t i = 0; i < keptCount; ++i) kept[static_cast<size_t>(i)] = spanOf(c, phase(c, 2, i));
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      const float* from = x + channel * c.inputSize();
      if (channel + 1 < c.channels) prefetchRows(c, from + c.inputSize(), slice, first, count);
      float* plane = staged + channel * channelStride;
      for (int64_t d = 0; d < phaseCount[0]; ++d)
        for (int64_t h = 0; h < phaseCount[1]; ++h)
          for (int64_t w = 0; w < phaseCount[2]; ++w) {
            const int64_t phaseD = phase(c, 0, d), phaseH = phase(c, 1, h);
            const Span span = w < keptCount ? kept[static_cast<size_t>(w)] : spanOf(c, phase(c, 2, w));
            for (int64_t qd = 0; qd <= reach[0]; ++qd)
              for (int64_t qh = 0; qh < count + reach[1]; ++qh) {
                const int64_t id = phaseD + (slice + qd) * c.stride[0] - c.pad[0],
                              ih = phaseH + (first + qh) * c.stride[1] - c.pad[1];
                float* to = plane + qd * sliceSize + qh * rowLength;
                if (id < 0 || id >= c.input[0] || ih < 0 || ih >= c.input[1])
                  zeroShort(rowLength, to);
                else
                  fillRow(span, from + (id * c.input[1] + ih) * c.input[2], c.stride[2], to);
              }
            plane += planeSize;
          }
    }
  }

  // The places [low, high) of a row that lie inside the input; the first is the input's element `from`.
  struct Span {
    int64_t low = 0, high = 0, from = 0;
  };
  // The rows of input behind `count` output rows of one channel lie one after the other.
  void prefetchRows(const Convolution& c, const float* x, int64_t slice, int64_t first, int64_t count) const {
    const int64_t id = std::clamp<int64_t>(slice * c.stride[0] - c.pad[0], 0, c.input[0] - 1);
    auto row = [&](int64_t ih) { return std::clamp<int64_t>(ih, 0, c.input[1]); };
    const float* begin = x + (id * c.input[1] + row(first * c.stride[1] - c.pad[1])) * c.input[2];
    const float* end =
        x + (id * c.input[1] + row((first + count + reach[1]) * c.stride[1] - c.pad[1])) * c.input[2];
    constexpr int64_t kLine = 16;
    for (; begin < end; begin += kLine) __builtin_prefetch(begin, 0, 3);
  }
  Span spanOf(const Convolution& c, int64_t phase) const {
    const int64_t shift = phase - c.pad[2];
    const auto [low, high] = placesInside(shift, c.stride[2], c.input[2]).within(0, rowLength);
    return {low, high, low * c.stride[2] + shift};
  }

  // May write up to three floats beyond the row: rows are filled in ascending order, and behind the last
  // there is room.
  void fillRow(const Span& span, const float* row, int64_t stride, float* to) const {
    zeroShort(span.low, to);
    copyRun(row + span.from, span.high - span.low, stride, to + span.low);
    zeroShort(rowLength - span.high, to + span.high);
  }
};

// One chunk of output rows of one group: all its filters, or a part of them.
struct StagedTask {
  const ConvolutionCall& work;
  const Convolution& c;
  const Staging& staging;
  const ConvolutionKernels& machine = convolutionKernels();
  Table<int64_t> panelOffsets;

  StagedTask(const ConvolutionCall& convolution, const Staging& staged)
      : work(convolution), c(convolution.c), staging(staged) {}

  // Of the task and the staging.
  int64_t tableElements() const {
    return kernels::tableElements<int64_t>(c.depth()) +
           (staging.inPlace ? kernels::tableElements<int64_t>(depthBlock()) : 0);
  }
  void makeTable(float* memory) {
    panelOffsets = Table<int64_t>(memory + kernels::tableElements<int64_t>(c.depth()));
    for (int64_t k = 0; staging.inPlace && k < depthBlock(); ++k) panelOffsets.add(k * width());
  }

  int64_t width() const { return machine.wide; }
  int64_t tileCount() const {
    return ((staging.rows - 1) * staging.rowLength + c.output[2] + width() - 1) / width();
  }
  int64_t rowBlock() const {
    const int64_t tiles = std::max<int64_t>(1, kTileElements / (tileCount() * width() * machine.maxRows));
    return evenPart(c.filters, tiles * machine.maxRows);
  }
  // Filter rows in the same lines of the L1 cache are copied apart.
  bool copiesWeights() const { return c.depth() % 256 == 0 && c.filters > 4; }
  int64_t depthBlock() const { return evenPart(c.depth(), kDepthBlock); }
  bool straight() const { return staging.rowLength == c.output[2]; }  // no places between rows
  int64_t weightElements() const { return copiesWeights() ? rowBlock() * oddLineStride(depthBlock()) : 0; }
  int64_t tileElements() const { return straight() ? 0 : rowBlock() * tileCount() * width(); }
  // The last floats that a tile reads may lie beyond the staged rows.
  int64_t stagedElements() const {
    return staging.inPlace ? depthBlock() * width() : staging.elementCount(c) + width();
  }
  int64_t scratchElements() const {
    return oddLineStride(weightElements() + tileElements() + stagedElements());
  }

  int32_t run(const float* input, int64_t image, int64_t group, int64_t slice, int64_t first, int64_t rows,
              int64_t filterBegin, int64_t filterEnd, float* scratch) const {
    float *copied = scratch, *tile = copied + weightElements(), *staged = tile + tileElements();
    const float* b = input + slice * staging.sliceSize + first * staging.rowLength;
    if (!staging.inPlace) {
      staging.fill(c, input, slice, first, rows, staged);
      b = staged;
    }
    const int64_t flat = (rows - 1) * staging.rowLength + c.output[2];
    for (int64_t filter = filterBegin; filter < filterEnd; filter += rowBlock()) {
      if (work.call.cancelled()) return DYN_KERNEL_OK;
      const int64_t height = std::min(rowBlock(), filterEnd - filter);
      const int64_t channel = (image * c.groups + group) * c.filters + filter;
      float* out = work.y + channel * c.outputSize() + (slice * c.output[1] + first) * c.output[2];
      const float* ownBias = work.bias ? work.bias + group * c.filters + filter : nullptr;
      if (straight()) {
        if (ownBias)
          for (int64_t i = 0; i < height; ++i) std::fill_n(out + i * c.outputSize(), flat, ownBias[i]);
        multiply(b, group * c.filters + filter, height, flat, out, c.outputSize(), ownBias != nullptr, copied,
                 staged);
      } else {
        const int64_t leading = tileCount() * width();
        multiply(b, group * c.filters + filter, height, flat, tile, leading, false, copied, staged);
        const TileEnd* end = work.epilogue.closed();
        const bool isLast = end && !end->bias;
        for (int64_t i = 0; i < height; ++i)
          machine.unstage(tile + i * leading, staging.rowLength, rows, c.output[2],
                          ownBias ? ownBias[i] : 0.0f, isLast ? *end : TileEnd(), out + i * c.outputSize());
        if (isLast) continue;
      }
      const int64_t begin = (slice * c.output[1] + first) * c.output[2];
      if (const int32_t code =
              finishRows(work, channel, channel + height, begin, begin + rows * c.output[2], c.outputSize());
          code != DYN_KERNEL_OK)
        return code;
    }
    return DYN_KERNEL_OK;
  }

 private:
  // `height` filters from `filter` times `flat` positions.
  void multiply(const float* b, int64_t filter, int64_t height, int64_t flat, float* out, int64_t leading,
                bool accumulate, float* copied, float* panel) const {
    const int64_t depth = c.depth();
    for (int64_t k = 0; k < std::max<int64_t>(depth, 1); k += depthBlock()) {
      const int64_t now = std::min(depthBlock(), depth - k);
      const float* a = work.weights + filter * depth + k;
      int64_t leadingA = depth;
      if (copiesWeights()) {
        leadingA = oddLineStride(depthBlock());
        for (int64_t i = 0; i < height; ++i) std::copy_n(a + i * depth, now, copied + i * leadingA);
        a = copied;
      }
      const int64_t* offsets = staging.offsets.data() + k;
      const int32_t add = k > 0 || accumulate ? 1 : 0;
      if (c.filters == 1 && add == 0 && !staging.inPlace && !straight()) {
        machine.row(now, a, b, offsets, 0.0f, out, flat);
        continue;
      }
      for (int64_t column = 0; column < flat; column += width()) {
        const int64_t columns = std::min(width(), flat - column);
        // What a tile at the end of the input would read beyond it is read from a panel.
        const bool beyond =
            staging.inPlace && now > 0 && b + column + offsets[now - 1] + width() > work.inputEnd;
        const int64_t* where = offsets;
        const float* from = b + column;
        if (beyond) {
          for (int64_t i = 0; i < now; ++i) {
            std::copy_n(from + offsets[i], columns, panel + i * width());
            std::fill(panel + i * width() + columns, panel + (i + 1) * width(), 0.0f);
          }
          from = panel;
          where = panelOffsets.data();
        }
        forEachRowTile(machine.maxRows, height, [&](int64_t row, int64_t count) {
          machine.filters[count - 1](now, a + row * leadingA, leadingA, from, where,
                                     out + row * leading + column, leading, columns, add);
        });
      }
    }
  }
};

}  // namespace

int64_t convStagedScratch(const ConvolutionCall& work) {
  const Staging staging(work.c);
  const StagedTask task(work, staging);
  return scratchElements(task.tableElements(), worthwhileTasks(work.call, work.c.steps()),
                         task.scratchElements());
}

Status convStaged(FlatCall& call, const ConvolutionCall& work) {
  const Convolution& c = work.c;
  Staging staging(c);
  StagedTask task(work, staging);
  const int64_t chunks = (c.output[1] + staging.rows - 1) / staging.rows;
  const int64_t tasks = worthwhileTasks(call, c.steps());
  // Units are (image, group, slice, chunk of rows, part of the filters); filters are only parted when there
  // are too few others for the threads.
  const int64_t whole = c.batch * c.groups * c.output[0] * chunks;
  const int64_t parts = partsFor(tasks, whole, (c.filters + task.machine.maxRows - 1) / task.machine.maxRows);
  const int64_t own = task.scratchElements();
  Scratch scratch(call, task.tableElements(), tasks, own);
  if (!scratch) return scratch.status();
  staging.makeTable(c, scratch.shared());
  task.makeTable(scratch.shared());
  EpilogueFault fault;
  call.split(whole * parts, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* memory = scratch.next();
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const int64_t part = unit % parts, chunk = unit / parts % chunks,
                    slice = unit / parts / chunks % c.output[0], plane = unit / parts / chunks / c.output[0];
      const int64_t group = plane % c.groups, image = plane / c.groups, first = chunk * staging.rows;
      const float* input = work.x + plane * c.channels * c.inputSize();
      fault.note(task.run(input, image, group, slice, first, std::min(staging.rows, c.output[1] - first),
                          c.filters * part / parts, c.filters * (part + 1) / parts, memory));
    }
  });
  return fault.status();
}

}  // namespace dyn::vm::kernels
