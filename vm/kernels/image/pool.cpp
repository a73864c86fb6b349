// pool: the largest element or the mean of each window. Rows of a window are combined first, whole and in
// vectors; then what lies side by side. Small images are turned, so that as many planes as a vector has lanes
// lie side by side (lane_frame.h).
#include <array>
#include <limits>
#include <type_traits>
#include <vector>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/conv/lane_frame.h"
#include "vm/kernels/image/pool_kernels.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

enum Mode : int64_t {
  kMaximum = DYN_POOL_LARGEST,
  kMean = DYN_POOL_MEAN,
  kMeanWithPads = DYN_POOL_MEAN_WITH_PADS
};

struct Pool {
  Convolution window;  // one channel and one filter; no weights
  std::array<int64_t, 3> padEnd{0, 0, 0};
  int64_t planes = 0;
  int64_t channels = 0;  // beside one another in x and y, which then are [n, spatial..., channels]; else 0
  Mode mode = kMaximum;

  // Of an output place, along one axis: the taps that lie inside the input, and how many count for the mean.
  Places taps(size_t axis, int64_t place) const {
    return placesInside(place * window.stride[axis] - window.pad[axis], window.dilation[axis],
                        window.input[axis])
        .within(0, window.kernel[axis]);
  }
  int64_t counted(size_t axis, int64_t place) const {
    if (mode == kMean) {
      const Places inside = taps(axis, place);
      return inside.high - inside.low;
    }
    const int64_t shift = place * window.stride[axis] - window.pad[axis];
    return placesInside(shift, window.dilation[axis], window.input[axis] + padEnd[axis])
        .within(0, window.kernel[axis])
        .high;
  }
};

using Call = calls::Pool;

Status describePool(const FlatCall& call, const TensorView* x, const TensorView* y, Pool& p) {
  const auto n = call.numbersOf<Call>();
  const auto s = call.scalarsOf<Call>(n);
  const int64_t rank = n.axes;
  if (rank < 1 || rank > 3 || !n.complete || !s.complete)
    return failure(DYN_BAD_PROGRAM, "pool: sizes, strides, dilations or pads are missing");
  const LaidNumber laid = LaidNumber::parted(n.kind);
  if (laid.number < kMaximum || laid.number > kMeanWithPads)
    return failure(DYN_BAD_PROGRAM, "pool: no such mode");
  if (laid.layout != ImageLayout::planes && laid.layout != ImageLayout::channelsLast)
    return failure(DYN_BAD_PROGRAM, "pool: no such layout");
  p.mode = static_cast<Mode>(laid.number);
  const bool channelsLast = laid.layout == ImageLayout::channelsLast;
  const auto wrong = [&] {
    return failure(DYN_BAD_INPUT, "shapes do not fit: " + describe(x) + " -> " + describe(y));
  };
  const int64_t channelAxis = channelsLast ? rank + 1 : 1, firstAxis = channelsLast ? 1 : 2;
  const bool ofBytes =
      channelsLast && p.mode == kMaximum && (x->dtype() == DataType::u8 || x->dtype() == DataType::i8);
  if ((x->dtype() != DataType::f32 && !ofBytes) || y->dtype() != x->dtype() || x->rank != rank + 2 ||
      y->rank != rank + 2 || x->shape()[0] != y->shape()[0] ||
      x->shape()[channelAxis] != y->shape()[channelAxis])
    return wrong();
  Convolution& w = p.window;
  w.rank = rank;
  w.channels = w.filters = 1;
  constexpr int64_t kFarthest = int64_t{1} << 30;
  for (int64_t i = 0; i < rank; ++i) {
    const auto to = static_cast<size_t>(3 - rank + i), at = static_cast<size_t>(i);
    w.kernel[to] = n.window[at];
    w.stride[to] = n.strides[at];
    w.dilation[to] = n.dilations[at];
    w.pad[to] = s.pads[at];
    p.padEnd[to] = s.padsBehind[at];
    w.input[to] = x->shape()[firstAxis + i];
    w.output[to] = y->shape()[firstAxis + i];
    for (int64_t least1 : {w.kernel[to], w.stride[to], w.dilation[to]})
      if (least1 < 1 || least1 > kFarthest)
        return failure(DYN_BAD_INPUT, "pool: size, stride or dilation out of range");
    for (int64_t pad : {w.pad[to], p.padEnd[to]})
      if (pad < -kFarthest || pad > kFarthest) return failure(DYN_BAD_INPUT, "pool: pad out of range");
    if (w.input[to] > kFarthest || w.output[to] > kFarthest)
      return failure(DYN_BAD_INPUT, "pool: size out of range");
  }
  p.planes = x->shape()[0] * x->shape()[channelAxis];
  if (channelsLast) p.channels = x->shape()[channelAxis];
  return okStatus();
}

