// The way direct in images of a few places, many at once: the images stand in the rows of a tile.
//
// Each place of the output has taps that meet the input and taps that meet padding: of a 3x3 window over 2x2
// places, four of nine at each of the four. What a place's live taps read is gathered, image below image, and
// multiplied with these taps' weights alone, where they lie. So weights are read once for many images, and
// nothing is multiplied with padding. Sums are those of the way direct, to the bit.
#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kMostPlaces = 16;         // of the output
constexpr int64_t kMostTerms = 1 << 16;     // (channel, live tap) of all places
constexpr int64_t kMostGathered = 1 << 18;  // elements of a block of images, where that allows a full tile
constexpr int64_t kDepthBlock = 2048;       // k steps whose weights stay in the L2 cache
constexpr double kLeastTileCycles = 4;      // a step of a tile of one row waits for the one before it
constexpr double kGain = 1.1;               // less is not worth gathering

double cyclesOfTiles(int64_t maxRows, int64_t rows) {
  double cycles = 0;
  if (rows > 0)
    forEachRowTile(maxRows, rows, [&](int64_t, int64_t height) {
      cycles += std::max(kLeastTileCycles, static_cast<double>(height));
    });
  return cycles;
}

// The taps [low, high) of an axis that meet the input from one place of the output.
Places liveTapsAt(const Convolution& c, size_t axis, int64_t place) {
  return placesInside(place * c.stride[axis] - c.pad[axis], c.dilation[axis], c.input[axis])
      .within(0, c.kernel[axis]);
}

struct Place {
  std::array<Places, 3> taps;
  std::array<int64_t, 3> at;
  int64_t live() const {
    int64_t count = 1;
    for (const Places& axis : taps) count *= axis.high - axis.low;
    return count;
  }
};

Place placeAt(const Convolution& c, int64_t index) {
  Place place;
  place.at = {index / (c.output[1] * c.output[2]), index / c.output[2] % c.output[1], index % c.output[2]};
  for (size_t i = 0; i < 3; ++i) place.taps[i] = liveTapsAt(c, i, place.at[i]);
  return place;
}

struct GatheredTask {
  const ConvolutionCall& work;
  const Convolution& c;
  FilterPanels panels;
  int64_t images = 0;  // of a block
  int64_t terms = 0;   // of all places
  std::array<Place, kMostPlaces> places;
  std::array<int64_t, kMostPlaces> firstTerm;   // of each place, in the tables
  std::array<int64_t, kMostPlaces> firstInput;  // of each place, in what is gathered
  int64_t gathered = 0;                         // elements of a block
  Table<int64_t> offsets[2];                    // of the weights of each term, in panels of each width
  Table<int64_t> reads;                         // of the input: of each live tap of each place
  float* inputs = nullptr;

  explicit GatheredTask(const ConvolutionCall& convolution) : work(convolution), c(convolution.c), panels(c) {
    for (int64_t p = 0; p < c.outputSize(); ++p) {
      const auto i = static_cast<size_t>(p);
      places[i] = placeAt(c, p);
      firstTerm[i] = terms;
      terms += places[i].live() * c.channels;
    }
    const int64_t maxRows = panels.kernels.maxRows;
    images = evenPart(c.batch, std::clamp(kMostGathered / std::max<int64_t>(terms, 1), maxRows, 2 * maxRows));
    for (int64_t p = 0; p < c.outputSize(); ++p) {
      firstInput[static_cast<size_t>(p)] = gathered;
      gathered += images * leading(p);
    }
  }

  int64_t depthOf(int64_t place) const { return places[static_cast<size_t>(place)].live() * c.channels; }
  int64_t leading(int64_t place) const { return oddLineStride(depthOf(place)); }
  int64_t readCount() const { return c.channels > 0 ? terms / c.channels : 0; }
  int64_t tableElements() const {
    return 2 * kernels::tableElements<int64_t>(terms) + kernels::tableElements<int64_t>(readCount());
  }
  int64_t sharedElements() const { return tableElements() + gathered; }
  int64_t tileElements() const {
    return c.makesChannelsLast() ? 0 : oddLineStride(images * c.outputSize() * panels.kernels.wide);
  }
  int64_t blocks() const { return partsOf(c.batch, images); }

