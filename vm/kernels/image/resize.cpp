// resize: a tensor sampled on another grid, one axis after the other, by tables of places and weights that
// are made once for an axis.
//
// The tensor is seen as planes of [rows, columns] where columns are the last axis that changes with all
// behind it, rows the one before: a row is sampled along the columns when it is first wanted and kept while
// its neighbours are blended, so each is sampled once. More axes that change go before, each as rows of what
// lies behind it.
//
// Integers are widened row by row, summed as reals and cut back. Where all weights are short binary
// fractions (of a scale of 2, say) the sums are exact, in f32 if its digits are enough. Where not, they are
// those of the standard's evaluator: in f64, axis after axis from the first one on, since a sum near a whole
// number may be cut to either side. Halves are widened row by row, too, and summed in f32.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/image/resize_kernels.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

enum Mode : int64_t { kNearest = DYN_RESIZE_NEAREST, kLinear = DYN_RESIZE_LINEAR, kCubic = DYN_RESIZE_CUBIC };
enum Grid : int64_t {
  kHalfPixel = DYN_GRID_HALF_PIXEL,
  kHalfPixelSymmetric = DYN_GRID_HALF_PIXEL_SYMMETRIC,
  kPytorchHalfPixel = DYN_GRID_PYTORCH_HALF_PIXEL,
  kAlignCorners = DYN_GRID_ALIGN_CORNERS,
  kAsymmetric = DYN_GRID_ASYMMETRIC,
  kRegion = DYN_GRID_REGION,  // not taken here
  kHalfPixelForNearest = DYN_GRID_HALF_PIXEL_FOR_NEAREST
};
enum Rounding : int64_t {
  kPreferFloor = DYN_NEAREST_PREFER_FLOOR,
  kPreferCeil = DYN_NEAREST_PREFER_CEIL,
  kFloor = DYN_NEAREST_FLOOR,
  kCeil = DYN_NEAREST_CEIL,
  kByScale = DYN_NEAREST_BY_SCALE
};

struct Options {
  int64_t mode = kNearest, grid = kHalfPixel, rounding = kPreferFloor;
  bool excludeOutside = false, antialias = false;
  double cubicA = -0.75;
};

// An axis that changes: for each place of the result `taps` places of the input, by weight.
struct Axis {
  int64_t input = 0, output = 0, taps = 1;
  std::vector<int64_t> places;  // [output][taps]
  std::vector<double> weights;
};

// Real: f32 for the nearest element, f64 where there are weights.
template <typename Real>
Real placeOf(const Options& o, Real i, Real in, Real out, Real scale) {
  const Real half = static_cast<Real>(0.5), one = 1;
  switch (o.grid) {
    case kHalfPixelSymmetric:
      return in / 2 * (one - out / (scale * in)) + (i + half) / scale - half;
    case kPytorchHalfPixel:
      return out > one ? (i + half) / scale - half : 0;
    case kAlignCorners:
      return out > one ? i * (in - one) / (out - one) : 0;
    case kAsymmetric:
      return i / scale;
    case kHalfPixelForNearest:
      return scale == one ? i : (i + half) / scale;
    default:
      return (i + half) / scale - half;
  }
}

double nearestOf(int64_t rounding, double x, double scale) {
  switch (rounding) {
    case kByScale:
      return scale < 1 ? std::ceil(x) : std::floor(x);
    case kPreferFloor:
      return std::ceil(x - 0.5);
    case kPreferCeil:
      return std::floor(x + 0.5);
    case kFloor:
      return std::floor(x);
    default:
      return std::ceil(x);
  }
}

