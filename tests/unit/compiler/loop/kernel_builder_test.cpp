#include "compiler/loop/kernel_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "compiler/loop/kernel_interpreter.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn::loop {
namespace {

using ::testing::HasSubstr;
using Index = std::span<const Expr>;
using Values = std::vector<float>;

// Builds one kernel and runs it on concrete sizes.
struct BuilderTest : ::testing::Test {
  DimContext dims;
  DimSolver solver{dims};
  std::shared_ptr<LoopContext> context = std::make_shared<LoopContext>(dims);
  LoopContext& c = *context;
  Dim n = dims.symbol("n"), m = dims.symbol("m"), k = dims.symbol("k");
  KernelDefinition d{.name = "test", .context = context};
  Kernel kernel;
  std::mt19937 random{7};

  const Buffer* input(const char* name, Shape shape, Dtype dtype = Dtype::f32) {
    d.inputs.push_back(declareBuffer(c, solver, name, dtype, shape));
    return d.inputs.back();
  }
  Expr at(const Buffer* b, std::vector<Expr> index) { return c.load(b, std::move(index)); }
  Expr constant(double v) { return c.real(v, Dtype::f32); }
  Expr reduce(ReduceOp op, Dim extent, const std::function<Expr(Expr)>& body) {
    Expr v = c.variable("any");
    c.bound(v, c.dim(extent));
    return c.reduce(op, {v}, {c.dim(extent)}, body(v));
  }

  void build(Shape space, std::function<Expr(Index)> element, Dtype dtype = Dtype::f32) {
    d.iterationSpace = space;
    d.outputs.push_back({"y", dtype, space, [element](Index i) -> Result<Expr> { return element(i); }});
    finish();
  }
  void finish() {
    auto built = buildKernel(d, solver);
    ASSERT_TRUE(built.ok()) << built.error().toString();
    kernel = *built;
    const std::string text = print(kernel);
    ASSERT_TRUE(verify(kernel).ok()) << verify(kernel).error().toString() << "\n" << text;
    DimContext other;
    auto parsed = parseKernel(other, text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString() << "\n" << text;
    EXPECT_EQ(print(*parsed), text);
  }
  void expectAllProved() {
    EXPECT_THAT(unprovenAccesses(kernel, &solver), ::testing::IsEmpty()) << print(kernel);
  }

  Values noise(int64_t count) {
    Values v(static_cast<size_t>(count));
    for (float& x : v) x = std::uniform_real_distribution<float>(-2, 2)(random);
    return v;
  }

  // Runs all units in random pieces, backwards, twice with other cuts: results must be the same bits.
  Result<int32_t> run(const std::vector<std::pair<Dim, int64_t>>& sizes, std::vector<void*> buffers,
                      void* output = nullptr, size_t outputBytes = 0) {
    DimBinding binding;
    for (auto [dim, value] : sizes) binding.set(dim, value);
    std::vector<int64_t> scalars;
    for (Dim s : kernel.scalars) {
      DYN_TRY(int64_t value, evaluate(s, binding));
      scalars.push_back(value);
    }
    DYN_TRY(KernelInterpreter program, KernelInterpreter::compile(kernel));
    DYN_TRY(int64_t units, program.unitCount(scalars, buffers));
    std::vector<std::byte> first;
    for (int round = 0; round < 2; ++round) {
      if (output) std::memset(output, 0xee, outputBytes);
      for (int64_t end = units; end > 0;) {
        const int64_t begin =
            round == 0 ? 0 : std::max<int64_t>(0, end - 1 - static_cast<int64_t>(random() % 5));
        DYN_TRY(int32_t fault, program.run(buffers, scalars, begin, end));
        if (fault) return fault;
        end = begin;
      }
      if (!output) continue;
      if (round == 0)
        first.assign(static_cast<std::byte*>(output), static_cast<std::byte*>(output) + outputBytes);
      EXPECT_EQ(std::memcmp(first.data(), output, outputBytes), 0) << "results depend on the split";
    }
    return 0;
  }
  void expectRun(const std::vector<std::pair<Dim, int64_t>>& sizes, const std::vector<Values*>& inputs,
                 const Values& expected) {
    Values y(expected.size());
    std::vector<void*> buffers;
    for (Values* v : inputs) buffers.push_back(v->data());
    buffers.push_back(y.data());
    auto fault = run(sizes, buffers, y.data(), y.size() * sizeof(float));
    ASSERT_TRUE(fault.ok()) << fault.error().toString() << "\n" << print(kernel);
    ASSERT_EQ(*fault, 0);
    for (size_t i = 0; i < y.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(y[i])) continue;
      ASSERT_EQ(y[i], expected[i]) << "element " << i << "\n" << print(kernel);
    }
  }
};

const int64_t kSizes[] = {0, 1, 2, 7, 67, 131};

TEST_F(BuilderTest, elementwiseIsOneLinearLoop) {
  const Buffer *a = input("a", {n, m}), *b = input("b", {n, m});
  build({n, m}, [&](Index i) { return at(a, {i[0], i[1]}) + at(b, {i[0], i[1]}); });
  EXPECT_EQ(kernel.buffers[0]->shape.size(), 1u) << print(kernel);
  const std::string text = print(kernel);
  EXPECT_THAT(text, HasSubstr("units u < dim(floordiv(m*n + 4095, 4096))"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("floorDiv")));
  expectAllProved();
  for (int64_t rows : kSizes)
    for (int64_t columns : kSizes) {
      Values x = noise(rows * columns), z = noise(rows * columns), y(x.size());
      for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] + z[i];
      expectRun({{n, rows}, {m, columns}}, {&x, &z}, y);
    }
}

