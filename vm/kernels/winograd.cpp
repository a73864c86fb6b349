// Convolutions of 3x3 windows at stride 1 by Winograd's F(2x2, 3x3): each 2x2 block of outputs is made of 16 products of transformed 4x4 blocks of
// input with transformed filters, where the direct sum has 36. (Lavin, Gray: Fast Algorithms for Convolutional Neural Networks, 2015.)
//
//   U = G g G^T for each filter and channel;  V = B^T d B for each channel and block;  M = U V summed over channels: a product of matrices for each
//   of the 16 places;  Y = A^T M A
//
// Blocks are worked on as many at a time as a panel of the micro-kernels is wide, so V is made in their packed form and stays in the cache.
#include <algorithm>
#include <array>
#include <cstring>

#include "vm/kernels/builtins.h"
#include "vm/kernels/convolution.h"
#include "vm/kernels/four.h"
#include "vm/kernels/gemm.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kPlaces = 16;  // of a 4x4 block
constexpr int64_t kWidest = 64;  // panels are at most so wide
constexpr int64_t kFewChannels = 16, kFewPositions = 256;
constexpr int64_t kFiltersPerTask = 8;

// Blocks of one row of blocks, inside one panel.
struct Run {
  int64_t row = 0, column = 0, count = 0;  // first block, and how many
  int64_t at = 0;                          // place of the first in the panel
};

struct Winograd {
  const BuiltinCall& call;
  const DynGemmFamily& family;
  const Convolution& c;
  const float* bias;
  const Epilogue& epilogue;
  const float* inputEnd;

  int64_t width() const { return family.panelWidth; }
  int64_t blockRows() const { return (c.output[1] + 1) / 2; }
  int64_t blockColumns() const { return (c.output[2] + 1) / 2; }
  int64_t blocks() const { return blockRows() * blockColumns(); }
  int64_t filterStride() const { return oddLineStride(c.channels); }
  int64_t transformedElements() const { return kPlaces * filterStep(); }
  // From place to place: an odd number of lines, or the 16 that are written and read together would share a set of the L1 cache.
  int64_t inputStep() const { return oddLineStride(c.channels * width()); }
  int64_t productStep() const { return oddLineStride(c.filters * width()); }
  int64_t filterStep() const { return oddLineStride(c.filters * filterStride()); }
  int64_t inputElements() const { return kPlaces * inputStep(); }
  int64_t productElements() const { return kPlaces * productStep() + width(); }

  // U[place][filter][channel]
  void transformFilters(const float* w, int64_t begin, int64_t end, float* u) const {
    for (int64_t filter = begin; filter < end; ++filter)
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        const float* g = w + (filter * c.channels + channel) * 9;
        float half[4][3];
        for (int64_t j = 0; j < 3; ++j) {
          const float even = (g[j] + g[6 + j]) * 0.5f, odd = g[3 + j] * 0.5f;
          half[0][j] = g[j];
          half[1][j] = even + odd;
          half[2][j] = even - odd;
          half[3][j] = g[6 + j];
        }
        float* to = u + filter * filterStride() + channel;
        const int64_t step = filterStep();
        for (int64_t i = 0; i < 4; ++i, to += 4 * step) {
          const float even = (half[i][0] + half[i][2]) * 0.5f, odd = half[i][1] * 0.5f;
          to[0] = half[i][0];
          to[step] = even + odd;
          to[2 * step] = even - odd;
          to[3 * step] = half[i][2];
        }
      }
  }

  template <typename Work>
  void forEachRun(int64_t first, int64_t last, const Work& work) const {
    for (int64_t block = first; block < last;) {
      Run run{block / blockColumns(), block % blockColumns(), 0, block - first};
      run.count = std::min(blockColumns() - run.column, last - block);
      work(run);
      block += run.count;
    }
  }

  // V[place][channel][block of the panel]
  void transformInput(const float* image, int64_t first, int64_t last, float* v) const {
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      const float* plane = image + channel * c.inputSize();
      forEachRun(first, last,
                 [&](const Run& run) { transformRun(plane, run, v + channel * width() + run.at); });
    }
  }

  // All blocks of the panel for all filters, written with bias, then the epilogue on their rows.
  int32_t writeOutput(const float* m, int64_t image, int64_t first, int64_t last, float* y) const {
    const int64_t channel = image * c.filters;
    for (int64_t filter = 0; filter < c.filters; ++filter) {
      float* plane = y + (channel + filter) * c.outputSize();
      const float add = bias ? bias[filter] : 0.0f;
      forEachRun(first, last,
                 [&](const Run& run) { writeRun(m + filter * width() + run.at, run, add, plane); });
    }
    int32_t fault = DYN_KERNEL_OK;
    if (epilogue)
      forEachRun(first, last, [&](const Run& run) {
        const int64_t columns = std::min(2 * run.count, c.output[2] - 2 * run.column);
        for (int64_t row = 2 * run.row; row < std::min(2 * run.row + 2, c.output[1]); ++row) {
          const int64_t begin = row * c.output[2] + 2 * run.column;
          const int32_t code = epilogue.run(channel, channel + c.filters, begin, begin + columns);
          if (code != DYN_KERNEL_OK) fault = code;
        }
      });
    return fault;
  }

 private:
  using Row = std::array<float, 2 * kWidest + 10>;

  // The elements of an input row that the run's blocks read: in place when they and a little more are there, else a padded copy.
  const float* inputRow(const float* plane, int64_t row, const Run& run, Row& copy) const {
    const int64_t ih = 2 * run.row + row - c.pad[1], iw = 2 * run.column - c.pad[2];
    const int64_t wanted = 2 * run.count + 2, read = (run.count + 3) / 4 * 8 + 2;
    const bool inside = ih >= 0 && ih < c.input[1];
    const float* from = plane + ih * c.input[2] + iw;
    if (inside && iw >= 0 && iw + wanted <= c.input[2] && from + read <= inputEnd) return from;
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

  void writeRun(const float* m, const Run& run, float add, float* plane) const {
    const int64_t step = productStep();
    for (int64_t t = 0; t < run.count; t += 4) {
      Four sums[2][4];
      for (int64_t j = 0; j < 4; ++j) {
        const Four m0 = four(m + j * step + t), m1 = four(m + (4 + j) * step + t),
                   m2 = four(m + (8 + j) * step + t), m3 = four(m + (12 + j) * step + t);
        sums[0][j] = m0 + m1 + m2;
        sums[1][j] = m1 - m2 - m3;
      }
      const int64_t column = 2 * (run.column + t),
                    columns =
                        std::min<int64_t>(2 * std::min<int64_t>(4, run.count - t), c.output[2] - column);
      for (int64_t i = 0; i < 2; ++i) {
        const int64_t row = 2 * run.row + i;
        if (row >= c.output[1]) break;
        const Four left = sums[i][0] + sums[i][1] + sums[i][2] + add,
                   right = sums[i][1] - sums[i][2] - sums[i][3] + add;
        const Four low = __builtin_shufflevector(left, right, 0, 4, 1, 5),
                   high = __builtin_shufflevector(left, right, 2, 6, 3, 7);
        float* to = plane + row * c.output[2] + column;
        put(low, std::min<int64_t>(columns, 4), to);
        put(high, std::max<int64_t>(columns - 4, 0), to + 4);
      }
    }
  }
};

}  // namespace