double cubicWeightOf(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// The element of an axis that is nearest to a place. A tiny scale makes places that are no numbers.
int64_t elementAt(const Axis& axis, double place) {
  return place > 0 ? static_cast<int64_t>(std::min(place, static_cast<double>(axis.input - 1))) : 0;
}

void addTap(const Options& o, Axis& axis, double at, double weight) {
  const int64_t inside = elementAt(axis, at);
  axis.places.push_back(inside);
  axis.weights.push_back(o.excludeOutside && static_cast<double>(inside) != at ? 0 : weight);
}

// Weights of the last place divided by their sum.
void normalize(Axis& axis) {
  double sum = 0;
  const size_t first = axis.weights.size() - static_cast<size_t>(axis.taps);
  for (size_t k = first; k < axis.weights.size(); ++k) sum += axis.weights[k];
  for (size_t k = first; k < axis.weights.size(); ++k) axis.weights[k] /= sum;
}

double reachOf(const Options& o, double scale) {
  return (o.mode == kLinear ? 1.0 : 2.0) / std::min(scale, 1.0);
}

// A filter longer than that follows from no sizes, but from a tiny scale that is given beside them.
bool isTooLong(const Options& o, double scale, const Axis& axis) {
  constexpr double kMost = 1 << 20;
  return o.antialias && 2 * reachOf(o, scale) > std::max(kMost, 4 * static_cast<double>(axis.input));
}

int64_t tapsOf(const Options& o, double scale) {
  return o.mode == kNearest ? 1
         : o.antialias      ? static_cast<int64_t>(std::floor(2 * reachOf(o, scale))) + 1
         : o.mode == kCubic ? 4
                            : 2;
}

void makeTaps(const Options& o, double scale, Axis& axis) {
  const double in = static_cast<double>(axis.input), out = static_cast<double>(axis.output);
  const double narrow = std::min(scale, 1.0), reach = reachOf(o, scale);
  for (int64_t i = 0; i < axis.output; ++i) {
    if (o.mode == kNearest) {
      const double near = placeOf(o, static_cast<float>(i), static_cast<float>(in), static_cast<float>(out),
                                  static_cast<float>(scale));
      axis.places.push_back(elementAt(axis, nearestOf(o.rounding, near, scale)));
      axis.weights.push_back(1);
      continue;
    }
    const double x = placeOf(o, static_cast<double>(i), in, out, scale);
    if (o.antialias) {
      const double first = std::ceil(x - reach);
      for (int64_t k = 0; k < axis.taps; ++k) {
        const double at = first + static_cast<double>(k), distance = (at - x) * narrow;
        addTap(o, axis, at,
               at > x + reach      ? 0
               : o.mode == kLinear ? std::max(0.0, 1 - std::fabs(distance))
                                   : cubicWeightOf(o.cubicA, distance));
      }
      normalize(axis);
      continue;
    }
    const double base = std::floor(x), part = x - base;
    if (o.mode == kLinear) {
      axis.places.push_back(elementAt(axis, base));
      axis.places.push_back(elementAt(axis, base + 1));
      axis.weights.insert(axis.weights.end(), {1 - part, part});
      continue;
    }
    for (int k = -1; k <= 2; ++k) addTap(o, axis, base + k, cubicWeightOf(o.cubicA, part - k));
    if (o.excludeOutside) normalize(axis);
  }
}

// Rows of T, sums in W.
// kTaps 0: `taps`.
template <int64_t kTaps, typename T>
void sampleTaps(int64_t taps, const int32_t* __restrict places, const T* __restrict weights, int64_t columns,
                const T* __restrict row, T* __restrict out) {
  const int64_t count = kTaps > 0 ? kTaps : taps;
  for (int64_t i = 0; i < columns; ++i) {
    T sum = weights[i] * row[places[i]];
    for (int64_t t = 1; t < count; ++t) sum += weights[t * columns + i] * row[places[t * columns + i]];
    out[i] = sum;
  }
}
template <int64_t kTaps, typename T>
void blendTaps(int64_t taps, const T* const* rows, const T* weights, int64_t columns, T* __restrict out) {
  const int64_t count = kTaps > 0 ? kTaps : taps;
  for (int64_t i = 0; i < columns; ++i) {
    T sum = weights[0] * rows[0][i];
    for (int64_t t = 1; t < count; ++t) sum += weights[t] * rows[t][i];
    out[i] = sum;
  }
}

template <typename T>
void sampleRow(int64_t taps, const int32_t* places, const T* weights, int64_t columns, const T* row, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    resizeKernels().sampleRow(taps, places, weights, columns, row, out);
  } else {
    const auto by = taps == 2 ? sampleTaps<2, T> : taps == 4 ? sampleTaps<4, T> : sampleTaps<0, T>;
    by(taps, places, weights, columns, row, out);
  }
}
template <typename T>
void blendRows(int64_t taps, const T* const* rows, const T* weights, int64_t columns, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    resizeKernels().blendRows(taps, rows, weights, columns, out);
  } else {
    const auto by = taps == 2 ? blendTaps<2, T> : taps == 4 ? blendTaps<4, T> : blendTaps<0, T>;
    by(taps, rows, weights, columns, out);
  }
}