TEST_F(BuilderTest, provablyEqualSizesFuseUnknownOnesDoNot) {
  const Buffer *a = input("a", {n, m}), *b = input("b", {n, k});
  build({n, m}, [&](Index i) { return at(a, {i[0], i[1]}) + at(b, {i[0], i[1]}); });
  EXPECT_EQ(kernel.buffers[0]->shape.size(), 2u);
  EXPECT_EQ(unprovenAccesses(kernel).size(), 1u) << "b[i, j] with j < m is not proved to be below k";
}

TEST_F(BuilderTest, equalityOfDimsIsLearntFromTheSolver) {
  ASSERT_TRUE(solver.addEqual(k, m, {"test"}).ok());
  const Buffer *a = input("a", {n, m}), *b = input("b", {n, k});
  build({n, m}, [&](Index i) { return at(a, {i[0], i[1]}) + at(b, {i[0], i[1]}); });
  EXPECT_EQ(kernel.buffers[0]->shape.size(), 1u) << print(kernel);
  expectAllProved();
}

TEST_F(BuilderTest, broadcastRow) {
  const Buffer *a = input("a", {n, m}), *b = input("b", {m});
  build({n, m}, [&](Index i) { return at(a, {i[0], i[1]}) * at(b, {i[1]}); });
  expectAllProved();
  for (int64_t rows : kSizes)
    for (int64_t columns : kSizes) {
      Values x = noise(rows * columns), z = noise(columns), y(x.size());
      for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] * z[i % static_cast<size_t>(columns)];
      expectRun({{n, rows}, {m, columns}}, {&x, &z}, y);
    }
}

TEST_F(BuilderTest, channelBiasFusesTheImage) {
  const Buffer *a = input("a", {n, m, k, k}), *b = input("b", {m});
  build({n, m, k, k}, [&](Index i) { return at(a, {i[0], i[1], i[2], i[3]}) + at(b, {i[1]}); });
  EXPECT_EQ(kernel.buffers[0]->shape.size(), 3u) << print(kernel);
  expectAllProved();
  Values x = noise(2 * 3 * 25), z = noise(3), y(x.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] + z[i / 25 % 3];
  expectRun({{n, 2}, {m, 3}, {k, 5}}, {&x, &z}, y);
}

TEST_F(BuilderTest, transposedCopy) {
  const Buffer* a = input("a", {m, n});
  build({n, m}, [&](Index i) { return at(a, {i[1], i[0]}); });
  expectAllProved();
  for (int64_t rows : kSizes)
    for (int64_t columns : kSizes) {
      Values x = noise(rows * columns), y(x.size());
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          y[static_cast<size_t>(i * columns + j)] = x[static_cast<size_t>(j * rows + i)];
      expectRun({{n, rows}, {m, columns}}, {&x}, y);
    }
}

Values softmaxRows(const Values& x, int64_t rows, int64_t columns) {
  Values y(x.size());
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = x.data() + i * columns;
    float top = -INFINITY, total = 0;
    for (int64_t j = 0; j < columns; ++j) top = std::max(top, row[j]);
    for (int64_t j = 0; j < columns; ++j) total += static_cast<float>(std::exp(double(row[j] - top)));
    for (int64_t j = 0; j < columns; ++j)
      y[static_cast<size_t>(i * columns + j)] = static_cast<float>(std::exp(double(row[j] - top))) / total;
  }
  return y;
}

