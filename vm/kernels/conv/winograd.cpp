// Convolutions of 3x3 windows at stride 1 and 2 with fewer products than the direct sum has. (Lavin, Gray:
// Fast Algorithms for Convolutional Neural Networks, 2015.)
//
//   stride 1, F(2x2, 3x3): 2x2 outputs of 16 products, where the direct sum has 36.
//   stride 2: along each axis the even inputs meet two taps, F(3, 2): 4 products for 3 outputs; the odd ones meet the middle tap: 3 more. 3x3 outputs of
//   49 products, where the direct sum has 81.
//
//   U = G g G^T for each filter and channel;  V = B^T d B for each channel and block;  M = U V summed over channels: products of matrices;  Y = A^T M A
//
// Places of equal weights (the odd inputs') make one product: a class. U is made when the weights are packed,
// filter beside filter. A chunk of blocks at a time is turned so that channels stand in lanes, transformed,
// multiplied panel by panel, and turned into output rows while it is in the cache.
#include "vm/kernels/conv/winograd_kernels.h"

#include <array>
#include <vector>

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/four.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kMostBlocks = 64;    // of a chunk
constexpr int64_t kPatchColumns = 48;  // of input that are turned at once, at most
constexpr int64_t kInputElements =
    1 << 17;  // transformed input of a chunk, at most where a tile's blocks allow it

// One axis of a block.
struct Axis {
  int64_t inputs, outputs, step;  // step: inputs from block to block
  int64_t places;
  int64_t weights;                // distinct sums of taps; the last is of all places from weights - 1 on
  std::array<uint8_t, 7> reads;   // bit i: the place reads input i
  std::array<uint8_t, 7> serves;  // bit i: output i has the place's product in its sum
  int64_t weightOf(int64_t place) const { return std::min(place, weights - 1); }
};
constexpr Axis kAxes[2] = {
    {4, 2, 2, 4, 4, {0b101, 0b110, 0b110, 0b1010}, {0b1, 0b11, 0b11, 0b10}},
    {7,
     3,
     6,
     7,
     5,
     {0b10001, 0b10100, 0b10100, 0b1000100, 0b10, 0b1000, 0b100000},
     {0b1, 0b111, 0b111, 0b100, 0b1, 0b10, 0b100}},
};
const Axis& axisOf(const Convolution& c) { return kAxes[c.stride[2] - 1]; }

// G of one axis: to[weight * step].
void transformTaps(int64_t stride, const float (&g)[3], int64_t step, float* to) {
  const float even = (g[0] + g[2]) * 0.5f, odd = stride == 1 ? g[1] * 0.5f : 0.0f,
              minus = stride == 1 ? even - odd : (g[0] - g[2]) * 0.5f;
  to[0] = g[0];
  to[step] = even + odd;
  to[2 * step] = minus;
  to[3 * step] = g[2];
  if (stride == 2) to[4 * step] = g[1];
}

// U of one filter and channel: to[(i * weights + j) * step].
void transformFilter(int64_t stride, const float* g, int64_t step, float* to) {
  const int64_t weights = kAxes[stride - 1].weights;
  float half[3][5] = {};
  for (int64_t j = 0; j < 3; ++j)
    transformTaps(stride, {floatAnywhere(g + j), floatAnywhere(g + 3 + j), floatAnywhere(g + 6 + j)}, 1,
                  half[j]);
  for (int64_t i = 0; i < weights; ++i)
    transformTaps(stride, {half[0][i], half[1][i], half[2][i]}, step, to + i * weights * step);
}

// The places of one product: weights (i, j) of U, first place (i, j), and how many there are along each axis.
struct Class {
  int64_t weights, row, column, rows, columns;
  int64_t places() const { return rows * columns; }
};

// Blocks of one row of blocks of an image, inside one chunk.
struct Run {
  int64_t image = 0, row = 0, column = 0, count = 0;  // first block, and how many
  int64_t at = 0;                                     // place of the first in the chunk
};

constexpr size_t kMostPlaces = 49;  // of a block

