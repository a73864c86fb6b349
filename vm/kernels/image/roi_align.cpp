// roi_align. A mean over samples between pixels is a sum over rows of sums over columns: the weights of the
// pixels of each axis are found once for a region, and each channel takes two short passes with them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

// A sample along one axis: between two neighbours; both weights 0 outside.
struct Neighbours {
  int64_t low = 0, high = 0;
  double lowWeight = 0, highWeight = 0;
};

Neighbours neighboursOf(double at, int64_t size) {
  if (!(at >= -1 && at <= static_cast<double>(size))) return {};
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= size - 1) return {size - 1, size - 1, 1, 0};
  const double part = at - static_cast<double>(low);
  return {low, low + 1, 1 - part, part};
}

// The samples of all cells of a region along one axis; in a table, where that has room for them.
class RegionAxis {
 public:
  int64_t perCell = 0;

  RegionAxis(Neighbours* table, int64_t room) : table_(table), room_(room) {}

  bool make(double begin, double end, int64_t cells, int64_t size, int64_t samplesWanted, bool halfPixel) {
    constexpr int64_t kMostSamples = 1 << 20;  // beyond it a region is no region of this operand
    const double length = halfPixel ? end - begin : std::max(end - begin, 1.0),
                 cell = length / static_cast<double>(cells);
    if (!std::isfinite(cell) || std::ceil(cell) > static_cast<double>(kMostSamples)) return false;
    // It may end before it begins, and far before.
    perCell = samplesWanted > 0 ? samplesWanted : static_cast<int64_t>(std::max(0.0, std::ceil(cell)));
    if (perCell > kMostSamples / std::max<int64_t>(cells, 1)) return false;
    begin_ = begin, cell_ = cell, size_ = size;
    inTable_ = perCell * cells <= room_;
    if (!inTable_) return true;
    for (int64_t i = 0; i < cells; ++i)
      for (int64_t k = 0; k < perCell; ++k) table_[i * perCell + k] = sampled(i, k);
    return true;
  }

  bool inTable() const { return inTable_; }
  // The samples of cell `i`, where they are in the table.
  const Neighbours* cell(int64_t i) const { return table_ + i * perCell; }
  // Of sample `k` of cell `i`, made anew.
  Neighbours sampled(int64_t i, int64_t k) const {
    const double part = (static_cast<double>(k) + 0.5) * cell_ / static_cast<double>(perCell);
    return neighboursOf(begin_ + static_cast<double>(i) * cell_ + part, size_);
  }

 private:
  Neighbours* table_;
  int64_t room_, size_ = 0;
  double begin_ = 0, cell_ = 0;
  bool inTable_ = true;
};

// How many samples along an axis of so many cells have room in scratch memory: how many there are follows
// from regions, most of which have few in each cell.
int64_t sampleRoom(int64_t cells) {
  constexpr int64_t kPerCell = 8, kMost = int64_t{1} << 20;
  return cells > kMost / kPerCell ? kMost : cells * kPerCell;
}

// A pixel of an axis and what the samples of a cell give to it.
struct PixelWeight {
  int64_t at;
  double weight;
};

// The pixels of all cells of a region along one axis.
struct AxisWeights {
  PixelWeight* pixels = nullptr;
  int64_t* ends = nullptr;  // of each cell, in `pixels`
  int64_t first = 0, last = -1, count = 0;

  void make(const RegionAxis& axis, int64_t cells) {
    count = 0, first = INT64_MAX, last = -1;
    for (int64_t i = 0; i < cells; ++i) {
      const int64_t begin = count;
      for (int64_t k = 0; k < axis.perCell; ++k) {
        const Neighbours n = axis.cell(i)[k];
        if (n.lowWeight == 0 && n.highWeight == 0) continue;  // outside
        add(begin, n.low, n.lowWeight);
        add(begin, n.high, n.highWeight);
      }
      ends[i] = count;
    }
  }
  std::span<const PixelWeight> cell(int64_t i) const {
    const int64_t begin = i == 0 ? 0 : ends[i - 1];
    return {pixels + begin, static_cast<size_t>(ends[i] - begin)};
  }

 private:
  // Samples ascend: a pixel that is there already is one of the last two.
  void add(int64_t begin, int64_t at, double weight) {
    first = std::min(first, at), last = std::max(last, at);
    for (int64_t i = count; i-- > std::max(begin, count - 2);)
      if (pixels[i].at == at) {
        pixels[i].weight += weight;
        return;
      }
    pixels[count++] = {at, weight};
  }
};

