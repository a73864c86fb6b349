// grid_sample between the elements of images: the elements around a place and their weights are found once
// for all channels.
#include <algorithm>
#include <array>
#include <cmath>
#include <new>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

enum Border : int64_t {
  kZeros = DYN_SAMPLE_ZEROS,
  kEdge = DYN_SAMPLE_BORDER,
  kReflection = DYN_SAMPLE_REFLECTION
};

// `x` mirrored at `low` and `high` until it lies between them.
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const double away = x < low ? low - x : x - high, turns = std::floor(away / range),
               rest = away - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

// The two elements of an axis around a coordinate in [-1, 1].
struct Around {
  std::array<int64_t, 2> at;
  std::array<double, 2> weight;
  std::array<bool, 2> inside;
};

struct Axis {
  int64_t size;
  Border border;
  bool alignCorners;

  Around around(float coordinate) const {
    const auto length = static_cast<float>(size);
    const double last = static_cast<double>(size) - 1;
    double x = alignCorners ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
    const double low = alignCorners ? 0 : -0.5, high = alignCorners ? last : last + 0.5;
    if (std::isnan(x) || (border == kReflection && std::isinf(x))) x = low;  // reads as -1
    if (border == kEdge && (x < low || x > high)) x = std::clamp(x, 0.0, last);
    if (border == kReflection) x = reflected(x, low, high);
    const double base = std::floor(x);
    Around a{{}, {1 - (x - base), x - base}, {}};
    for (size_t k = 0; k < 2; ++k) {
      double at = base + static_cast<double>(k);
      if (border == kReflection) at = std::trunc(reflected(at, low, high));
      const bool isInside = at >= 0 && at <= last;
      a.at[k] = at >= 0 ? static_cast<int64_t>(std::min(at, last)) : 0;
      a.inside[k] = isInside || border != kZeros;
    }
    return a;
  }
};

// The same of many coordinates, one every `step` floats: the lower element of each pair and how far behind it
// the coordinate lies. Where the border reflects, pairs may not be neighbours, and are found one by one.
struct Pairs {
  static constexpr int64_t kPlaces = 512;
  int32_t low[kPlaces];  // from -2, where nothing is inside, to the size
  float part[kPlaces];

  void find(const Axis& axis, const float* coordinates, int64_t count) {
    const auto length = static_cast<float>(axis.size);
    const float last = length - 1, scale = axis.alignCorners ? last : length,
                shift = axis.alignCorners ? 0.0f : 1.0f, low0 = axis.alignCorners ? 0.0f : -0.5f,
                high0 = last - low0, edge = axis.border == kEdge ? 1.0f : 0.0f;
    for (int64_t p = 0; p < count; ++p) {
      float x = ((coordinates[2 * p] + 1) * scale - shift) / 2;
      x = x == x ? x : low0;  // NaN reads as -1
      const float beyond = x < low0 ? 0.0f : x > high0 ? last : x;
      x = edge != 0 ? beyond : x;
      const float held = x > -2 ? (x < length ? x : length) : -2.0f;
      const auto whole = static_cast<int32_t>(held);  // towards zero
      const int32_t base = whole - (static_cast<float>(whole) > held ? 1 : 0);
      low[p] = base;
      part[p] = x - static_cast<float>(base);
    }
  }
};

// Places of the grid that are looked up together. Those between four elements of the image have the first of
// them and weights, as columns of a table; the others, at the edge and beyond, stand in a list.
struct Block {
  static constexpr int64_t kPlaces = Pairs::kPlaces;
  struct Other {
    int64_t place;
    int64_t at[4];
    float weight[4];
    bool inside[4];  // what is outside counts as 0 whatever its weight
  };
  Pairs down, across;
  int64_t first[kPlaces];
  float weight[4][kPlaces];
  Other others[kPlaces];
  int64_t otherCount, count;
  int64_t width;

  void find(const Axis& rows, const Axis& columns, const float* grid, int64_t places) {
    count = places;
    otherCount = 0;
    width = columns.size;
    if (rows.border == kReflection || std::max(rows.size, columns.size) > kLargestFloat) {
      for (int64_t p = 0; p < count; ++p)
        findOther(p, rows.around(grid[2 * p + 1]), columns.around(grid[2 * p]));
      return;
    }
    down.find(rows, grid + 1, count);
    across.find(columns, grid, count);
    for (int64_t p = 0; p < count; ++p) {
      const float v = down.part[p], h = across.part[p];
      weight[0][p] = (1 - v) * (1 - h);
      weight[1][p] = (1 - v) * h;
      weight[2][p] = v * (1 - h);
      weight[3][p] = v * h;
    }
    for (int64_t p = 0; p < count; ++p) {
      const int64_t row = down.low[p], column = across.low[p];
      const bool between = row >= 0 && row + 1 < rows.size && column >= 0 && column + 1 < columns.size;
      first[p] = between ? row * width + column : 0;
      others[otherCount].place = p;
      otherCount += between ? 0 : 1;
    }
    for (int64_t i = 0; i < otherCount; ++i) fill(others[i], rows, columns);
  }

