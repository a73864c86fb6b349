// Recurrences: against the steps themselves in f64, in the scratch memory that they ask for, with the same
// bits for any number of threads.
#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/kernels/gemm/bf16_gemm.h"
#include "vm/kernels/gemm/gemm.h"
#include "vm/kernels/recurrence/recurrence_kernel.h"
#include "vm/shared/dyn_recurrence.h"

extern const dyn::vm::kernels::CellKernels dynCellsPortable, dynCellsAvx2, dynCellsAvx512, dynCellsNeon;

namespace dyn::vm::test {
namespace {

using Call = calls::Recurrence;
using recurrence::Cell;

constexpr std::array kCells{Cell::lstm, Cell::gru, Cell::tanh, Cell::relu, Cell::gruResetFirst};

struct Sizes {
  int64_t steps, rows, units;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class RecurrenceTest : public BuiltinTest {
 protected:
  struct Side {
    Tensor *gates, *plain, *packed, *state, *cell = nullptr, *bias = nullptr;
    Tensor *plainSecond = nullptr, *second = nullptr;  // second weights, in the place of the cell
    bool backward = false;
  };
  struct Problem {
    Cell cell = Cell::lstm;
    Sizes sizes{};
    bool stacks = true, rounded = false;
    Tensor* lengths = nullptr;
    std::vector<Side> sides;
  };

  Tensor* packed(const Tensor* plain, int64_t units, int64_t columns, bool rounded) {
    Options options;
    calls::Gemmpack::Numbers<calls::Owned> numbers;
    numbers.rounded = rounded;
    options.numbers = calls::writeNumbers<calls::Gemmpack>(numbers);
    Tensor* b = tensor(DataType::f32, {units, columns}, data<float>(plain));
    EXPECT_TRUE(call("gemmpack", {b}, options).ok());
    return result();
  }

  Tensor* weightsOf(int64_t units, int64_t columns) {
    Tensor* made = floats({units, columns});
    for (int64_t k = 0; k < made->elementCount; ++k)
      made->as<float>()[k] /= std::sqrt(static_cast<float>(units));
    return made;
  }

  Problem problemOf(Cell cell, const Sizes& s, size_t directions, bool rounded = false) {
    Problem p{.cell = cell, .sizes = s, .rounded = rounded};
    const int64_t columns = gatesOf(cell) * s.units;
    for (size_t i = 0; i < directions; ++i) {
      Side side;
      side.gates = floats({s.steps, s.rows, columns});
      const int64_t made = productGatesOf(cell) * s.units;
      side.plain = weightsOf(s.units, made);
      side.packed = packed(side.plain, s.units, made, rounded);
      if (resetsFirst(cell)) {
        side.plainSecond = weightsOf(s.units, s.units);
        side.second = packed(side.plainSecond, s.units, s.units, rounded);
      }
      side.state = floats({s.rows, s.units});
      if (hasCell(cell)) side.cell = floats({s.rows, s.units});
      if (takesBias(cell)) side.bias = floats({columns});
      side.backward = i == 1;
      p.sides.push_back(side);
    }
    return p;
  }

  std::vector<Tensor*> outputs(const Problem& p) {
    std::vector<Tensor*> made;
    for (size_t i = 0; i < p.sides.size(); ++i) {
      for (int k = 0; k < (hasCell(p.cell) ? 2 : 1); ++k)
        made.push_back(output({p.sizes.rows, p.sizes.units}));
      if (p.stacks) made.push_back(output({p.sizes.steps, p.sizes.rows, p.sizes.units}));
    }
    return made;
  }

  Status run(const Problem& p, const std::vector<Tensor*>& into) {
    std::vector<Object*> arguments;
    for (const Side& side : p.sides) {
      for (Tensor* t :
           {side.gates, side.packed, side.state, side.second ? side.second : side.cell, side.bias})
        arguments.push_back(t);
      if (arguments.size() == 5) arguments.push_back(p.lengths);
    }
    Call::Numbers<calls::Owned> numbers;
    numbers.kind = static_cast<int32_t>(p.cell);
    numbers.backward = p.sides[0].backward;
    numbers.secondBackward = p.sides.size() == 2 && p.sides[1].backward;
    numbers.stacks = p.stacks;
    return call("recurrence", arguments, {.numbers = calls::writeNumbers<Call>(numbers)},
                {into.begin(), into.end()});
  }

  static double rounded(double x) {
    const uint32_t bits = uint32_t{kernels::roundToBf16(static_cast<float>(x))} << 16;
    return static_cast<double>(std::bit_cast<float>(bits));
  }

  // One row of one direction: the states behind each step, in their order, then the last state and cell.
  static std::vector<std::vector<double>> rowOf(const Problem& p, const Side& side, int64_t row) {
    const auto [steps, rows, units] = p.sizes;
    const int64_t columns = gatesOf(p.cell) * units;
    const auto at = [](const Tensor* t, int64_t i) { return static_cast<double>(t->as<float>()[i]); };
    std::vector<double> h, c;
    for (int64_t j = 0; j < units; ++j) h.push_back(at(side.state, row * units + j));
    for (int64_t j = 0; j < units && side.cell; ++j) c.push_back(at(side.cell, row * units + j));
    std::vector<std::vector<double>> all;
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t time = side.backward ? steps - 1 - i : i;
      if (p.lengths && time >= p.lengths->as<int64_t>()[row]) {
        all.emplace_back(static_cast<size_t>(units), 0.0);
        continue;
      }
      std::vector<double> own, next = h;
      const auto multiply = [&](const std::vector<double>& left, const Tensor* weights, int64_t count) {
        for (int64_t column = 0; column < count; ++column) {
          double sum = side.bias ? at(side.bias, column) : 0;
          for (int64_t k = 0; k < units; ++k) {
            const double weight = at(weights, k * count + column), state = left[static_cast<size_t>(k)];
            sum += p.rounded ? rounded(weight) * rounded(state) : weight * state;
          }
          own.push_back(sum);
        }
      };
      multiply(h, side.plain, productGatesOf(p.cell) * units);
      for (int64_t j = 0; j < units; ++j) {
        const auto unit = static_cast<size_t>(j);
        const auto x = [&](int64_t gate) {
          return at(side.gates, (time * rows + row) * columns + gate * units + j);
        };
        const auto u = [&](int64_t gate) { return own[static_cast<size_t>(gate * units + j)]; };
        const auto sum = [&](int64_t gate) { return x(gate) + u(gate); };
        if (p.cell == Cell::gruResetFirst && j == 0) {
          std::vector<double> reset = h;
          for (int64_t k = 0; k < units; ++k)
            reset[static_cast<size_t>(k)] *=
                sigmoid(at(side.gates, (time * rows + row) * columns + units + k) +
                        own[static_cast<size_t>(units + k)]);
          multiply(reset, side.plainSecond, units);
        }
        if (p.cell == Cell::lstm) {
          c[unit] = sigmoid(sum(2)) * c[unit] + sigmoid(sum(0)) * std::tanh(sum(3));
          next[unit] = sigmoid(sum(1)) * std::tanh(c[unit]);
        } else if (p.cell == Cell::gru) {
          const double z = sigmoid(sum(0));
          next[unit] = (1 - z) * std::tanh(x(2) + sigmoid(sum(1)) * u(2)) + z * h[unit];
        } else if (p.cell == Cell::gruResetFirst) {
          const double z = sigmoid(sum(0));
          next[unit] = (1 - z) * std::tanh(sum(2)) + z * h[unit];
        } else {
          next[unit] = p.cell == Cell::tanh ? std::tanh(sum(0)) : std::max(sum(0), 0.0);
        }
      }
      h = next;
      all.push_back(h);
    }
    all.push_back(h);
    all.push_back(c);
    return all;
  }

