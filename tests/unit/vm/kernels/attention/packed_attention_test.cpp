// Attention within runs of positions: against the sums themselves, in the scratch memory that it asks for,
// with the same bits for any number of threads.
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/kernels/gemm/number_gemm.h"

extern const dyn::vm::kernels::NumberFamilies numberFamiliesPortable;

namespace dyn::vm::test {
namespace {

using Call = calls::PackedAttention;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Sizes {
  int64_t heads, depth, width;
  std::vector<int64_t> lengths;
  int64_t positions() const { return std::accumulate(lengths.begin(), lengths.end(), int64_t{0}); }
};

class PackedAttentionTest : public BuiltinTest {
 protected:
  struct Operands {
    Tensor *q, *k, *v, *lengths, *bias = nullptr, *allowed = nullptr, *table = nullptr, *places = nullptr;
    bool causal = false;
    std::vector<Object*> list() const { return {q, k, v, lengths, bias, allowed, table, places}; }
  };

  Operands operandsOf(const Sizes& s) {
    const int64_t n = s.positions();
    return {floats({1, s.heads, n, s.depth}), floats({1, s.heads, s.depth, n}),
            floats({1, s.heads, n, s.width}),
            tensor(DataType::i64, {static_cast<int64_t>(s.lengths.size())}, s.lengths)};
  }
  void addMasks(Operands& o, int64_t n) {
    o.bias = floats({n});
    std::vector<uint8_t> allowed(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      allowed[static_cast<size_t>(i)] = i % 3 != 1;
      if (i % 5 == 4) o.bias->as<float>()[i] = -std::numeric_limits<float>::infinity();
    }
    o.allowed = tensor(DataType::boolean, {n}, allowed);
  }

  // Biases [heads or 1, sizes or 1, ...] at places that are in order, but for one run whose have gaps.
  void addTable(Operands& o, const Sizes& s, bool forAll) {
    std::vector<int64_t> places;
    int64_t most = 0;
    for (size_t run = 0; run < s.lengths.size(); ++run)
      for (int64_t i = 0; i < s.lengths[run]; ++i) {
        places.push_back(run == 1 ? 2 * i + 1 : i);
        most = std::max(most, places.back());
      }
    o.table = forAll ? floats({1, 1, most + 1}) : floats({s.heads, most + 1, most + 1});
    o.places = tensor(DataType::i64, {s.positions()}, places);
  }

  static Options optionsOf(float scale, float fill, bool nanAsZero = false, bool causal = false) {
    Call::Numbers<calls::Owned> numbers;
    numbers.causal = causal;
    numbers.scale = scale;
    numbers.fill = fill;
    numbers.nanAsZero = nanAsZero;
    return {.numbers = calls::writeNumbers<Call>(numbers)};
  }

  static double scoreOf(const Operands& o, const Sizes& s, int64_t head, int64_t i, int64_t j, double scale,
                        double fill) {
    if (o.causal && j > i) return -kInfinity;
    if (o.allowed && o.allowed->as<uint8_t>()[j] == 0) return fill;
    const int64_t n = s.positions();
    double sum = 0, more = 0;
    if (o.table) {
      const int64_t* shape = o.table->shape();
      const auto along = [&](int axis, int64_t at) { return shape[axis] == 1 ? 0 : at; };
      const int64_t *places = o.places->as<int64_t>(), row = along(0, head) * shape[1] + along(1, places[i]);
      more = static_cast<double>(o.table->as<float>()[row * shape[2] + along(2, places[j])]);
    }
    for (int64_t d = 0; d < s.depth; ++d)
      sum += static_cast<double>(o.q->as<float>()[(head * n + i) * s.depth + d]) *
             static_cast<double>(o.k->as<float>()[(head * s.depth + d) * n + j]);
    return scale * sum + more + (o.bias ? static_cast<double>(o.bias->as<float>()[j]) : 0);
  }