  void look(const float* x, float* y) const {
    if (otherCount < count) {
      const float *below = x + width, *w0 = weight[0], *w1 = weight[1], *w2 = weight[2], *w3 = weight[3];
      for (int64_t p = 0; p < count; ++p) {
        const int64_t at = first[p];
        y[p] = (w0[p] * x[at] + w1[p] * x[at + 1]) + (w2[p] * below[at] + w3[p] * below[at + 1]);
      }
    }
    for (int64_t i = 0; i < otherCount; ++i) {
      const Other& other = others[i];
      float sum = 0;
      for (size_t k = 0; k < 4; ++k)
        if (other.inside[k]) sum += other.weight[k] * x[other.at[k]];
      y[other.place] = sum;
    }
  }

 private:
  // Beyond it not every place has a float.
  static constexpr int64_t kLargestFloat = int64_t{1} << 24;

  void findOther(int64_t p, const Around& v, const Around& h) {
    Other& other = others[otherCount++];
    other.place = p;
    for (size_t k = 0; k < 4; ++k) {
      other.at[k] = v.at[k / 2] * width + h.at[k % 2];
      other.weight[k] = static_cast<float>(v.weight[k / 2] * h.weight[k % 2]);
      other.inside[k] = v.inside[k / 2] && h.inside[k % 2];
    }
  }
  void fill(Other& other, const Axis& rows, const Axis& columns) const {
    for (size_t k = 0; k < 4; ++k) {
      const int64_t row = down.low[other.place] + static_cast<int64_t>(k / 2),
                    column = across.low[other.place] + static_cast<int64_t>(k % 2);
      const bool isInside = row >= 0 && row < rows.size && column >= 0 && column < columns.size;
      other.inside[k] = isInside || rows.border != kZeros;
      other.at[k] = std::clamp<int64_t>(row, 0, rows.size - 1) * width +
                    std::clamp<int64_t>(column, 0, columns.size - 1);
      other.weight[k] = weight[k][other.place];
    }
  }
};

int64_t tasksOf(const FlatCall& call) {
  return worthwhileTasks(call, 2.0 * static_cast<double>(call.result(0)->elements));
}

// Of a task.
constexpr int64_t kBlockElements = (sizeof(Block) + 63) / 64 * 16;

}  // namespace

Status gridSampleScratch(const FlatCall& call, int64_t& elements) {
  elements = scratchElements(0, tasksOf(call), kBlockElements);
  return okStatus();
}

Status gridSample(FlatCall& call) {
  using Call = calls::GridSample;
  const TensorView *x = call.argument(Call::x), *grid = call.argument(Call::grid);
  const auto n = call.numbersOf<Call>();
  TensorView* y = call.result(0);
  const auto isImage = [](const TensorView* t) { return t && t->dtype() == DataType::f32 && t->rank == 4; };
  if (!isImage(x)) return badArgument("grid_sample", Call::x, "f32 of rank 4", x);
  if (!isImage(grid)) return badArgument("grid_sample", Call::grid, "f32 of rank 4", grid);
  const int64_t *from = x->shape(), *to = y->shape(), *places = grid->shape();
  if (!isImage(y) || places[0] != from[0] || places[3] != 2 || to[0] != from[0] || to[1] != from[1] ||
      to[2] != places[1] || to[3] != places[2] || n.outside < kZeros || n.outside > kReflection)
    return failure(DYN_BAD_INPUT, "grid_sample: shapes do not fit: " + describe(x) + ", " + describe(grid) +
                                      " -> " + describe(y));
  if (y->elements == 0) return okStatus();
  const auto border = static_cast<Border>(n.outside);
  const bool alignCorners = n.alignCorners != 0;
  const Axis rows{from[2], border, alignCorners}, columns{from[3], border, alignCorners};
  if (rows.size < 1 || columns.size < 1) return failure(DYN_BAD_INPUT, "grid_sample: nothing to sample");
  const int64_t channels = from[1], count = to[2] * to[3], plane = rows.size * columns.size;
  const int64_t tasks = tasksOf(call);
  Scratch scratch(call, 0, tasks, kBlockElements);
  if (!scratch) return scratch.status();
  call.split(from[0] * channels, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    Block* block = new (scratch.next()) Block;
    forEachWhole(begin, end, channels, [&](int64_t batch, int64_t first, int64_t last) {
      for (int64_t place = 0; place < count && !call.cancelled(); place += Block::kPlaces) {
        const int64_t here = std::min(Block::kPlaces, count - place);
        block->find(rows, columns, grid->as<float>() + (batch * count + place) * 2, here);
        for (int64_t unit = batch * channels + first; unit < batch * channels + last; ++unit)
          block->look(x->as<float>() + unit * plane, y->as<float>() + unit * count + place);
      }
    });
  });
  return okStatus();
}

}  // namespace dyn::vm::kernels
