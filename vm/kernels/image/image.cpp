// col2im, roi_align.
#include <algorithm>
#include <cmath>
#include <span>

#include "vm/base/checked.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

// One spatial axis: element `tap` of the window at place `o` lies at o * stride - pad + tap * dilation of the
// image.
struct WindowAxis {
  int64_t image = 0, window = 0, places = 0, stride = 1, dilation = 1, pad = 0;
};

// The first place whose element `tap` is inside of the image, and the one behind the last.
std::pair<int64_t, int64_t> insidePlaces(const WindowAxis& axis, int64_t tap) {
  const int64_t shift = tap * axis.dilation - axis.pad;
  const int64_t first = shift >= 0 ? 0 : (-shift + axis.stride - 1) / axis.stride;
  const int64_t room = axis.image - 1 - shift;
  const int64_t end = room < 0 ? 0 : std::min(axis.places, room / axis.stride + 1);
  return {std::min(first, end), end};
}

// Where the elements of a channel are added up: rows of the image, or with a step along them rows of as many
// phases, each of which holds every step-th element, so that what one element of the window gives to a row
// always lies side by side.
struct ImageRows {
  int64_t step = 1, columns = 0, phaseColumns = 0;

  explicit ImageRows(const WindowAxis& axis)
      : step(axis.stride), columns(axis.image), phaseColumns((axis.image + axis.stride - 1) / axis.stride) {}
  int64_t length() const { return std::min(step, columns) * phaseColumns; }
  int64_t placeOf(int64_t column) const { return column % step * phaseColumns + column / step; }

  template <typename T>
  void write(const T* from, int64_t rows, T* image) const {
    for (int64_t row = 0; row < rows; ++row, from += length(), image += columns) {
      if (step == 2) {
        const T* odd = from + phaseColumns;
        for (int64_t i = 0; i < columns / 2; ++i) {
          image[2 * i] = from[i];
          image[2 * i + 1] = odd[i];
        }
        if (columns % 2 != 0) image[columns - 1] = from[columns / 2];
        continue;
      }
      for (int64_t phase = 0; phase < std::min(step, columns); ++phase)
        for (int64_t i = 0; phase + i * step < columns; ++i)
          image[phase + i * step] = from[phase * phaseColumns + i];
    }
  }
};

// Where a walk over the elements of a window and their places is, on one axis.
struct Walk {
  int64_t tap = 0, place = 0;
  std::pair<int64_t, int64_t> bounds;
};

// Adds one channel's columns [taps][places] to its rows, of at least two axes. Walks taps outside, places
// inside; the last two axes are plain loops.
template <typename T>
void addColumns(std::span<const WindowAxis> axes, const ImageRows& rows, int64_t taps, int64_t places,
                const T* columns, T* image, Walk* walk) {
  const size_t rank = axes.size(), last = rank - 1, down = rank - 2;
  for (size_t i = 0; i < rank; ++i) walk[i] = {};
  for (int64_t k = 0; k < taps; ++k) {
    bool any = true;
    for (size_t i = 0; i < rank; ++i) {
      walk[i].bounds = insidePlaces(axes[i], walk[i].tap);
      walk[i].place = walk[i].bounds.first;
      any = any && walk[i].bounds.first < walk[i].bounds.second;
    }
    while (any) {
      const auto inImage = [&](size_t i) {
        return walk[i].place * axes[i].stride - axes[i].pad + walk[i].tap * axes[i].dilation;
      };
      int64_t from = 0, to = 0;
      for (size_t i = 0; i < last; ++i) {
        from = from * axes[i].places + walk[i].place;
        to = to * axes[i].image + inImage(i);
      }
      const T* row = columns + k * places + from * axes[last].places + walk[last].place;
      T* sums = image + to * rows.length() + rows.placeOf(inImage(last));
      const int64_t count = walk[last].bounds.second - walk[last].bounds.first,
                    next = axes[down].stride * rows.length();
      for (int64_t r = walk[down].bounds.first; r < walk[down].bounds.second;
           ++r, row += axes[last].places, sums += next)
        for (int64_t i = 0; i < count; ++i) sums[i] = static_cast<T>(sums[i] + row[i]);
      any = false;
      for (size_t i = down; i-- > 0 && !any;) {
        any = ++walk[i].place < walk[i].bounds.second;
        if (!any) walk[i].place = walk[i].bounds.first;
      }
    }
    for (size_t i = rank; i-- > 0 && ++walk[i].tap == axes[i].window;) walk[i].tap = 0;
  }
}

int64_t col2imTasks(const FlatCall& call, const TensorView* x) {
  return x->elements > 65536 ? int64_t{call.threadCount()} : 1;
}
// An image has at least two axes here.
int64_t axisCount(size_t rank) { return std::max<int64_t>(2, static_cast<int64_t>(rank)); }
// Scratch memory for all tasks: the axes, and the shape of the result.
int64_t axisElements(size_t rank) {
  return tableElements<WindowAxis>(axisCount(rank)) + tableElements<int64_t>(static_cast<int64_t>(rank) + 2);
}
// Of a task: a walk, and the sums of an image of so many rows, unless they are made in the image itself.
int64_t walkElements(size_t rank) { return tableElements<Walk>(axisCount(rank)); }
int64_t sumElements(const ImageRows& rows, int64_t rowCount) {
  return rows.step == 1 ? 0 : wholeLines(2 * rowCount * rows.length());
}