// The last axis with what lies behind it, as one row: places and weights for each element, tap by tap.
template <typename T>
struct Columns {
  int64_t input = 1, output = 1, taps = 0;  // elements; taps 0: they stay
  int64_t repeat = 0;                       // each element so many times, where that is all; else 0
  std::vector<int32_t> places;
  std::vector<T> weights;

  // Sizes only where the axis has no tables.
  void make(const Axis& axis, int64_t inner) {
    input = axis.input * inner;
    output = axis.output * inner;
    taps = axis.taps;
    if (axis.places.empty()) return;
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = 0; i < axis.output; ++i)
        for (int64_t k = 0; k < inner; ++k) {
          const auto at = static_cast<size_t>(i * taps + t);
          places.push_back(static_cast<int32_t>(axis.places[at] * inner + k));
          weights.push_back(static_cast<T>(axis.weights[at]));
        }
    if (taps != 1 || inner != 1 || axis.output % axis.input != 0) return;
    repeat = axis.output / axis.input;
    for (int64_t i = 0; i < axis.output && repeat > 0; ++i)
      if (axis.places[static_cast<size_t>(i)] != i / repeat) repeat = 0;
  }
};

// How elements in memory become the numbers that are summed, and back; null: they are those.
template <typename T>
struct Stored {
  int64_t bytes = sizeof(T);  // of an element
  void (*widen)(const std::byte* from, int64_t count, T* to) = nullptr;
  void (*narrow)(const T* from, int64_t count, std::byte* to) = nullptr;
};

template <typename Integer, typename T>
void widenIntegers(const std::byte* from, int64_t count, T* __restrict to) {
  const auto* __restrict elements = reinterpret_cast<const Integer*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(elements[i]);
}
// Cut at the decimal point, and to the range of the type.
template <typename Integer, typename T>
void narrowToIntegers(const T* __restrict from, int64_t count, std::byte* to) {
  using Limits = std::numeric_limits<Integer>;
  auto* __restrict elements = reinterpret_cast<Integer*>(to);
  // Beyond the largest number of 64 bits the next real is out of range.
  constexpr T kLow = static_cast<T>(Limits::lowest()), kHigh = static_cast<T>(Limits::max());
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (sizeof(Integer) == 8) {
      const T value = from[i];
      elements[i] = value <= kLow    ? Limits::lowest()
                    : value >= kHigh ? Limits::max()
                                     : static_cast<Integer>(value);
    } else {
      using Whole = std::conditional_t<sizeof(Integer) == 4, int64_t, int32_t>;
      T value = from[i];
      value = value > kLow ? value : kLow;
      value = value < kHigh ? value : kHigh;
      elements[i] = static_cast<Integer>(static_cast<Whole>(value));
    }
  }
}

