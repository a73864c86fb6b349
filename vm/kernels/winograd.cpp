// Convolutions of 3x3 windows at stride 1 by Winograd's F(2x2, 3x3): each 2x2 block of outputs is made of 16 products of transformed 4x4 blocks of
// input with transformed filters, where the direct sum has 36. (Lavin, Gray: Fast Algorithms for Convolutional Neural Networks, 2015.)
//
//   U = G g G^T for each filter and channel;  V = B^T d B for each channel and block;  M = U V summed over channels: a product of matrices for each
//   of the 16 places;  Y = A^T M A
//
// U is made when the weights are packed, filter beside filter. A chunk of blocks at a time is transformed, multiplied panel by panel, and turned into
// output rows while it is in the cache.
#include <array>
#include <vector>

#include "vm/kernels/convolution.h"
#include "vm/kernels/four.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kPlaces = 16;      // of a 4x4 block
constexpr int64_t kMostBlocks = 64;  // of a chunk
constexpr int64_t kInputElements =
    1 << 17;  // transformed input of a chunk, at most where a tile's blocks allow it

// Blocks of one row of blocks, inside one chunk.
struct Run {
  int64_t row = 0, column = 0, count = 0;  // first block, and how many
  int64_t at = 0;                          // place of the first in the chunk
};

// U of one filter and channel: to[place * step].
void transformFilter(const float* g, int64_t step, float* to) {
  float half[4][3];
  for (int64_t j = 0; j < 3; ++j) {
    const float above = floatAnywhere(g + j), middle = floatAnywhere(g + 3 + j),
                below = floatAnywhere(g + 6 + j);
    const float even = (above + below) * 0.5f, odd = middle * 0.5f;
    half[0][j] = above;
    half[1][j] = even + odd;
    half[2][j] = even - odd;
    half[3][j] = below;
  }
  for (int64_t i = 0; i < 4; ++i, to += 4 * step) {
    const float even = (half[i][0] + half[i][2]) * 0.5f, odd = half[i][1] * 0.5f;
    to[0] = half[i][0];
    to[step] = even + odd;
    to[2 * step] = even - odd;
    to[3 * step] = half[i][2];
  }
}

struct WinogradTask {
  const ConvolutionCall& work;
  const Convolution& c;
  const FilterPanels panels;
  int64_t most = 0;              // blocks of a chunk
  std::vector<int64_t> offsets;  // of the channels of V

  explicit WinogradTask(const ConvolutionCall& convolution) : work(convolution), c(convolution.c), panels(c) {
    const int64_t fit = kInputElements / (kPlaces * std::max<int64_t>(c.channels, 1));
    most = evenPart(blocks(), std::clamp<int64_t>(fit, panels.kernels.maxRows, kMostBlocks));
    for (int64_t channel = 0; channel < c.channels; ++channel) offsets.push_back(channel * inputWidth());
  }

  int64_t blockRows() const { return (c.output[1] + 1) / 2; }
  int64_t blockColumns() const { return (c.output[2] + 1) / 2; }
  int64_t blocks() const { return blockRows() * blockColumns(); }
  int64_t chunks() const { return (blocks() + most - 1) / most; }
  // V[place][channel][block], M[place][block][filter]. From place to place an odd number of lines: the 16 that are written and read together would else
  // share a set of the L1 cache.
  int64_t inputWidth() const { return (most + 3) / 4 * 4; }
  int64_t inputStep() const { return oddLineStride(c.channels * inputWidth()); }
  int64_t productStep() const { return oddLineStride(most * panels.kernels.wide); }
  int64_t rowElements() const { return 2 * most * panels.kernels.wide; }
  int64_t scratchElements() const {
    return oddLineStride(kPlaces * (inputStep() + productStep()) + 2 * rowElements());
  }