struct WinogradTask {
  const ConvolutionCall& work;
  const Convolution& c;
  const Axis axis;
  const FilterPanels panels;
  const WinogradKernels& transforms = winogradKernels();
  const int64_t lanes = panels.kernels.narrow;
  std::array<Class, kMostPlaces> classTable;
  size_t classCount = 0;
  std::array<uint8_t, 3> live{};  // bit i: a product of place i of an axis may be other than zero and is used
  Table<int64_t> offsets;         // of the channels of V
  int64_t most = 0;               // blocks of a chunk
  const int64_t tasks = worthwhileTasks(work.call, c.steps());

  explicit WinogradTask(const ConvolutionCall& convolution)
      : work(convolution), c(convolution.c), axis(axisOf(c)), panels(c) {
    const int64_t fit = kInputElements / (places() * std::max<int64_t>(c.channels, 1));
    most = evenPart(blocks(), std::clamp<int64_t>(fit, panels.kernels.maxRows, kMostBlocks));
    most = sharedPart();
    for (size_t i = 1; i < 3; ++i) live[i] = livePlaces(i);
    const auto count = [&](int64_t weight) {
      return weight + 1 < axis.weights ? 1 : axis.places - axis.weights + 1;
    };
    for (int64_t i = 0; i < axis.weights; ++i)
      for (int64_t j = 0; j < axis.weights; ++j)
        classTable[classCount++] = {i * axis.weights + j, i, j, count(i), count(j)};
  }

  std::span<const Class> classes() const { return std::span(classTable).first(classCount); }
  int64_t tableElements() const { return kernels::tableElements<int64_t>(c.channels); }
  void makeTable(float* memory) {
    offsets = Table<int64_t>(memory);
    for (int64_t channel = 0; channel < c.channels; ++channel) offsets.add(channel);
  }

  int64_t places() const { return axis.places * axis.places; }
  int64_t blockRows() const { return (c.output[1] + axis.outputs - 1) / axis.outputs; }
  int64_t blockColumns() const { return (c.output[2] + axis.outputs - 1) / axis.outputs; }
  int64_t imageBlocks() const { return blockRows() * blockColumns(); }
  // Images of so few blocks that a tile is not full are done one behind the other, as one of many blocks:
  // the weights are read once for all.
  bool joinsImages() const { return c.batch > 1 && imageBlocks() < panels.kernels.maxRows; }
  int64_t wholes() const { return joinsImages() ? 1 : c.batch; }
  int64_t blocks() const { return joinsImages() ? c.batch * imageBlocks() : imageBlocks(); }
  int64_t chunks() const { return (blocks() + most - 1) / most; }
  // Rows of V and M: of one class after the other, in it of one block after the other, in it place by place.
  // Rows, and the places of a block, lie an odd number of lines apart: those that are written and read
  // together would else share a set of the L1 cache.
  int64_t inputRow() const { return oddLineStride(c.channels); }
  int64_t productRow() const { return panels.kernels.wide; }
  // Of a matrix with rows of so many elements for `count` blocks.
  int64_t classElements(const Class& k, int64_t count, int64_t row) const {
    return oddLineStride(k.places() * count * row);
  }
  int64_t matrixElements(int64_t row) const {
    int64_t sum = 0;
    for (const Class& k : classes()) sum += classElements(k, most, row);
    return sum;
  }
  int64_t patchBlocks() const { return (kPatchColumns + axis.step - axis.inputs) / axis.step; }
  int64_t patchLeading() const { return (patchBlocks() * axis.step + axis.inputs - axis.step) * lanes; }
  int64_t patchElements() const { return axis.inputs * patchLeading() + lanes * lanes; }
  int64_t rowElements() const { return axis.outputs * most * panels.kernels.wide; }
  int64_t scratchElements() const {
    return oddLineStride(matrixElements(inputRow()) + matrixElements(productRow()) +
                         std::max(axis.outputs * rowElements(), wholeLines(patchElements())));
  }