TEST_F(BuilderTest, softmaxIsOneStitchedKernel) {
  const Buffer* x = input("x", {n, m});
  const auto top = [&](Expr row) {
    return reduce(ReduceOp::maximum, m, [&](Expr j) { return at(x, {row, j}); });
  };
  const auto e = [&](Expr row, Expr j) { return c.unary(UnaryOp::exp, at(x, {row, j}) - top(row)); };
  build({n, m}, [&](Index i) {
    return e(i[0], i[1]) / reduce(ReduceOp::sum, m, [&](Expr j) { return e(i[0], j); });
  });
  EXPECT_EQ(print(kernel),
            R"(kernel @test(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n steps (25*m*n) {
  accumulate most: f32 = maximum over r < m vector {
    x[u, r]
  }
  accumulate total: f32 = sum over r_1 < m vector {
    exp(x[u, r_1] - most)
  }
  for j < m vector {
    y[u, j] = exp(x[u, j] - most) / total
  }
}
)");
  expectAllProved();
  for (int64_t rows : kSizes)
    for (int64_t columns : kSizes) {
      Values v = noise(rows * columns);
      expectRun({{n, rows}, {m, columns}}, {&v}, softmaxRows(v, rows, columns));
    }
}

TEST_F(BuilderTest, softmaxOverAMiddleAxisReducesOncePerColumn) {
  const Buffer* x = input("x", {n, m, k});
  const auto total = [&](Expr i, Expr l) {
    return reduce(ReduceOp::sum, m, [&](Expr j) { return at(x, {i, j, l}); });
  };
  build({n, m, k}, [&](Index i) { return at(x, {i[0], i[1], i[2]}) / total(i[0], i[2]); });
  expectAllProved();
  // The accumulate stands outside the loop over m.
  ASSERT_EQ(kernel.body->children.back()->kind, StmtKind::loop) << print(kernel);
  EXPECT_EQ(kernel.body->children[kernel.body->children.size() - 2]->kind, StmtKind::accumulate)
      << print(kernel);
  for (int64_t size : {0, 1, 5}) {
    const int64_t a = 3, b = size, e = 7;
    Values v = noise(a * b * e), y(v.size());
    for (int64_t i = 0; i < a; ++i)
      for (int64_t l = 0; l < e; ++l) {
        float sum = 0;
        for (int64_t j = 0; j < b; ++j) sum += v[static_cast<size_t>((i * b + j) * e + l)];
        for (int64_t j = 0; j < b; ++j)
          y[static_cast<size_t>((i * b + j) * e + l)] = v[static_cast<size_t>((i * b + j) * e + l)] / sum;
      }
    expectRun({{n, a}, {m, b}, {k, e}}, {&v}, y);
  }
}

TEST_F(BuilderTest, softmaxOfAVectorIsOneUnit) {
  const Buffer* x = input("x", {n});
  build({n}, [&](Index i) {
    return at(x, {i[0]}) / reduce(ReduceOp::sum, n, [&](Expr j) { return at(x, {j}); });
  });
  EXPECT_EQ(kernel.unitCount.toString(), "1");
  expectAllProved();
  for (int64_t size : kSizes) {
    Values v = noise(size), y(v.size());
    float sum = 0;
    for (float f : v) sum += f;
    for (size_t i = 0; i < v.size(); ++i) y[i] = v[i] / sum;
    expectRun({{n, size}}, {&v}, y);
  }
}

