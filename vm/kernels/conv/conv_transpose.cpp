// conv_transpose: 1, 2 or 3 spatial dims, groups, strides, dilations, any padding; f32.
//
// For some filters at a time, a product of their weights [filters x taps, channels] with a panel of input
// positions gives what each position adds to the output at each tap. It is added in a frame of phases: phase
// (p, q) holds the output rows p, p + stride, ... and of these the columns q, q + stride, ..., before
// anything is cut off. There a tap only shifts: what the positions of a panel give to it lies side by side,
// if the rows of the input are as far apart as those of a phase. Output planes of different filters are
// different memory, so threads share nothing.
//
// Where there are more weights than positions the product is turned: weights stand in the lanes as they lie
// in memory, positions in the rows, so that of many weights each is read once and none is turned over, and it
// is the few results that are.
//
// Small images of a batch are slices of one: the weights are read once for all of them.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/four.h"
#include "vm/kernels/gemm/gemm.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kWeightsPerBlock = 1 << 18;  // of the product: filters x taps x channels
constexpr int64_t kFramePerBlock = 1 << 16;    // elements of the frames of a block of filters
constexpr int64_t kPlacesOfSlices = 256;       // of a phase of images that are done together
constexpr int64_t kLeastRows =
    48;  // of the product, where there are as many: each block packs the input anew

class TransposedTask {
 public:
  TransposedTask(const FlatCall& call, const Convolution& convolution)
      : call_(call), family_(*call.gemmFamily), c(convolution) {
    for (size_t axis = 0; axis < 3; ++axis) lines_[axis] = c.input[axis] + c.reach(axis) / c.stride[axis];
    if (!fits()) return;
    weightsInLanes_ = c.filters * c.taps() > positions(c.input[0]);
    if (c.rank < 3)
      joinImages(evenPart(c.batch, std::max<int64_t>(1, kPlacesOfSlices / (lines_[1] * lines_[2]))));
    const int64_t taps = c.taps(),
                  most = std::min(kWeightsPerBlock / std::max<int64_t>(c.channels * taps, 1),
                                  static_cast<int64_t>(static_cast<double>(kFramePerBlock) / planeSize())),
                  least = (kLeastRows + taps - 1) / taps;
    // Each thread gets some.
    const int64_t share =
        (c.filters * c.batch * c.groups + call.threadCount() - 1) / static_cast<int64_t>(call.threadCount());
    filtersPerBlock_ = std::clamp<int64_t>(std::min(std::max(most, least), share), 1, c.filters);
    gaps_ = lines_[2] != c.input[2] || (c.input[0] > 1 && lines_[1] != c.input[1]);
    if (!weightsInLanes()) return;
    // Nothing is packed for each block of filters: they are as many as frames in the cache allow.
    filtersPerBlock_ = std::clamp<int64_t>(
        std::min(static_cast<int64_t>(static_cast<double>(kFramePerBlock) / planeSize()), share), 1,
        c.filters);
    const int64_t lanes = lanes_.wide, panels = kPanelsPerBlock / std::max<int64_t>(c.channels * lanes, 1);
    panelLanes_ = std::clamp<int64_t>(panels, 1, kMostPanels) * lanes;
  }

