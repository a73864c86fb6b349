// Convolutions whose taps lie far apart (Convolution::isSparse): tap by tap.
//
// Where a window reaches over many places between its taps, copying all that it covers is more work than its
// sums, and in a small image most taps meet nothing but padding. So each tap is a product of its own, over
// the places where it meets the input, which is read as it lies, and adds to the tile of a chunk of output
// positions. The weights of a tap stand together (packUnit). Images lie in planes or have their channels
// last.
#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kPositions = 512;  // of a chunk, about

// Lines are the rows of all slices of the output. A chunk is some lines, or a piece of one.
class TapsTask {
 public:
  explicit TapsTask(const ConvolutionCall& convolution)
      : work_(convolution),
        c(convolution.c),
        panels_(c),
        lines_(c.output[0] * c.output[1]),
        columns_(evenPart(c.output[2], kPositions)),
        rows_(columns_ < c.output[2] ? 1 : evenPart(lines_, std::max<int64_t>(1, kPositions / columns_))),
        place_(c.readsChannelsLast() ? c.groups * c.channels : 1),
        channel_(c.readsChannelsLast() ? 1 : c.inputSize()) {}

  int64_t panelCount() const { return panels_.count(); }
  int64_t chunks() const { return c.batch * c.groups * rowChunks() * columnChunks(); }
  int64_t tableElements() const { return kernels::tableElements<int64_t>(c.channels); }
  int64_t scratchElements() const { return wholeLines(rows_ * columns_ * panels_.kernels.wide); }
  void makeTable(float* memory) {
    offsets_ = Table<int64_t>(memory);
    for (int64_t channel = 0; channel < c.channels; ++channel) offsets_.add(channel * channel_);
  }