TEST_F(BuilderTest, layerNormalization) {
  const Buffer *x = input("x", {n, m}), *g = input("g", {m});
  const Expr count = c.cast(c.dim(m), Dtype::f32);
  const auto mean = [&](Expr i) {
    return reduce(ReduceOp::sum, m, [&](Expr j) { return at(x, {i, j}); }) / count;
  };
  const auto variance = [&](Expr i) {
    return reduce(ReduceOp::sum, m,
                  [&](Expr j) {
                    Expr centred = at(x, {i, j}) - mean(i);
                    return centred * centred;
                  }) /
           count;
  };
  build({n, m}, [&](Index i) {
    return (at(x, {i[0], i[1]}) - mean(i[0])) / c.unary(UnaryOp::sqrt, variance(i[0]) + constant(1e-5)) *
           at(g, {i[1]});
  });
  expectAllProved();
  const std::string text = print(kernel);
  const size_t loop = text.find("for j");
  EXPECT_EQ(text.find("sqrt", loop), std::string::npos) << "sqrt is hoisted\n" << text;
  for (int64_t rows : kSizes)
    for (int64_t columns : kSizes) {
      Values v = noise(rows * columns), s = noise(columns), y(v.size());
      for (int64_t i = 0; i < rows; ++i) {
        const float* row = v.data() + i * columns;
        float sum = 0, squares = 0;
        for (int64_t j = 0; j < columns; ++j) sum += row[j];
        const float average = sum / static_cast<float>(columns);
        for (int64_t j = 0; j < columns; ++j) squares += (row[j] - average) * (row[j] - average);
        const float deviation = std::sqrt(squares / static_cast<float>(columns) + 1e-5f);
        for (int64_t j = 0; j < columns; ++j)
          y[static_cast<size_t>(i * columns + j)] =
              (row[j] - average) / deviation * s[static_cast<size_t>(j)];
      }
      expectRun({{n, rows}, {m, columns}}, {&v, &s}, y);
    }
}

TEST_F(BuilderTest, matrixProduct) {
  const Buffer *a = input("a", {n, k}), *b = input("b", {k, m});
  build({n, m}, [&](Index i) {
    return reduce(ReduceOp::sum, k, [&](Expr l) { return at(a, {i[0], l}) * at(b, {l, i[1]}); });
  });
  expectAllProved();
  for (int64_t rows : {0, 1, 5})
    for (int64_t inner : {0, 1, 13})
      for (int64_t columns : {0, 1, 131}) {
        Values x = noise(rows * inner), z = noise(inner * columns), y(static_cast<size_t>(rows * columns));
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            float sum = 0;
            for (int64_t l = 0; l < inner; ++l)
              sum += x[static_cast<size_t>(i * inner + l)] * z[static_cast<size_t>(l * columns + j)];
            y[static_cast<size_t>(i * columns + j)] = sum;
          }
        expectRun({{n, rows}, {m, columns}, {k, inner}}, {&x, &z}, y);
      }
}

TEST_F(BuilderTest, paddedConvolution) {
  // y[i] = sum over c, t of x[c, i + t - 1] * w[c, t], zero padding 1, width 3.
  const Buffer *x = input("x", {k, n}), *w = input("w", {k, dims.constant(3)});
  build({n}, [&](Index i) {
    Expr channel = c.variable("channel"), tap = c.variable("tap");
    c.bound(channel, c.dim(k));
    c.bound(tap, c.integer(3));
    Expr place = i[0] + tap - 1;
    Expr inside = c.integer(0) <= place && place < c.dim(n);
    Expr body = select(inside, at(x, {channel, place}), constant(0)) * at(w, {channel, tap});
    return c.reduce(ReduceOp::sum, {channel, tap}, {c.dim(k), c.integer(3)}, body);
  });
  expectAllProved();
  for (int64_t size : kSizes)
    for (int64_t channels : {0, 1, 3}) {
      Values v = noise(size * channels), f = noise(3 * channels), y(static_cast<size_t>(size));
      for (int64_t i = 0; i < size; ++i) {
        float sum = 0;
        for (int64_t q = 0; q < channels; ++q)
          for (int64_t t = 0; t < 3; ++t) {
            const int64_t p = i + t - 1;
            sum += (p >= 0 && p < size ? v[static_cast<size_t>(q * size + p)] : 0.0f) *
                   f[static_cast<size_t>(q * 3 + t)];
          }
        y[static_cast<size_t>(i)] = sum;
      }
      expectRun({{n, size}, {k, channels}}, {&v, &f}, y);
    }
}