// Longer rows of input fill vectors by themselves, and to turn them costs more than it saves.
constexpr int64_t kMostTurnedColumns = 64;

float neutralOf(Mode mode) { return mode == kMaximum ? -std::numeric_limits<float>::infinity() : 0.0f; }

// As many planes as a vector has lanes.
class LanePool {
 public:
  LanePool(const Pool& p, int64_t tasks)
      : p_(p),
        frame_(p.window, neutralOf(p.mode),
               mostRowsFor(p.window, p.planes / convolutionKernels().narrow, tasks)) {}

  int64_t lanes() const { return frame_.lanes(); }
  int64_t rows() const { return frame_.rows(); }
  int64_t chunkCount() const { return (p_.window.output[1] + rows() - 1) / rows(); }
  // Whole groups of planes that go this way, from the first on.
  int64_t groupCount() const {
    return frame_.suits() && p_.window.input[2] < kMostTurnedColumns ? p_.planes / lanes() : 0;
  }
  int64_t scratchElements() const {
    return lineEnd() + tableElements<int64_t>(frame_.down().count()) +
           tableElements<int64_t>(frame_.right().count());
  }

  // `made`: of `scratch`, whose frame it leaves to the next call.
  void run(const float* input, int64_t chunk, float* output, float* scratch, LaneChunk& made) const {
    const Convolution& w = p_.window;
    const int64_t begin = chunk * rows(), end = std::min(begin + rows(), w.output[1]);
    const LaneRows held = frame_.fill(input, lanes(), begin, end, scratch, made);
    float *tile = scratch + frame_.frameElements(), *line = tile + frame_.tileElements();
    const int64_t down = frame_.down().count(), right = frame_.right().count();
    Table<int64_t> below(scratch + lineEnd()), beside(scratch + lineEnd() + tableElements<int64_t>(down));
    for (int64_t h = 0; h < down; ++h) below.add(h * w.dilation[1] * held.pitch * lanes());
    for (int64_t k = 0; k < right; ++k) beside.add(k * w.dilation[2] * lanes());
    const auto combine = p_.mode == kMaximum ? poolKernels().maximaOfLanes : poolKernels().sumsOfLanes;
    for (int64_t row = 0; row < end - begin; ++row) {
      float* to = tile + row * w.output[2] * lanes();
      if (down == 0 || right == 0) {
        std::fill_n(to, w.output[2] * lanes(), neutralOf(p_.mode));
      } else {
        combine(down, held.at + row * w.stride[1] * held.pitch * lanes(), lanes(), below.data(),
                frame_.columns(), line);
        combine(right, line, w.stride[2] * lanes(), beside.data(), w.output[2], to);
      }
      if (p_.mode != kMaximum) divide(to, begin + row);
    }
    frame_.write(tile, lanes(), begin, end, scratch, output);
  }

 private:
  int64_t lineEnd() const {
    return wholeLines(frame_.frameElements() + frame_.tileElements() + frame_.columns() * lanes());
  }
  void divide(float* to, int64_t row) const {
    const auto count = static_cast<float>(p_.counted(0, 0) * p_.counted(1, row));
    const PoolMeansOfOneCountKernel means = poolKernels().meansOfOneCount;
    for (int64_t column = 0; column < p_.window.output[2]; ++column) {
      const float all = count * static_cast<float>(p_.counted(2, column));
      means(lanes(), all, to + column * lanes());
    }
  }