  // Panels [panelBegin, panelEnd) of blocks [first, last) of an image, or of all that are joined.
  int32_t run(int64_t whole, int64_t first, int64_t last, int64_t panelBegin, int64_t panelEnd,
              float* scratch) const {
    float *v = scratch, *m = v + matrixElements(inputRow()), *rest = m + matrixElements(productRow());
    const int64_t count = last - first;
    const PlaceTable inputPlaces = placesOf(count, inputRow());
    transformInput(whole, first, last, v, inputPlaces, rest);
    for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
      if (work.call.cancelled()) return DYN_KERNEL_OK;
      const int64_t width = panels.width(panel);
      const PlaceTable productPlaces = placesOf(count, width);
      const float* u = work.weights + panels.first(panel) * axis.weights * axis.weights * c.channels;
      for (const Class& k : classes()) {
        const auto place = static_cast<size_t>(k.row * axis.places + k.column);
        const float* from = v + inputPlaces[place].begin;
        float* to = m + productPlaces[place].begin;
        if (!lives(k)) {
          std::fill_n(to, k.places() * count * width, 0.0f);
          continue;
        }
        forEachRowTile(panels.kernels.maxRows, k.places() * count, [&](int64_t row, int64_t height) {
          panels.tiles(panel)[height - 1](c.channels, from + row * inputRow(), inputRow(), offsets.data(),
                                          u + k.weights * c.channels * width, to + row * width, width, width,
                                          nullptr, 0, nullptr);
        });
      }
      const int32_t code = writeOutput(m, productPlaces, whole, first, last, panel, rest);
      if (code != DYN_KERNEL_OK) return code;
    }
    return c.readsChannelsLast() && work.epilogue
               ? finishLast(whole, first, last, panels.first(panelBegin), panels.end(panelEnd - 1))
               : DYN_KERNEL_OK;
  }

 private:
  // Tasks that share a chunk transform its input each for itself, and where it has one panel cannot share it
  // at all: then there are as many chunks for each task, unless reading the weights once more is worse.
  int64_t sharedPart() const {
    const int64_t now = wholes() * chunks();
    if (tasks <= 1 || blocks() == 0 || now % tasks == 0 || now >= 4 * tasks) return most;
    const int64_t wanted = partsOf((now / tasks + 1) * tasks, wholes());
    const bool fewUnits = now * panels.count() < 2 * tasks,
               weightsAreLess = axis.weights * axis.weights * c.filters <= 4 * blocks() * places();
    if (!fewUnits && !weightsAreLess) return most;
    return std::min(most, std::max<int64_t>(panels.kernels.maxRows / 2, partsOf(blocks(), wanted)));
  }

  // In an axis of few inputs or outputs some places of all blocks see nothing but padding, or serve no
  // result: their weights need not be read.
  uint8_t livePlaces(size_t i) const {
    uint8_t inputs = 0, outputs = 0;  // of a block, that are there in some block
    const auto all = [](int64_t count) { return (1 << count) - 1; };
    const int64_t count = i == 1 ? blockRows() : blockColumns();
    for (int64_t block = 0; block < count && (inputs != all(axis.inputs) || outputs != all(axis.outputs));
         ++block) {
      for (int64_t k = 0; k < axis.inputs; ++k) {
        const int64_t from = block * axis.step + k - c.pad[i];
        if (from >= 0 && from < c.input[i]) inputs |= static_cast<uint8_t>(1 << k);
      }
      for (int64_t k = 0; k < axis.outputs; ++k)
        if (block * axis.outputs + k < c.output[i]) outputs |= static_cast<uint8_t>(1 << k);
    }
    uint8_t places = 0;
    for (size_t k = 0; k < static_cast<size_t>(axis.places); ++k)
      if ((axis.reads[k] & inputs) && (axis.serves[k] & outputs)) places |= static_cast<uint8_t>(1 << k);
    return places;
  }
  bool lives(const Class& k) const {
    const auto any = [](uint8_t places, int64_t first, int64_t count) {
      return (places >> first & ((1 << count) - 1)) != 0;
    };
    return any(live[1], k.row, k.rows) && any(live[2], k.column, k.columns);
  }

  using PlaceTable = std::array<WinogradPlace, kMostPlaces>;

  PlaceTable placesOf(int64_t count, int64_t row) const {
    PlaceTable result{};
    int64_t begin = 0;
    for (const Class& k : classes()) {
      for (int64_t i = 0; i < k.places(); ++i)
        result[static_cast<size_t>((k.row + i / k.columns) * axis.places + k.column + i % k.columns)] = {
            begin + i * row, k.places() * row};
      begin += classElements(k, count, row);
    }
    return result;
  }

  template <typename Work>
  void forEachRun(int64_t whole, int64_t first, int64_t last, int64_t longest, const Work& each) const {
    for (int64_t block = first; block < last;) {
      const int64_t inImage = block % imageBlocks();
      Run run{whole + block / imageBlocks(), inImage / blockColumns(), inImage % blockColumns(), 0,
              block - first};
      run.count = std::min({blockColumns() - run.column, last - block, longest});
      each(run);
      block += run.count;
    }
  }

  void transformInput(int64_t whole, int64_t first, int64_t last, float* v, const PlaceTable& to,
                      float* patch) const {
    for (int64_t channel = 0; channel < c.channels; channel += lanes)
      forEachRun(whole, first, last, patchBlocks(), [&](const Run& run) {
        const int64_t count = std::min(lanes, c.channels - channel);
        const float* planes = work.x + run.image * c.channels * c.inputSize() +
                              channel * (c.readsChannelsLast() ? 1 : c.inputSize());
        forEachPart(run, count, [&](const Run& part, const Place* inPlace) {
          PlaceTable shifted = to;
          for (WinogradPlace& place : shifted) place.begin += part.at * place.step;
          const auto transform = transforms.input[c.stride[2] - 1];
          if (inPlace) {
            transform(planes + (inPlace->row * c.input[2] + inPlace->column) * c.channels,
                      c.input[2] * c.channels, c.channels, part.count, v + channel, shifted.data());
            return;
          }
          copyPatch(planes, count, part, patch);
          transform(patch, patchLeading(), lanes, part.count, v + channel, shifted.data());
        });
      });
  }

  struct Place {
    int64_t row, column;
  };
  // Blocks that lie inside the input are read where they are, where whole vectors of channels lie side by
  // side: part(run, their first place, else null).
  template <typename Part>
  void forEachPart(const Run& run, int64_t count, const Part& part) const {
    const int64_t row = run.row * axis.step - c.pad[1], end = run.column + run.count;
    const auto inside = [&](int64_t pad) { return pad >= 0 ? (pad + axis.step - 1) / axis.step : 0; };
    const int64_t reach = c.input[2] + c.pad[2] - axis.inputs;
    const int64_t low = std::clamp(inside(c.pad[2]), run.column, end),
                  high = std::clamp(reach < 0 ? 0 : reach / axis.step + 1, low, end);
    if (!c.readsChannelsLast() || count < lanes || row < 0 || row + axis.inputs > c.input[1] || low == high)
      return part(run, nullptr);
    const auto cut = [&](int64_t from, int64_t to) {
      return Run{run.image, run.row, from, to - from, run.at + from - run.column};
    };
    if (run.column < low) part(cut(run.column, low), nullptr);
    const Place first{row, low * axis.step - c.pad[2]};
    part(cut(low, high), &first);
    if (high < end) part(cut(high, end), nullptr);
  }

  // The input of a run: patch[row * patchLeading() + column * lanes + channel]. What stands in lanes beyond
  // `count` nobody reads.
  void copyPatch(const float* image, int64_t count, const Run& run, float* patch) const {
    const int64_t wanted = run.count * axis.step + axis.inputs - axis.step;
    const int64_t left = run.column * axis.step - c.pad[2];
    const Places inside = placesInside(left, 1, c.input[2]).within(0, wanted);
    for (int64_t row = 0; row < axis.inputs; ++row) {
      float* to = patch + row * patchLeading();
      const int64_t ih = run.row * axis.step + row - c.pad[1];
      const bool reads = ih >= 0 && ih < c.input[1] && inside.low < inside.high;
      std::fill_n(to, (reads ? inside.low : wanted) * lanes, 0.0f);
      if (!reads) continue;
      if (c.readsChannelsLast())
        copyRow(image + (ih * c.input[2] + left) * c.channels, count, inside, to);
      else
        turnRow(image + ih * c.input[2] + left, count, inside, to);
      std::fill_n(to + inside.high * lanes, (wanted - inside.high) * lanes, 0.0f);
    }
  }

  void copyRow(const float* from, int64_t count, Places columns, float* to) const {
    if (count == lanes)
      return panels.kernels.gather(from + columns.low * c.channels, c.channels, columns.high - columns.low,
                                   to + columns.low * lanes);
    for (int64_t i = columns.low; i < columns.high; ++i)
      std::copy_n(from + i * c.channels, count, to + i * lanes);
  }

  // Columns [low, high) of a row. Where they are not whole vectors, the last ones overlap, or more columns
  // are read and written than wanted.
  void turnRow(const float* from, int64_t count, Places columns, float* to) const {
    for (int64_t at = columns.low; at < columns.high;) {
      int64_t begin = at;
      if (begin + lanes > columns.high) begin = std::max(columns.high - lanes, columns.low);
      if (from + (lanes - 1) * c.inputSize() + begin + lanes <= work.inputEnd) {
        panels.kernels.turn(from + begin, c.inputSize(), nullptr, to + begin * lanes, lanes);
      } else {
        for (int64_t channel = 0; channel < count; ++channel)
          for (int64_t i = begin; i < std::min(begin + lanes, columns.high); ++i)
            to[i * lanes + channel] = from[channel * c.inputSize() + i];
      }
      at = begin + lanes;
    }
  }

  // The panel's filters of all blocks, written with bias, then the epilogue on their rows.
  int32_t writeOutput(const float* m, const PlaceTable& from, int64_t whole, int64_t first, int64_t last,
                      int64_t panel, float* rows) const {
    const int64_t filter = panels.first(panel), count = panels.end(panel) - filter,
                  width = panels.width(panel);
    int32_t fault = DYN_KERNEL_OK;
    forEachRun(whole, first, last, most, [&](const Run& run) {
      const int64_t channel = run.image * c.filters + filter;
      PlaceTable shifted = from;
      for (WinogradPlace& place : shifted) place.begin += run.at * place.step;
      const int64_t down = axis.outputs * run.row, right = axis.outputs * run.column;
      const int64_t columns = std::min(axis.outputs * run.count, c.output[2] - right);
      // Whole blocks of whole vectors of filters are written where they belong.
      const bool inPlace = c.readsChannelsLast() && count == width && columns == axis.outputs * run.count &&
                           down + axis.outputs <= c.output[1];
      const int64_t begin = run.image * c.outputSize() + down * c.output[2] + right;
      float* to = inPlace ? work.y + begin * c.filters + filter : rows;
      transforms.output[c.stride[2] - 1](m, shifted.data(), run.count, width / lanes, to,
                                         inPlace ? c.output[2] * c.filters : rowElements(),
                                         inPlace ? c.filters : width);
      for (int64_t i = 0; i < axis.outputs && down + i < c.output[1]; ++i) {
        const int64_t begin = (down + i) * c.output[2] + right;
        if (c.readsChannelsLast()) {
          if (!inPlace || work.bias)
            writeLast(inPlace ? nullptr : rows + i * rowElements(), width, columns,
                      run.image * c.outputSize() + begin, filter, count);
          continue;
        }
        writeTransposed(rows + i * rowElements(), width, columns, count,
                        work.bias ? work.bias + filter : nullptr, work.y + channel * c.outputSize() + begin,
                        c.outputSize());
        const int32_t code =
            finishRows(work, channel, channel + count, begin, begin + columns, c.outputSize());
        if (code != DYN_KERNEL_OK) fault = code;
      }
    });
    return fault;
  }

  // `positions` positions from `first` on of the images; row null: all but the bias is there already.
  void writeLast(const float* row, int64_t width, int64_t positions, int64_t first, int64_t filter,
                 int64_t count) const {
    float* to = work.y + first * c.filters + filter;
    for (int64_t i = 0; row && i < positions; ++i) copyShort(row + i * width, count, to + i * c.filters);
    for (int64_t i = 0; work.bias && i < positions; ++i)
      for (int64_t k = 0; k < count; ++k) to[i * c.filters + k] += work.bias[filter + k];
  }

  // The epilogue on filters [low, high) of all blocks: its rows are positions.
  int32_t finishLast(int64_t whole, int64_t first, int64_t last, int64_t low, int64_t high) const {
    int32_t fault = DYN_KERNEL_OK;
    forEachRun(whole, first, last, most, [&](const Run& run) {
      const int64_t down = axis.outputs * run.row, right = axis.outputs * run.column;
      const int64_t columns = std::min(axis.outputs * run.count, c.output[2] - right);
      for (int64_t i = 0; i < axis.outputs && down + i < c.output[1]; ++i) {
        const int64_t begin = run.image * c.outputSize() + (down + i) * c.output[2] + right;
        const int32_t code = finishRows(work, begin, begin + columns, low, high, c.filters);
        if (code != DYN_KERNEL_OK) fault = code;
      }
    });
    return fault;
  }
};

}  // namespace