  // Panels [panelBegin, panelEnd) of blocks [first, last) of an image.
  int32_t run(int64_t image, int64_t first, int64_t last, int64_t panelBegin, int64_t panelEnd,
              float* scratch) const {
    float *v = scratch, *m = v + kPlaces * inputStep(), *rows = m + kPlaces * productStep();
    transformInput(work.x + image * c.channels * c.inputSize(), first, last, v);
    for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
      if (work.call.cancelled()) return DYN_KERNEL_OK;
      const int64_t width = panels.width(panel);
      const float* u = work.weights + panels.first(panel) * kPlaces * c.channels;
      for (int64_t place = 0; place < kPlaces; ++place)
        forEachRowTile(panels.kernels.maxRows, last - first, [&](int64_t block, int64_t height) {
          panels.tiles(panel)[height - 1](c.channels, v + place * inputStep() + block, 1, offsets.data(),
                                          u + place * c.channels * width,
                                          m + place * productStep() + block * width, width, 0);
        });
      const int32_t code = writeOutput(m, image, first, last, panel, rows);
      if (code != DYN_KERNEL_OK) return code;
    }
    return DYN_KERNEL_OK;
  }

 private:
  using Row = std::array<float, 2 * kMostBlocks + 10>;

  template <typename Work>
  void forEachRun(int64_t first, int64_t last, const Work& each) const {
    for (int64_t block = first; block < last;) {
      Run run{block / blockColumns(), block % blockColumns(), 0, block - first};
      run.count = std::min(blockColumns() - run.column, last - block);
      each(run);
      block += run.count;
    }
  }

  void transformInput(const float* image, int64_t first, int64_t last, float* v) const {
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      const float* plane = image + channel * c.inputSize();
      forEachRun(first, last, [&](const Run& run) {
        transformRun(plane, run, v + offsets[static_cast<size_t>(channel)] + run.at);
      });
    }
  }

  // The panel's filters of all blocks, written with bias, then the epilogue on their rows.
  int32_t writeOutput(const float* m, int64_t image, int64_t first, int64_t last, int64_t panel,
                      float* rows) const {
    const int64_t filter = panels.first(panel), count = panels.end(panel) - filter,
                  width = panels.width(panel), channel = image * c.filters + filter;
    int32_t fault = DYN_KERNEL_OK;
    forEachRun(first, last, [&](const Run& run) {
      for (int64_t t = 0; t < run.count; ++t)
        transformProducts(m + (run.at + t) * width, width, rows + 2 * t * width,
                          rows + rowElements() + 2 * t * width);
      const int64_t columns = std::min(2 * run.count, c.output[2] - 2 * run.column);
      for (int64_t i = 0; i < 2 && 2 * run.row + i < c.output[1]; ++i) {
        const int64_t begin = (2 * run.row + i) * c.output[2] + 2 * run.column;
        writeTransposed(rows + i * rowElements(), width, columns, count,
                        work.bias ? work.bias + filter : nullptr, work.y + channel * c.outputSize() + begin,
                        c.outputSize());
        if (!work.epilogue) continue;
        const int32_t code = work.epilogue.run(channel, channel + count, begin, begin + columns);
        if (code != DYN_KERNEL_OK) fault = code;
      }
    });
    return fault;
  }

  // Y of one block for all lanes: the two positions of the upper row one after the other, and those of the lower.
  void transformProducts(const float* m, int64_t width, float* upper, float* lower) const {
    const int64_t step = productStep();
    for (int64_t lane = 0; lane < width; lane += 4) {
      Four sums[2][4];
      for (int64_t j = 0; j < 4; ++j) {
        const float* from = m + j * step + lane;
        const Four m0 = four(from), m1 = four(from + 4 * step), m2 = four(from + 8 * step),
                   m3 = four(from + 12 * step);
        sums[0][j] = m0 + m1 + m2;
        sums[1][j] = m1 - m2 - m3;
      }
      four(upper + lane) = sums[0][0] + sums[0][1] + sums[0][2];
      four(upper + width + lane) = sums[0][1] - sums[0][2] - sums[0][3];
      four(lower + lane) = sums[1][0] + sums[1][1] + sums[1][2];
      four(lower + width + lane) = sums[1][1] - sums[1][2] - sums[1][3];
    }
  }

  // The elements of an input row that the run's blocks read: in place when they and a little more are there, else a padded copy.
  const float* inputRow(const float* plane, int64_t row, const Run& run, Row& copy) const {
    const int64_t ih = 2 * run.row + row - c.pad[1], iw = 2 * run.column - c.pad[2];
    const int64_t wanted = 2 * run.count + 2, read = (run.count + 3) / 4 * 8 + 2;
    const bool inside = ih >= 0 && ih < c.input[1];
    const float* from = plane + ih * c.input[2] + iw;
    if (inside && iw >= 0 && iw + wanted <= c.input[2] && from + read <= work.inputEnd) return from;
    const int64_t low = inside ? std::clamp<int64_t>(-iw, 0, wanted) : wanted,
                  high = std::clamp(c.input[2] - iw, low, wanted);
    std::fill_n(copy.data(), low, 0.0f);
    std::copy(from + low, from + high, copy.data() + low);
    std::fill_n(copy.data() + high, read - high, 0.0f);
    return copy.data();
  }

  void transformRun(const float* plane, const Run& run, float* v) const {
    Row copies[4];
    const float* rows[4];
    for (int64_t i = 0; i < 4; ++i) rows[i] = inputRow(plane, i, run, copies[i]);
    const int64_t step = inputStep();
    for (int64_t t = 0; t < run.count; t += 4) {
      Four part[4][4];
      for (int64_t i = 0; i < 4; ++i) {
        const float* d = rows[i] + 2 * t;
        const Four a = four(d), b = four(d + 4), next = four(d + 2), after = four(d + 6);
        const Four d0 = __builtin_shufflevector(a, b, 0, 2, 4, 6),
                   d1 = __builtin_shufflevector(a, b, 1, 3, 5, 7),
                   d2 = __builtin_shufflevector(next, after, 0, 2, 4, 6),
                   d3 = __builtin_shufflevector(next, after, 1, 3, 5, 7);
        part[i][0] = d0 - d2;
        part[i][1] = d1 + d2;
        part[i][2] = d2 - d1;
        part[i][3] = d1 - d3;
      }
      const int64_t count = std::min<int64_t>(4, run.count - t);
      for (int64_t j = 0; j < 4; ++j) {
        put(part[0][j] - part[2][j], count, v + j * step + t);
        put(part[1][j] + part[2][j], count, v + (4 + j) * step + t);
        put(part[2][j] - part[1][j], count, v + (8 + j) * step + t);
        put(part[1][j] - part[3][j], count, v + (12 + j) * step + t);
      }
    }
  }

  static void put(Four value, int64_t count, float* to) {
    if (count == 4) {
      four(to) = value;
      return;
    }
    for (int64_t i = 0; i < count; ++i) to[i] = value[i];
  }
};

}  // namespace