TEST_F(BuilderTest, concatenationOfReductionsKeepsToItsArm) {
  // y = [row sums of a (n), row sums of b (m)]: neither sum may run on rows of the other.
  const Buffer *a = input("a", {n, k}), *b = input("b", {m, k});
  build({n + m}, [&](Index i) {
    Expr left = reduce(ReduceOp::sum, k, [&](Expr j) { return at(a, {i[0], j}); });
    Expr right = reduce(ReduceOp::sum, k, [&](Expr j) { return at(b, {i[0] - c.dim(n), j}); });
    return select(i[0] < c.dim(n), left, right);
  });
  expectAllProved();
  Values x = noise(3 * 5), z = noise(4 * 5), y(7);
  for (size_t i = 0; i < 7; ++i)
    for (size_t j = 0; j < 5; ++j) y[i] += i < 3 ? x[i * 5 + j] : z[(i - 3) * 5 + j];
  expectRun({{n, 3}, {m, 4}, {k, 5}}, {&x, &z}, y);
  Values none;
  expectRun({{n, 0}, {m, 4}, {k, 5}}, {&none, &z}, Values(y.begin() + 3, y.end()));
}

TEST_F(BuilderTest, loadsDoNotLeaveLoopsThatMayNotRun) {
  // x[i, 0] exists only if m > 0: hoisting it out of the loop over m needs a guard.
  const Buffer* x = input("x", {n, m});
  build({n, m}, [&](Index i) { return at(x, {i[0], i[1]}) - at(x, {i[0], c.integer(0)}); });
  expectAllProved();
  for (int64_t columns : {0, 1, 9}) {
    Values v = noise(4 * columns), y(v.size());
    for (int64_t i = 0; i < 4 * columns; ++i)
      y[static_cast<size_t>(i)] = v[static_cast<size_t>(i)] - v[static_cast<size_t>(i / columns * columns)];
    expectRun({{n, 4}, {m, columns}}, {&v}, y);
  }
}

TEST_F(BuilderTest, gatherChecksItsIndex) {
  const Buffer *x = input("x", {n, m}), *index = input("index", {k}, Dtype::i64);
  build({k, m}, [&](Index i) {
    Expr row = at(index, {i[0]});
    return c.checked(c.integer(0) <= row && row < c.dim(n), DYN_KERNEL_INDEX_OUT_OF_RANGE,
                     at(x, {row, i[1]}));
  });
  expectAllProved();
  Values v = noise(3 * 4), y(2 * 4);
  std::vector<int64_t> rows{2, 0};
  for (size_t i = 0; i < 8; ++i) y[i] = v[static_cast<size_t>(rows[i / 4]) * 4 + i % 4];
  Values out(8);
  auto fault = run({{n, 3}, {m, 4}, {k, 2}}, {v.data(), rows.data(), out.data()}, out.data(), 32);
  ASSERT_TRUE(fault.ok()) << fault.error().toString() << print(kernel);
  EXPECT_EQ(*fault, 0);
  EXPECT_EQ(out, y);
  rows[1] = 3;
  fault = run({{n, 3}, {m, 4}, {k, 2}}, {v.data(), rows.data(), out.data()}, out.data(), 32);
  ASSERT_TRUE(fault.ok());
  EXPECT_EQ(*fault, DYN_KERNEL_INDEX_OUT_OF_RANGE);
  // No element is computed: a bad index is no fault.
  fault = run({{n, 3}, {m, 0}, {k, 2}}, {v.data(), rows.data(), out.data()});
  ASSERT_TRUE(fault.ok());
  EXPECT_EQ(*fault, 0) << print(kernel);
}

TEST_F(BuilderTest, checkUnderAnArmNotTakenIsNoFault) {
  const Buffer* x = input("x", {n});
  build({n}, [&](Index i) {
    Expr v = at(x, {i[0]});
    Expr good = c.checked(constant(0) <= v, DYN_KERNEL_BAD_VALUE, c.unary(UnaryOp::sqrt, v));
    return select(v < constant(0), c.unary(UnaryOp::neg, v), good);
  });
  Values v{4, -3}, y{2, 3};
  expectRun({{n, 2}}, {&v}, y);
}

TEST_F(BuilderTest, checkInsideAReduction) {
  const Buffer *x = input("x", {n}), *index = input("index", {m}, Dtype::i64);
  build({}, [&](Index) {
    return reduce(ReduceOp::sum, m, [&](Expr j) {
      Expr p = at(index, {j});
      return c.checked(c.integer(0) <= p && p < c.dim(n), DYN_KERNEL_INDEX_OUT_OF_RANGE, at(x, {p}));
    });
  });
  expectAllProved();
  Values v{1, 2, 4}, y(1);
  std::vector<int64_t> index64{2, 2, 0};
  auto fault = run({{n, 3}, {m, 3}}, {v.data(), index64.data(), y.data()}, y.data(), 4);
  ASSERT_TRUE(fault.ok()) << fault.error().toString() << print(kernel);
  EXPECT_EQ(*fault, 0);
  EXPECT_EQ(y[0], 9);
  index64[1] = -1;
  fault = run({{n, 3}, {m, 3}}, {v.data(), index64.data(), y.data()}, y.data(), 4);
  ASSERT_TRUE(fault.ok());
  EXPECT_EQ(*fault, DYN_KERNEL_INDEX_OUT_OF_RANGE);
}