  void makeTables(float* memory) {
    for (size_t narrow = 0; narrow < 2; ++narrow) {
      const int64_t width = narrow ? panels.kernels.narrow : panels.kernels.wide;
      offsets[narrow] = Table<int64_t>(memory);
      memory += kernels::tableElements<int64_t>(terms);
      for (int64_t p = 0; p < c.outputSize(); ++p)
        forEachTerm(p, [&](int64_t channel, int64_t tap, int64_t) {
          offsets[narrow].add((channel * c.taps() + tap) * width);
        });
    }
    reads = Table<int64_t>(memory);
    memory += kernels::tableElements<int64_t>(readCount());
    const int64_t place = c.readsChannelsLast() ? c.groups * c.channels : 1;
    for (int64_t p = 0; p < c.outputSize() && c.channels > 0; ++p)
      forEachTap(p, [&](int64_t, int64_t at) { reads.add(at * place); });
    inputs = memory;
  }

  // What the windows of one group read in the images from `first` on.
  void gather(int64_t group, int64_t first, int64_t count) const {
    const int64_t channelStride = c.readsChannelsLast() ? 1 : c.inputSize();
    for (int64_t image = 0; image < count; ++image) {
      const float* from = work.x + (first + image) * c.groups * c.channels * c.inputSize() +
                          group * c.channels * channelStride;
      const int64_t* at = reads.data();
      for (int64_t p = 0; p < c.outputSize(); ++p) {
        const int64_t live = places[static_cast<size_t>(p)].live();
        gatherPlace(from, channelStride, at, live,
                    inputs + firstInput[static_cast<size_t>(p)] + image * leading(p));
        at += live;
      }
    }
  }

  // One panel of the images from `first` on, which are gathered.
  int32_t run(int64_t group, int64_t panel, int64_t first, int64_t count, float* tile) const {
    const int64_t size = c.outputSize(), width = panels.width(panel),
                  filters = panels.end(panel) - panels.first(panel),
                  channel = group * c.filters + panels.first(panel), wide = c.groups * c.filters;
    const float* bias = work.bias ? work.bias + channel : nullptr;
    if (c.makesChannelsLast()) {
      multiply(group, panel, count, work.y + first * size * wide + channel, wide, bias);
      return finishRows(work, first * size, (first + count) * size, channel, channel + filters, wide);
    }
    multiply(group, panel, count, tile, width, nullptr);
    int32_t code = DYN_KERNEL_OK;
    for (int64_t image = 0; image < count && code == DYN_KERNEL_OK; ++image) {
      const int64_t row = (first + image) * wide + channel;
      writeTransposed(tile + image * size * width, width, size, filters, bias, work.y + row * size, size);
      code = finishRows(work, row, row + filters, 0, size, size);
    }
    return code;
  }

 private:
  // Loops over taps are short: those of a usual count are unrolled.
  void gatherPlace(const float* from, int64_t channelStride, const int64_t* at, int64_t live,
                   float* to) const {
    switch (live) {
      case 1:
        return gatherTaps<1>(from, channelStride, at, live, to);
      case 2:
        return gatherTaps<2>(from, channelStride, at, live, to);
      case 4:
        return gatherTaps<4>(from, channelStride, at, live, to);
      case 6:
        return gatherTaps<6>(from, channelStride, at, live, to);
      case 9:
        return gatherTaps<9>(from, channelStride, at, live, to);
      default:
        return gatherTaps<0>(from, channelStride, at, live, to);
    }
  }
  // kTaps: 0 where it is `live`.
  template <int64_t kTaps>
  void gatherTaps(const float* from, int64_t channelStride, const int64_t* at, int64_t live,
                  float* to) const {
    const int64_t taps = kTaps > 0 ? kTaps : live;
    int64_t first[kTaps > 0 ? kTaps : 1];
    if constexpr (kTaps > 0) {
      std::copy_n(at, kTaps, first);
      at = first;
    }
    for (int64_t channel = 0; channel < c.channels; ++channel, from += channelStride, to += taps)
#pragma GCC unroll 9
      for (int64_t i = 0; i < taps; ++i) to[i] = from[at[i]];
  }