  const Pool& p_;
  const LaneFrame frame_;
};

// The rows of one plane. `line` is the combined rows as the windows see them: padded, and long enough for the
// last window.
class Plane {
 public:
  Plane(const Pool& p, float* line)
      : p_(p),
        line_(line),
        rows_(line + lineElements(p)),
        counts_(line + lineElements(p) + tableElements<const float*>(mostRows(p))) {
    const Convolution& w = p.window;
    const Places inside = Places{w.pad[2], w.pad[2] + w.input[2]}.within(0, lineLength(p));
    first_ = inside.low;
    count_ = inside.high - inside.low;
    std::fill_n(line, lineLength(p) + poolKernels().slack, neutral());
    for (int64_t place = 0; place < w.output[2] && p.mode != kMaximum; ++place)
      counts_.add(static_cast<float>(p.counted(2, place)));
  }

  // Elements that the windows of a row span.
  static int64_t lineLength(const Pool& p) {
    return std::max<int64_t>(0, p.window.output[2] - 1) * p.window.stride[2] + p.window.reach(2) + 1;
  }
  static int64_t scratchElements(const Pool& p) {
    return lineElements(p) + tableElements<const float*>(mostRows(p)) +
           (p.mode == kMaximum ? 0 : tableElements<float>(p.window.output[2]));
  }

  void run(const float* x, float* y, int64_t slice, int64_t row) {
    const Convolution& w = p_.window;
    const PoolKernels& kernels = poolKernels();
    const bool maximum = p_.mode == kMaximum;
    rows_.clear();
    const Places slices = p_.taps(0, slice), rows = p_.taps(1, row);
    for (int64_t d = slices.low; d < slices.high; ++d)
      for (int64_t h = rows.low; h < rows.high; ++h) {
        const int64_t from = slice * w.stride[0] + d * w.dilation[0] - w.pad[0],
                      at = row * w.stride[1] + h * w.dilation[1] - w.pad[1];
        rows_.add(x + (from * w.input[1] + at) * w.input[2] + (first_ - w.pad[2]));
      }
    if (rows_.size() == 0)
      std::fill_n(line_ + first_, count_, neutral());
    else if (count_ > 0)
      (maximum ? kernels.maximaOfRows : kernels.sumsOfRows)(rows_.size(), rows_.data(), count_,
                                                            line_ + first_);
    (maximum ? kernels.maximaOfColumns : kernels.sumsOfColumns)(w.kernel[2], w.stride[2], w.dilation[2],
                                                                line_, w.output[2], y);
    if (maximum) return;
    const auto count = static_cast<float>(p_.counted(0, slice) * p_.counted(1, row));
    kernels.means(w.output[2], counts_.data(), count, y);
  }

 private:
  float neutral() const { return neutralOf(p_.mode); }
  static int64_t lineElements(const Pool& p) { return wholeLines(lineLength(p) + poolKernels().slack); }
  // Each row of input meets one tap of a window at most.
  static int64_t mostRows(const Pool& p) {
    const Convolution& w = p.window;
    return std::min(w.kernel[0], w.input[0]) * std::min(w.kernel[1], w.input[1]);
  }

  const Pool& p_;
  float* line_;
  int64_t first_ = 0, count_ = 0;  // the part of the line that the input fills
  Table<const float*> rows_;
  Table<float> counts_;  // of the columns
};

// Bytes in vectors of sixteen; the last may overlap the one before it.
template <typename T>
void largestBytes(int64_t count, const T* const* rows, int64_t columns, T* out) {
  typedef T Sixteen __attribute__((vector_size(16), aligned(1), may_alias));
  constexpr int64_t kLanes = 16;
  const auto at = [](const T* p) { return *reinterpret_cast<const Sixteen*>(p); };
  for (int64_t j = 0; columns >= kLanes && j < columns; j += kLanes) {
    const int64_t from = std::min(j, columns - kLanes);
    Sixteen best = at(rows[0] + from);
    for (int64_t r = 1; r < count; ++r) {
      const Sixteen next = at(rows[r] + from);
      best = next > best ? next : best;
    }
    *reinterpret_cast<Sixteen*>(out + from) = best;
  }
  for (int64_t j = 0; columns < kLanes && j < columns; ++j) {
    out[j] = rows[0][j];
    for (int64_t r = 1; r < count; ++r) out[j] = std::max(out[j], rows[r][j]);
  }
}