// Planes of [rows, columns].
template <typename T>
struct PlaneForm {
  const Axis* rows = nullptr;  // null: rows stay as they are
  Columns<T> columns;
  Stored<T> in, out;
  bool nearest = false;
  bool rowsFirst = false;  // rows are blended, then that one is sampled

  int64_t slotCount() const { return rows ? std::min(rows->taps + 1, rows->input) : 0; }
  int64_t slotLength() const { return rowsFirst ? columns.input : columns.output; }
  // What is kept between rows: rows that were sampled or widened,
  int64_t slotElements() const {
    const bool keeps = !nearest && (in.widen || (columns.taps > 0 && !rowsFirst));
    return keeps ? slotCount() * slotLength() : 0;
  }
  // one that was blended or widened before it is sampled,
  int64_t rowElements() const { return rowsFirst || in.widen ? columns.input : 0; }
  // and a row of the result that is to be narrowed.
  int64_t resultElements() const { return out.narrow ? columns.output : 0; }
  int64_t elements() const { return slotElements() + rowElements() + resultElements(); }
};

template <typename T>
class Plane {
 public:
  Plane(const PlaneForm<T>& form, T* memory)
      : form_(form),
        rows_(form.rows),
        columns_(form.columns),
        kept_(memory),
        row_(memory + form.slotElements()),
        result_(row_ + form.rowElements()) {
    if (!rows_) return;
    slots_.assign(static_cast<size_t>(form.slotCount()), -1);
    weights_.assign(rows_->weights.begin(), rows_->weights.end());
  }

  // Result rows [begin, end) of a plane whose input is `x` and whose result is `y`.
  void run(const std::byte* x, std::byte* y, int64_t begin, int64_t end) {
    std::fill(slots_.begin(), slots_.end(), -1);
    for (int64_t r = begin; r < end; ++r) {
      std::byte* to = y + r * columns_.output * form_.out.bytes;
      T* out = form_.out.narrow ? result_ : reinterpret_cast<T*>(to);
      if (!rows_) {
        sample(inputRow(x, r, row_), out);
      } else if (form_.nearest) {
        const int64_t from = rows_->places[static_cast<size_t>(r)];
        if (r > begin && from == rows_->places[static_cast<size_t>(r - 1)])
          std::memcpy(out, out - columns_.output, static_cast<size_t>(columns_.output) * sizeof(T));
        else
          sample(inputRow(x, from, row_), out);
      } else {
        blend(x, r, out);
      }
      if (form_.out.narrow) form_.out.narrow(out, columns_.output, to);
    }
  }

 private:
  // As it lies, or widened in `room`.
  const T* inputRow(const std::byte* x, int64_t place, T* room) const {
    const std::byte* from = x + place * columns_.input * form_.in.bytes;
    if (!form_.in.widen) return reinterpret_cast<const T*>(from);
    form_.in.widen(from, columns_.input, room);
    return room;
  }
  // A row that is kept as make(room) makes it. Neighbours lie in different slots: there are more of them than
  // taps, or one for each row.
  template <typename Make>
  const T* keptRow(int64_t place, const Make& make) {
    const auto slot = static_cast<size_t>(place) % slots_.size();
    T* row = kept_ + static_cast<int64_t>(slot) * form_.slotLength();
    if (slots_[slot] != place) make(row);
    slots_[slot] = place;
    return row;
  }
  void sample(const T* row, T* out) const {
    if (columns_.taps == 0) {
      std::memcpy(out, row, static_cast<size_t>(columns_.output) * sizeof(T));
    } else if (form_.nearest && columns_.repeat == 2) {
      T* __restrict to = out;
      const T* __restrict from = row;
      for (int64_t i = 0, count = columns_.input; i < count; ++i) to[2 * i] = to[2 * i + 1] = from[i];
    } else if (form_.nearest) {
      for (int64_t i = 0; i < columns_.output; ++i) out[i] = row[columns_.places[static_cast<size_t>(i)]];
    } else if constexpr (std::is_floating_point_v<T>) {
      sampleRow<T>(columns_.taps, columns_.places.data(), columns_.weights.data(), columns_.output, row, out);
    }
  }

