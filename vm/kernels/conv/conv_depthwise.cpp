// Depthwise convolutions: each output row is a sum of input rows, shifted and scaled.
//
// What a chunk of output rows reads is first copied into a frame that has the padding around it. Where
// windows move by more than one, the frame is cut into phases: phase (p, q) holds the rows p, p + stride, ...
// and of these the columns q, q + stride, .... There windows move by one and each tap has an element, so one
// list of offsets serves all places, and the rows of a frame follow one another like one long row: short rows
// fill vectors as well.
//
//
// Small images of many channels go the other way: the channels stand in the lanes (lane_frame.h), and are
// summed place by place.
#include <algorithm>
#include <vector>

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/conv/lane_frame.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kFrameElements = 8192;  // of a chunk, about: half of the L1 cache
constexpr int64_t kLongRow =
    64;  // such rows are written where they belong, shorter ones beside one another first
constexpr int64_t kPiece = 4096;  // columns: longer rows are made in pieces

// Output rows and columns of one slice: whole rows, or a piece of one.
struct Chunk {
  int64_t rowBegin = 0, rowEnd = 0, columnBegin = 0, columnEnd = 0;
  int64_t rows() const { return rowEnd - rowBegin; }
  int64_t columns() const { return columnEnd - columnBegin; }
};

// Taps with the places they read from. Those of several channels, or those that meet input anywhere in a
// chunk.
struct Taps {
  Table<float> factors;
  Table<int64_t> offsets;

  static int64_t factorElements(const Convolution& c, int64_t lanes) {
    return tableElements<float>(c.taps() * lanes);
  }
  static int64_t elements(const Convolution& c, int64_t lanes) {
    return factorElements(c, lanes) + tableElements<int64_t>(c.taps());
  }
  Taps(const Convolution& c, int64_t lanes, float* memory)
      : factors(memory), offsets(memory + factorElements(c, lanes)) {}
};

class RowTask {
 public:
  explicit RowTask(const Convolution& convolution)
      : c(convolution), rowWindow_(tapWindow(c, 1)), columnWindow_(tapWindow(c, 2)) {
    columns_ = evenPart(c.output[2], kPiece);
    length_ = partsOf((columns_ - 1) * c.stride[2] + columnWindow_.reach + 1, c.stride[2]);
    const int64_t more = partsOf(rowWindow_.reach, c.stride[1]);  // rows of a phase beyond those of the chunk
    const int64_t most = kFrameElements / (length_ * c.stride[1] * c.stride[2]) - more;
    rows_ = columns_ < c.output[2] ? 1 : evenPart(c.output[1], std::max<int64_t>(most, 1));
    lines_ = rows_ + more;
  }

  int64_t chunkCount() const { return partsOf(c.output[1], rows_) * partsOf(c.output[2], columns_); }
  Chunk chunk(int64_t index) const {
    const int64_t pieces = partsOf(c.output[2], columns_), row = index / pieces * rows_,
                  column = index % pieces * columns_;
    return {row, std::min(row + rows_, c.output[1]), column, std::min(column + columns_, c.output[2])};
  }
  int64_t scratchElements() const { return wholeLines(frameElements() + wideElements()); }

  // A chunk of slice `slice` of one plane, whose weights are `lanes` apart. `taps` and `scratch` are memory
  // to be used again.
  void run(const float* input, const float* weights, int64_t lanes, float bias, int64_t slice,
           const Chunk& chunk, float* plane, Taps& taps, float* scratch) const {
    taps.factors.clear();
    taps.offsets.clear();
    for (int64_t d = 0; d < c.kernel[0]; ++d) {
      const int64_t from = slice * c.stride[0] + d * c.dilation[0] - c.pad[0];
      if (from < 0 || from >= c.input[0]) continue;
      const int64_t base = d * sliceElements();
      fillFrame(input + from * c.input[1] * c.input[2], chunk, scratch + base);
      findTaps(weights + d * c.kernel[1] * c.kernel[2] * lanes, lanes, chunk, base, taps);
    }
    sum(taps, bias, chunk, scratch, scratch + frameElements(),
        plane + (slice * c.output[1] + chunk.rowBegin) * c.output[2] + chunk.columnBegin);
  }