  int64_t tableElements() const {
    return kernels::tableElements<int64_t>(c.taps()) +
           (weightsInLanes() ? 2 * kernels::tableElements<int64_t>(c.channels) : 0);
  }
  void makeTables(float* memory) {
    tapOffsets_ = Table<int64_t>(memory);
    for (int64_t tap = 0; tap < c.taps(); ++tap) tapOffsets_.add(offsetOf(tap));
    if (!weightsInLanes()) return;
    inPlace_ = Table<int64_t>(memory += kernels::tableElements<int64_t>(c.taps()));
    inPanel_ = Table<int64_t>(memory + kernels::tableElements<int64_t>(c.channels));
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      inPlace_.add(channel * c.filters * c.taps());
      inPanel_.add(channel * panelLanes_);
    }
  }

  bool weightsInLanes() const { return weightsInLanes_; }
  // Units of images: one, or some that are done together.
  int64_t parts() const { return c.batch; }
  // The images [first, first + slices) of a part; those that are not joined have slices of their own.
  struct Part {
    int64_t image, slices;
  };
  Part part(int64_t index) const {
    if (!joined_) return {index, c.input[0]};
    return {index * c.input[0], std::min(c.input[0], images_ - index * c.input[0])};
  }
  // Of one group of a part, positions in the rows: [positions, channels].
  int64_t turnedInputElements() const {
    return weightsInLanes() ? positions(c.input[0]) * oddLineStride(c.channels) : 0;
  }
  void turnInput(const float* x, int64_t slices, float* turned) const {
    const int64_t leading = oddLineStride(c.channels);
    if (!gaps_ && !joined_)
      return writeTransposed(x, channelStride_, c.channels, channelStride_, nullptr, turned, leading);
    std::fill_n(turned, turnedInputElements(), 0.0f);
    eachRun(x, 0, positions(slices), [&](const float* from, int64_t at, int64_t held) {
      writeTransposed(from, channelStride_, c.channels, held, nullptr, turned + at * leading, leading);
    });
  }

  // Is a frame of a size that there could be memory for? Otherwise nothing else may be asked.
  bool fits() const { return planeSize() <= 0x1p40; }
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
    if (weightsInLanes())
      return oddLineStride(c.channels * panelLanes_ + 2 * kRowsAtOnce * lanes_.wide +
                           filtersPerBlock_ * planeElements());
    return oddLineStride(weightElements() + panelElements() +
                         filtersPerBlock_ * (c.taps() * family_.panelWidth + planeElements()));
  }

  // Filters [first, last) of one group of a part; y is the plane of `first`.
  void run(const float* x, int64_t slices, const float* w, int64_t first, int64_t last, const float* bias,
           float* y, float* scratch) const {
    const int64_t rows = (last - first) * c.taps(), leading = oddLineStride(c.channels),
                  width = family_.panelWidth;
    float *a = scratch, *panel = a + weightElements(), *tile = panel + panelElements(),
          *frames = tile + filtersPerBlock_ * c.taps() * width;
    writeTransposed(w + first * c.taps(), c.filters * c.taps(), c.channels, rows, nullptr, a, leading);
    std::fill_n(frames, (last - first) * planeElements(), 0.0f);
    // Zeros between the rows give nothing to the places they are added to, unless a weight is infinite or no
    // number.
    const bool addsGaps = !gaps_ || areFinite(w + first * c.taps(), rows);
    eachBlock(slices, width, [&](int64_t position, int64_t count) {
      if (call_.cancelled()) return;
      pack(x, position, count, panel);
      runRowTiles(family_, rows, c.channels, a, leading, panel, tile, width, count, false);
      addRows(tile, width, 0, rows, position, count, addsGaps ? count : kNeverWhole, frames);
    });
    for (int64_t filter = first; filter < last; ++filter)
      write(frames + (filter - first) * planeElements(), slices, bias ? bias[filter] : 0.0f,
            y + (filter - first) * filterStride_);
  }

  // The same with weights in the lanes; `input` is what turnInput made.
  void runTurned(const float* input, int64_t slices, const float* w, int64_t first, int64_t last,
                 const float* bias, float* y, float* scratch) const {
    const int64_t rows = (last - first) * c.taps(), wide = lanes_.wide, end = positions(slices);
    float *panel = scratch, *tile = panel + c.channels * panelLanes_, *turned = tile + kRowsAtOnce * wide,
          *frames = turned + kRowsAtOnce * wide;
    // Of whole rows, where these are multiplied one by one.
    const int64_t atOnce =
        multipliesRows() && lines_[2] <= kRowsAtOnce ? kRowsAtOnce / lines_[2] * lines_[2] : kRowsAtOnce;
    std::fill_n(frames, (last - first) * planeElements(), 0.0f);
    std::fill_n(tile, kRowsAtOnce * wide, 0.0f);
    w += first * c.taps();
    for (int64_t row = 0; row < rows && !call_.cancelled(); row += wide) {
      const int64_t columns = std::min(wide, rows - row), inPanel = row % panelLanes_;
      const bool copies =
          end > lanes_.maxRows || columns < wide;  // read more than once, or beyond the last weight
      if (copies && (inPanel == 0 || end <= lanes_.maxRows))
        copyPanel(w + row, std::min(panelLanes_ - inPanel, rows - row), panel + inPanel);
      eachBlock(slices, atOnce, [&](int64_t position, int64_t count) {
        const auto multiply = [&](int64_t from, int64_t height) {
          const int64_t leading = oddLineStride(c.channels);
          lanes_.filters[height - 1](
              c.channels, input + (position + from) * leading, leading, copies ? panel + inPanel : w + row,
              (copies ? inPanel_ : inPlace_).data(), tile + from * wide, wide, columns, 0);
        };
        int64_t next = 0;  // behind the last tile
        eachMultiplied(position, count, [&](int64_t at, int64_t height) {
          std::fill(tile + next * wide, tile + at * wide, 0.0f);
          forEachRowTile(lanes_.maxRows, height,
                         [&](int64_t begin, int64_t rowsHere) { multiply(at + begin, rowsHere); });
          next = at + height;
        });
        std::fill(tile + next * wide, tile + count * wide, 0.0f);
        // Whole vectors: what lies beyond the last position and the last weight is turned, too, and not
        // looked at.
        const auto whole = [&](int64_t n) { return (n + lanes_.narrow - 1) / lanes_.narrow * lanes_.narrow; };
        writeTransposed(tile, wide, whole(count), whole(columns), nullptr, turned, kRowsAtOnce);
        // A place between the rows is the sum of nothing: 0, unless a weight is infinite or no number.
        const int64_t gap = multipliesRows() ? count : firstGap(position, count);
        addRows(turned, kRowsAtOnce, row, columns, position, count, gap, frames);
      });
    }
    for (int64_t filter = first; filter < last; ++filter)
      write(frames + (filter - first) * planeElements(), slices, bias ? bias[filter] : 0.0f,
            y + (filter - first) * filterStride_);
  }

 private:
  static constexpr int64_t kRowsAtOnce = 64;  // positions of a product with weights in the lanes
  static constexpr int64_t kPanelsPerBlock =
      1 << 16;  // weights that are copied at once: part of the second cache
  static constexpr int64_t kMostPanels = 8;

  static constexpr int64_t kLeastRun = 4;  // a tile of fewer rows waits for each of its sums

  // `images` of a batch become the slices of one.
  void joinImages(int64_t images) {
    if (images < 2) return;
    joined_ = true;
    images_ = c.batch;
    inputSlice_ = c.groups * c.channels * channelStride_;
    outputSlice_ = c.groups * c.filters * filterStride_;
    c.batch = partsOf(c.batch, images);
    c.input[0] = c.output[0] = lines_[0] = images;
  }

  // Are rows multiplied one by one, without the places between them? Otherwise slices are, where there are
  // places between the rows.
  bool multipliesRows() const { return gaps_ && c.input[2] >= kLeastRun; }
  // What is multiplied of `count` positions: visit(first of them, how many).
  template <typename Visit>
  void eachMultiplied(int64_t position, int64_t count, const Visit& visit) const {
    if (!gaps_) return visit(0, count);
    if (multipliesRows())
      return eachRun(nullptr, position, count,
                     [&](const float*, int64_t at, int64_t held) { visit(at, held); });
    const int64_t pitch = lines_[1] * lines_[2], whole = (c.input[1] - 1) * lines_[2] + c.input[2];
    for (int64_t begin = position / pitch * pitch; begin < position + count; begin += pitch) {
      const int64_t from = std::max(begin, position), end = std::min(begin + whole, position + count);
      if (from < end) visit(from - position, end - from);
    }
  }

  // Input positions, those between the rows counted.
  int64_t positions(int64_t slices) const {
    return ((slices - 1) * lines_[1] + c.input[1] - 1) * lines_[2] + c.input[2];
  }

  // All positions in blocks of at most so many: visit(position, count). What a place of the output is the sum
  // of is added block by block: images that are joined have the blocks that each has alone.
  template <typename Visit>
  void eachBlock(int64_t slices, int64_t most, const Visit& visit) const {
    const int64_t pitch = lines_[1] * lines_[2], end = positions(slices);
    const bool apart = joined_ && pitch > most;
    const int64_t step = joined_ && !apart ? most / pitch * pitch : most;
    for (int64_t image = 0; image < (apart ? slices : 1); ++image) {
      const int64_t begin = image * pitch, behind = apart ? begin + positions(1) : end;
      for (int64_t position = begin; position < behind; position += step)
        visit(position, std::min(step, behind - position));
    }
  }

  // The first of `count` positions that lies between the rows of a slice; `count`: none.
  int64_t firstGap(int64_t position, int64_t count) const {
    for (int64_t at = 0; at < count; ++at) {
      const int64_t column = (position + at) % lines_[2];
      if (column >= c.input[2] && (position + at) / lines_[2] % lines_[1] + 1 < c.input[1]) return at;
      if (column < c.input[2]) at += c.input[2] - 1 - column;
    }
    return count;
  }

  // Adds to its plane what `count` positions give to each of `rows` taps of filters, the first of them `row`.
  // A row whose element `gap` is 0 is added as a whole, also what it gives to the places between the rows; so
  // is every row where `gap` is `count`.
  static constexpr int64_t kNeverWhole = -1;
  void addRows(const float* from, int64_t leading, int64_t row, int64_t rows, int64_t position, int64_t count,
               int64_t gap, float* frames) const {
    const int64_t taps = c.taps(), plane = planeElements();
    int64_t tap = row % taps;
    float* frame = frames + row / taps * plane + position;
    for (int64_t i = 0; i < rows; ++i, from += leading) {
      float* to = frame + tapOffsets_.data()[tap];
      if (gap == count || (gap != kNeverWhole && from[gap] == 0))
        lanes_.add(from, count, to);
      else
        eachRun(nullptr, position, count,
                [&](const float*, int64_t at, int64_t held) { lanes_.add(from + at, held, to + at); });
      if (++tap < taps) continue;
      tap = 0;
      frame += plane;
    }
  }

  // `columns` neighbouring weights of each channel, zeros behind them up to a whole tile.
  void copyPanel(const float* w, int64_t columns, float* panel) const {
    const int64_t whole = (columns + lanes_.wide - 1) / lanes_.wide * lanes_.wide;
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      float* to = panel + inPanel_.data()[channel];
      std::copy_n(w + inPlace_.data()[channel], columns, to);
      std::fill(to + columns, to + whole, 0.0f);
    }
  }
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

  // Where the place of each axis, counted in the frame, lies: what the row and the column add to it.
  int64_t rowPlace(int64_t d, int64_t h) const {
    const int64_t phase = (d % c.stride[0] * c.stride[1] + h % c.stride[1]) * c.stride[2];
    return phase * phaseElements() + (d / c.stride[0] * lines_[1] + h / c.stride[1]) * lines_[2];
  }
  int64_t columnPlace(int64_t w) const { return w % c.stride[2] * phaseElements() + w / c.stride[2]; }
  int64_t placeOf(int64_t d, int64_t h, int64_t w) const { return rowPlace(d, h) + columnPlace(w); }
  int64_t offsetOf(int64_t tap) const {
    return placeOf(tap / (c.kernel[1] * c.kernel[2]) * c.dilation[0],
                   tap / c.kernel[2] % c.kernel[1] * c.dilation[1], tap % c.kernel[2] * c.dilation[2]);
  }

  // Input positions, as far apart as in a phase: zeros between the rows.
  void pack(const float* x, int64_t position, int64_t count, float* panel) const {
    const int64_t width = family_.panelWidth;
    if (!gaps_ && !joined_)
      return packPanels(family_, x + position, c.channels, count, channelStride_, 1, 0, 1, panel);
    std::fill_n(panel, panelElements(), 0.0f);
    eachRun(x, position, count, [&](const float* from, int64_t at, int64_t held) {
      for (int64_t channel = 0; channel < c.channels; ++channel)
        std::copy_n(from + channel * channelStride_, held, panel + channel * width + at);
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
      if (held > 0) visit(x ? x + slice * inputSlice_ + row * c.input[2] + column : nullptr, at, held);
      at += run;
    }
  }

  // The output planes of a frame: padding is cut off, the phases are put together again.
  void write(const float* frame, int64_t slices, float bias, float* plane) const {
    const auto insideOf = [&](size_t axis) {
      return Places{-c.pad[axis], c.stride[axis] * lines_[axis] - c.pad[axis]}.within(0, c.output[axis]);
    };
    const Places inside = insideOf(2), rows = insideOf(1), whole = insideOf(0);
    const int64_t length = c.output[2], start = inside.low + c.pad[2],
                  even = start < 0 ? 0 : columnPlace(start), odd = start < 0 ? 0 : columnPlace(start + 1),
                  step = c.stride[1];
    for (int64_t od = 0; od < (joined_ ? slices : c.output[0]); ++od, plane += outputSlice_) {
      if (od < whole.low || od >= whole.high || inside.low == inside.high) {
        std::fill_n(plane, c.output[1] * length, bias);
        continue;
      }
      std::fill_n(plane, rows.low * length, bias);
      std::fill(plane + rows.high * length, plane + c.output[1] * length, bias);
      for (int64_t row = rows.low; inside.high - inside.low < length && row < rows.high; ++row) {
        std::fill_n(plane + row * length, inside.low, bias);
        std::fill(plane + row * length + inside.high, plane + (row + 1) * length, bias);
      }
      // The rows of a phase follow each other in the frame.
      for (int64_t row = rows.low; row < std::min(rows.low + step, rows.high); ++row) {
        const float* from = frame + rowPlace(od + c.pad[0], row + c.pad[1]);
        float* to = plane + row * length + inside.low;
        const int64_t count = partsOf(rows.high - row, step);
        if (c.stride[2] == 2)
          lanes_.zip(from + even, from + odd, lines_[2], count, inside.high - inside.low, bias, to,
                     step * length);
        else
          for (int64_t i = 0; i < count; ++i)
            writeRow(from + i * lines_[2], inside, bias, to + i * step * length - inside.low);
      }
    }
  }
  void writeRow(const float* line, Places inside, float bias, float* row) const {
    const int64_t stride = c.stride[2], count = inside.high - inside.low, start = inside.low + c.pad[2];
    float* to = row + inside.low;
    for (int64_t q = 0; q < std::min(stride, count); ++q) {
      const float* from = line + columnPlace(start + q);
      if (stride == 1)
        for (int64_t i = 0; i < count; ++i) to[i] = from[i] + bias;
      else
        for (int64_t i = 0; q + i * stride < count; ++i) to[q + i * stride] = from[i] + bias;
    }
  }

  const FlatCall& call_;
  const DynGemmFamily& family_;
  Convolution c;  // where images are joined, of their slices
  int64_t images_ = 0;
  bool joined_ = false, weightsInLanes_ = false;
  // Elements between the slices, the channels and the filters of a group.
  int64_t inputSlice_ = c.input[1] * c.input[2], outputSlice_ = c.output[1] * c.output[2],
          channelStride_ = c.inputSize(), filterStride_ = c.outputSize();
  Table<int64_t> tapOffsets_;              // of each tap of the window, in a frame
  std::array<int64_t, 3> lines_{1, 1, 1};  // places of a phase along each axis
  int64_t filtersPerBlock_ = 1;
  // With weights in the lanes.
  const ConvolutionKernels& lanes_ = convolutionKernels();
  int64_t panelLanes_ = 0;            // weights of a channel that are copied at once
  Table<int64_t> inPlace_, inPanel_;  // where each channel's weights begin: in memory, and in a copy
  bool gaps_ = false;                 // rows of a phase are longer than those of the input
};

