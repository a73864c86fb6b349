// Convolutions whose filters fill the lanes of vectors: positions stand in the rows of a tile.
//
// Each step of a tile multiplies the weights of one (channel, tap), packed filter beside filter, with the
// input elements that the tile's positions read there. These lie a stride apart wherever the window moves, so
// the input is read as it is; only where windows reach beyond it, the rows behind a chunk of output rows are
// copied with their padding. Tiles have their positions in rows, the result in columns: they are turned when
// they are written.
//
// Images of a few places in short rows would make tiles of a few rows, which wait for weights: each of them
// reads all. There the elements of each step are copied side by side, and one tile takes all places.
#include <array>
#include <vector>

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/four.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kPositions = 512;  // of a chunk, about
constexpr int64_t kCopiedElements =
    1 << 16;                           // of input copied for a chunk, at most where a few positions allow it
constexpr int64_t kDepthBlock = 2048;  // k steps whose weights stay in the L2 cache
constexpr int64_t kShortRow = 4;       // of places

// A pointwise one has one long row of positions.
Convolution straightened(Convolution c) {
  if (c.isPointwise()) c.input = c.output = {1, 1, c.inputSize()};
  return c;
}

// Do no windows reach beyond the input?
bool isInPlace(const Convolution& c) {
  bool inside = true;
  for (size_t i = 0; i < 3; ++i)
    inside &= c.pad[i] <= 0 && (c.output[i] - 1) * c.stride[i] - c.pad[i] + c.reach(i) < c.input[i];
  return inside;
}

// Output positions of a chunk: rows [row, row + rows) x columns [column, column + columns) of a slice.
struct Chunk {
  int64_t slice = 0, row = 0, column = 0, rows = 0, columns = 0;
  bool operator==(const Chunk&) const = default;
};

struct DirectTask {
  const ConvolutionCall& work;
  const Convolution c;
  FilterPanels panels;
  const bool inPlace;
  const bool sideBySide;                                    // the places of each step
  int64_t rows = 0, columns = 0;                            // of a chunk
  int64_t rowLength = 0, sliceSize = 0, channelStride = 0;  // of the input as the kernels read it
  Table<int64_t> offsets;                                   // of each (channel, tap)
  Table<int64_t> reads;  // side by side: pairs of an element of a channel, and where it goes

  explicit DirectTask(const ConvolutionCall& convolution)
      : work(convolution),
        c(straightened(convolution.c)),
        panels(c),
        inPlace(isInPlace(c)),
        sideBySide(takesSideBySide(c)) {
    columns = evenPart(c.output[2], kPositions);
    rows = columns < c.output[2] ? 1 : evenPart(c.output[1], std::max<int64_t>(1, kPositions / columns));
    while (!inPlace && !sideBySide && rows > 1 && copiedElements() > kCopiedElements)
      rows = evenPart(c.output[1], rows / 2);
    while (!inPlace && !sideBySide && columns > panels.kernels.maxRows && copiedElements() > kCopiedElements)
      columns = evenPart(c.output[2], columns / 2);
    rowLength = inPlace ? c.input[2] : copiedColumns();
    sliceSize = rowLength * (inPlace ? c.input[1] : copiedRows());
    channelStride = inPlace ? c.inputSize() : oddLineStride(sliceSize * (c.reach(0) + 1));
    if (sideBySide) channelStride = c.taps() * c.outputSize();
  }

  int64_t offsetElements() const { return kernels::tableElements<int64_t>(c.depth()); }
  int64_t tableElements() const {
    return offsetElements() +
           (sideBySide ? kernels::tableElements<int64_t>(2 * c.taps() * c.outputSize()) : 0);
  }
  void makeTable(float* memory) {
    offsets = Table<int64_t>(memory);
    if (sideBySide) {
      for (int64_t k = 0; k < c.depth(); ++k) offsets.add(k * c.outputSize());
      reads = Table<int64_t>(memory + offsetElements());
      listReads();
      return;
    }
    for (int64_t channel = 0; channel < c.channels; ++channel)
      for (int64_t d = 0; d < c.kernel[0]; ++d)
        for (int64_t h = 0; h < c.kernel[1]; ++h)
          for (int64_t w = 0; w < c.kernel[2]; ++w)
            offsets.add(channel * channelStride + d * c.dilation[0] * sliceSize +
                        h * c.dilation[1] * rowLength + w * c.dilation[2]);
  }