  // Panels [panelBegin, panelEnd) of a chunk.
  int32_t run(int64_t index, int64_t panelBegin, int64_t panelEnd, float* tile) const {
    const int64_t plane = index / columnChunks() / rowChunks();
    Chunk chunk{plane / c.groups, plane % c.groups, index / columnChunks() % rowChunks() * rows_,
                index % columnChunks() * columns_};
    chunk.rows = std::min(rows_, lines_ - chunk.line);
    chunk.columns = std::min(columns_, c.output[2] - chunk.column);
    for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
      if (work_.call.cancelled()) return DYN_KERNEL_OK;
      std::fill_n(tile, chunk.rows * chunk.columns * panels_.width(panel), 0.0f);
      sum(chunk, panel, tile);
      const int32_t code =
          c.makesChannelsLast() ? writeLast(chunk, panel, tile) : writePlanes(chunk, panel, tile);
      if (code != DYN_KERNEL_OK) return code;
    }
    return DYN_KERNEL_OK;
  }

 private:
  struct Chunk {
    int64_t image, group, line, column, rows = 0, columns = 0;
  };

  int64_t rowChunks() const { return partsOf(lines_, rows_); }
  int64_t columnChunks() const { return partsOf(c.output[2], columns_); }
  int64_t firstPosition(const Chunk& chunk) const { return chunk.line * c.output[2] + chunk.column; }

  void sum(const Chunk& chunk, int64_t panel, float* tile) const {
    const int64_t width = panels_.width(panel);
    const float* weights = work_.weights + (chunk.group * panels_.lanes() + panels_.first(panel)) * c.depth();
    for (int64_t d = 0; d < c.kernel[0]; ++d)
      for (int64_t h = 0; h < c.kernel[1]; ++h)
        for (int64_t w = 0; w < c.kernel[2]; ++w, weights += c.channels * width)
          addTap(chunk, panel, {d, h, w}, weights, tile);
  }

  void addTap(const Chunk& chunk, int64_t panel, const std::array<int64_t, 3>& tap, const float* weights,
              float* tile) const {
    std::array<int64_t, 3> shift;
    for (size_t i = 0; i < 3; ++i) shift[i] = tap[i] * c.dilation[i] - c.pad[i];
    const Places places =
        placesInside(shift[2], c.stride[2], c.input[2]).within(chunk.column, chunk.column + chunk.columns);
    const int64_t width = panels_.width(panel), step = c.stride[2] * place_;
    const float* image =
        work_.x + chunk.image * c.inputSize() * c.groups * c.channels + chunk.group * c.channels * channel_;
    for (int64_t row = 0; row < chunk.rows && places.low < places.high; ++row) {
      const int64_t line = chunk.line + row;
      const int64_t id = line / c.output[1] * c.stride[0] + shift[0],
                    ih = line % c.output[1] * c.stride[1] + shift[1];
      if (id < 0 || id >= c.input[0] || ih < 0 || ih >= c.input[1]) continue;
      const float* from =
          image + ((id * c.input[1] + ih) * c.input[2] + places.low * c.stride[2] + shift[2]) * place_;
      float* to = tile + (row * chunk.columns + places.low - chunk.column) * width;
      forEachRowTile(panels_.kernels.maxRows, places.high - places.low, [&](int64_t first, int64_t height) {
        panels_.tiles(panel)[height - 1](c.channels, from + first * step, step, offsets_.data(), weights,
                                         to + first * width, width, width, nullptr, 1, nullptr);
      });
    }
  }

  int32_t writePlanes(const Chunk& chunk, int64_t panel, const float* tile) const {
    const int64_t filter = chunk.group * c.filters + panels_.first(panel),
                  count = panels_.end(panel) - panels_.first(panel),
                  plane = chunk.image * c.groups * c.filters + filter, position = firstPosition(chunk),
                  positions = chunk.rows * chunk.columns;
    writeTransposed(tile, panels_.width(panel), positions, count, work_.bias ? work_.bias + filter : nullptr,
                    work_.y + plane * c.outputSize() + position, c.outputSize());
    return finishRows(work_, plane, plane + count, position, position + positions, c.outputSize());
  }

  int32_t writeLast(const Chunk& chunk, int64_t panel, const float* tile) const {
    const int64_t filter = chunk.group * c.filters + panels_.first(panel),
                  count = panels_.end(panel) - panels_.first(panel), wide = c.groups * c.filters,
                  first = chunk.image * c.outputSize() + firstPosition(chunk),
                  positions = chunk.rows * chunk.columns;
    for (int64_t i = 0; i < positions; ++i) {
      float* to = work_.y + (first + i) * wide + filter;
      const float* from = tile + i * panels_.width(panel);
      for (int64_t j = 0; j < count; ++j) to[j] = from[j] + (work_.bias ? work_.bias[filter + j] : 0.0f);
    }
    return finishRows(work_, first, first + positions, filter, filter + count, wide);
  }

  const ConvolutionCall& work_;
  const Convolution& c;
  const FilterPanels panels_;
  const int64_t lines_, columns_, rows_;  // of the output; of a chunk
  const int64_t place_, channel_;  // elements from place to place, from channel to channel, as they are read
  Table<int64_t> offsets_;         // of each channel
};

}  // namespace

int64_t convTapsScratch(const ConvolutionCall& work) {
  const TapsTask task(work);
  return scratchElements(task.tableElements(), worthwhileTasks(work.call, work.c.steps()),
                         task.scratchElements());
}

Status convTaps(FlatCall& call, const ConvolutionCall& work) {
  TapsTask task(work);
  const int64_t tasks = worthwhileTasks(call, work.c.steps());
  Scratch scratch(call, task.tableElements(), tasks, task.scratchElements());
  if (!scratch) return scratch.status();
  task.makeTable(scratch.shared());
  EpilogueFault fault;
  call.split(
      task.chunks() * task.panelCount(), static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
        float* memory = scratch.next();
        forEachWhole(begin, end, task.panelCount(), [&](int64_t chunk, int64_t panelBegin, int64_t panelEnd) {
          if (!call.cancelled()) fault.note(task.run(chunk, panelBegin, panelEnd, memory));
        });
      });
  return fault.status();
}

}  // namespace dyn::vm::kernels