  void blend(const std::byte* x, int64_t r, T* out) {
    if constexpr (std::is_floating_point_v<T>) {
      const int64_t taps = rows_->taps;
      const bool samples = columns_.taps > 0 && !form_.rowsFirst;
      from_.clear();
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t place = rows_->places[static_cast<size_t>(r * taps + t)];
        if (samples)
          from_.push_back(keptRow(place, [&](T* room) { sample(inputRow(x, place, row_), room); }));
        else if (form_.in.widen)
          from_.push_back(keptRow(place, [&](T* room) { inputRow(x, place, room); }));
        else
          from_.push_back(inputRow(x, place, nullptr));
      }
      const T* weights = weights_.data() + r * taps;
      if (!form_.rowsFirst) return blendRows<T>(taps, from_.data(), weights, columns_.output, out);
      blendRows<T>(taps, from_.data(), weights, columns_.input, row_);
      sample(row_, out);
    }
  }

  const PlaneForm<T>& form_;
  const Axis* rows_;
  const Columns<T>& columns_;
  T *kept_, *row_, *result_;
  std::vector<int64_t> slots_;
  std::vector<T> weights_;
  std::vector<const T*> from_;
};

// One sweep over [outer, rows, columns].
template <typename T>
struct Sweep {
  PlaneForm<T> form;
  int64_t outer = 1, plainRows = 0;  // `plainRows` that stay as they are, where the form has no rows

  int64_t in() const { return form.rows ? form.rows->input : plainRows; }
  int64_t out() const { return form.rows ? form.rows->output : plainRows; }
  int64_t tasks(const CallInputs& call) const {
    return worthwhileTasks(call,
                           static_cast<double>(outer * out()) * static_cast<double>(form.columns.output));
  }
  int64_t ownElements() const {
    return wholeLines((form.elements() * static_cast<int64_t>(sizeof(T)) + 3) / 4);
  }

  Status run(FlatCall& call, const std::byte* x, std::byte* y) const {
    const int64_t in = this->in() * form.columns.input * form.in.bytes, out = this->out(),
                  outBytes = out * form.columns.output * form.out.bytes, tasks = this->tasks(call),
                  parts = partsFor(tasks, outer, out);
    Scratch scratch(call, 0, tasks, ownElements());
    if (!scratch) return scratch.status();
    call.split(outer * parts, tasks, [&](int64_t begin, int64_t end) {
      Plane<T> plane(form, reinterpret_cast<T*>(scratch.next()));
      for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
        const int64_t at = unit / parts, part = unit % parts;
        plane.run(x + at * in, y + at * outBytes, part * out / parts, (part + 1) * out / parts);
      }
    });
    return okStatus();
  }
};

// The sweeps that a call takes, one after the other, and the memory between them. Axes without tables give
// the sizes.
template <typename T>
struct Sweeps {
  std::vector<Sweep<T>> all;
  int64_t half = 0;  // elements of four bytes of one of the two places between sweeps
  bool nearest = false;
  Stored<T> stored;      // of the operand and the result
  bool ordered = false;  // from the first axis to the last, whichever takes less