 private:
  int64_t phaseElements() const { return lines_ * length_; }
  int64_t sliceElements() const { return c.stride[1] * c.stride[2] * phaseElements(); }
  int64_t frameElements() const { return c.kernel[0] * sliceElements(); }
  int64_t wideElements() const { return columns_ < kLongRow ? rows_ * length_ : 0; }

  void fillFrame(const float* slice, const Chunk& chunk, float* frame) const {
    const int64_t first = chunk.rowBegin * c.stride[1] - rowWindow_.pad,
                  used = (chunk.rows() - 1) * c.stride[1] + rowWindow_.reach + 1,
                  start = chunk.columnBegin * c.stride[2] - columnWindow_.pad,
                  before = std::max<int64_t>(-start, 0), behind = std::clamp<int64_t>(start, 0, c.input[2]),
                  held = std::min(c.input[2] - behind, std::max<int64_t>(length_ * c.stride[2] - before, 0));
    const Pairs pairs = c.stride[2] == 2 ? pairsOf(before, held) : Pairs();
    int64_t phase = 0, line = 0;  // row % stride, row / stride
    for (int64_t row = 0; row < used; ++row, ++phase) {
      if (phase == c.stride[1]) phase = 0, ++line;
      float* to = frame + phase * c.stride[2] * phaseElements() + line * length_;
      const int64_t from = first + row;
      if (from < 0 || from >= c.input[1] || held == 0) {
        for (int64_t q = 0; q < c.stride[2]; ++q) std::fill_n(to + q * phaseElements(), length_, 0.0f);
        continue;
      }
      const float* elements = slice + from * c.input[2] + behind;
      if (c.stride[2] == 2) {
        fillPairs(elements, pairs, to);
        continue;
      }
      if (c.stride[2] > 1) {
        fillPhases(elements, before, held, to);
        continue;
      }
      std::fill_n(to, before, 0.0f);
      std::copy_n(elements, held, to + before);
      std::fill(to + before + held, to + length_, 0.0f);
    }
  }

  // `before` places of padding, then `held` elements, then padding. Column j of phase q is place j * stride +
  // q.
  void fillPhases(const float* elements, int64_t before, int64_t held, float* to) const {
    const int64_t stride = c.stride[2];
    for (int64_t q = 0; q < stride; ++q) {
      const Places inside = placesInside(q - before, stride, held).within(0, length_);
      float* phase = to + q * phaseElements();
      std::fill_n(phase, inside.low, 0.0f);
      std::fill(phase + inside.high, phase + length_, 0.0f);
      for (int64_t j = inside.low; j < inside.high; ++j) phase[j] = elements[j * stride + q - before];
    }
  }

  // The same of two phases, whose places are the same for all rows.
  struct Pairs {
    Places inside[2];
    int64_t evens = 0, odds = 0;  // where the elements of even and of odd places go
    int64_t count = 0;
    bool hasLast = false;  // an even one without its pair
  };
  Pairs pairsOf(int64_t before, int64_t held) const {
    Pairs pairs;
    for (int64_t q = 0; q < 2; ++q) pairs.inside[q] = placesInside(q - before, 2, held).within(0, length_);
    const int64_t odd = before % 2;
    pairs.evens = odd * phaseElements() + before / 2;
    pairs.odds = (1 - odd) * phaseElements() + (before + 1) / 2;
    pairs.count = held / 2;
    pairs.hasLast = held % 2 != 0;
    return pairs;
  }
  void fillPairs(const float* elements, const Pairs& pairs, float* to) const {
    for (int64_t q = 0; q < 2; ++q) {
      float* phase = to + q * phaseElements();
      std::fill(phase, phase + pairs.inside[q].low, 0.0f);
      std::fill(phase + pairs.inside[q].high, phase + length_, 0.0f);
    }
    convolutionKernels().unzip(elements, pairs.count, to + pairs.evens, to + pairs.odds);
    if (pairs.hasLast) to[pairs.evens + pairs.count] = elements[2 * pairs.count];
  }

