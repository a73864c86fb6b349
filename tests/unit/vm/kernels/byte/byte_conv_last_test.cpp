// Convolutions of bytes with their channels last, and their pools, against sums in 64 bits, by every family
// of micro-kernels that this CPU can run.
#include <cmath>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/byte/byte_gemm.h"
#include "vm/shared/dyn_byte_rescale.h"
#include "vm/shared/dyn_byte_window.h"
#include "vm/shared/dyn_layout.h"

namespace dyn::vm::test {
namespace {

using kernels::ByteGemmFamily;

struct Window {
  int64_t batch, height, width, channels, filters, rows, columns;
  int32_t strideDown = 1, strideRight = 1, dilationDown = 1, dilationRight = 1, group = 1;
  int64_t padUp = 0, padLeft = 0, padDown = 0, padRight = 0;

  int64_t perGroup() const { return channels / group; }
  int64_t outputHeight() const {
    return (height + padUp + padDown - (rows - 1) * dilationDown - 1) / strideDown + 1;
  }
  int64_t outputWidth() const {
    return (width + padLeft + padRight - (columns - 1) * dilationRight - 1) / strideRight + 1;
  }
};

class ByteConvLastTest : public BuiltinTest {
 protected:
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  Tensor* bytes(DataType dtype, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t dim : shape) count *= dim;
    std::vector<uint8_t> data(static_cast<size_t>(count));
    // The least and the greatest often: sums of 16 bits would saturate.
    for (uint8_t& x : data)
      x = static_cast<uint8_t>(number(0, 3) == 0 ? (number(0, 1) ? 127 : 128) : number(0, 255));
    return tensor(dtype, std::move(shape), data);
  }
  static int64_t at(const Tensor* x, int64_t i) {
    return x->dtype == DataType::i8 ? int64_t{x->as<int8_t>()[i]} : int64_t{x->as<uint8_t>()[i]};
  }

  // [m, c/group, h, w]
  static std::vector<int32_t> expected(const Window& w, const Tensor* x, const Tensor* k, int64_t zero) {
    std::vector<int32_t> y;
    const int64_t perGroup = w.perGroup(), filtersOfGroup = w.filters / w.group;
    for (int64_t n = 0; n < w.batch; ++n)
      for (int64_t oh = 0; oh < w.outputHeight(); ++oh)
        for (int64_t ow = 0; ow < w.outputWidth(); ++ow)
          for (int64_t m = 0; m < w.filters; ++m) {
            int64_t sum = 0;
            for (int64_t c = 0; c < perGroup; ++c)
              for (int64_t r = 0; r < w.rows; ++r)
                for (int64_t s = 0; s < w.columns; ++s) {
                  const int64_t h = oh * w.strideDown + r * w.dilationDown - w.padUp,
                                v = ow * w.strideRight + s * w.dilationRight - w.padLeft;
                  if (h < 0 || h >= w.height || v < 0 || v >= w.width) continue;
                  const int64_t channel = m / filtersOfGroup * perGroup + c;
                  sum += (at(x, ((n * w.height + h) * w.width + v) * w.channels + channel) - zero) *
                         at(k, ((m * perGroup + c) * w.rows + r) * w.columns + s);
                }
            y.push_back(static_cast<int32_t>(sum));
          }
    return y;
  }