  Status make(const std::vector<Axis>& axes) {
    if (Status status = makeSweeps(axes); !status.ok()) return status;
    all.front().form.in = stored;
    all.front().form.in.narrow = nullptr;
    all.back().form.out = stored;
    all.back().form.out.widen = nullptr;
    return okStatus();
  }
  Status makeSweeps(const std::vector<Axis>& axes) {
    // The axes that change; all between two of them count to the rows of the later one.
    std::vector<size_t> changed;
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i].taps > 0) changed.push_back(i);
    if (changed.empty()) changed.push_back(axes.size() - 1);
    const auto product = [&](size_t first, size_t last, bool of) {
      int64_t count = 1;
      for (size_t i = first; i < last; ++i) count *= of ? axes[i].output : axes[i].input;
      return count;
    };
    const size_t last = changed.back();
    const int64_t inner = product(last + 1, axes.size(), false);
    constexpr int64_t kMostPlaces = int64_t{1} << 31;
    if (axes[last].taps > 0 && axes[last].input * inner >= kMostPlaces)
      return failure(DYN_UNSUPPORTED, "resize: rows of 2^31 elements");
    Sweep<T> first;
    first.form.nearest = nearest;
    Columns<T>& columns = first.form.columns;
    if (axes[last].taps > 0)
      columns.make(axes[last], inner);
    else
      columns.input = columns.output = axes[last].input * inner;
    changed.pop_back();
    // Neighbouring axes go together; else the columns go by themselves.
    const bool together = !changed.empty() && changed.back() + 1 == last;
    // The other axes go behind these two, from the last one on, or before them in their order.
    const size_t others = changed.size() - (together ? 1 : 0);
    const bool areBefore = ordered && others > 0;
    int64_t most = 0;
    const auto addOther = [&](size_t axis) {
      most = std::max(most, product(0, axis + 1, areBefore) * product(axis + 1, axes.size(), !areBefore));
      Sweep<T> next;
      next.form.nearest = nearest;
      next.form.rows = &axes[axis];
      next.form.columns.input = next.form.columns.output = product(axis + 1, axes.size(), !areBefore);
      next.outer = product(0, axis, areBefore);
      all.push_back(std::move(next));
    };
    for (size_t k = 0; areBefore && k < others; ++k) addOther(changed[k]);
    if (together) {
      const Axis& rows = axes[changed.back()];
      first.form.rows = &rows;
      // Where fewer rows come out than go in, sampling them is less work than sampling those.
      first.form.rowsFirst = !nearest && (ordered || rows.output < rows.input);
      first.outer = product(0, changed.back(), areBefore);
    } else {
      first.plainRows = product(0, last, areBefore);
    }
    all.push_back(std::move(first));
    for (size_t k = others; !areBefore && k-- > 0;) addOther(changed[k]);
    half = wholeLines((most * static_cast<int64_t>(sizeof(T)) + 3) / 4);
    return okStatus();
  }
  int64_t betweenElements() const {
    return half * std::min<int64_t>(2, static_cast<int64_t>(all.size()) - 1);
  }
  int64_t elements(const CallInputs& call) const {
    int64_t most = 0;
    for (const Sweep<T>& sweep : all)
      most = std::max(most, scratchElements(0, sweep.tasks(call), sweep.ownElements()));
    return scratchElements(betweenElements(), 0, 0) + most;
  }
  Status run(FlatCall& call, const std::byte* x, std::byte* y) const {
    Scratch between(call, betweenElements(), 0, 0);
    if (!between) return between.status();
    Status done;
    for (size_t k = 0; k < all.size() && done.ok(); ++k) {
      std::byte* const to =
          k + 1 == all.size()
              ? y
              : reinterpret_cast<std::byte*>(between.shared() + static_cast<int64_t>(k % 2) * half);
      done = all[k].run(call, x, to);
      x = to;
    }
    return done;
  }
};

// What a call asks for.
struct ResizeCall {
  using Call = calls::Resize;
  Call::Numbers<calls::Borrowed> n;
  const TensorView *x = nullptr, *y = nullptr, *scales = nullptr;
  Options o;
  std::vector<Axis> axes;
  std::vector<double> factors;  // of each axis; of those that change

  bool nearest() const { return o.mode == kNearest; }
  // Is it one that is summed? As it is, or cut back to an integer?
  bool sumsReals() const {
    return x->dtype() == DataType::f32 || x->dtype() == DataType::f64 || isHalf(x->dtype());
  }
  bool sums() const {
    const DataClass of = row(x->dtype()).dataClass;
    return sumsReals() || ((of == DataClass::integer || of == DataClass::natural) && !isPacked(x->dtype()));
  }