bool areFinite(const TensorView* w) {
  uint32_t greatest = 0;
  for (int64_t i = 0; i < w->elements; ++i) greatest = std::max(greatest, w->as<uint32_t>()[i] & 0x7fffffffu);
  return greatest < 0x7f800000u;
}

// With steps of one it is a convolution, of the weights from the last to the first, whose padding is what the
// windows reach beyond what is cut off.
bool isConvolution(const Convolution& c) {
  for (size_t axis = 0; axis < 3; ++axis)
    if (c.stride[axis] != 1 || c.reach(axis) > c.input[axis]) return false;
  return true;
}
Convolution convolutionOf(Convolution c) {
  for (size_t axis = 0; axis < 3; ++axis) c.pad[axis] = c.reach(axis) - c.pad[axis];
  return c;
}
int64_t weightElements(const Convolution& c) { return c.groups * c.filters * c.channels * c.taps(); }
Way wayOfConvolution(const Convolution& c) {
  return contraction::wayByRule(c, convolutionKernels().narrow, c.batch * c.outputSize());
}
Status asConvolution(FlatCall& call, const Convolution& transposed, const TensorView* x, const float* w,
                     const float* bias, TensorView* y) {
  const Convolution c = convolutionOf(transposed);
  const int64_t taps = c.taps();
  Scratch weights(call, weightElements(c), 0, 0);
  if (!weights) return weights.status();
  float* to = weights.shared();
  for (int64_t filter = 0; filter < c.groups * c.filters; ++filter)
    for (int64_t channel = 0; channel < c.channels; ++channel, to += taps) {
      const float* from =
          w + ((filter / c.filters * c.channels + channel) * c.filters + filter % c.filters) * taps;
      std::reverse_copy(from, from + taps, to);
    }
  const Epilogue none{};
  return convUnpacked(
      call,
      {call, c, x->as<float>(), x->as<float>() + x->elements, weights.shared(), bias, y->as<float>(), none},
      wayOfConvolution(c));
}