  void findTaps(const float* weights, int64_t lanes, const Chunk& chunk, int64_t base, Taps& taps) const {
    const auto meets = [&](size_t axis, int64_t begin, int64_t end, int64_t shift) {
      return (end - 1) * c.stride[axis] + shift >= 0 && begin * c.stride[axis] + shift < c.input[axis];
    };
    for (int64_t h = rowWindow_.taps.low; h < rowWindow_.taps.high; ++h) {
      const int64_t row = (h - rowWindow_.taps.low) * c.dilation[1];
      if (!meets(1, chunk.rowBegin, chunk.rowEnd, row - rowWindow_.pad)) continue;
      for (int64_t w = columnWindow_.taps.low; w < columnWindow_.taps.high; ++w) {
        const int64_t column = (w - columnWindow_.taps.low) * c.dilation[2];
        if (!meets(2, chunk.columnBegin, chunk.columnEnd, column - columnWindow_.pad)) continue;
        const int64_t phase = row % c.stride[1] * c.stride[2] + column % c.stride[2];
        taps.factors.add(weights[(h * c.kernel[2] + w) * lanes]);
        taps.offsets.add(base + phase * phaseElements() + row / c.stride[1] * length_ + column / c.stride[2]);
      }
    }
  }

  void sum(const Taps& taps, float bias, const Chunk& chunk, const float* frame, float* wide,
           float* to) const {
    const auto kernel = convolutionKernels().row;
    const auto count = taps.factors.size();
    const auto make = [&](const float* from, float* row, int64_t columns) {
      kernel(count, taps.factors.data(), from, taps.offsets.data(), bias, row, columns);
    };
    if (columns_ >= kLongRow) {
      for (int64_t row = 0; row < chunk.rows(); ++row)
        make(frame + row * length_, to + row * c.output[2], chunk.columns());
      return;
    }
    // Here rows are whole.
    const bool inPlace = length_ == c.output[2];
    make(frame, inPlace ? to : wide, (chunk.rows() - 1) * length_ + c.output[2]);
    for (int64_t row = 0; !inPlace && row < chunk.rows(); ++row)
      std::copy_n(wide + row * length_, c.output[2], to + row * c.output[2]);
  }

  const Convolution& c;
  const TapWindow rowWindow_, columnWindow_;
  int64_t columns_ = 0;  // of the output, in a chunk
  int64_t rows_ = 0;     // of the output, in a chunk
  int64_t length_ = 0;   // of a row of a phase
  int64_t lines_ = 0;    // rows of a phase
};

// As many channels as a vector has lanes.
class LaneTask {
 public:
  LaneTask(const Convolution& convolution, int64_t tasks)
      : c(convolution),
        frame_(c, 0.0f, mostRowsFor(c, c.batch * partsOf(c.groups, convolutionKernels().narrow), tasks)),
        window_(c.dilation[2] == 1 ? convolutionKernels().window(c.kernel[2], c.stride[2]) : nullptr) {}

  int64_t lanes() const { return frame_.lanes(); }
  int64_t rows() const { return frame_.rows(); }
  // Channels that go this way, from the first on: whole groups, and those behind them where they are not too
  // few.
  int64_t channelCount() const {
    if (!frame_.suits()) return 0;
    const int64_t rest = c.groups % lanes();
    return rest >= fewestChannels() ? c.groups : c.groups - rest;
  }
  int64_t groupCount() const { return partsOf(channelCount(), lanes()); }
  int64_t scratchElements() const {
    return frame_.frameElements() + frame_.tileElements() + factorElements() +
           tableElements<int64_t>(c.taps()) + lanes();
  }