static int64_t winogradWeights(const Convolution& c) { return axisOf(c).weights * axisOf(c).weights; }

int64_t winogradDirectWeights(const Convolution& c, FilterWidths widths) {
  return FilterPanels(c, widths).lanes() * c.channels * winogradWeights(c);
}

// Of each window what the way direct may read: at stride 1 the middle tap, at stride 2 all.
static int64_t directTaps(const Convolution& c) { return c.stride[2] == 1 ? 1 : c.taps(); }

int64_t winogradElements(const Convolution& c, FilterWidths widths) {
  return winogradDirectWeights(c, widths) + FilterPanels(c, widths).lanes() * c.channels * directTaps(c);
}

std::optional<Convolution> winogradAsDirect(const Convolution& c) {
  if (c.stride[2] == 1) return middleTapOf(c);
  // Products; those of blocks are transformed besides.
  constexpr double kTransforms = 1.1;
  const Axis& axis = axisOf(c);
  const auto products = static_cast<double>(partsOf(c.output[1], axis.outputs) *
                                            partsOf(c.output[2], axis.outputs) * axis.places * axis.places),
             direct = static_cast<double>(c.outputSize() * c.taps());
  return products * kTransforms > direct ? std::optional(c) : std::nullopt;
}

void packWinograd(const Convolution& c, FilterWidths widths, const float* w, int64_t panel, float* packed) {
  const FilterPanels panels(c, widths);
  const int64_t width = panels.width(panel), first = panels.first(panel), taps = directTaps(c),
                firstTap = taps == 1 ? c.taps() / 2 : 0;
  float* to = packed + first * winogradWeights(c) * c.channels;
  float* direct = packed + winogradDirectWeights(c, widths) + first * c.channels * taps;
  for (int64_t lane = 0; lane < width; ++lane)
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      static constexpr float kNothing[9] = {};
      const float* g = first + lane < c.filters ? w + ((first + lane) * c.channels + channel) * 9 : kNothing;
      transformFilter(c.stride[2], g, c.channels * width, to + channel * width + lane);
      for (int64_t i = 0; i < taps; ++i)
        direct[(channel * taps + i) * width + lane] = floatAnywhere(g + firstTap + i);
    }
}

int64_t convWinogradScratch(const ConvolutionCall& work) {
  const WinogradTask task(work);
  return scratchElements(task.tableElements(), task.tasks, task.scratchElements());
}

Status convWinograd(FlatCall& call, const ConvolutionCall& work) {
  WinogradTask task(work);
  const int64_t chunks = task.chunks(), panels = task.panels.count();
  Scratch scratch(call, task.tableElements(), task.tasks, task.scratchElements());
  if (!scratch) return scratch.status();
  task.makeTable(scratch.shared());
  EpilogueFault fault;
  call.split(task.wholes() * chunks * panels, static_cast<uint32_t>(task.tasks),
             [&](int64_t begin, int64_t end) {
               float* memory = scratch.next();
               forEachWhole(begin, end, panels, [&](int64_t whole, int64_t panelBegin, int64_t panelEnd) {
                 const int64_t first = whole % chunks * task.most;
                 if (!call.cancelled())
                   fault.note(task.run(whole / chunks, first, std::min(first + task.most, task.blocks()),
                                       panelBegin, panelEnd, memory));
               });
             });
  return fault.status();
}

}  // namespace dyn::vm::kernels
