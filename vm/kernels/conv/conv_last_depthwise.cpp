// Depthwise convolutions of images that have their channels last, [n, rows, columns, channels]: channels fill
// the lanes of vectors.
//
// Nothing is turned. Images are read where they lie, where columns at the border see fewer taps than those
// between, or from a copy in a frame of padding. Windows of a few columns have kernels that read each place
// once for all windows that see it; others are summed tap by tap. Sums begin with the bias.
#include <optional>

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/conv/lane_frame.h"
#include "vm/kernels/fetch_ahead.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kHalfPage = 512;             // elements; places further apart are on a page each, or nearly
constexpr int64_t kWrittenElements = 1 << 15;  // of the output in a chunk, about: they stay in the L2 cache

// A chunk of output rows of some channels: as many together as fill lines, then vectors.
class RowsTask {
 public:
  explicit RowsTask(const ConvolutionCall& convolution)
      : work_(convolution),
        c(convolution.c),
        narrow_(convolutionKernels().narrow),
        window_(c.dilation[2] == 1 ? convolutionKernels().window(c.kernel[2], c.stride[2]) : nullptr),
        runs_(columnRuns(c)),
        lines_(c, 0.0f, mostRows(), kLineLanes),
        vectors_(c, 0.0f, lines_.rows(), narrow_) {}

  int64_t rowChunks() const { return partsOf(c.output[1], lines_.rows()); }
  int64_t channelChunks() const { return partsOf(c.groups, kChannelsTogether); }
  int64_t units() const { return c.batch * rowChunks() * channelChunks(); }
  int64_t scratchElements() const { return shiftedAt() + wholeLines(c.taps() * narrow_); }

  int32_t run(int64_t unit, float* scratch) const {
    const int64_t chunk = unit / channelChunks() % rowChunks(), image = unit / channelChunks() / rowChunks();
    const int64_t begin = chunk * lines_.rows(), end = std::min(begin + lines_.rows(), c.output[1]);
    const int64_t first = unit % channelChunks() * kChannelsTogether,
                  last = std::min(first + kChannelsTogether, c.groups);
    for (int64_t channel = first; channel < last;) {
      const bool line = channel + kLineLanes <= last;
      const int64_t lanes = line ? kLineLanes : narrow_;
      int64_t count = std::min(lanes, last - channel);
      const float* weights =
          work_.weights + channel * c.taps();  // [taps, vector] for each vector of channels
      // Channels that do not fill a vector are computed with some of those before them, once more.
      if (count < lanes && first + lanes <= last) {
        channel = last - lanes;
        count = lanes;
        weights = shiftedWeights(channel, scratch);
      }
      const LaneKernel kernel = line ? convolutionKernels().line : convolutionKernels().lanes;
      if (count == lanes && runs_.count > 0)
        sumInPlace(lanes, kernel, image, channel, weights, begin, end, scratch);
      else
        sum(line ? lines_ : vectors_, kernel, image, channel, count, weights, begin, end, scratch);
      channel += count;
    }
    if (!work_.epilogue || work_.epilogue.closed()) return DYN_KERNEL_OK;
    const int64_t row = (image * c.output[1] + begin) * c.output[2];
    return work_.epilogue.run(row, row + (end - begin) * c.output[2], first, last);
  }

 private:
  static constexpr int64_t kChannelsTogether = 4 * kLineLanes;  // whose results the epilogue sees together
  static constexpr size_t kMostRuns = 16;
  static constexpr int64_t kLongRow = 28;

  // Of a chunk. Those of few channels take less: tasks have the same rows, with all their channels.
  int64_t mostRows() const {
    return sharedPart(c.output[1], std::max<int64_t>(1, kWrittenElements / (c.output[2] * kChannelsTogether)),
                      worthwhileTasks(work_.call, depthwiseSteps(c)));
  }