  // visit(channel, tap, place of the input) in the order in which the way direct sums.
  template <typename Visit>
  void forEachTerm(int64_t p, const Visit& visit) const {
    for (int64_t channel = 0; channel < c.channels; ++channel)
      forEachTap(p, [&](int64_t tap, int64_t at) { visit(channel, tap, at); });
  }
  // visit(tap, place of the input)
  template <typename Visit>
  void forEachTap(int64_t p, const Visit& visit) const {
    const Place& place = places[static_cast<size_t>(p)];
    const auto inputAt = [&](size_t axis, int64_t tap) {
      return place.at[axis] * c.stride[axis] - c.pad[axis] + tap * c.dilation[axis];
    };
    for (int64_t d = place.taps[0].low; d < place.taps[0].high; ++d)
      for (int64_t h = place.taps[1].low; h < place.taps[1].high; ++h)
        for (int64_t w = place.taps[2].low; w < place.taps[2].high; ++w)
          visit((d * c.kernel[1] + h) * c.kernel[2] + w,
                (inputAt(0, d) * c.input[1] + inputAt(1, h)) * c.input[2] + inputAt(2, w));
  }

  // `to`: the first result of the panel; from place to place of an image there are `pitch` elements.
  void multiply(int64_t group, int64_t panel, int64_t count, float* to, int64_t pitch,
                const float* bias) const {
    const int64_t width = panels.width(panel), filters = panels.end(panel) - panels.first(panel),
                  imagePitch = c.outputSize() * pitch;
    const float* weights = work.weights + (group * panels.lanes() + panels.first(panel)) * c.depth();
    for (int64_t p = 0; p < c.outputSize(); ++p) {
      const int64_t depth = depthOf(p), block = evenPart(depth, kDepthBlock);
      const int64_t* table =
          offsets[width == panels.kernels.wide ? 0 : 1].data() + firstTerm[static_cast<size_t>(p)];
      const float* from = inputs + firstInput[static_cast<size_t>(p)];
      float* out = to + p * pitch;
      for (int64_t image = 0; bias && image < count; ++image)
        std::copy_n(bias, filters, out + image * imagePitch);
      for (int64_t k = 0; k < std::max<int64_t>(depth, 1); k += block)
        forEachRowTile(panels.kernels.maxRows, count, [&](int64_t first, int64_t height) {
          panels.kernels.filters[height - 1](std::min(block, depth - k), from + first * leading(p) + k,
                                             leading(p), weights, table + k, out + first * imagePitch,
                                             imagePitch, filters, bias || k > 0 ? 1 : 0);
        });
    }
  }
};

}  // namespace

bool takesGathered(const Convolution& c) {
  if (c.isSparse() || (c.isPointwise() && c.readsChannelsLast()) || c.batch < 1 || c.outputSize() < 1 ||
      c.outputSize() > kMostPlaces)
    return false;
  const FilterPanels panels(c);
  if (panels.count() == 0) return false;
  int64_t live = 0;
  for (size_t i = 0; i < 3; ++i)
    if (c.kernel[i] < 1) return false;
  for (int64_t p = 0; p < c.outputSize(); ++p) live += placeAt(c, p).live();
  if (live * c.channels > kMostTerms) return false;
  // Tiles of the way direct run along the longer side of an image, or over all of it: one image then reads no
  // weight twice, and of several each does.
  const int64_t maxRows = panels.kernels.maxRows,
                along = c.isPointwise() || (c.batch == 1 && takesSideBySide(c))
                            ? c.outputSize()
                            : std::max(c.output[1], c.output[2]),
                lines = c.outputSize() / along;
  const double direct = static_cast<double>(c.batch * c.taps() * lines) * cyclesOfTiles(maxRows, along);
  return static_cast<double>(live) * cyclesOfTiles(maxRows, c.batch) * kGain < direct;
}

int64_t convGatheredScratch(const ConvolutionCall& work) {
  const GatheredTask task(work);
  return scratchElements(task.sharedElements(), worthwhileTasks(work.call, work.c.steps()),
                         task.tileElements());
}

Status convGathered(FlatCall& call, const ConvolutionCall& work) {
  GatheredTask task(work);
  const Convolution& c = work.c;
  const int64_t tasks = worthwhileTasks(call, c.steps()), panels = task.panels.count();
  Scratch scratch(call, task.sharedElements(), tasks, task.tileElements());
  if (!scratch) return scratch.status();
  task.makeTables(scratch.shared());
  EpilogueFault fault;
  for (int64_t group = 0; group < c.groups; ++group)
    for (int64_t first = 0; first < c.batch && !call.cancelled(); first += task.images) {
      const int64_t count = std::min(task.images, c.batch - first);
      task.gather(group, first, count);
      scratch.rewind();
      call.split(panels, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
        float* own = scratch.next();
        for (int64_t panel = begin; panel < end && !call.cancelled(); ++panel)
          fault.note(task.run(group, panel, first, count, own));
      });
    }
  return fault.status();
}

}  // namespace dyn::vm::kernels