// A pixel that a sample reads, and its weight.
template <typename T>
struct Tap {
  int32_t at;
  T weight;
};

constexpr int64_t kTapsOfSample = 4;

// How many pixels the samples of a region have room for: what most regions take, and little enough to stay in
// the cache while every channel is read with them.
int64_t tapRoom(int64_t cells) {
  constexpr int64_t kSamples = 4, kMost = 1 << 12;
  return std::min(cells > kMost ? kMost : cells * kSamples * kTapsOfSample, kMost);
}

// The tables of a task in its scratch memory.
struct Tables {
  int64_t cellRows, cellColumns, width;
  Neighbours *rowSamples, *columnSamples;
  Tap<double>* taps;  // or of floats: of each cell those of all its samples
  AxisWeights rows, columns;
  void* line;  // of one row of cells: what its pixels' columns sum up to

  Tables(const FlatCall& call, float* memory) {
    const TensorView *x = call.argument(calls::RoiAlign::x), *y = call.result(0);
    cellRows = y->shape()[2], cellColumns = y->shape()[3], width = x->shape()[3];
    memory_ = memory;
    rowSamples = take<Neighbours>(sampleRoom(cellRows));
    columnSamples = take<Neighbours>(sampleRoom(cellColumns));
    rows.pixels = take<PixelWeight>(2 * sampleRoom(cellRows));
    columns.pixels = take<PixelWeight>(2 * sampleRoom(cellColumns));
    rows.ends = take<int64_t>(cellRows);
    columns.ends = take<int64_t>(cellColumns);
    line = take<double>(std::max(width, 2 * sampleRoom(cellColumns)));
    taps = take<Tap<double>>(tapRoom(cellRows * cellColumns));
  }
  int64_t elements() const { return taken_; }

 private:
  template <typename T>
  T* take(int64_t count) {
    T* taken = memory_ ? reinterpret_cast<T*>(memory_ + taken_) : nullptr;
    taken_ += tableElements<T>(count);
    return taken;
  }
  float* memory_;
  int64_t taken_ = 0;
};

int64_t tasksOf(const FlatCall& call) {
  return worthwhileTasks(call, 16.0 * static_cast<double>(call.result(0)->elements));
}

// The largest of what the pixels around each sample give, or the mean of the samples.
template <bool kInTables, bool kLargest, typename T>
T cellBySamples(const T* plane, int64_t width, const RegionAxis& rows, const RegionAxis& columns,
                int64_t cellRow, int64_t cellColumn) {
  const Neighbours *down = kInTables ? rows.cell(cellRow) : nullptr,
                   *across = kInTables ? columns.cell(cellColumn) : nullptr;
  if (rows.perCell == 0 || columns.perCell == 0) return T(0);
  T sum = 0, largest = std::numeric_limits<T>::lowest();
  for (int64_t i = 0; i < rows.perCell; ++i) {
    const Neighbours v = kInTables ? down[i] : rows.sampled(cellRow, i);
    const T *low = plane + v.low * width, *high = plane + v.high * width;
    const T lowWeight = static_cast<T>(v.lowWeight), highWeight = static_cast<T>(v.highWeight);
    for (int64_t k = 0; k < columns.perCell; ++k) {
      const Neighbours h = kInTables ? across[k] : columns.sampled(cellColumn, k);
      const T left = static_cast<T>(h.lowWeight), right = static_cast<T>(h.highWeight),
              parts[] = {lowWeight * left * low[h.low], lowWeight * right * low[h.high],
                         highWeight * left * high[h.low], highWeight * right * high[h.high]};
      if constexpr (kLargest)
        largest = std::max(largest, std::max(std::max(parts[0], parts[1]), std::max(parts[2], parts[3])));
      else
        sum += (parts[0] + parts[1]) + (parts[2] + parts[3]);
    }
  }
  return kLargest ? largest : sum / static_cast<T>(rows.perCell * columns.perCell);
}