// One row of places of an image with its channels last: each place combines what its window holds, channel by
// channel.
template <typename T>
class PlacesOfRow {
 public:
  PlacesOfRow(const Pool& p, float* memory) : p_(p), taps_(memory) {}
  static int64_t scratchElements(const Pool& p) {
    int64_t most = 1;  // each element of the input meets one tap of a window at most
    for (size_t i = 0; i < 3; ++i) most *= std::min(p.window.kernel[i], p.window.input[i]);
    return tableElements<const T*>(most);
  }

  // `row` counts the rows of all slices of all images.
  void run(const T* x, T* y, int64_t row) {
    const Convolution& w = p_.window;
    const int64_t oh = row % w.output[1], od = row / w.output[1] % w.output[0],
                  image = row / w.output[1] / w.output[0];
    const Places slices = p_.taps(0, od), rows = p_.taps(1, oh);
    T* to = y + row * w.output[2] * p_.channels;
    bool moves = false;  // does the next whole window have the same taps, a step further?
    for (int64_t ow = 0; ow < w.output[2]; ++ow, to += p_.channels) {
      const bool whole = at(2, ow, 0) >= 0 && at(2, ow, w.kernel[2] - 1) < w.input[2];
      if (whole && moves) {
        for (const T*& tap : taps_.values()) tap += w.stride[2] * p_.channels;
        finish(to, od, oh, ow);
        continue;
      }
      moves = whole;
      const Places columns = p_.taps(2, ow);
      taps_.clear();
      for (int64_t d = slices.low; d < slices.high; ++d)
        for (int64_t h = rows.low; h < rows.high; ++h)
          for (int64_t k = columns.low; k < columns.high; ++k)
            taps_.add(x + (((image * w.input[0] + at(0, od, d)) * w.input[1] + at(1, oh, h)) * w.input[2] +
                           at(2, ow, k)) *
                              p_.channels);
      finish(to, od, oh, ow);
    }
  }

 private:
  void finish(T* to, int64_t od, int64_t oh, int64_t ow) const {
    combine(to);
    if constexpr (std::is_same_v<T, float>) {
      if (p_.mode == kMaximum) return;
      const auto count = static_cast<float>(p_.counted(0, od) * p_.counted(1, oh) * p_.counted(2, ow));
      poolKernels().meansOfOneCount(p_.channels, count, to);
    }
  }
  void combine(T* to) const {
    if constexpr (std::is_same_v<T, float>) {
      const PoolKernels& kernels = poolKernels();
      if (taps_.size() == 0)
        std::fill_n(to, p_.channels, neutralOf(p_.mode));
      else
        (p_.mode == kMaximum ? kernels.maximaOfRows : kernels.sumsOfRows)(taps_.size(), taps_.data(),
                                                                          p_.channels, to);
    } else {
      if (taps_.size() == 0)
        std::fill_n(to, p_.channels, std::numeric_limits<T>::lowest());
      else
        largestBytes(taps_.size(), taps_.data(), p_.channels, to);
    }
  }
  int64_t at(size_t axis, int64_t place, int64_t tap) const {
    return place * p_.window.stride[axis] + tap * p_.window.dilation[axis] - p_.window.pad[axis];
  }

  const Pool& p_;
  Table<const T*> taps_;
};

// Channels last: row by row. Else first groups of planes, chunk by chunk, then the other planes, row by row.
struct Plan {
  int64_t rowsOfPlane, tasks;
  LanePool groups;
  int64_t chunks, groupUnits, turned, units, own;
  UnequalUnits shares;  // of the planes that are not last