  // Output rows [begin, end) of a group of `count` planes, at most `lanes`. `weights`: its own, [taps,
  // lanes]; `bias`: `count`, or null. `made`: of `scratch`, in whose frame and table of taps the next call
  // finds what all groups have in common.
  void run(const float* input, int64_t count, const float* weights, const float* bias, int64_t begin,
           int64_t end, float* output, float* scratch, LaneChunk& made) const {
    float *tile = scratch + frame_.frameElements(), *factors = tile + frame_.tileElements();
    int64_t* offsets = reinterpret_cast<int64_t*>(factors + factorElements());
    float* start = reinterpret_cast<float*>(offsets) + tableElements<int64_t>(c.taps());
    if (bias && count < lanes()) {
      std::fill(std::copy_n(bias, count, start), start + lanes(), 0.0f);
      bias = start;
    }
    const TapWindow &down = frame_.down(), &right = frame_.right();
    if (made.end == 0) listOffsets(offsets);
    const LaneRows held = frame_.fill(input, count, begin, end, scratch, made);
    const ConvolutionKernels& kernels = convolutionKernels();
    if (!seesAllTaps())
      for (int64_t h = 0; h < down.count(); ++h)
        kernels.gather(weights + ((down.taps.low + h) * c.kernel[2] + right.taps.low) * lanes(), lanes(),
                       right.count(), factors + h * right.count() * lanes());
    const float* own = seesAllTaps() ? weights : factors;
    const int64_t line = held.pitch * lanes();
    const bool ofWindows = window_ && right.count() == c.kernel[2] && c.output[2] >= kernels.fewestPositions;
    for (int64_t row = begin; row < end; ++row) {
      // Of the rows of taps those that meet the input.
      const Places live = placesInside(row * c.stride[1] - c.pad[1], c.dilation[1], c.input[1])
                              .within(down.taps.low, down.taps.high);
      const int64_t skipped = live.low - down.taps.low, rowsOfTaps = live.high - live.low;
      const float *from = held.at + (row - begin) * c.stride[1] * line,
                  *its = own + skipped * right.count() * lanes();
      float* to = tile + (row - begin) * c.output[2] * lanes();
      if (ofWindows)
        window_(rowsOfTaps, from + skipped * c.dilation[1] * line, c.dilation[1] * line, lanes(), its, bias,
                to, lanes(), c.output[2], nullptr);
      else
        kernels.lanes(rowsOfTaps * right.count(), from, c.stride[2] * lanes(),
                      offsets + skipped * right.count(), its, bias, to, lanes(), c.output[2]);
    }
    frame_.write(tile, count, begin, end, scratch, output);
  }

 private:
  // A group takes as long with one channel as with all; planes take longer for a place, the shorter their
  // rows are. So many sixteenths of the lanes take as long one by one.
  int64_t fewestChannels() const {
    struct Least {
      int64_t places, sixteenths;  // up to so many places of the output
    };
    constexpr Least kLeast[] = {{16, 2}, {64, 4}, {256, 5}, {512, 7}, {800, 8}, {INT64_MAX, 10}};
    const Least* least = kLeast;
    while (c.outputSize() > least->places) ++least;
    return partsOf(least->sixteenths * lanes(), 16);
  }
  bool seesAllTaps() const { return frame_.down().count() * frame_.right().count() == c.taps(); }
  int64_t factorElements() const { return tableElements<float>(c.taps() * lanes()); }
  void listOffsets(int64_t* to) const {
    for (int64_t h = 0; h < frame_.down().count(); ++h)
      for (int64_t w = 0; w < frame_.right().count(); ++w)
        *to++ = (h * c.dilation[1] * frame_.columns() + w * c.dilation[2]) * lanes();
  }

  const Convolution& c;
  const LaneFrame frame_;
  const WindowKernel window_;  // or null
};

}  // namespace