// The scratch memory of frames: the input turned, and what each task has.
struct FramePlan {
  int64_t units, tasks, turned, tables, shared, own;  // the tables lie behind the input

  FramePlan(const FlatCall& call, const Convolution& c, const TransposedTask& task)
      : units(task.parts() * c.groups * task.blocks()),
        tasks(std::min<int64_t>(call.threadCount(), units)),
        turned(task.turnedInputElements()),
        tables(wholeLines(task.parts() * c.groups * turned)),
        shared(tables + task.tableElements()),
        own(task.scratchElements()) {}
};

using Call = calls::ConvTranspose;

Status readCall(const FlatCall& call, Convolution& c) {
  const TensorView *x = call.argument(Call::x), *w = call.argument(Call::weights),
                   *b = call.argument(Call::bias);
  if (!x) return badArgument("conv_transpose", Call::x, "a tensor", x);
  if (!w) return badArgument("conv_transpose", Call::weights, "a tensor", w);
  if (x->dtype() != DataType::f32 || w->dtype() != DataType::f32)
    return failure(DYN_UNSUPPORTED,
                   "dtypes " + std::string(text(x->dtype())) + " and " + std::string(text(w->dtype())));
  const WindowFields window = windowOf<Call>(call, call.numbersOf<Call>());
  if (Status status = describeWindow(window, w->sizes(), true, c); !status.ok()) return status;
  if (Status status = describePositions(window, x, call.result(0), true, c); !status.ok()) return status;
  if (b && (b->dtype() != x->dtype() || b->elements != c.groups * c.filters))
    return badArgument("conv_transpose", Call::bias, "one bias per output channel", b);
  return okStatus();
}