  // As the pass `layout` has them packed.
  Tensor* packed(const ByteGemmFamily& family, const Window& w, const Tensor* k) {
    const int64_t taps = w.rows * w.columns, channels = w.perGroup();
    if (w.group > 1) {
      std::vector<uint8_t> places(static_cast<size_t>(taps * w.filters));
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t m = 0; m < w.filters; ++m)
          places[static_cast<size_t>(tap * w.filters + m)] = static_cast<uint8_t>(at(k, m * taps + tap));
      return tensor(DataType::i8, {taps * w.filters}, places);
    }
    const ByteRuns runs = ByteRuns::of(w.rows, w.columns, w.dilationRight, channels);
    const int64_t perRun = taps / runs.count();
    std::vector<uint8_t> rows(static_cast<size_t>(w.filters * runs.depth()));
    for (int64_t m = 0; m < w.filters; ++m)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t tap = 0; tap < taps; ++tap)
          rows[static_cast<size_t>(m * runs.depth() + tap / perRun * runs.padded + tap % perRun * channels +
                                   c)] = static_cast<uint8_t>(at(k, (m * channels + c) * taps + tap));
    Tensor* matrix = tensor(DataType::i8, {w.filters, runs.depth()}, rows);
    const Status status = call([&](BuiltinCall& call) { return kernels::bytePackBy(family, call); }, {matrix},
                               {.numbers = {1}});
    EXPECT_TRUE(status.ok()) << status.message;
    return result();
  }

  // `form` and `more`: how sums become bytes.
  Status convolve(const ByteGemmFamily& family, const Window& w, Tensor* x, Tensor* weights, Tensor* zero,
                  Tensor* y, int32_t form = 0, const std::vector<Tensor*>& more = {}) {
    calls::ConvPacked::Numbers<calls::Owned> n;
    n.axes = 2, n.group = w.group, n.way = LaidNumber{form, ImageLayout::channelsLast}.joined();
    std::vector<Object*> arguments{x, weights, zero};
    arguments.insert(arguments.end(), more.begin(), more.end());
    n.strides = {w.strideDown, w.strideRight}, n.dilations = {w.dilationDown, w.dilationRight};
    for (int64_t size : {w.filters, w.perGroup(), w.rows, w.columns})
      n.sizes.push_back(static_cast<int32_t>(size));
    return callFlat(
        [&](const DynBuiltinCall* call, uint64_t* bytes) {
          return scratchOf(*call, *bytes, [&](const FlatCall& flat, int64_t& elements) {
            return kernels::byteConvPackedScratchBy(family, flat, elements);
          });
        },
        [&](const DynBuiltinCall* call) {
          return runOf(*call, [&](FlatCall& flat) { return kernels::byteConvPackedBy(family, flat); });
        },
        arguments, {.scalars = {w.padUp, w.padLeft}, .numbers = calls::writeNumbers<calls::ConvPacked>(n)},
        {y});
  }

  // Bytes made of the sums, by each form: scales that are powers of two give many halves, which go to even.
  void checkRescaled(const ByteGemmFamily& family, const Window& w, Tensor* x, Tensor* weights, Tensor* zero,
                     const std::vector<int32_t>& sums) {
    for (int32_t i = 0; i < (w.group == 1 ? 16 : 8); ++i) {
      const ByteRescaleForm form{(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0};
      const DataType dtype = number(0, 1) ? DataType::u8 : DataType::i8;
      const int64_t scaleCount = number(0, 1) ? w.filters : 1;
      std::vector<int32_t> biases;
      std::vector<float> scales;
      for (int64_t m = 0; m < w.filters; ++m) biases.push_back(static_cast<int32_t>(number(-9999, 9999)));
      for (int64_t m = 0; m < scaleCount; ++m)
        scales.push_back(std::ldexp(number(0, 2) ? 1.0F : 1.1F, -static_cast<int>(number(1, 12))));
      const auto place = static_cast<float>(dtype == DataType::u8 ? number(0, 255) : number(-128, 127));
      std::vector<Tensor*> more;
      if (form.bias) more.push_back(tensor(DataType::i32, {w.filters}, biases));
      more.push_back(tensor(DataType::f32, {scaleCount}, scales));
      if (form.zero) more.push_back(tensor(DataType::f32, {}, std::vector<float>{place}));
      const std::vector<int64_t> shape{w.batch, w.outputHeight(), w.outputWidth(), w.filters};
      // Numbers that no product rounds.
      const float factor = 0.75F, other = 0.375F, constant = -3.5F, low = form.relu ? 0 : -50, resultZero = 9;
      Tensor* shortcut = bytes(number(0, 1) ? DataType::u8 : DataType::i8, shape);
      if (form.shortcut) {
        more.push_back(shortcut);
        more.push_back(
            tensor(DataType::f32, {5}, std::vector<float>{factor, other, constant, low, resultZero}));
      }
      Tensor* y = output(shape, dtype);
      const Status status = convolve(family, w, x, weights, zero, y, form.number(), more);
      ASSERT_TRUE(status.ok()) << status.message;
      for (int64_t k = 0; k < y->elementCount; ++k) {
        const int64_t m = k % w.filters;
        const int32_t sum = sums[static_cast<size_t>(k)] + (form.bias ? biases[static_cast<size_t>(m)] : 0);
        float real = static_cast<float>(sum) * scales[static_cast<size_t>(scaleCount > 1 ? m : 0)];
        if (form.relu) real = std::max(real, 0.0F);
        const auto cut = [&](float whole) {
          return dtype == DataType::u8 ? std::clamp(whole, 0.0F, 255.0F) : std::clamp(whole, -128.0F, 127.0F);
        };
        const float own = form.zero ? place : 0;
        float whole = cut(std::nearbyint(real) + own);
        if (form.shortcut) {
          const auto b = static_cast<float>(at(shortcut, k) + (shortcut->dtype == DataType::i8 ? 128 : 0));
          const float line = (whole - own) * factor + (b * other + constant);
          whole = cut(std::max(std::nearbyint(line), low) + resultZero);
        }
        const auto byte = static_cast<int64_t>(whole);
        ASSERT_EQ(at(y, k), byte) << family.name << ", form " << form.number() << ", element " << k << " of "
                                  << w.filters << " filters, sum " << sum;
      }
    }
  }

  void check(const Window& w) {
    for (const ByteGemmFamily* family : kernels::byteGemmFamilies())
      for (DataType dtype : {DataType::u8, DataType::i8})
        for (bool zeroPoint : {false, true}) {
          Tensor *x = bytes(dtype, {w.batch, w.height, w.width, w.channels}),
                 *k = bytes(DataType::i8, {w.filters, w.perGroup(), w.rows, w.columns}),
                 *zero = zeroPoint ? bytes(dtype, {}) : nullptr, *weights = packed(*family, w, k);
          const std::vector<int32_t> sums = expected(w, x, k, zero ? at(zero, 0) : 0);
          for (ThreadPool* threads : pools_) {
            threads_ = threads;
            Tensor* y = output({w.batch, w.outputHeight(), w.outputWidth(), w.filters}, DataType::i32);
            const Status status = convolve(*family, w, x, weights, zero, y);
            ASSERT_TRUE(status.ok()) << status.message;
            ASSERT_EQ(data<int32_t>(y), sums)
                << family->name << " " << w.channels << " channels, " << w.filters << " filters, " << w.rows
                << " x " << w.columns << " on " << w.height << " x " << w.width << ", group " << w.group;
          }
          checkRescaled(*family, w, x, weights, zero, sums);
        }
  }
};