// Null: they are no such sizes.
const int64_t* readSizes(const TensorView* tensor, size_t rank) {
  if (!tensor || tensor->rank != 1 || tensor->dtype() != DataType::i64 ||
      tensor->elements != static_cast<int64_t>(rank))
    return nullptr;
  return tensor->as<int64_t>();
}

}  // namespace

Status col2imScratch(const FlatCall& call, int64_t& elements) {
  using Call = calls::Col2im;
  const TensorView *x = call.argument(Call::x), *y = call.result(0);
  const auto n = call.numbersOf<Call>();
  const size_t rank = n.strides.size();
  elements = wholeLines(axisElements(rank));
  if (!x || rank == 0 || y->sizes().size() != rank + 2 || y->elements == 0)
    return okStatus();  // for the call to say
  const WindowAxis last{.image = y->sizes().back(), .stride = std::max(1, n.strides.back())};
  const ImageRows rows(last);
  const int64_t planes = y->shape()[0] * y->shape()[1];
  elements += scratchElements(0, col2imTasks(call, x),
                              walkElements(rank) + sumElements(rows, y->elements / planes / rows.columns));
  return okStatus();
}

Status col2im(FlatCall& call) {
  using Call = calls::Col2im;
  const TensorView* x = call.argument(Call::x);
  const auto n = call.numbersOf<Call>();
  const size_t rank = n.strides.size();
  const int64_t *image = readSizes(call.argument(Call::image), rank),
                *window = readSizes(call.argument(Call::window), rank);
  if (!x || x->rank != 3) return badArgument("col2im", Call::x, "a tensor of rank 3", x);
  if (!image) return badArgument("col2im", Call::image, "one i64 per axis", call.argument(Call::image));
  if (!window) return badArgument("col2im", Call::window, "one i64 per axis", call.argument(Call::window));
  Scratch tables(call, axisElements(rank), 0, 0);
  if (!tables) return tables.status();
  const auto axisTotal = static_cast<size_t>(axisCount(rank));
  const std::span<WindowAxis> axes(reinterpret_cast<WindowAxis*>(tables.shared()), axisTotal);
  const size_t added = axisTotal - rank;
  for (WindowAxis& axis : axes) axis = {.image = 1, .window = 1, .places = 1};
  int64_t taps = 1, places = 1;
  bool fits = true;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = axes[added + i];
    axis.image = image[i];
    axis.window = window[i];
    axis.stride = n.strides[i];
    axis.dilation = n.dilations[i];
    axis.pad = n.pads[i];
    const int64_t padded = image[i] + axis.pad + n.padsBehind[i];
    int64_t reach = 0;
    if (axis.image < 0 || axis.window < 1 || axis.stride < 1 || axis.dilation < 1 || axis.pad < 0 ||
        !checkedMul(axis.window - 1, axis.dilation, reach) || reach >= padded)
      return failure(DYN_BAD_INPUT, "col2im: a window of " + std::to_string(window[i]) +
                                        " does not fit into an image of " + std::to_string(image[i]));
    axis.places = (padded - reach - 1) / axis.stride + 1;
    fits = fits && checkedMul(taps, axis.window, taps) && checkedMul(places, axis.places, places);
  }
  if (!fits || x->shape()[1] % taps != 0 || x->shape()[2] != places)
    return failure(DYN_BAD_INPUT, "col2im: " + describe(x) + " are no columns of these windows");
  const int64_t channels = x->shape()[1] / taps;
  const std::span<int64_t> shape(
      reinterpret_cast<int64_t*>(tables.shared() + tableElements<WindowAxis>(axisCount(rank))), rank + 2);
  shape[0] = x->shape()[0], shape[1] = channels;
  std::copy_n(image, rank, shape.begin() + 2);
  if (Status status = call.checkResult(0, x->dtype(), shape); !status.ok()) return status;
  TensorView* y = call.result(0);
  if (y->elements == 0) return okStatus();
  const int64_t planes = x->shape()[0] * channels, space = y->elements / planes;
  const int64_t tasks = col2imTasks(call, x);
  const ImageRows rows(axes.back());
  const int64_t rowCount = space / rows.columns, sums = rowCount * rows.length();
  Scratch scratch(call, 0, tasks, walkElements(rank) + sumElements(rows, rowCount));
  if (!scratch) return scratch.status();
  const bool known = visitNumbers(x->dtype(), [&]<typename T>() {
    call.split(planes, tasks, [&](int64_t begin, int64_t end) {
      float* const memory = scratch.next();
      auto* walk = reinterpret_cast<Walk*>(memory);
      T* own = reinterpret_cast<T*>(memory + walkElements(rank));
      for (int64_t plane = begin; plane < end; ++plane) {
        T *image = y->as<T>() + plane * space, *to = rows.step == 1 ? image : own;
        std::fill_n(to, sums, T(0));
        addColumns(axes, rows, taps, places, x->as<T>() + plane * taps * places, to, walk);
        if (rows.step != 1) rows.write(to, rowCount, image);
      }
    });
  });
  return known ? okStatus() : failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype())));
}

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
    perCell = samplesWanted > 0 ? samplesWanted : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(cell)));
    if (perCell > kMostSamples || perCell * cells > kMostSamples) return false;
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
int64_t sampleElements(const TensorView* y) {
  return tableElements<Neighbours>(sampleRoom(y->shape()[2])) +
         tableElements<Neighbours>(sampleRoom(y->shape()[3]));
}