  // `allowed`: of the largest element, and at least of 1.
  static void expectSteps(const Problem& p, const std::vector<Tensor*>& found, double allowed) {
    const auto [steps, rows, units] = p.sizes;
    size_t first = 0;
    for (const Side& side : p.sides) {
      const Tensor *state = found[first], *cell = side.cell ? found[first + 1] : nullptr,
                   *stacked = p.stacks ? found[first + (cell ? 2 : 1)] : nullptr;
      first += 1 + (cell ? 1 : 0) + (stacked ? 1 : 0);
      for (int64_t row = 0; row < rows; ++row) {
        const std::vector<std::vector<double>> wanted = rowOf(p, side, row);
        const auto check = [&](const Tensor* t, int64_t from, const std::vector<double>& values,
                               const char* what) {
          for (int64_t j = 0; j < units; ++j) {
            const double value = values[static_cast<size_t>(j)];
            ASSERT_NEAR(static_cast<double>(t->as<float>()[from + j]), value,
                        allowed * std::max(1.0, std::abs(value)))
                << what << " of " << recurrence::kCellNames[static_cast<size_t>(p.cell)] << ", row " << row
                << ", unit " << j;
          }
        };
        check(state, row * units, wanted[static_cast<size_t>(steps)], "state");
        if (cell) check(cell, row * units, wanted[static_cast<size_t>(steps) + 1], "cell");
        for (int64_t i = 0; i < steps && stacked; ++i)
          check(stacked, (i * rows + row) * units, wanted[static_cast<size_t>(i)], "step");
      }
    }
  }
};

TEST_F(RecurrenceTest, AnySizes) {
  for (const Cell cell : kCells)
    for (const Sizes& s : std::vector<Sizes>{{1, 1, 1},
                                             {3, 2, 5},
                                             {4, 1, 32},
                                             {2, 7, 31},
                                             {5, 3, 64},
                                             {2, 17, 33},
                                             {0, 2, 3},
                                             {3, 0, 4},
                                             {3, 2, 0},
                                             {2, 1, 127},
                                             {3, 29, 16}})
      for (size_t directions : {size_t{1}, size_t{2}}) {
        Problem p = problemOf(cell, s, directions);
        p.stacks = s.units != 64;
        const std::vector<Tensor*> found = outputs(p);
        const Status status = run(p, found);
        ASSERT_TRUE(status.ok()) << status.toString();
        expectSteps(p, found, 2e-6);
      }
}

TEST_F(RecurrenceTest, LengthsKeepTheState) {
  for (const Cell cell : kCells) {
    Problem p = problemOf(cell, {5, 6, 19}, 2);
    p.lengths = tensor(DataType::i64, {6}, std::vector<int64_t>{0, 1, 5, 3, 2, 4});
    const std::vector<Tensor*> found = outputs(p);
    ASSERT_TRUE(run(p, found).ok());
    expectSteps(p, found, 2e-6);
  }
}

TEST_F(RecurrenceTest, RoundedWeights) {
  for (const Cell cell : kCells)
    for (const Sizes& s : std::vector<Sizes>{{1, 1, 1}, {4, 3, 33}, {3, 16, 64}, {2, 1, 7}}) {
      Problem p = problemOf(cell, s, 1, true);
      const std::vector<Tensor*> found = outputs(p);
      ASSERT_TRUE(run(p, found).ok());
      // A state near the middle of two bf16 may go either way.
      expectSteps(p, found, 1e-2);
    }
}

TEST_F(RecurrenceTest, SameBitsForAnyNumberOfThreads) {
  for (const Sizes& s : std::vector<Sizes>{{3, 1, 320}, {3, 9, 200}})
    for (size_t directions : {size_t{1}, size_t{2}})
      for (bool rounded : {false, true}) {
        const Problem p = problemOf(Cell::lstm, s, directions, rounded);
        std::vector<std::vector<Tensor*>> found;
        for (ThreadPool* threads : {&single_, &three_}) {
          threads_ = threads;
          found.push_back(outputs(p));
          ASSERT_TRUE(run(p, found.back()).ok());
        }
        for (size_t i = 0; i < found[0].size(); ++i)
          EXPECT_EQ(0, memcmp(found[0][i]->data, found[1][i]->data, found[0][i]->sizeBytes()));
      }
}

TEST_F(RecurrenceTest, WhatDoesNotFitIsRefused) {
  const auto refused = [&](const std::function<void(Problem&)>& change,
                           const std::function<void(std::vector<Tensor*>&)>& results = {}) {
    Problem p = problemOf(Cell::lstm, {2, 3, 4}, 2);
    std::vector<Tensor*> into = outputs(p);
    change(p);
    if (results) results(into);
    const Status status = run(p, into);
    EXPECT_FALSE(status.ok());
    return status.code;
  };
  const auto nothing = [](Problem&) {};
  EXPECT_EQ(refused([&](Problem& p) { p.sides[0].gates = floats({2, 3, 12}); }), DYN_BAD_INPUT);
  EXPECT_EQ(refused([&](Problem& p) { p.sides[1].gates = floats({1, 3, 16}); }), DYN_BAD_INPUT);
  EXPECT_EQ(refused([&](Problem& p) { p.sides[0].cell = nullptr; }), DYN_BAD_INPUT);
  EXPECT_EQ(refused([&](Problem& p) { p.sides[0].bias = floats({16}); }), DYN_BAD_INPUT);
  EXPECT_EQ(refused([&](Problem& p) { p.sides[1].packed = floats({16}); }), DYN_BAD_INPUT);
  EXPECT_EQ(refused([&](Problem& p) {
              p.lengths = tensor(DataType::i64, {2}, std::vector<int64_t>{1, 1});
            }),
            DYN_BAD_INPUT);
  EXPECT_EQ(refused([&](Problem& p) { p.cell = static_cast<Cell>(7); }), DYN_BAD_PROGRAM);
  EXPECT_EQ(refused(nothing, [](std::vector<Tensor*>& into) { into.pop_back(); }), DYN_BAD_PROGRAM);
  refused(nothing, [&](std::vector<Tensor*>& into) { into[2] = output({2, 3, 5}); });
}

// The functions alone, far out and near 0, of each instruction set that is here.
TEST(RecurrenceCells, FarOutAndNearZero) {
  std::vector<const kernels::CellKernels*> all{&dynCellsPortable};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&dynCellsAvx2);
  if (__builtin_cpu_supports("avx512f")) all.push_back(&dynCellsAvx512);
#elif defined(__aarch64__)
  all.push_back(&dynCellsNeon);
#endif
  std::vector<float> x;
  for (float size = 1e-30f; size < 1e30f; size *= 1.7f) x.insert(x.end(), {size, -size});
  x.insert(x.end(), {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0.625f, -0.625f, 88.0f, -88.0f});
  const std::vector<float> zeros(x.size(), 0.0f);
  for (const kernels::CellKernels* kernels : all) {
    std::vector<float> found(x.size());
    const auto count = static_cast<int64_t>(x.size());
    kernels->of[static_cast<size_t>(Cell::tanh)](
        count, {x.data(), count, zeros.data(), count, nullptr, zeros.data(), nullptr, found.data(), nullptr});
    for (size_t i = 0; i < x.size(); ++i) {
      const double wanted = std::tanh(static_cast<double>(x[i]));
      if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(found[i]));
      else
        EXPECT_NEAR(static_cast<double>(found[i]), wanted, 2e-7 * std::abs(wanted)) << x[i];
    }
  }
}

}  // namespace
}  // namespace dyn::vm::test