TEST_F(ByteConvLastTest, pointwise) {
  for (int64_t channels : {1, 3, 4, 16, 37})
    for (int64_t filters : {1, 5, 32, 67})
      for (int64_t size : {1, 7, 13}) check({2, size, 5, channels, filters, 1, 1});
  check({1, 9, 7, 8, 40, 1, 1, 2, 2});
  check({1, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 2});
}

TEST_F(ByteConvLastTest, windows) {
  for (int64_t channels : {1, 3, 4, 9, 16})
    for (int64_t filters : {1, 33}) {
      check({1, 9, 11, channels, filters, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
      check({2, 12, 7, channels, filters, 3, 3, 2, 2, 1, 1, 1, 1, 0, 1, 2});
      check({1, 8, 9, channels, filters, 2, 4, 1, 2, 2, 1, 1, 0, 3, 1, 0});
      check({1, 8, 14, channels, filters, 3, 3, 1, 1, 1, 3, 1, 1, 2, 3, 4});
    }
  check({1, 23, 30, 3, 64, 7, 7, 2, 2, 1, 1, 1, 3, 3, 3, 3});
  check({1, 1, 1, 4, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});  // of a window's places only one is inside
  check({1, 40, 3, 32, 70, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  check({1, 2, 600, 8, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});  // rows in pieces
}

TEST_F(ByteConvLastTest, depthwise) {
  for (int32_t channels : {2, 8, 16, 24, 67}) {
    check({2, 9, 11, channels, channels, 3, 3, 1, 1, 1, 1, channels, 1, 1, 1, 1});
    check({1, 10, 7, channels, channels, 3, 3, 2, 2, 1, 1, channels, 1, 0, 0, 1});
    check({1, 11, 13, channels, channels, 5, 5, 1, 2, 1, 1, channels, 2, 2, 2, 2});
    check({1, 9, 9, channels, channels, 2, 3, 1, 1, 2, 3, channels});
  }
  check({1, 2, 900, 40, 40, 3, 3, 1, 1, 1, 1, 40, 1, 1, 1, 1});
}

TEST_F(ByteConvLastTest, whatIsRefused) {
  const ByteGemmFamily& family = *kernels::byteGemmFamilies().front();
  const Window w{1, 5, 5, 4, 8, 3, 3};
  Tensor *x = bytes(DataType::u8, {1, 5, 5, 4}), *k = bytes(DataType::i8, {8, 4, 3, 3}),
         *weights = packed(family, w, k), *y = output({1, 3, 3, 8}, DataType::i32);
  EXPECT_TRUE(convolve(family, w, x, weights, nullptr, y).ok());
  EXPECT_EQ(convolve(family, w, x, bytes(DataType::i8, {7}), nullptr, y).code, DYN_BAD_INPUT);
  EXPECT_EQ(convolve(family, w, floats({1, 5, 5, 4}), weights, nullptr, y).code, DYN_BAD_INPUT);
  EXPECT_EQ(convolve(family, w, x, weights, bytes(DataType::i8, {}), y).code, DYN_BAD_INPUT);
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, output({1, 3, 3, 9}, DataType::i32)).code,
            DYN_BAD_INPUT);
  // Sums that become bytes want scales, and as many of them as there are filters.
  Tensor *small = output({1, 3, 3, 8}, DataType::u8), *scales = floats({8});
  const int32_t plain = ByteRescaleForm{}.number(), full = ByteRescaleForm{true, true, false}.number();
  EXPECT_TRUE(convolve(family, w, x, weights, nullptr, small, plain, {scales}).ok());
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, small, plain).code, DYN_BAD_INPUT);
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, small, plain, {floats({7})}).code, DYN_BAD_INPUT);
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, y, plain, {scales}).code, DYN_BAD_PROGRAM);
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, small, 2, {scales}).code, DYN_BAD_PROGRAM);
  Tensor *bias = tensor(DataType::i32, {1}, std::vector<int32_t>{3}),
         *half = tensor(DataType::f32, {}, std::vector<float>{0.5F});
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, small, full, {bias, scales, half}).code, DYN_BAD_INPUT);
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, small, full, {scales, scales, half}).code,
            DYN_BAD_INPUT);
  // A shortcut has as many bytes as the result, and five small numbers.
  const int32_t joined = ByteRescaleForm{.shortcut = true}.number();
  Tensor *others = bytes(DataType::i8, {1, 3, 3, 8}),
         *five = tensor(DataType::f32, {5}, std::vector<float>(5)),
         *large = tensor(DataType::f32, {5}, std::vector<float>{1, 1e9F, 0, 0, 0}),
         *noZero = tensor(DataType::f32, {5}, std::vector<float>{1, 1, 0, 0, 0.5F});
  EXPECT_TRUE(convolve(family, w, x, weights, nullptr, small, joined, {scales, others, five}).ok());
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, small, joined, {scales, others}).code, DYN_BAD_INPUT);
  EXPECT_EQ(
      convolve(family, w, x, weights, nullptr, small, joined, {scales, floats({1, 3, 3, 8}), five}).code,
      DYN_BAD_INPUT);
  EXPECT_EQ(
      convolve(family, w, x, weights, nullptr, small, joined, {scales, bytes(DataType::i8, {7}), five}).code,
      DYN_BAD_INPUT);
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, small, joined, {scales, others, large}).code,
            DYN_BAD_INPUT);
  EXPECT_EQ(convolve(family, w, x, weights, nullptr, small, joined, {scales, others, noZero}).code,
            DYN_BAD_INPUT);
  Window groups = w;
  groups.group = 2;
  EXPECT_EQ(convolve(family, groups, x, weights, nullptr, y).code, DYN_UNSUPPORTED);
}