  // All but the axes.
  Status read(const FlatCall& call) {
    x = call.argument(Call::x);
    scales = call.argument(Call::scales);
    y = call.result(0);
    n = call.numbersOf<Call>();
    if (!x) return badArgument("resize", Call::x, "a tensor", x);
    const size_t rank = x->sizes().size(), count = n.axes.size();
    if (!n.complete || count > rank || y->rank != x->rank || y->dtype() != x->dtype() || rank == 0)
      return failure(DYN_BAD_PROGRAM, "resize: " + describe(x) + " -> " + describe(y));
    o.mode = n.mode;
    o.grid = n.grid;
    o.rounding = n.rounding;
    o.excludeOutside = n.excludeOutside != 0;
    o.antialias = n.antialias != 0;
    o.cubicA = static_cast<double>(n.cubicCoefficient);
    if (o.mode != kNearest && !sums())
      return badArgument("resize", Call::x, "f32, f64, f16, bf16 or integers", x);
    if (isGiven() && (scales->dtype() != DataType::f32 || scales->elements != static_cast<int64_t>(count)))
      return badArgument("resize", Call::scales, "one f32 for each axis", scales);
    if (x->elements == 0 && y->elements > 0)
      return failure(DYN_BAD_INPUT, "resize: an axis of no elements has none to sample");
    return okStatus();
  }

  // Sizes and taps.
  Status readAxes() {
    const size_t rank = x->sizes().size();
    axes.resize(rank);
    factors.assign(rank, 1);
    for (size_t i = 0; i < rank; ++i) {
      axes[i].input = x->shape()[i];
      axes[i].output = y->shape()[i];
      axes[i].taps = 0;
    }
    for (size_t k = 0; k < n.axes.size(); ++k) {
      const int64_t at = n.axes[k];
      if (at < 0 || at >= static_cast<int64_t>(rank)) return failure(DYN_BAD_PROGRAM, "resize: no such axis");
      Axis& axis = axes[static_cast<size_t>(at)];
      const double scale = isGiven() ? static_cast<double>(scales->as<float>()[k])
                                     : static_cast<double>(axis.output) / static_cast<double>(axis.input);
      if (axis.input == axis.output && scale == 1) continue;
      if (isTooLong(o, scale, axis))
        return failure(DYN_BAD_INPUT, "resize: the scale " + std::to_string(scale) +
                                          " is too small for an axis of " + std::to_string(axis.input));
      axis.taps = tapsOf(o, scale);
      factors[static_cast<size_t>(at)] = scale;
    }
    for (size_t i = 0; i < rank; ++i)
      if (axes[i].taps == 0 && axes[i].input != axes[i].output)
        return failure(DYN_BAD_PROGRAM, "resize: " + describe(x) + " -> " + describe(y));
    return okStatus();
  }

  bool isGiven() const { return scales && scales->elements > 0; }

