// Convolutions of images that have their channels last, [n, rows, columns, channels], but depthwise ones
// (conv_last_depthwise.cpp).
//
// Nothing is turned. Positions stand in the rows of a tile and filters in its lanes, as in conv_direct.cpp,
// and tiles are written where they belong; the input may then lie in planes as well. Only what windows reach
// beyond the input is copied, with its padding. Sums begin with the bias.
#include <utility>

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kWrittenElements = 1 << 15;  // of the output in a chunk, about: they stay in the L2 cache
constexpr int64_t kCopiedElements = 1 << 15;   // of input copied for a chunk, about
constexpr int64_t kDepthBlock = 2048;          // k steps whose weights stay in the L2 cache
// All weights are read for each chunk. So many leave the L2 cache between two: chunks are so much larger
// then.
constexpr int64_t kManyWeights = 1 << 18, kFewerChunks = 4;
// Copied places so far apart as a multiple of this would share few sets of the L1 cache: a line comes
// between.
constexpr int64_t kSharedSets = 256, kLineElements = 16;

// A pointwise one has one long row of the positions of all images.
Convolution straightened(Convolution c) {
  if (!c.isPointwise()) return c;
  const int64_t images = c.readsChannelsLast() ? std::exchange(c.batch, 1) : 1;
  c.input = c.output = {1, 1, images * c.inputSize()};
  return c;
}

// A chunk of output positions of one group of channels: a few rows, or a piece of one.
class DirectTask {
 public:
  explicit DirectTask(const ConvolutionCall& convolution)
      : work_(convolution), c(straightened(convolution.c)), panels_(c) {
    for (size_t i = 1; i < 3; ++i)
      inPlace_ &= c.pad[i] <= 0 && (c.output[i] - 1) * c.stride[i] - c.pad[i] + c.reach(i) < c.input[i];
    const int64_t larger = c.filters * c.depth() > kManyWeights ? kFewerChunks : 1;
    const int64_t most = std::max<int64_t>(panels_.kernels.maxRows,
                                           larger * kWrittenElements / std::max<int64_t>(c.filters, 1));
    // Panels are shared besides.
    const int64_t tasks = worthwhileTasks(work_.call, c.steps());
    const int64_t sharing = panels_.count() * c.groups % tasks == 0 ? 1 : tasks;
    columns_ = sharedPart(c.output[2], most, sharing);
    rows_ =
        columns_ < c.output[2] ? 1 : sharedPart(c.output[1], std::max<int64_t>(1, most / columns_), sharing);
    while (!inPlace_ && rows_ > 1 && copiedElements() > larger * kCopiedElements)
      rows_ = sharedPart(c.output[1], rows_ / 2, sharing);
    while (!inPlace_ && columns_ > panels_.kernels.maxRows && copiedElements() > larger * kCopiedElements)
      columns_ = evenPart(c.output[2], columns_ / 2);
    if (!c.readsChannelsLast()) {
      line_ = inPlace_ ? c.input[2] : copiedColumns();
      channel_ = inPlace_ ? c.inputSize() : copiedRows() * copiedColumns();
    } else {
      place_ = inPlace_ ? c.groups * c.channels : copiedPlace();
      line_ = place_ * (inPlace_ ? c.input[2] : copiedColumns());
    }
  }

  int64_t rowChunks() const { return partsOf(c.output[1], rows_); }
  int64_t columnChunks() const { return partsOf(c.output[2], columns_); }
  int64_t panelCount() const { return panels_.count(); }
  int64_t chunks() const { return c.batch * c.groups * rowChunks() * columnChunks(); }
  int64_t tableElements() const { return kernels::tableElements<int64_t>(c.depth()); }
  int64_t scratchElements() const { return inPlace_ ? 0 : wholeLines(copiedElements()); }
  void makeTable(float* memory) {
    offsets_ = Table<int64_t>(memory);
    for (int64_t channel = 0; channel < c.channels; ++channel)
      for (int64_t h = 0; h < c.kernel[1]; ++h)
        for (int64_t w = 0; w < c.kernel[2]; ++w)
          offsets_.add(h * c.dilation[1] * line_ + w * c.dilation[2] * place_ + channel * channel_);
  }