  // Columns of the output, side by side, that see the same taps.
  struct ColumnRun {
    int64_t first = 0, count = 0;
    Places taps;
  };
  static Places tapsInside(const Convolution& c, size_t axis, int64_t at) {
    return placesInside(at * c.stride[axis] - c.pad[axis], c.dilation[axis], c.input[axis])
        .within(0, c.kernel[axis]);
  }
  struct ColumnRuns {
    std::array<ColumnRun, kMostRuns> of;
    size_t count = 0;
  };
  // The runs of a row. None: a copy pays. Many taps read it, from one line of the cache after the other;
  // where windows step over places, or rows are long, the copy costs more than that saves. Or the runs are
  // too many.
  static ColumnRuns columnRuns(const Convolution& c) {
    ColumnRuns runs;
    if (c.stride[2] == 1 && c.output[2] < kLongRow) return runs;
    const Places inside = Places{placesInside(-c.pad[2], c.stride[2], c.input[2]).low,
                                 placesInside(c.reach(2) - c.pad[2], c.stride[2], c.input[2]).high}
                              .within(0, c.output[2]);
    for (int64_t column = 0; column < c.output[2];) {
      if (runs.count == kMostRuns) return ColumnRuns{};
      const int64_t next = column == inside.low && inside.high > column ? inside.high : column + 1;
      runs.of[runs.count++] = {column, next - column, tapsInside(c, 2, column)};
      column = next;
    }
    return runs;
  }
  // Do windows of these taps, side by side, have a kernel of their own?
  bool isWindow(const Places& taps, int64_t positions) const {
    return window_ && taps.high - taps.low == c.kernel[2] &&
           positions >= convolutionKernels().fewestPositions;
  }
  // `lanes` channels of one output row from the row `from` of the input on, `row` elements from row to row,
  // `place` from place to place; of the taps the rows [low, high). `end` follows the sums, if it is not
  // null.
  void sumWindows(int64_t lanes, const Places& down, const float* from, int64_t row, int64_t place,
                  const float* weights, const float* start, float* to, int64_t strideTo, int64_t positions,
                  const TileEnd* end) const {
    for (int64_t lane = 0; lane < lanes; lane += narrow_) {
      const TileEnd own = end ? end->from(lane) : TileEnd();
      window_(down.high - down.low, from + lane, row, place,
              weights + lane * c.taps() + down.low * c.kernel[2] * narrow_, start ? start + lane : nullptr,
              to + lane, strideTo, positions, end ? &own : nullptr);
    }
  }

  // What follows the sums of the channels from `channel` on, if that is closed.
  std::optional<TileEnd> endOf(int64_t channel) const {
    const TileEnd* end = work_.epilogue.closed();
    return end ? std::optional(end->from(channel)) : std::nullopt;
  }
  // Where the kernel of the sums has left that out: of `count` channels at some positions.
  void finish(const std::optional<TileEnd>& end, int64_t count, float* to, int64_t positions) const {
    if (end) convolutionKernels().finish(positions, count, to, c.groups, *end);
  }

  int64_t weightElements() const { return tableElements<float>(c.taps() * kLineLanes); }
  int64_t tapsAt() const { return startAt() + wholeLines((c.output[2] + 1) * kLineLanes); }
  int64_t startAt() const { return wholeLines(std::max(lines_.lastElements(), vectors_.lastElements())); }

  int64_t shiftedAt() const { return tapsAt() + weightElements() + tableElements<int64_t>(c.taps()); }
  // [taps, vector]: of a vector's channels from `channel` on, which no vector begins with.
  const float* shiftedWeights(int64_t channel, float* scratch) const {
    float* shifted = scratch + shiftedAt();
    for (int64_t i = 0; i < narrow_; ++i) {
      const float* own =
          work_.weights + (channel + i) / narrow_ * narrow_ * c.taps() + (channel + i) % narrow_;
      for (int64_t tap = 0; tap < c.taps(); ++tap) shifted[tap * narrow_ + i] = own[tap * narrow_];
    }
    return shifted;
  }

  // What the kernels that sum tap by tap read: of each tap its weights, and how far its place is from the
  // first.
  struct TapTables {
    Table<float> factors;
    Table<int64_t> offsets;
  };
  // Of rows and columns of taps, `row` elements of the input from row to row, `place` from column to
  // column.
  TapTables tapTables(const float* weights, const Places& down, const Places& right, int64_t row,
                      int64_t place, int64_t lanes, float* scratch) const {
    TapTables tables{Table<float>(scratch + tapsAt()), Table<int64_t>(scratch + tapsAt() + weightElements())};
    for (int64_t h = down.low; h < down.high; ++h)
      for (int64_t w = right.low; w < right.high; ++w) {
        tables.offsets.add((h - down.low) * row + (w - right.low) * place);
        const float* own = weights + (h * c.kernel[2] + w) * narrow_;
        for (int64_t lane = 0; lane < lanes; lane += narrow_, own += narrow_ * c.taps())
          for (int64_t i = 0; i < narrow_; ++i) tables.factors.add(own[i]);
      }
    return tables;
  }