  int64_t copiedRows() const { return (rows - 1) * c.stride[1] + c.reach(1) + 1; }
  int64_t copiedColumns() const { return (columns - 1) * c.stride[2] + c.reach(2) + 1; }
  int64_t copiedElements() const {
    if (sideBySide) return c.depth() * c.outputSize();
    return c.channels * oddLineStride((c.reach(0) + 1) * copiedRows() * copiedColumns());
  }
  int64_t tileElements() const { return rows * columns * panels.kernels.wide; }
  // The last zeros of a copied row may be written beyond it.
  int64_t scratchElements() const {
    return oddLineStride(tileElements() + (inPlace ? 0 : copiedElements() + 4));
  }
  int64_t rowChunks() const { return (c.output[1] + rows - 1) / rows; }
  int64_t columnChunks() const { return (c.output[2] + columns - 1) / columns; }
  int64_t chunkCount() const { return c.output[0] * rowChunks() * columnChunks(); }

  Chunk chunk(int64_t index) const {
    Chunk chunk;
    chunk.column = index % columnChunks() * columns;
    chunk.row = index / columnChunks() % rowChunks() * rows;
    chunk.slice = index / columnChunks() / rowChunks();
    chunk.rows = std::min(rows, c.output[1] - chunk.row);
    chunk.columns = std::min(columns, c.output[2] - chunk.column);
    return chunk;
  }

  // Panels [panelBegin, panelEnd) of one chunk of one group of one image. `made`: the chunk that `scratch`
  // was copied for before, with its padding; one of no rows: none.
  int32_t run(int64_t image, int64_t group, const Chunk& chunk, int64_t panelBegin, int64_t panelEnd,
              float* scratch, Chunk& made) const {
    const float* input = work.x + (image * c.groups + group) * c.channels * c.inputSize();
    const float* from = scratch + tileElements();
    if (inPlace)
      from = input + (chunk.slice * c.stride[0] - c.pad[0]) * sliceSize +
             (chunk.row * c.stride[1] - c.pad[1]) * rowLength + chunk.column * c.stride[2] - c.pad[2];
    else if (sideBySide)
      copySideBySide(input, made == chunk, scratch + tileElements());
    else
      copyPadded(input, chunk, made == chunk, scratch + tileElements());
    made = chunk;
    const int64_t position = (chunk.slice * c.output[1] + chunk.row) * c.output[2] + chunk.column;
    for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
      if (work.call.cancelled()) return DYN_KERNEL_OK;
      multiply(from, chunk, group, panel, scratch);
      const int64_t first = group * c.filters + panels.first(panel),
                    count = panels.end(panel) - panels.first(panel),
                    channel = image * c.groups * c.filters + first;
      writeTransposed(scratch, panels.width(panel), chunk.rows * chunk.columns, count,
                      work.bias ? work.bias + first : nullptr, work.y + channel * c.outputSize() + position,
                      c.outputSize());
      const int32_t code = finishRows(work, channel, channel + count, position,
                                      position + chunk.rows * chunk.columns, c.outputSize());
      if (code != DYN_KERNEL_OK) return code;
    }
    return DYN_KERNEL_OK;
  }

 private:
  void multiply(const float* from, const Chunk& chunk, int64_t group, int64_t panel, float* tile) const {
    const int64_t depth = c.depth(), width = panels.width(panel);
    const float* weights = work.weights + (group * panels.lanes() + panels.first(panel)) * depth;
    const PositionKernel* kernels = panels.tiles(panel);
    // Places side by side are one row.
    const int64_t rowsHere = sideBySide ? 1 : chunk.rows,
                  columnsHere = sideBySide ? c.outputSize() : chunk.columns;
    const int64_t stepDown = c.stride[1] * rowLength, stepRight = sideBySide ? 1 : c.stride[2];
    // Tiles run along the longer side.
    const bool down = rowsHere > columnsHere;
    const int64_t along = down ? rowsHere : columnsHere, across = down ? columnsHere : rowsHere;
    const int64_t stepAlong = down ? stepDown : stepRight, stepAcross = down ? stepRight : stepDown;
    const int64_t tileAlong = (down ? columnsHere : 1) * width, tileAcross = (down ? 1 : columnsHere) * width;
    const int64_t block = evenPart(depth, kDepthBlock);
    for (int64_t k = 0; k < std::max<int64_t>(depth, 1); k += block) {
      const int64_t now = std::min(block, depth - k);
      for (int64_t line = 0; line < across; ++line)
        forEachRowTile(panels.kernels.maxRows, along, [&](int64_t first, int64_t height) {
          kernels[height - 1](now, from + line * stepAcross + first * stepAlong, stepAlong,
                              offsets.data() + k, weights + k * width,
                              tile + line * tileAcross + first * tileAlong, tileAlong, width, nullptr,
                              k > 0 ? 1 : 0, nullptr);
        });
    }
  }

  void listReads() {
    for (int64_t h = 0; h < c.kernel[1]; ++h)
      for (int64_t w = 0; w < c.kernel[2]; ++w)
        for (int64_t row = 0; row < c.output[1]; ++row)
          for (int64_t column = 0; column < c.output[2]; ++column) {
            const int64_t y = row * c.stride[1] - c.pad[1] + h * c.dilation[1],
                          x = column * c.stride[2] - c.pad[2] + w * c.dilation[2];
            if (y < 0 || y >= c.input[1] || x < 0 || x >= c.input[2]) continue;
            reads.add(y * c.input[2] + x);
            reads.add(((h * c.kernel[2] + w) * c.output[1] + row) * c.output[2] + column);
          }
  }
  void copySideBySide(const float* input, bool isPadded, float* to) const {
    if (!isPadded) std::fill_n(to, c.depth() * c.outputSize(), 0.0f);
    const int64_t* pairs = reads.data();
    const int64_t count = reads.size();
    for (int64_t channel = 0; channel < c.channels; ++channel, input += c.inputSize(), to += channelStride)
      for (int64_t i = 0; i < count; i += 2) to[pairs[i + 1]] = input[pairs[i]];
  }

  // `isPadded`: the padding is there already.
  void copyPadded(const float* input, const Chunk& chunk, bool isPadded, float* to) const {
    const int64_t left = chunk.column * c.stride[2] - c.pad[2];
    const Places inside = placesInside(left, 1, c.input[2]).within(0, rowLength);
    const int64_t wanted = (chunk.rows - 1) * c.stride[1] + c.reach(1) + 1;
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      const float* from = input + channel * c.inputSize();
      for (int64_t d = 0; d <= c.reach(0); ++d) {
        float* row = to + channel * channelStride + d * sliceSize;
        const int64_t id = chunk.slice * c.stride[0] - c.pad[0] + d;
        for (int64_t h = 0; h < wanted; ++h, row += rowLength) {
          const int64_t ih = chunk.row * c.stride[1] - c.pad[1] + h;
          const bool outside = id < 0 || id >= c.input[0] || ih < 0 || ih >= c.input[1];
          if (!isPadded) zeroShort(rowLength, row);
          if (outside) continue;
          copyShort(from + (id * c.input[1] + ih) * c.input[2] + left + inside.low, inside.high - inside.low,
                    row + inside.low);
        }
      }
    }
  }
};

}  // namespace

