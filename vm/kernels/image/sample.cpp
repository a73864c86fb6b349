// grid_sample between the elements of images: the elements around a place and their weights are found once
// for all channels.
#include <algorithm>
#include <array>
#include <cmath>
#include <new>

#include "vm/include/dyn_builtin_numbers.h"
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

// Places of the grid that are looked up together, as columns of a table.
struct Block {
  static constexpr int64_t kPlaces = 512;
  int64_t at[4][kPlaces];
  double weight[4][kPlaces];
  bool inside[4][kPlaces];
  int64_t partial[kPlaces];  // those with a neighbour outside, which counts as 0 whatever its weight
  int64_t partialCount;

  void find(const Axis& rows, const Axis& columns, const float* grid, int64_t count) {
    partialCount = 0;
    for (int64_t p = 0; p < count; ++p) {
      const Around v = rows.around(grid[2 * p + 1]), h = columns.around(grid[2 * p]);
      bool whole = true;
      for (size_t k = 0; k < 4; ++k) {
        at[k][p] = v.at[k / 2] * columns.size + h.at[k % 2];
        weight[k][p] = v.weight[k / 2] * h.weight[k % 2];
        inside[k][p] = v.inside[k / 2] && h.inside[k % 2];
        whole = whole && inside[k][p];
      }
      if (!whole) partial[partialCount++] = p;
    }
  }
  void look(const float* x, int64_t count, float* y) const {
    for (int64_t p = 0; p < count; ++p)
      y[p] = static_cast<float>(weight[0][p] * x[at[0][p]] + weight[1][p] * x[at[1][p]] +
                                weight[2][p] * x[at[2][p]] + weight[3][p] * x[at[3][p]]);
    for (int64_t i = 0; i < partialCount; ++i) {
      const int64_t p = partial[i];
      double sum = 0;
      for (size_t k = 0; k < 4; ++k)
        if (inside[k][p]) sum += weight[k][p] * x[at[k][p]];
      y[p] = static_cast<float>(sum);
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
          block->look(x->as<float>() + unit * plane, here, y->as<float>() + unit * count + place);
      }
    });
  });
  return okStatus();
}

}  // namespace dyn::vm::kernels