// One channel of a region: the means of all its cells.
template <typename T>
void meansOf(const Tables& tables, const T* plane, T samples, T* to) {
  constexpr int64_t kSparse = 4;  // columns read for one that is asked for, above which they are picked
  const AxisWeights &rows = tables.rows, &columns = tables.columns;
  const int64_t span = columns.last - columns.first + 1;
  const bool picks = span > kSparse * columns.count;
  T* __restrict line = static_cast<T*>(tables.line);
  for (int64_t i = 0; i < tables.cellRows; ++i, to += tables.cellColumns) {
    const int64_t length = picks ? columns.count : std::max<int64_t>(span, 0);
    std::fill_n(line, length, T(0));
    for (const PixelWeight& row : rows.cell(i)) {
      const T* __restrict from = plane + row.at * tables.width;
      const T weight = static_cast<T>(row.weight);
      if (picks)
        for (int64_t k = 0; k < length; ++k) line[k] += weight * from[columns.pixels[k].at];
      else
        for (int64_t k = 0; k < length; ++k) line[k] += weight * from[columns.first + k];
    }
    int64_t k = 0;
    for (int64_t j = 0; j < tables.cellColumns; ++j) {
      T sum = 0;
      for (; k < columns.ends[j]; ++k) {
        const PixelWeight& column = columns.pixels[k];
        sum += static_cast<T>(column.weight) * line[picks ? k : column.at - columns.first];
      }
      to[j] = sum / samples;
    }
  }
}

// The pixels of all samples, cell by cell: each channel of the region reads the same.
template <typename T>
void makeSampleTaps(const RegionAxis& rows, const RegionAxis& columns, int64_t cellRows, int64_t cellColumns,
                    int64_t width, Tap<T>* to) {
  for (int64_t cellRow = 0; cellRow < cellRows; ++cellRow)
    for (int64_t cellColumn = 0; cellColumn < cellColumns; ++cellColumn)
      for (int64_t i = 0; i < rows.perCell; ++i) {
        const Neighbours v = rows.cell(cellRow)[i];
        const T above = static_cast<T>(v.lowWeight), below = static_cast<T>(v.highWeight);
        for (int64_t k = 0; k < columns.perCell; ++k) {
          const Neighbours h = columns.cell(cellColumn)[k];
          const T left = static_cast<T>(h.lowWeight), right = static_cast<T>(h.highWeight);
          *to++ = {static_cast<int32_t>(v.low * width + h.low), above * left};
          *to++ = {static_cast<int32_t>(v.low * width + h.high), above * right};
          *to++ = {static_cast<int32_t>(v.high * width + h.low), below * left};
          *to++ = {static_cast<int32_t>(v.high * width + h.high), below * right};
        }
      }
}

// One channel of a region: of each cell the largest of what its `count` taps give.
template <typename T>
void largestOfTaps(const Tap<T>* taps, int64_t count, int64_t cells, const T* plane, T* to) {
  for (int64_t cell = 0; cell < cells; ++cell, taps += count) {
    T largest[kTapsOfSample];
    std::fill_n(largest, kTapsOfSample, std::numeric_limits<T>::lowest());
    for (int64_t i = 0; i < count; i += kTapsOfSample)
      for (int64_t k = 0; k < kTapsOfSample; ++k)
        largest[k] = std::max(largest[k], taps[i + k].weight * plane[taps[i + k].at]);
    to[cell] = std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
  }
}

template <typename T>
class Aligner {
 public:
  Aligner(FlatCall& call, const TensorView* x, const TensorView* regions, const int64_t* batches)
      : call_(call),
        x_(x),
        regions_(regions->as<T>()),
        batches_(batches),
        in_(x->shape()),
        out_(call.result(0)->shape()),
        isMax_(call.numbersOf<calls::RoiAlign>().largest),
        halfPixel_(call.numbersOf<calls::RoiAlign>().halfPixel),
        samples_(call.numbersOf<calls::RoiAlign>().samples),
        scale_(static_cast<double>(call.numbersOf<calls::RoiAlign>().scale)) {}