Status tooFar() { return failure(DYN_OUT_OF_MEMORY, "windows reach too far beyond the output"); }

}  // namespace

Status convTransposeScratch(const FlatCall& call, int64_t& elements) {
  Convolution c;
  if (Status status = readCall(call, c); !status.ok()) return status;
  if (call.result(0)->elements == 0 || call.argument(Call::x)->elements == 0 ||
      call.argument(Call::weights)->elements == 0)
    return okStatus();
  const TransposedTask task(call, c);
  if (!task.fits()) return tooFar();
  const FramePlan plan(call, c, task);
  elements = scratchElements(plan.shared, plan.tasks, plan.own);
  // The weights decide which of both it is.
  if (!task.weightsInLanes() && isConvolution(c)) {
    const Convolution other = convolutionOf(c);
    elements = std::max(elements, scratchElements(weightElements(other), 0, 0) +
                                      convUnpackedScratch(call, other, wayOfConvolution(other)));
  }
  return okStatus();
}

Status convTranspose(FlatCall& call) {
  const TensorView *x = call.argument(Call::x), *w = call.argument(Call::weights),
                   *b = call.argument(Call::bias);
  TensorView* y = call.result(0);
  Convolution c;
  if (Status status = readCall(call, c); !status.ok()) return status;
  if (y->elements == 0) return okStatus();
  const float* bias = b ? b->as<float>() : nullptr;
  if (x->elements == 0 || w->elements == 0) {
    for (int64_t plane = 0; plane < c.batch * c.groups * c.filters; ++plane)
      std::fill_n(y->as<float>() + plane * c.outputSize(), c.outputSize(),
                  bias ? bias[plane % (c.groups * c.filters)] : 0.0f);
    return okStatus();
  }
  TransposedTask task(call, c);
  if (!task.fits()) return tooFar();
  // A weight that is no finite number is met by input only, not by padding: then the other way.
  if (!task.weightsInLanes() && isConvolution(c) && areFinite(w))
    return asConvolution(call, c, x, w->as<float>(), bias, y);
  const FramePlan plan(call, c, task);
  const int64_t blocks = task.blocks(), units = plan.units, tasks = plan.tasks,
                planes = task.parts() * c.groups, turned = plan.turned;
  Scratch scratch(call, plan.shared, tasks, plan.own);
  if (!scratch) return scratch.status();
  task.makeTables(scratch.shared() + plan.tables);
  const auto inputOf = [&](int64_t plane) {
    return x->as<float>() +
           (task.part(plane / c.groups).image * c.groups + plane % c.groups) * c.channels * c.inputSize();
  };
  if (turned > 0)
    call.split(planes, static_cast<uint32_t>(std::min(tasks, planes)), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane)
        task.turnInput(inputOf(plane), task.part(plane / c.groups).slices, scratch.shared() + plane * turned);
    });
  call.split(units, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* memory = scratch.next();
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const int64_t plane = unit / blocks, group = plane % c.groups;
      const auto [image, slices] = task.part(plane / c.groups);
      const int64_t first = unit % blocks * task.filtersPerBlock(),
                    last = std::min(first + task.filtersPerBlock(), c.filters);
      const float* weights = w->as<float>() + group * c.channels * c.filters * c.taps();
      const float* ownBias = bias ? bias + group * c.filters : nullptr;
      float* to = y->as<float>() + ((image * c.groups + group) * c.filters + first) * c.outputSize();
      if (turned > 0)
        task.runTurned(scratch.shared() + plane * turned, slices, weights, first, last, ownBias, to, memory);
      else
        task.run(inputOf(plane), slices, weights, first, last, ownBias, to, memory);
    }
  });
  return okStatus();
}

}  // namespace dyn::vm::kernels