  void sum(const LaneFrame& frame, LaneKernel kernel, int64_t image, int64_t channel, int64_t count,
           const float* weights, int64_t begin, int64_t end, float* scratch) const {
    const int64_t lanes = frame.lanes();
    const LaneRows held = frame.fillLast(work_.x + image * c.inputSize() * c.groups + channel, c.groups,
                                         count, begin, end, scratch);
    float *start = scratch + startAt(), *written = start + lanes;
    std::fill_n(start, lanes, 0.0f);
    if (work_.bias) std::copy_n(work_.bias + channel, count, start);
    const Places &down = frame.down().taps, &right = frame.right().taps;
    const int64_t line = held.pitch * held.step, row = c.dilation[1] * line;
    const bool ofWindows = isWindow(right, c.output[2]);
    const TapTables taps =
        ofWindows ? TapTables()
                  : tapTables(weights, down, right, row, c.dilation[2] * held.step, lanes, scratch);
    const bool whole = count == lanes;
    const std::optional<TileEnd> last = endOf(channel);
    const TileEnd* inside = ofWindows && whole && last ? &*last : nullptr;
    float* to = work_.y + (image * c.output[1] + begin) * c.output[2] * c.groups + channel;
    for (int64_t i = 0; i < end - begin; ++i, to += c.output[2] * c.groups) {
      const float* from = held.at + i * c.stride[1] * line;
      if (c.groups > kHalfPage) fetchPlaces(to + lanes, c.groups, c.output[2]);
      if (ofWindows)
        sumWindows(lanes, down, from, row, held.step, weights, start, whole ? to : written,
                   whole ? c.groups : lanes, c.output[2], inside);
      else
        kernel(taps.offsets.size(), from, c.stride[2] * held.step, taps.offsets.data(), taps.factors.data(),
               start, whole ? to : written, whole ? c.groups : lanes, c.output[2]);
      for (int64_t column = 0; !whole && column < c.output[2]; ++column)
        std::copy_n(written + column * lanes, count, to + column * c.groups);
      if (!inside) finish(last, count, to, c.output[2]);
    }
  }

  // Channels that fill vectors.
  void sumInPlace(int64_t lanes, LaneKernel kernel, int64_t image, int64_t channel, const float* weights,
                  int64_t begin, int64_t end, float* scratch) const {
    const float* x = work_.x + image * c.inputSize() * c.groups + channel;
    const float* bias = work_.bias ? work_.bias + channel : nullptr;
    const int64_t line = c.dilation[1] * c.input[2] * c.groups;
    const std::optional<TileEnd> last = endOf(channel);
    const bool far = c.outputSize() * c.groups > kFarElements;
    // Rows that see all rows of taps.
    const Places whole = Places{placesInside(-c.pad[1], c.stride[1], c.input[1]).low,
                                placesInside(c.reach(1) - c.pad[1], c.stride[1], c.input[1]).high}
                             .within(begin, end);
    for (size_t i = 0; i < runs_.count; ++i) {
      const ColumnRun& run = runs_.of[i];
      const int64_t across = run.taps.high - run.taps.low;
      const bool ofWindows = isWindow(run.taps, run.count);
      const TapTables tables = ofWindows ? TapTables()
                                         : tapTables(weights, {0, c.kernel[1]}, run.taps, line,
                                                     c.dilation[2] * c.groups, lanes, scratch);
      const int64_t column = run.first * c.stride[2] - c.pad[2] + run.taps.low * c.dilation[2];
      const auto toOf = [&](int64_t row) {
        return work_.y + ((image * c.output[1] + row) * c.output[2] + run.first) * c.groups + channel;
      };
      for (int64_t row = begin; row < end; ++row) {
        const Places taps = tapsInside(c, 1, row);
        const int64_t first = row * c.stride[1] - c.pad[1] + taps.low * c.dilation[1];
        const int64_t depth = (taps.high - taps.low) * across;
        const float* from = depth > 0 ? x + (first * c.input[2] + column) * c.groups : x;
        float* to = toOf(row);
        if (far && ofWindows && row + 1 < c.output[1]) fetchPlaces(toOf(row + 1), c.groups, run.count);
        if (run.count == 1 && whole.low <= row && row < whole.high) {
          // All rows between the borders at once.
          kernel(depth, from, c.stride[1] * c.input[2] * c.groups, tables.offsets.data(),
                 tables.factors.data(), bias, to, c.output[2] * c.groups, whole.high - row);
          if (last) convolutionKernels().finish(whole.high - row, lanes, to, c.output[2] * c.groups, *last);
          row = whole.high - 1;
          continue;
        }
        if (ofWindows)
          sumWindows(lanes, taps, from, line, c.groups, weights, bias, to, c.groups, run.count,
                     last ? &*last : nullptr);
        else
          kernel(depth, from, c.stride[2] * c.groups, tables.offsets.data(),
                 tables.factors.data() + taps.low * across * lanes, bias, to, c.groups, run.count);
        if (!ofWindows) finish(last, lanes, to, run.count);
      }
    }
  }

  const ConvolutionCall& work_;
  const Convolution& c;
  const int64_t narrow_;
  const WindowKernel window_;  // or null
  const ColumnRuns runs_;
  const LaneFrame lines_, vectors_;
};

}  // namespace

int64_t convRowsLastScratch(const ConvolutionCall& work) {
  return scratchElements(0, worthwhileTasks(work.call, depthwiseSteps(work.c)),
                         RowsTask(work).scratchElements());
}

Status convRowsLast(FlatCall& call, const ConvolutionCall& work) {
  const RowsTask task(work);
  const int64_t tasks = worthwhileTasks(call, depthwiseSteps(work.c));
  Scratch scratch(call, 0, tasks, task.scratchElements());
  if (!scratch) return scratch.status();
  EpilogueFault fault;
  call.split(task.units(), static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float* own = scratch.next();
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) fault.note(task.run(unit, own));
  });
  return fault.status();
}

}  // namespace dyn::vm::kernels