  Status run() {
    const int64_t tasks = tasksOf(call_);
    Scratch scratch(call_, 0, tasks, Tables(call_, nullptr).elements());
    if (!scratch) return scratch.status();
    // What is wrong is found before the tasks begin.
    for (int64_t region = 0; region < out_[0]; ++region) {
      if (batches_[region] < 0 || batches_[region] >= in_[0])
        return failure(DYN_OUT_OF_RANGE, "region " + std::to_string(region) + " is of batch " +
                                             std::to_string(batches_[region]) + ", there are " +
                                             std::to_string(in_[0]));
      RegionAxis rows(nullptr, 0), columns(nullptr, 0);
      if (!makeAxes(region, rows, columns))
        return failure(DYN_BAD_INPUT, "region " + std::to_string(region) + " has no usable size");
    }
    call_.split(out_[0], static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
      Tables own(call_, scratch.next());
      for (int64_t region = begin; region < end && !call_.cancelled(); ++region) align(region, own);
    });
    return okStatus();
  }

 private:
  bool makeAxes(int64_t region, RegionAxis& rows, RegionAxis& columns) const {
    const double shift = halfPixel_ ? 0.5 : 0;
    const auto edge = [&](int64_t k) {
      return static_cast<double>(regions_[region * 4 + k]) * scale_ - shift;
    };
    return rows.make(edge(1), edge(3), out_[2], in_[2], samples_, halfPixel_) &&
           columns.make(edge(0), edge(2), out_[3], in_[3], samples_, halfPixel_);
  }

  void align(int64_t region, Tables& tables) const {
    const int64_t cells = out_[2] * out_[3], plane = in_[2] * in_[3];
    T* to = call_.result(0)->as<T>() + region * out_[1] * cells;
    if (plane == 0) {
      std::fill_n(to, out_[1] * cells, T(0));
      return;
    }
    RegionAxis rows(tables.rowSamples, sampleRoom(out_[2])),
        columns(tables.columnSamples, sampleRoom(out_[3]));
    makeAxes(region, rows, columns);
    const bool inTables = rows.inTable() && columns.inTable();
    if (inTables && !isMax_) {
      tables.rows.make(rows, out_[2]);
      tables.columns.make(columns, out_[3]);
    }
    const auto samples = static_cast<T>(std::max<int64_t>(rows.perCell * columns.perCell, 1));
    const auto cellAt = !inTables ? (isMax_ ? cellBySamples<false, true, T> : cellBySamples<false, false, T>)
                                  : cellBySamples<true, true, T>;
    const T* from = x_->as<T>() + batches_[region] * out_[1] * plane;
    const int64_t ofCell = rows.perCell * columns.perCell * kTapsOfSample;
    if (isMax_ && inTables && ofCell > 0 && ofCell * cells <= tapRoom(cells) && plane <= INT32_MAX) {
      auto* taps = reinterpret_cast<Tap<T>*>(tables.taps);
      makeSampleTaps(rows, columns, out_[2], out_[3], in_[3], taps);
      for (int64_t channel = 0; channel < out_[1]; ++channel, from += plane, to += cells)
        largestOfTaps(taps, ofCell, cells, from, to);
      return;
    }
    for (int64_t channel = 0; channel < out_[1]; ++channel, from += plane, to += cells) {
      if (inTables && !isMax_) {
        meansOf(tables, from, samples, to);
        continue;
      }
      for (int64_t cell = 0; cell < cells; ++cell)
        to[cell] = cellAt(from, in_[3], rows, columns, cell / out_[3], cell % out_[3]);
    }
  }

  FlatCall& call_;
  const TensorView* x_;
  const T* regions_;
  const int64_t* batches_;
  const int64_t *in_, *out_;
  const bool isMax_, halfPixel_;
  const int64_t samples_;
  const double scale_;
};

}  // namespace

Status roiAlignScratch(const FlatCall& call, int64_t& elements) {
  const TensorView* y = call.result(0);
  const TensorView* x = call.argument(calls::RoiAlign::x);
  if (y->rank == 4 && x && x->rank == 4)  // else for the call to say
    elements = scratchElements(0, tasksOf(call), Tables(call, nullptr).elements());
  return okStatus();
}

Status roiAlign(FlatCall& call) {
  using Call = calls::RoiAlign;
  const TensorView *x = call.argument(Call::x), *regions = call.argument(Call::regions),
                   *batches = call.argument(Call::batches);
  if (!x || x->rank != 4 || (x->dtype() != DataType::f32 && x->dtype() != DataType::f64))
    return badArgument("roi_align", Call::x, "f32 or f64 of rank 4", x);
  if (!regions || regions->rank != 2 || regions->shape()[1] != 4 || regions->dtype() != x->dtype())
    return badArgument("roi_align", Call::regions, "[regions, 4] of the operand's dtype", regions);
  if (!batches || batches->rank != 1 || batches->dtype() != DataType::i64 ||
      batches->elements != regions->shape()[0])
    return badArgument("roi_align", Call::batches, "one i64 per region", batches);
  // The numbers of cells are those of the result.
  const auto* given = call.result(0);
  if (given->rank != 4)
    return failure(DYN_BAD_INPUT, "roi_align makes a result of rank 4, not " + describe(given));
  const int64_t shape[] = {regions->shape()[0], x->shape()[1], given->shape()[2], given->shape()[3]};
  if (Status status = call.checkResult(0, x->dtype(), shape); !status.ok()) return status;
  return x->dtype() == DataType::f32 ? Aligner<float>(call, x, regions, batches->as<int64_t>()).run()
                                     : Aligner<double>(call, x, regions, batches->as<int64_t>()).run();
}

}  // namespace dyn::vm::kernels