void packWinograd(const Convolution& c, const float* w, int64_t panel, float* packed) {
  const FilterPanels panels(c);
  const int64_t width = panels.width(panel), first = panels.first(panel);
  float* to = packed + first * kPlaces * c.channels;
  for (int64_t lane = 0; lane < width; ++lane)
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      static constexpr float kNothing[9] = {};
      const float* g = first + lane < c.filters ? w + ((first + lane) * c.channels + channel) * 9 : kNothing;
      transformFilter(g, c.channels * width, to + channel * width + lane);
    }
}

Status convWinograd(const ConvolutionCall& work) {
  BuiltinCall& call = work.call;
  const Convolution& c = work.c;
  const WinogradTask task(work);
  const int64_t chunks = task.chunks(), panels = task.panels.count();
  const int64_t tasks = worthwhileTasks(call, c.steps());
  // Units are (image, chunk of blocks, part of the panels); panels are only parted when there are too few others for the threads.
  const int64_t whole = c.batch * chunks;
  const int64_t parts = partsFor(tasks, whole, panels);
  Scratch scratch(call.pool, 0, tasks, task.scratchElements());
  if (!scratch || call.rehearsal) return scratch.status();
  EpilogueFault fault;
  call.threads->split(whole * parts, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* memory = scratch.next();
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const int64_t part = unit % parts, chunk = unit / parts % chunks, first = chunk * task.most;
      fault.note(task.run(unit / parts / chunks, first, std::min(first + task.most, task.blocks()),
                          panels * part / parts, panels * (part + 1) / parts, memory));
    }
  });
  return fault.status();
}

}  // namespace dyn::vm::kernels