  // Panels [panelBegin, panelEnd) of a chunk.
  int32_t run(int64_t index, int64_t panelBegin, int64_t panelEnd, float* scratch) const {
    const int64_t column = index % columnChunks() * columns_,
                  row = index / columnChunks() % rowChunks() * rows_,
                  plane = index / columnChunks() / rowChunks(), group = plane % c.groups,
                  image = plane / c.groups;
    const int64_t rows = std::min(rows_, c.output[1] - row),
                  columns = std::min(columns_, c.output[2] - column);
    const float* input = work_.x + image * c.inputSize() * c.groups * c.channels +
                         group * c.channels * (!c.readsChannelsLast() ? c.inputSize() : 1);
    if (inPlace_)
      input += (row * c.stride[1] - c.pad[1]) * line_ + (column * c.stride[2] - c.pad[2]) * place_;
    else
      input = !c.readsChannelsLast() ? copyPlanes(input, row, rows, column, columns, scratch)
                                     : copyPadded(input, row, rows, column, columns, scratch);
    const int64_t wide = c.groups * c.filters, first = (image * c.output[1] + row) * c.output[2] + column;
    for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
      if (work_.call.cancelled()) return DYN_KERNEL_OK;
      multiply(input, rows, columns, group, panel,
               work_.y + first * wide + group * c.filters + panels_.first(panel));
    }
    const int64_t low = group * c.filters + panels_.first(panelBegin),
                  high = group * c.filters + panels_.end(panelEnd - 1);
    int32_t code = DYN_KERNEL_OK;
    if (work_.epilogue.closed()) return code;
    if (columns == c.output[2]) {
      if (work_.epilogue) code = work_.epilogue.run(first, first + rows * columns, low, high);
    } else {
      for (int64_t i = 0; work_.epilogue && i < rows && code == DYN_KERNEL_OK; ++i)
        code = work_.epilogue.run(first + i * c.output[2], first + i * c.output[2] + columns, low, high);
    }
    return code;
  }

 private:
  int64_t copiedRows() const { return (rows_ - 1) * c.stride[1] + c.reach(1) + 1; }
  int64_t copiedColumns() const { return (columns_ - 1) * c.stride[2] + c.reach(2) + 1; }
  int64_t copiedPlace() const {
    return c.channels + (c.readsChannelsLast() && c.channels % kSharedSets == 0 ? kLineElements : 0);
  }
  int64_t copiedElements() const { return copiedRows() * copiedColumns() * copiedPlace(); }

  const float* copyPadded(const float* image, int64_t row, int64_t rows, int64_t column, int64_t columns,
                          float* to) const {
    const int64_t left = column * c.stride[2] - c.pad[2],
                  wanted = (columns - 1) * c.stride[2] + c.reach(2) + 1,
                  down = (rows - 1) * c.stride[1] + c.reach(1) + 1, pitch = c.groups * c.channels;
    const Places inside = placesInside(left, 1, c.input[2]).within(0, wanted);
    for (int64_t h = 0; h < down; ++h) {
      float* line = to + h * line_;
      const int64_t ih = row * c.stride[1] - c.pad[1] + h;
      if (ih < 0 || ih >= c.input[1] || inside.low == inside.high) {
        std::fill_n(line, wanted * place_, 0.0f);
        continue;
      }
      const float* from = image + (ih * c.input[2] + left + inside.low) * pitch;
      std::fill_n(line, inside.low * place_, 0.0f);
      if (pitch == place_)
        std::copy_n(from, (inside.high - inside.low) * place_, line + inside.low * place_);
      else
        for (int64_t i = inside.low; i < inside.high; ++i)
          std::copy_n(from + (i - inside.low) * pitch, c.channels, line + i * place_);
      std::fill(line + inside.high * place_, line + wanted * place_, 0.0f);
    }
    return to;
  }

  const float* copyPlanes(const float* image, int64_t row, int64_t rows, int64_t column, int64_t columns,
                          float* to) const {
    const int64_t left = column * c.stride[2] - c.pad[2],
                  wanted = (columns - 1) * c.stride[2] + c.reach(2) + 1,
                  down = (rows - 1) * c.stride[1] + c.reach(1) + 1;
    const Places inside = placesInside(left, 1, c.input[2]).within(0, wanted);
    for (int64_t channel = 0; channel < c.channels; ++channel)
      for (int64_t h = 0; h < down; ++h) {
        float* line = to + channel * channel_ + h * line_;
        const int64_t ih = row * c.stride[1] - c.pad[1] + h;
        if (ih < 0 || ih >= c.input[1] || inside.low == inside.high) {
          std::fill_n(line, wanted, 0.0f);
          continue;
        }
        std::fill_n(line, inside.low, 0.0f);
        std::copy_n(image + channel * c.inputSize() + ih * c.input[2] + left + inside.low,
                    inside.high - inside.low, line + inside.low);
        std::fill(line + inside.high, line + wanted, 0.0f);
      }
    return to;
  }

  // `to`: the first result of the panel.
  void multiply(const float* from, int64_t rows, int64_t columns, int64_t group, int64_t panel,
                float* to) const {
    const int64_t depth = c.depth(), width = panels_.width(panel),
                  filters = panels_.end(panel) - panels_.first(panel), wide = c.groups * c.filters;
    const float* weights = work_.weights + (group * panels_.lanes() + panels_.first(panel)) * depth;
    const PositionKernel* kernels = panels_.tiles(panel);
    const int64_t stepDown = c.stride[1] * line_, stepRight = c.stride[2] * place_;
    // Tiles run along the longer side.
    const bool down = rows > columns;
    const int64_t along = down ? rows : columns, across = down ? columns : rows;
    const int64_t stepAlong = down ? stepDown : stepRight, stepAcross = down ? stepRight : stepDown;
    const int64_t toAlong = (down ? c.output[2] : 1) * wide, toAcross = (down ? 1 : c.output[2]) * wide;
    const int64_t block = evenPart(depth, kDepthBlock);
    const int64_t channel = group * c.filters + panels_.first(panel);
    const float* start = work_.bias ? work_.bias + channel : nullptr;
    const bool closed = work_.epilogue.closed() != nullptr;
    const TileEnd end = closed ? work_.epilogue.closed()->from(channel) : TileEnd();
    for (int64_t k = 0; k < std::max<int64_t>(depth, 1); k += block) {
      const int64_t now = std::min(block, depth - k);
      for (int64_t line = 0; line < across; ++line)
        forEachRowTile(panels_.kernels.maxRows, along, [&](int64_t first, int64_t height) {
          kernels[height - 1](now, from + line * stepAcross + first * stepAlong, stepAlong,
                              offsets_.data() + k, weights + k * width,
                              to + line * toAcross + first * toAlong, toAlong, filters, start, k > 0 ? 1 : 0,
                              closed && k + now >= depth ? &end : nullptr);
        });
    }
  }

  const ConvolutionCall& work_;
  const Convolution c;
  const FilterPanels panels_;
  bool inPlace_ = true;
  int64_t rows_ = 0, columns_ = 0;  // of a chunk
  // Elements from place to place, from row to row, from channel to channel, as the kernels read.
  int64_t place_ = 1, line_ = 0, channel_ = 1;
  Table<int64_t> offsets_;  // of each (channel, tap)
};

}  // namespace

int64_t convDirectLastScratch(const ConvolutionCall& work) {
  const DirectTask task(work);
  return scratchElements(task.tableElements(), worthwhileTasks(work.call, work.c.steps()),
                         task.scratchElements());
}

Status convDirectLast(FlatCall& call, const ConvolutionCall& work) {
  DirectTask task(work);
  const int64_t tasks = worthwhileTasks(call, work.c.steps()), panels = task.panelCount();
  Scratch scratch(call, task.tableElements(), tasks, task.scratchElements());
  if (!scratch) return scratch.status();
  task.makeTable(scratch.shared());
  EpilogueFault fault;
  call.split(task.chunks() * panels, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* own = scratch.next();
    forEachWhole(begin, end, panels, [&](int64_t chunk, int64_t panelBegin, int64_t panelEnd) {
      if (!call.cancelled()) fault.note(task.run(chunk, panelBegin, panelEnd, own));
    });
  });
  return fault.status();
}

}  // namespace dyn::vm::kernels