  bool sumsIntegers() const { return !copies() && !sumsReals(); }
  // Is there nothing to do but to copy?
  bool copies() const {
    return nearest() ||
           std::all_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.taps == 0; });
  }

  // visit(Sweeps<T>) with a type of the elements' size where they are moved, else the one that they are
  // summed in. `digits`: binary places behind the point that all weights have, together; less than 0: any.
  template <typename Visit>
  Status ofType(int64_t digits, const Visit& visit) const {
    Status done;
    if (copies()) {
      const bool known =
          visitSizes(x->dtype(), [&]<typename T>() { done = visit(Sweeps<T>{.nearest = true}); });
      return known ? done : failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype())));
    }
    if (x->dtype() == DataType::f32) return visit(Sweeps<float>());
    if (x->dtype() == DataType::f64) return visit(Sweeps<double>());
    if (isHalf(x->dtype())) {
      const ResizeKernels& rows = resizeKernels();
      return visit(Sweeps<float>{.stored = x->dtype() == DataType::f16
                                               ? Stored<float>{2, rows.widenF16, rows.narrowToF16}
                                               : Stored<float>{2, rows.widenBf16, rows.narrowToBf16}});
    }
    visitNumbers(x->dtype(), [&]<typename Integer>() {
      if constexpr (std::is_integral_v<Integer>) {
        const auto isExactIn = [&](int digitsOfReal) {
          return digits >= 0 && std::numeric_limits<Integer>::digits + digits <= digitsOfReal;
        };
        if constexpr (sizeof(Integer) <= 2)
          if (isExactIn(std::numeric_limits<float>::digits)) {
            done = visit(Sweeps<float>{.stored = storedAs<Integer, float>()});
            return;
          }
        done = visit(Sweeps<double>{.stored = storedAs<Integer, double>(),
                                    .ordered = !isExactIn(std::numeric_limits<double>::digits)});
      }
    });
    return done;
  }

 private:
  static bool isHalf(DataType dtype) { return dtype == DataType::f16 || dtype == DataType::bf16; }
  static bool isPacked(DataType dtype) {
    return dtype == DataType::i4 || dtype == DataType::u4 || dtype == DataType::i2 || dtype == DataType::u2;
  }
  template <typename Integer, typename T>
  static Stored<T> storedAs() {
    return {sizeof(Integer), widenIntegers<Integer, T>, narrowToIntegers<Integer, T>};
  }
};

// Binary places that sums by all weights of these axes have behind the point and, of cubics, which may sum to
// more than their largest element, before it; -1: too many.
int64_t weightDigitsOf(const std::vector<Axis>& axes) {
  constexpr double kMostWeight = 1 << 16;
  int64_t all = 0;
  for (const Axis& axis : axes) {
    if (axis.taps == 0) continue;
    int digits = 0;
    double unit = 1;  // 2^digits
    for (const double weight : axis.weights) {
      if (!(std::fabs(weight) < kMostWeight)) return -1;
      while (weight * unit != static_cast<double>(static_cast<int64_t>(weight * unit))) {
        if (++digits > std::numeric_limits<float>::digits) return -1;
        unit *= 2;
      }
    }
    all += digits + (axis.taps > 2 ? 1 : 0);
  }
  return all;
}

}  // namespace

Status resizeScratch(const FlatCall& call, int64_t& elements) {
  ResizeCall r;
  if (Status status = r.read(call); !status.ok()) return status;
  if (r.y->elements == 0) return okStatus();
  if (Status status = r.readAxes(); !status.ok()) return status;
  // Weights say in which order integers are summed: there is room for either.
  return r.ofType(-1, [&]<typename T>(Sweeps<T> sweeps) {
    for (const bool ordered : {true, false}) {
      if (!sweeps.stored.widen && ordered) continue;
      sweeps.all.clear();
      sweeps.ordered = ordered;
      if (Status status = sweeps.make(r.axes); !status.ok()) return status;
      elements = std::max(elements, sweeps.elements(call));
    }
    return okStatus();
  });
}

Status resize(FlatCall& call) {
  ResizeCall r;
  if (Status status = r.read(call); !status.ok()) return status;
  if (r.y->elements == 0) return okStatus();
  if (Status status = r.readAxes(); !status.ok()) return status;
  for (size_t i = 0; i < r.axes.size(); ++i)
    if (r.axes[i].taps > 0) makeTaps(r.o, r.factors[i], r.axes[i]);
  return r.ofType(r.sumsIntegers() ? weightDigitsOf(r.axes) : -1, [&]<typename T>(Sweeps<T> sweeps) {
    if (Status status = sweeps.make(r.axes); !status.ok()) return status;
    return sweeps.run(call, r.x->as<std::byte>(), call.result(0)->as<std::byte>());
  });
}

}  // namespace dyn::vm::kernels