bool takesSideBySide(const Convolution& c) {
  const ConvolutionKernels& kernels = convolutionKernels();
  return c.layout == ImageLayout::planes && c.rank == 2 && std::max(c.output[1], c.output[2]) <= kShortRow &&
         std::min(c.output[1], c.output[2]) > 1 && c.outputSize() <= kernels.maxRows &&
         c.filters >= kernels.wide && c.depth() * c.outputSize() <= kCopiedElements && !isInPlace(c);
}

int64_t convDirectScratch(const ConvolutionCall& work) {
  const DirectTask task(work);
  return scratchElements(task.tableElements(), worthwhileTasks(work.call, work.c.steps()),
                         task.scratchElements());
}

Status convDirect(FlatCall& call, const ConvolutionCall& work) {
  DirectTask task(work);
  const Convolution& c = task.c;
  const int64_t tasks = worthwhileTasks(call, c.steps()), chunks = task.chunkCount();
  // Units are (image, group, chunk, panel).
  const int64_t panels = task.panels.count();
  Scratch scratch(call, task.tableElements(), tasks, task.scratchElements());
  if (!scratch) return scratch.status();
  task.makeTable(scratch.shared());
  EpilogueFault fault;
  call.split(c.batch * c.groups * chunks * panels, static_cast<uint32_t>(tasks),
             [&](int64_t begin, int64_t end) {
               float* memory = scratch.next();
               Chunk made;
               forEachWhole(begin, end, panels, [&](int64_t whole, int64_t panelBegin, int64_t panelEnd) {
                 const int64_t plane = whole / chunks;
                 if (!call.cancelled())
                   fault.note(task.run(plane / c.groups, plane % c.groups, task.chunk(whole % chunks),
                                       panelBegin, panelEnd, memory, made));
               });
             });
  return fault.status();
}

}  // namespace dyn::vm::kernels