  static void expectSums(const Operands& o, const Sizes& s, const Tensor* z, double scale, double fill) {
    int64_t begin = 0;
    for (int64_t length : s.lengths) {
      for (int64_t head = 0; head < s.heads; ++head)
        for (int64_t i = begin; i < begin + length; ++i) {
          std::vector<double> row;
          double peak = -kInfinity, sum = 0;
          for (int64_t j = begin; j < begin + length; ++j)
            row.push_back(scoreOf(o, s, head, i, j, scale, fill)), peak = std::max(peak, row.back());
          for (double& score : row) sum += score = std::exp(score - peak);
          for (int64_t e = 0; e < s.width; ++e) {
            double wanted = 0;
            for (int64_t j = 0; j < length; ++j)
              wanted +=
                  row[static_cast<size_t>(j)] / sum *
                  static_cast<double>(o.v->as<float>()[(head * s.positions() + begin + j) * s.width + e]);
            const double actual = static_cast<double>(z->as<float>()[(i * s.heads + head) * s.width + e]);
            if (std::isnan(wanted) && std::isnan(actual)) continue;
            ASSERT_NEAR(actual, wanted, 2e-6) << "position " << i << ", head " << head << ", element " << e;
          }
        }
      begin += length;
    }
  }
};

TEST_F(PackedAttentionTest, AnySizes) {
  for (const Sizes& s : std::vector<Sizes>{{1, 4, 4, {1}},
                                           {3, 5, 7, {0, 2, 0, 31, 0}},
                                           {2, 64, 33, {129, 1, 64}},
                                           {1, 0, 3, {4, 5}},
                                           {2, 4, 0, {3}},
                                           {0, 4, 4, {3}},
                                           {2, 4, 4, {0, 0}},
                                           {1, 8, 8, {1030, 15, 16, 17}},
                                           {2, 3, 5, {}}})
    for (bool masked : {false, true}) {
      Operands o = operandsOf(s);
      if (masked) addMasks(o, s.positions());
      Tensor* z = output({1, s.positions(), s.heads, s.width});
      const Status status = call("packed_attention", o.list(), optionsOf(0.5f, -10000), {z});
      ASSERT_TRUE(status.ok()) << status.toString();
      expectSums(o, s, z, 0.5, -10000);
    }
}

TEST_F(PackedAttentionTest, CausalAndWithATable) {
  for (const Sizes& s : std::vector<Sizes>{{1, 4, 4, {1}},
                                           {3, 5, 7, {0, 2, 0, 31, 0}},
                                           {2, 64, 33, {129, 1, 64}},
                                           {1, 8, 8, {1030, 15, 16, 17}},
                                           {2, 3, 5, {}}})
    for (int kind = 1; kind < 6; ++kind) {
      Operands o = operandsOf(s);
      o.causal = kind % 2 != 0;
      if (kind >= 2) addTable(o, s, kind >= 4);
      if (kind == 3) {  // each query has its own key
        o.bias = floats({s.positions()});
      }
      Tensor* z = output({1, s.positions(), s.heads, s.width});
      const Status status = call("packed_attention", o.list(), optionsOf(0.5f, -10000, false, o.causal), {z});
      ASSERT_TRUE(status.ok()) << status.toString();
      expectSums(o, s, z, 0.5, -10000);
    }
}

// The kernels of any CPU and those of this one.
TEST(SoftmaxRows, AreSoftmaxOfWhatIsKept) {
  for (const kernels::NumberFamilies* families : {&numberFamiliesPortable, &kernels::numberFamilies()})
    for (int64_t keys : {1, 15, 16, 17, 100}) {
      const int64_t columns = (keys + 15) / 16 * 16, stride = columns + 3;
      std::mt19937 random(7);
      std::normal_distribution<float> normal(0, 20);
      std::vector<float> x(static_cast<size_t>(3 * stride)), addend(static_cast<size_t>(columns), -INFINITY);
      std::vector<int32_t> keep(static_cast<size_t>(columns), 0);
      for (float& value : x) value = normal(random);
      for (size_t j = 0; j < static_cast<size_t>(keys); ++j) {
        keep[j] = j % 4 == 3 ? 0 : -1;
        addend[j] = j % 4 == 3 ? -5.0f : normal(random);
      }
      std::vector<float> y = x;
      families->softmaxOfF32(3, columns, y.data(), stride, 0.5f, keep.data(), addend.data());
      for (int64_t row = 0; row < 3; ++row) {
        std::vector<double> wanted;
        double peak = -kInfinity, sum = 0;
        for (size_t j = 0; j < static_cast<size_t>(columns); ++j) {
          const float kept = keep[j] ? x[static_cast<size_t>(row * stride) + j] * 0.5f : 0;
          wanted.push_back(static_cast<double>(kept + addend[j]));
          peak = std::max(peak, wanted.back());
        }
        for (double& score : wanted) sum += score = std::exp(score - peak);
        for (size_t j = 0; j < wanted.size(); ++j)
          ASSERT_NEAR(y[static_cast<size_t>(row * stride) + j], wanted[j] / sum,
                      1e-5 * (wanted[j] / sum) + 1e-30)
              << keys << " keys, row " << row << ", column " << j;
        for (int64_t j = columns; j < stride; ++j)
          ASSERT_EQ(y[static_cast<size_t>(row * stride + j)], x[static_cast<size_t>(row * stride + j)]);
      }
    }
}

TEST_F(PackedAttentionTest, SameBitsForAnyNumberOfThreads) {
  const Sizes s{6, 16, 24, {3, 300, 0, 17, 1, 250, 129}};
  const Operands o = operandsOf(s);
  Tensor *one = output({1, s.positions(), s.heads, s.width}),
         *three = output({1, s.positions(), s.heads, s.width});
  ASSERT_TRUE(call("packed_attention", o.list(), optionsOf(0.25f, 0), {one}).ok());
  threads_ = &three_;
  ASSERT_TRUE(call("packed_attention", o.list(), optionsOf(0.25f, 0), {three}).ok());
  EXPECT_EQ(0, memcmp(one->data, three->data, one->sizeBytes()));
}

// Rows that see no key are no numbers, or 0 where that is asked for; scores far apart do not overflow.
TEST_F(PackedAttentionTest, RowsWithoutKeysAndLargeScores) {
  const Sizes s{1, 1, 2, {2, 3}};
  Operands o = operandsOf(s);
  o.bias = tensor<float>(DataType::f32, {5}, {-INFINITY, -INFINITY, 3e38f, -3e38f, 0});
  for (bool asZero : {false, true}) {
    Tensor* z = output({1, 5, 1, 2});
    ASSERT_TRUE(call("packed_attention", o.list(), optionsOf(1, 0, asZero), {z}).ok());
    for (int64_t i = 0; i < 4; ++i) {
      if (asZero)
        EXPECT_EQ(z->as<float>()[i], 0);
      else
        EXPECT_TRUE(std::isnan(z->as<float>()[i]));
    }
    for (int64_t i = 4; i < 10; ++i) EXPECT_EQ(z->as<float>()[i], o.v->as<float>()[4 + i % 2]);
  }
}

TEST_F(PackedAttentionTest, WhatDoesNotFitIsRefused) {
  const Sizes s{1, 4, 4, {2, 3}};
  for (const std::vector<int64_t>& lengths :
       std::vector<std::vector<int64_t>>{{2, 2}, {2, 4}, {-1, 6}, {6, -1}}) {
    Operands o = operandsOf(s);
    o.lengths = tensor(DataType::i64, {2}, lengths);
    EXPECT_EQ(call("packed_attention", o.list(), optionsOf(1, 0), {output({1, 5, 1, 4})}).code,
              DYN_OUT_OF_RANGE);
  }
  for (const std::vector<int64_t>& places :
       std::vector<std::vector<int64_t>>{{0, 1, 2, 3, 4}, {0, -1, 0, 0, 0}}) {
    Operands o = operandsOf(s);
    o.table = floats({1, 4, 4});
    o.places = tensor(DataType::i64, {5}, places);
    EXPECT_EQ(call("packed_attention", o.list(), optionsOf(1, 0), {output({1, 5, 1, 4})}).code,
              DYN_OUT_OF_RANGE);
    o.places = nullptr;
    EXPECT_EQ(call("packed_attention", o.list(), optionsOf(1, 0), {output({1, 5, 1, 4})}).code,
              DYN_BAD_INPUT);
  }
  Operands o = operandsOf(s);
  o.bias = floats({4});
  EXPECT_EQ(call("packed_attention", o.list(), optionsOf(1, 0), {output({1, 5, 1, 4})}).code, DYN_BAD_INPUT);
}

}  // namespace
}  // namespace dyn::vm::test