  Plan(const FlatCall& call, const Pool& p)
      : rowsOfPlane(p.window.output[0] * p.window.output[1]),
        tasks(worthwhileTasks(call, steps(p))),
        groups(p, tasks),
        chunks(groups.chunkCount()),
        groupUnits(groups.groupCount() * chunks),
        turned(groups.groupCount() * groups.lanes()),
        units(groupUnits + (p.planes - turned) * rowsOfPlane),
        shares{groupUnits, std::max<int64_t>(1, planesOfGroup(groups.lanes()) * rowsOfPlane / chunks),
               units - groupUnits} {
    own = std::max(turned > 0 ? groups.scratchElements() : 0,
                   turned < p.planes ? Plane::scratchElements(p) : 0);
    if (p.channels == 0) return;
    units = p.planes / p.channels * rowsOfPlane;
    own = PlacesOfRow<float>::scratchElements(p);
  }
  static double steps(const Pool& p) {
    const Convolution& w = p.window;
    return static_cast<double>(p.planes * w.output[0] * w.output[1]) *
           static_cast<double>(w.kernel[0] * w.kernel[1] * w.input[2] + w.kernel[2] * w.output[2]);
  }
};

Status readCall(const FlatCall& call, Pool& p) {
  const TensorView* x = call.argument(Call::x);
  if (!x) return badArgument("pool", Call::x, "a tensor", x);
  return describePool(call, x, call.result(0), p);
}

}  // namespace

Status poolScratch(const FlatCall& call, int64_t& elements) {
  Pool p;
  if (Status status = readCall(call, p); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  const Plan plan(call, p);
  elements = scratchElements(0, plan.tasks, plan.own);
  return okStatus();
}

Status pool(FlatCall& call) {
  const TensorView* x = call.argument(Call::x);
  TensorView* y = call.result(0);
  Pool p;
  if (Status status = readCall(call, p); !status.ok()) return status;
  if (y->elements == 0) return okStatus();
  const Convolution& w = p.window;
  const Plan plan(call, p);
  const int64_t chunks = plan.chunks, groupUnits = plan.groupUnits, turned = plan.turned,
                rowsOfPlane = plan.rowsOfPlane;
  Scratch scratch(call, 0, plan.tasks, plan.own);
  if (!scratch) return scratch.status();
  const auto placeByPlace = [&]<typename T>(const T* in, T* out) {
    call.split(plan.units, plan.tasks, [&](int64_t begin, int64_t end) {
      PlacesOfRow<T> places(p, scratch.next());
      for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) places.run(in, out, unit);
    });
    return okStatus();
  };
  if (x->dtype() == DataType::u8) return placeByPlace(x->as<uint8_t>(), y->as<uint8_t>());
  if (x->dtype() == DataType::i8) return placeByPlace(x->as<int8_t>(), y->as<int8_t>());
  const float* from = x->as<float>();
  float* to = y->as<float>();
  if (p.channels > 0) return placeByPlace(from, to);
  call.split(plan.shares.total(), plan.tasks, [&](int64_t low, int64_t high) {
    const int64_t end = plan.shares.from(high);
    float* memory = scratch.next();
    int64_t unit = plan.shares.from(low);
    LaneChunk made;
    for (; unit < std::min(end, groupUnits) && !call.cancelled(); ++unit) {
      const int64_t plane = unit / chunks * plan.groups.lanes();
      plan.groups.run(from + plane * w.inputSize(), unit % chunks, to + plane * w.outputSize(), memory, made);
    }
    if (unit >= end || call.cancelled()) return;
    Plane plane(p, memory);
    const int64_t rest = unit - groupUnits;
    int64_t row = rest % w.output[1], slice = rest / w.output[1] % w.output[0];
    const float* image = from + (turned + rest / rowsOfPlane) * w.inputSize();
    float* line = to + (turned * rowsOfPlane + rest) * w.output[2];
    for (; unit < end && !call.cancelled(); ++unit, line += w.output[2]) {
      plane.run(image, line, slice, row);
      if (++row < w.output[1]) continue;
      row = 0;
      if (++slice < w.output[0]) continue;
      slice = 0;
      image += w.inputSize();
    }
  });
  return okStatus();
}

}  // namespace dyn::vm::kernels