TEST_F(ByteConvLastTest, largestOfWindows) {
  for (DataType dtype : {DataType::u8, DataType::i8})
    for (int64_t channels : {1, 15, 16, 17, 70})
      for (ThreadPool* threads : pools_) {
        threads_ = threads;
        const int64_t height = 9, width = 8, rows = 5, columns = 4;
        Tensor *x = bytes(dtype, {2, height, width, channels}),
               *y = output({2, rows, columns, channels}, dtype);
        calls::Pool::Numbers<calls::Owned> n;
        n.axes = 2, n.kind = LaidNumber{DYN_POOL_LARGEST, ImageLayout::channelsLast}.joined();
        n.window = {3, 3}, n.strides = {2, 2}, n.dilations = {1, 1};
        ASSERT_TRUE(
            call("pool", {x}, {.scalars = {1, 1, 1, 0}, .numbers = calls::writeNumbers<calls::Pool>(n)}, {y})
                .ok());
        for (int64_t i = 0; i < y->elementCount; ++i) {
          const int64_t c = i % channels, ow = i / channels % columns, oh = i / channels / columns % rows,
                        image = i / channels / columns / rows;
          int64_t best = INT64_MIN;
          for (int64_t h = std::max<int64_t>(0, 2 * oh - 1); h <= std::min(height - 1, 2 * oh + 1); ++h)
            for (int64_t v = std::max<int64_t>(0, 2 * ow - 1); v <= std::min(width - 1, 2 * ow + 1); ++v)
              best = std::max(best, at(x, ((image * height + h) * width + v) * channels + c));
          ASSERT_EQ(at(y, i), best) << channels << " channels, element " << i;
        }
      }
}

}  // namespace
}  // namespace dyn::vm::test