bool winogradPays(const Convolution& c) {
  const std::array<int64_t, 3> ones{1, 1, 1};
  return c.groups == 1 && c.kernel == std::array<int64_t, 3>{1, 3, 3} && c.stride == ones &&
         c.dilation == ones && c.pad[0] == 0 && c.input[0] == 1 && c.channels >= kFewChannels &&
         c.filters >= kFewChannels && c.batch * c.outputSize() >= kFewPositions;
}

Status convWinograd(BuiltinCall& call, const Convolution& c, const Tensor* x, const Tensor* w,
                    const float* bias, Tensor* y, const Epilogue& epilogue) {
  const DynGemmFamily& family =
      call.gemmFamily->panelWidth <= kWidest ? *call.gemmFamily : *defaultGemmFamily();
  const Winograd work{call, family, c, bias, epilogue, x->as<float>() + x->elementCount};
  const int64_t panels = (work.blocks() + work.width() - 1) / work.width();
  const int64_t own = oddLineStride(work.inputElements() + work.productElements());
  const int64_t tasks = std::min<int64_t>(call.threads->threadCount(), c.batch * panels);
  const int64_t shared = oddLineStride(work.transformedElements());
  Scratch scratch(call.pool, shared, tasks, own);
  if (!scratch || call.rehearsal) return scratch.status();
  float* u = scratch.shared();
  const int64_t parts = (c.filters + kFiltersPerTask - 1) / kFiltersPerTask;
  call.threads->split(parts, static_cast<uint32_t>(std::min(tasks, parts)), [&](int64_t begin, int64_t end) {
    work.transformFilters(w->as<float>(), begin * kFiltersPerTask, std::min(end * kFiltersPerTask, c.filters),
                          u);
  });
  EpilogueFault fault;
  call.threads->split(c.batch * panels, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* v = scratch.next();
    float* m = v + work.inputElements();
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const int64_t image = unit / panels, first = unit % panels * work.width(),
                    last = std::min(first + work.width(), work.blocks());
      work.transformInput(x->as<float>() + image * c.channels * c.inputSize(), first, last, v);
      for (int64_t place = 0; place < kPlaces; ++place)
        runRowTiles(family, c.filters, c.channels, u + place * work.filterStep(), work.filterStride(),
                    v + place * work.inputStep(), m + place * work.productStep(), work.width(), work.width(),
                    false);
      fault.note(work.writeOutput(m, image, first, last, y->as<float>()));
    }
  });
  return fault.status();
}

}  // namespace dyn::vm::kernels