template <bool kInTables, typename T>
double cellOf(const T* plane, int64_t width, const RegionAxis& rows, const RegionAxis& columns,
              int64_t cellRow, int64_t cellColumn, bool isMax) {
  const Neighbours *down = kInTables ? rows.cell(cellRow) : nullptr,
                   *across = kInTables ? columns.cell(cellColumn) : nullptr;
  double sum = 0, largest = 0;
  bool any = false;
  for (int64_t i = 0; i < rows.perCell; ++i) {
    const Neighbours v = kInTables ? down[i] : rows.sampled(cellRow, i);
    const T *low = plane + v.low * width, *high = plane + v.high * width;
    for (int64_t k = 0; k < columns.perCell; ++k) {
      const Neighbours h = kInTables ? across[k] : columns.sampled(cellColumn, k);
      const double parts[] = {
          v.lowWeight * h.lowWeight * low[h.low], v.lowWeight * h.highWeight * low[h.high],
          v.highWeight * h.lowWeight * high[h.low], v.highWeight * h.highWeight * high[h.high]};
      sum += parts[0] + parts[1] + parts[2] + parts[3];
      const double best = *std::max_element(std::begin(parts), std::end(parts));
      largest = any ? std::max(largest, best) : best;
      any = true;
    }
  }
  return isMax ? largest : sum / static_cast<double>(std::max<int64_t>(rows.perCell * columns.perCell, 1));
}

template <typename T>
Status alignRegions(FlatCall& call, const TensorView* x, const TensorView* regions, const int64_t* batches,
                    TensorView* y) {
  const int64_t *in = x->shape(), *out = y->shape();
  const auto n = call.numbersOf<calls::RoiAlign>();
  const bool isMax = n.largest, halfPixel = n.halfPixel;
  const double scale = static_cast<double>(n.scale), shift = halfPixel ? 0.5 : 0;
  Scratch scratch(call, sampleElements(y), 0, 0);
  if (!scratch) return scratch.status();
  const int64_t rowRoom = sampleRoom(out[2]);
  RegionAxis rows(reinterpret_cast<Neighbours*>(scratch.shared()), rowRoom),
      columns(reinterpret_cast<Neighbours*>(scratch.shared() + tableElements<Neighbours>(rowRoom)),
              sampleRoom(out[3]));
  T* to = y->as<T>();
  for (int64_t region = 0; region < out[0]; ++region) {
    if (batches[region] < 0 || batches[region] >= in[0])
      return failure(DYN_OUT_OF_RANGE, "region " + std::to_string(region) + " is of batch " +
                                           std::to_string(batches[region]) + ", there are " +
                                           std::to_string(in[0]));
    const auto edge = [&](int64_t k) {
      return static_cast<double>(regions->as<T>()[region * 4 + k]) * scale - shift;
    };
    if (!rows.make(edge(1), edge(3), out[2], in[2], n.samples, halfPixel) ||
        !columns.make(edge(0), edge(2), out[3], in[3], n.samples, halfPixel))
      return failure(DYN_BAD_INPUT, "region " + std::to_string(region) + " has no usable size");
    const auto cellAt = rows.inTable() && columns.inTable() ? cellOf<true, T> : cellOf<false, T>;
    for (int64_t channel = 0; channel < out[1]; ++channel) {
      const T* plane = x->as<T>() + (batches[region] * in[1] + channel) * in[2] * in[3];
      for (int64_t cell = 0; cell < out[2] * out[3]; ++cell)
        *to++ =
            in[2] * in[3] == 0
                ? T(0)
                : static_cast<T>(cellAt(plane, in[3], rows, columns, cell / out[3], cell % out[3], isMax));
    }
  }
  return okStatus();
}

}  // namespace

Status roiAlignScratch(const FlatCall& call, int64_t& elements) {
  const TensorView* y = call.result(0);
  if (y->rank == 4) elements = scratchElements(sampleElements(y), 0, 0);  // else for the call to say
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
  TensorView* y = call.result(0);
  return x->dtype() == DataType::f32 ? alignRegions<float>(call, x, regions, batches->as<int64_t>(), y)
                                     : alignRegions<double>(call, x, regions, batches->as<int64_t>(), y);
}

}  // namespace dyn::vm::kernels
