// col2im.
#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

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

// Integers wrap.
template <typename T>
T sumOf(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

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
        for (int64_t i = 0; i < count; ++i) sums[i] = sumOf(sums[i], row[i]);
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
    return failure(DYN_BAD_INPUT, "col2im: " + describe(x) + " are not columns of these windows");
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

}  // namespace dyn::vm::kernels