TEST_F(BuilderTest, outputsOfEqualElementCountShareANest) {
  const Buffer* x = input("x", {n, m});
  d.iterationSpace = {n, m};
  d.outputs.push_back({"y", Dtype::f32, {n, m}, [&](Index i) -> Result<Expr> {
                         return at(x, {i[0], i[1]}) * constant(2);
                       }});
  d.outputs.push_back({"z", Dtype::f32, {n * m}, [&](Index i) -> Result<Expr> {
                         // A reshape of x: its index comes back to (i, j) without a division.
                         Expr row = floorDiv(i[0], c.dim(m)), column = mod(i[0], c.dim(m));
                         return at(x, {row, column}) + constant(1);
                       }});
  finish();
  expectAllProved();
  EXPECT_THAT(print(kernel), ::testing::Not(HasSubstr("floorDiv"))) << "no division in the inner loop";
  Values v = noise(15), y(15), z(15);
  auto fault = run({{n, 3}, {m, 5}}, {v.data(), y.data(), z.data()});
  ASSERT_TRUE(fault.ok()) << fault.error().toString();
  for (size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(y[i], v[i] * 2);
    EXPECT_EQ(z[i], v[i] + 1);
  }
}

TEST_F(BuilderTest, scalarKernelAndUnitAxes) {
  const Buffer* x = input("x", {});
  build({}, [&](Index) { return at(x, {}) + constant(1); });
  expectAllProved();
  Values v{41}, y{42};
  expectRun({}, {&v}, y);
}

TEST_F(BuilderTest, axesOfSizeOneNeedNoLoop) {
  const Dim one = dims.constant(1);
  const Buffer* x = input("x", {one, n, one});
  build({one, n, one}, [&](Index i) { return at(x, {i[0], i[1], i[2]}) + constant(1); });
  expectAllProved();
  EXPECT_THAT(print(kernel), ::testing::Not(HasSubstr("floorDiv")));
  Values v = noise(5000), y(v);
  for (float& f : y) f += 1;
  expectRun({{n, 5000}}, {&v}, y);
}

TEST_F(BuilderTest, longInnerAxesAreCutInBlocks) {
  const Buffer *a = input("a", {n, m}), *b = input("b", {m});
  build({n, m}, [&](Index i) { return at(a, {i[0], i[1]}) - at(b, {i[1]}); });
  expectAllProved();
  Values x = noise(3 * 9001), z = noise(9001), y(x.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] - z[i % 9001];
  expectRun({{n, 3}, {m, 9001}}, {&x, &z}, y);
}

TEST_F(BuilderTest, indexValuesThemselves) {
  build({n, m}, [&](Index i) { return c.cast(i[0] * 10 + i[1], Dtype::f32); });
  Values y(12);
  for (int i = 0; i < 12; ++i) y[static_cast<size_t>(i)] = static_cast<float>(i / 4 * 10 + i % 4);
  expectRun({{n, 3}, {m, 4}}, {}, y);
}

TEST_F(BuilderTest, shapesThatDoNotFitAreRefused) {
  d.iterationSpace = {n, m};
  d.outputs.push_back({"y", Dtype::f32, {n, k}, [&](Index) -> Result<Expr> { return constant(0); }});
  auto built = buildKernel(d, solver);
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().id, DiagnosticId::unsupportedFeature);
}

TEST_F(BuilderTest, stepsGrowWithTheWork) {
  const Buffer *a = input("a", {n, k}), *b = input("b", {k, m});
  build({n, m}, [&](Index i) {
    return reduce(ReduceOp::sum, k, [&](Expr l) { return at(a, {i[0], l}) * at(b, {l, i[1]}); });
  });
  ASSERT_TRUE(kernel.stepsPerKernel);
  DimBinding binding;
  binding.set(n, 10);
  binding.set(m, 10);
  binding.set(k, 1000);
  EXPECT_GE(*evaluate(kernel.stepsPerKernel, binding), 100000);
}

}  // namespace
}  // namespace dyn::loop