// Of a task: groups of channels that are turned, and other channels.
static int64_t ownElements(const Convolution& c, const RowTask& planes, const LaneTask& groups) {
  const int64_t turned = groups.channelCount();
  return wholeLines(std::max(turned > 0 ? groups.scratchElements() : 0,
                             turned < c.groups ? planes.scratchElements() : 0)) +
         Taps::elements(c, groups.lanes());
}

int64_t convRowsScratch(const FlatCall& call, const Convolution& c) {
  const int64_t tasks = worthwhileTasks(call, depthwiseSteps(c));
  return scratchElements(0, tasks, ownElements(c, RowTask(c), LaneTask(c, tasks)));
}

Status convRows(FlatCall& call, const ConvolutionCall& work) {
  const Convolution& c = work.c;
  const RowTask planes(c);
  const int64_t tasks = worthwhileTasks(call, depthwiseSteps(c));
  const LaneTask groups(c, tasks);
  const int64_t lanes = groups.lanes(), turned = groups.channelCount(), others = c.groups - turned;
  Scratch scratch(call, 0, tasks, ownElements(c, planes, groups));
  if (!scratch) return scratch.status();
  // Units of an image are (group of channels, chunk of rows), then (channel, slice, chunk).
  const int64_t groupChunks = partsOf(c.output[1], groups.rows()), planeChunks = planes.chunkCount(),
                groupUnits = groups.groupCount() * groupChunks;
  const UnequalUnits units{groupUnits, std::max<int64_t>(1, planesOfGroup(lanes) * planeChunks / groupChunks),
                           others * c.output[0] * planeChunks};
  EpilogueFault fault;
  const auto finish = [&](int64_t plane, int64_t count, int64_t first, int64_t positions) {
    fault.note(finishRows(work, plane, plane + count, first, first + positions, c.outputSize()));
  };
  const auto runGroup = [&](int64_t image, int64_t unit, float* own, LaneChunk& made) {
    const int64_t first = unit / groupChunks * lanes, begin = unit % groupChunks * groups.rows(),
                  end = std::min(begin + groups.rows(), c.output[1]), plane = image * c.groups + first,
                  count = std::min(lanes, turned - first);
    groups.run(work.x + plane * c.inputSize(), count, work.weights + first * c.taps(),
               work.bias ? work.bias + first : nullptr, begin, end, work.y + plane * c.outputSize(), own,
               made);
    finish(plane, count, begin * c.output[2], (end - begin) * c.output[2]);
  };
  const auto runPlane = [&](int64_t image, int64_t unit, Taps& taps, float* own) {
    const int64_t slice = unit / planeChunks % c.output[0], group = turned + unit / planeChunks / c.output[0],
                  plane = image * c.groups + group;
    const Chunk chunk = planes.chunk(unit % planeChunks);
    planes.run(work.x + plane * c.inputSize(),
               work.weights + group / lanes * lanes * c.taps() + group % lanes, lanes,
               work.bias ? work.bias[group] : 0.0f, slice, chunk, work.y + plane * c.outputSize(), taps, own);
    finish(plane, 1, (slice * c.output[1] + chunk.rowBegin) * c.output[2] + chunk.columnBegin,
           chunk.rows() == 1 ? chunk.columns() : chunk.rows() * c.output[2]);
  };
  const auto runUnit = [&](int64_t image, int64_t unit, Taps& taps, float* own, LaneChunk& made) {
    if (unit < groupUnits) return runGroup(image, unit, own, made);
    made = LaneChunk();  // planes take the same memory
    runPlane(image, unit - groupUnits, taps, own);
  };
  call.split(c.batch * units.total(), static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* own = scratch.next();
    LaneChunk made;
    Taps taps(c, lanes, own + ownElements(c, planes, groups) - Taps::elements(c, lanes));
    forEachWhole(begin, end, units.total(), [&](int64_t image, int64_t low, int64_t high) {
      for (int64_t unit = units.from(low); unit < units.from(high) && !call.cancelled(); ++unit)
        runUnit(image, unit, taps, own, made);
    });
  });
  return fault.status();
}

}  // namespace dyn::vm::kernels
