// Convolutions by each of their ways against the naive sum, on random shapes that include 0, 1 and primes.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/kernels/conv/convolution.h"

namespace dyn::vm::test {
namespace {

using testing::ElementsAre;

// Doubles each element, counted in `marks`. Rows are channels of images, columns positions: scalars[0] of
// them.
int32_t doubleAndMark(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end, void*) {
  auto *y = static_cast<float*>(buffers[0]), *marks = static_cast<float*>(buffers[1]);
  for (int64_t row = begin; row < end; ++row)
    for (int64_t at = row * scalars[0] + scalars[1]; at < row * scalars[0] + scalars[2]; ++at) {
      y[at] *= 2;
      marks[at] += 1;
    }
  return DYN_KERNEL_OK;
}

class ConvolutionTest : public BuiltinTest {
 protected:
  // conv_packed with an epilogue gives twice what conv gave, each element done once.
  void expectPackedTheSame(Tensor* x, Tensor* w, Tensor* bias, std::vector<int64_t> pads,
                           std::vector<int32_t> numbers, Tensor* expected) {
    const KernelRow row{"double_and_mark", "double_and_mark", 2, 2, 3, 0, ""};
    // Weights that are packed for one call may go another way: both go the packed one's.
    BuiltinCall packing;
    packing.numbers = numbers;
    const auto n = packing.numbersOf<calls::ConvPack>();
    const auto window = kernels::windowOf<calls::ConvPack>(packing, n);
    kernels::Convolution c;
    kernels::Way way{};
    ASSERT_TRUE(kernels::describeWindow(window, {w->shape(), w->rank}, false, c).ok() &&
                kernels::wayOf(n.way, c, way).ok());
    numbers[0] |= (static_cast<int32_t>(way) + 1) << 3;
    ASSERT_TRUE(call("conv", {x, w, bias}, {.scalars = pads, .numbers = numbers}, {expected}).ok());
    ASSERT_TRUE(call("conv_pack", {w}, {.numbers = numbers}).ok());
    Tensor* packed = result(0);
    const std::vector<int64_t> shape(expected->shape(), expected->shape() + expected->rank);
    Tensor *y = output(shape), *marks = output(shape);
    std::fill_n(marks->as<float>(), marks->elementCount, 0.0f);
    for (uint32_t i = 0; i < w->rank; ++i) numbers.push_back(static_cast<int32_t>(w->shape()[i]));
    numbers.push_back(1);
    int64_t positions = 1;
    for (size_t i = 2; i < shape.size(); ++i) positions *= shape[i];
    pads.push_back(positions);
    const Status status =
        call("conv_packed", {x, packed, bias},
             {.scalars = pads, .numbers = numbers, .kernels = {doubleAndMark}, .rows = {row}}, {y, marks});
    ASSERT_TRUE(status.ok()) << status.toString();
    for (int64_t i = 0; i < expected->elementCount; ++i) {
      ASSERT_EQ(y->as<float>()[i], 2 * expected->as<float>()[i]);
      ASSERT_EQ(marks->as<float>()[i], 1.0f);
    }
  }

  // [n, c, spatial...] with the channels last, or back.
  Tensor* moved(const Tensor* from, bool back) {
    std::vector<int64_t> sizes = shape(from);
    const int64_t channels = back ? sizes.back() : sizes[1];
    const int64_t places = from->elementCount / std::max<int64_t>(1, sizes[0] * channels);
    if (back)
      std::rotate(sizes.begin() + 1, sizes.end() - 1, sizes.end());
    else
      std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
    Tensor* to = output(sizes);
    for (int64_t i = 0; i < from->elementCount; ++i) {
      const int64_t image = i / (channels * places), inside = i % (channels * places);
      const int64_t at = back ? inside % channels * places + inside / channels
                              : inside % places * channels + inside / places;
      to->as<float>()[image * channels * places + at] = from->as<float>()[i];
    }
    return to;
  }

  // With channels last each way gives twice what is expected by its epilogue, the same bits for any number of
  // threads.
  void expectTheSameWithChannelsLast(Tensor* x, Tensor* w, Tensor* bias, std::vector<int64_t> pads,
                                     const std::vector<int32_t>& numbers, Tensor* expected, double error) {
    const KernelRow row{"double_and_mark", "double_and_mark", 2, 2, 3, 0, ""};
    Tensor* last = moved(x, false);
    std::vector<int64_t> sizes = shape(expected);
    std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
    pads.push_back(sizes.back());  // for the epilogue
    using kernels::Way;
    constexpr int32_t kUnit = LaidNumber::kUnit << 3;  // of the first number, which holds the way
    for (const auto& [way, fromPlanes] :
         {std::pair{Way::rows, false}, {Way::direct, false}, {Way::direct, true}, {Way::winograd, false}}) {
      std::vector<int32_t> all = numbers;
      all[0] |= (static_cast<int32_t>(way) + 1) << 3;
      if (!call("conv_pack", {w}, {.numbers = all}).ok()) continue;
      Tensor *packed = result(0), *first = nullptr;
      all[0] +=
          kUnit * static_cast<int32_t>(fromPlanes ? ImageLayout::toChannelsLast : ImageLayout::channelsLast);
      for (int64_t size : shape(w)) all.push_back(static_cast<int32_t>(size));
      all.push_back(1);
      for (ThreadPool* threads : pools_) {
        threads_ = threads;
        Tensor *y = output(sizes), *marks = output(sizes);
        std::fill_n(marks->as<float>(), marks->elementCount, 0.0f);
        const Status status =
            call("conv_packed", {fromPlanes ? x : last, packed, bias},
                 {.scalars = pads, .numbers = all, .kernels = {doubleAndMark}, .rows = {row}}, {y, marks});
        ASSERT_TRUE(status.ok()) << status.toString();
        Tensor* planes = moved(y, true);
        for (int64_t i = 0; i < y->elementCount; ++i) {
          ASSERT_NEAR(planes->as<float>()[i], 2 * expected->as<float>()[i], 2 * error)
              << "way " << static_cast<int32_t>(way) << " at " << i;
          ASSERT_EQ(marks->as<float>()[i], 1.0f) << "way " << static_cast<int32_t>(way) << " at " << i;
        }
        if (!first) first = y;
        EXPECT_EQ(memcmp(y->data, first->data, y->sizeBytes()), 0);
      }
    }
  }
};

// Every way that can do a window gives what the way by rule gives, the same bits each time; one that cannot
// is refused.
TEST_F(ConvolutionTest, everyWayComputesTheSameConvolution) {
  struct Window {
    std::vector<int64_t> x, w, y;
    std::vector<int32_t> rest;  // group, strides, dilations
    std::vector<bool> able;     // rows, staged, direct, winograd
  };
  const Window windows[] = {
      {{2, 3, 9, 11}, {5, 3, 3, 3}, {2, 5, 9, 11}, {1, 1, 1, 1, 1}, {false, true, true, true}},
      {{1, 20, 7, 5}, {37, 20, 3, 3}, {1, 37, 7, 5}, {1, 1, 1, 1, 1}, {false, true, true, true}},
      {{1, 20, 7, 5}, {18, 20, 3, 3}, {1, 18, 4, 3}, {1, 2, 2, 1, 1}, {false, true, true, true}},
      {{1, 20, 7, 5}, {18, 20, 3, 3}, {1, 18, 4, 5}, {1, 2, 1, 1, 1}, {false, true, true, false}},
      {{1, 7, 13, 17}, {7, 1, 3, 3}, {1, 7, 7, 9}, {7, 2, 2, 1, 1}, {true, true, true, false}},
      {{1, 1, 6, 6}, {1, 1, 3, 3}, {1, 1, 6, 6}, {1, 1, 1, 1, 1}, {true, true, true, true}},
      {{1, 20, 13, 17}, {37, 20, 3, 3}, {1, 37, 5, 9}, {1, 1, 1, 5, 5}, {false, true, true, false}},
      {{1, 32, 9, 9}, {10, 16, 2, 3}, {1, 10, 7, 3}, {2, 1, 1, 4, 4}, {false, true, true, false}},
      {{2, 24, 14, 14}, {24, 8, 3, 3}, {2, 24, 7, 7}, {3, 2, 2, 1, 1}, {false, true, true, false}},
      {{1, 16, 23, 71}, {16, 8, 3, 3}, {1, 16, 12, 36}, {2, 2, 2, 1, 1}, {false, true, true, false}},
      {{1, 12, 5, 67}, {12, 4, 3, 3}, {1, 12, 5, 67}, {3, 1, 1, 1, 1}, {false, true, true, false}},
      {{1, 6, 9, 40}, {10, 3, 3, 3}, {1, 10, 5, 14}, {2, 2, 3, 1, 1}, {false, true, true, false}},
      {{1, 6, 9, 40}, {10, 3, 3, 3}, {1, 10, 4, 19}, {2, 2, 2, 2, 2}, {false, true, true, false}},
  };
  for (ThreadPool* threads : pools_) {
    threads_ = threads;
    for (const Window& window : windows) {
      Tensor *x = floats(window.x), *w = floats(window.w), *expected = output(window.y);
      auto numbers = [&](int32_t first) {
        std::vector<int32_t> all{first};
        all.insert(all.end(), window.rest.begin(), window.rest.end());
        return all;
      };
      ASSERT_TRUE(call("conv", {x, w}, {.scalars = {1, 1}, .numbers = numbers(2)}, {expected}).ok());
      for (int32_t way = 0; way < 4; ++way) {
        const std::vector<int32_t> named = numbers(2 + 8 * (way + 1));
        Status status = call("conv_pack", {w}, {.numbers = named});
        ASSERT_EQ(status.ok(), window.able[static_cast<size_t>(way)]) << "way " << way;
        if (!status.ok()) {
          EXPECT_EQ(status.code, DYN_BAD_PROGRAM);
          continue;
        }
        Tensor *packed = result(0), *y = output(window.y), *again = output(window.y);
        std::vector<int32_t> all = named;
        for (int64_t size : window.w) all.push_back(static_cast<int32_t>(size));
        status = call("conv_packed", {x, packed}, {.scalars = {1, 1}, .numbers = all}, {y});
        ASSERT_TRUE(status.ok()) << status.toString();
        ASSERT_TRUE(call("conv_packed", {x, packed}, {.scalars = {1, 1}, .numbers = all}, {again}).ok());
        EXPECT_EQ(memcmp(y->data, again->data, y->sizeBytes()), 0);
        for (int64_t i = 0; i < y->elementCount; ++i)
          ASSERT_NEAR(y->as<float>()[i], expected->as<float>()[i], 1e-4) << "way " << way << " at " << i;
      }
      EXPECT_EQ(call("conv_pack", {w}, {.numbers = numbers(2 + 8 * 5)}).code, DYN_BAD_PROGRAM);
    }
  }
}

TEST_F(ConvolutionTest, convEqualsTheNaiveSum) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  };
  // One row for each way the operator may go (vm/kernels/conv/convolution.h); `longest` is the largest size
  // of an axis when there is one axis.
  enum Kind { any, pointwise, deep, threes, wide, depthwise, sparse, window, tiny };  // tiny: of padding
  for (int round = 0; round < 360; ++round) {
    const auto kind = static_cast<Kind>(round % 9);
    const int third = round / 9 % 3;  // of the rounds of a kind
    const int64_t rank = kind == threes || kind == depthwise || kind == window || kind == tiny
                             ? 2
                             : pick(1, kind == any || kind == pointwise ? 3 : 2);
    const int64_t groups = kind == depthwise                ? pick(2, third == 1 ? 40 : 9)
                           : kind == window                 ? pick(16, 70)
                           : kind == deep || kind == threes ? 1
                                                            : pick(1, 3);
    const int64_t channels = kind == depthwise || kind == window ? 1
                             : kind == deep                      ? pick(1, 2) * 256
                             : kind == threes || kind == sparse  ? pick(16, 20)
                             : kind == tiny                      ? pick(1, 40)
                                                                 : pick(1, 3);
    const int64_t filters = kind == depthwise || kind == window ? 1
                            : kind == deep || kind == threes    ? pick(5, 40)
                            : kind == sparse || kind == tiny    ? pick(13, 40)
                            : kind == wide || round % 12 == 1   ? pick(13, 70)
                                                                : pick(1, 6);
    const int64_t batch = pick(0, kind == tiny ? 30 : 2), longest = kind == wide && rank == 1 ? 1200 : 70;
    const bool still = kind == pointwise;
    const int64_t stepped = pick(1, 2);  // the stride of Winograd's way, and of windows that have a kernel
    const int64_t odd = 2 * pick(1, 3) + 1;  // and the size of these
    threads_ = pools_[third];
    std::vector<int64_t> xs{batch, groups * channels}, ws{groups * filters, channels},
        ys{batch, groups * filters}, pads;
    std::vector<int32_t> numbers{static_cast<int32_t>(rank), static_cast<int32_t>(groups)};
    std::vector<int64_t> stride(3, 1), dilation(3, 1), pad(3, 0), in(3, 1), kernel(3, 1), out(3, 1);
    for (int64_t i = 3 - rank; i < 3; ++i) {
      const auto d = static_cast<size_t>(i);
      stride[d] = still ? 1 : pick(1, 3);
      const bool spreads = kind == depthwise || kind == sparse;
      dilation[d] = kind == sparse ? pick(4, 7) : pick(1, spreads ? 4 : 2);
      pad[d] = still ? 0 : pick(0, spreads ? 9 : 2);
      kernel[d] = still ? 1 : pick(1, kind == depthwise ? 5 : 3);
      const int64_t after = still ? 0 : pick(0, 2);
      if (kind == threes) {  // windows that Winograd's way takes
        stride[d] = stepped;
        dilation[d] = 1;
        kernel[d] = 3;
      }
      if (kind == window) {
        stride[d] = stepped;
        dilation[d] = 1;
        kernel[d] = odd;
        pad[d] = pick(0, odd);
      }
      if (kind == tiny) {  // by Winograd's way too, where it is a window of three
        stride[d] = stepped;
        dilation[d] = odd == 3 ? 1 : pick(1, 2);
        kernel[d] = odd;
        pad[d] = pick(0, dilation[d] * odd);
      }
      in[d] = std::max<int64_t>(
          kind == threes      ? pick(1, 37)
          : kind == window    ? pick(1, 50)
          : kind == tiny      ? pick(1, 3)
          : kind == depthwise ? pick(1, third == 1 ? 20 : 90)
                              : pick(1, rank == 1 ? longest : 9),
          dilation[d] * (kernel[d] - 1) + 1 - (spreads || kind == window || kind == tiny ? pad[d] : 0));
      out[d] = (in[d] + pad[d] + after - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
      xs.push_back(in[d]);
      ws.push_back(kernel[d]);
      ys.push_back(out[d]);
      pads.push_back(pad[d]);
    }
    for (int64_t i = 3 - rank; i < 3; ++i)
      numbers.push_back(static_cast<int32_t>(stride[static_cast<size_t>(i)]));
    for (int64_t i = 3 - rank; i < 3; ++i)
      numbers.push_back(static_cast<int32_t>(dilation[static_cast<size_t>(i)]));
    Tensor *x = floats(xs), *w = floats(ws), *bias = round % 2 ? floats({groups * filters}) : nullptr,
           *y = output(ys);
    const Status status = call("conv", {x, w, bias}, {.scalars = pads, .numbers = numbers}, {y});
    ASSERT_TRUE(status.ok()) << status.toString();
    int64_t at = 0;
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t f = 0; f < groups * filters; ++f)
        for (int64_t a = 0; a < out[0]; ++a)
          for (int64_t b = 0; b < out[1]; ++b)
            for (int64_t c = 0; c < out[2]; ++c) {
              double sum = bias ? static_cast<double>(bias->as<float>()[f]) : 0;
              for (int64_t ch = 0; ch < channels; ++ch)
                for (int64_t i = 0; i < kernel[0]; ++i)
                  for (int64_t j = 0; j < kernel[1]; ++j)
                    for (int64_t k = 0; k < kernel[2]; ++k) {
                      const int64_t p = a * stride[0] - pad[0] + i * dilation[0],
                                    q = b * stride[1] - pad[1] + j * dilation[1],
                                    r = c * stride[2] - pad[2] + k * dilation[2];
                      if (p < 0 || q < 0 || r < 0 || p >= in[0] || q >= in[1] || r >= in[2]) continue;
                      sum +=
                          static_cast<double>(
                              x->as<float>()[(((n * groups + f / filters) * channels + ch) * in[0] + p) *
                                                 in[1] * in[2] +
                                             q * in[2] + r]) *
                          static_cast<double>(
                              w->as<float>()[((f * channels + ch) * kernel[0] + i) * kernel[1] * kernel[2] +
                                             j * kernel[2] + k]);
                    }
              ASSERT_NEAR(y->as<float>()[at++], sum, kind == deep ? 1e-3 : 1e-4)
                  << "round " << round << " rank " << rank << " filters " << filters;
            }
    expectPackedTheSame(x, w, bias, pads, numbers, y);
    if (rank < 3) expectTheSameWithChannelsLast(x, w, bias, pads, numbers, y, kind == deep ? 1e-3 : 1e-4);
  }
}

// Of any number of both, and nothing beside them.
TEST_F(ConvolutionTest, tilesAreTurnedWhenTheyAreWritten) {
  constexpr int64_t kMost = 37, kLeading = 41, kStride = 43;
  const Tensor *tile = floats({kMost, kLeading}), *bias = floats({kMost});
  for (int64_t positions = 0; positions <= kMost; ++positions)
    for (int64_t filters = 0; filters <= kMost; ++filters)
      for (const bool biased : {false, true}) {
        std::vector<float> y(static_cast<size_t>((kMost + 1) * kStride), 9);
        kernels::writeTransposed(tile->as<float>(), kLeading, positions, filters,
                                 biased ? bias->as<float>() : nullptr, y.data(), kStride);
        for (int64_t i = 0; i < static_cast<int64_t>(y.size()); ++i) {
          const int64_t filter = i / kStride, position = i % kStride;
          const bool written = filter < filters && position < positions;
          const float expected = !written ? 9
                                          : tile->as<float>()[position * kLeading + filter] +
                                                (biased ? bias->as<float>()[filter] : 0.0f);
          ASSERT_EQ(y[static_cast<size_t>(i)], expected)
              << positions << " positions, " << filters << " filters, at " << i;
        }
      }
}

// Small images share tiles: which others there are changes no bit of an image.
TEST_F(ConvolutionTest, anImageInABatchHasTheBitsItHasAlone) {
  struct Window {
    int64_t size, kernel, pad;
    int32_t stride, groups;
  };
  for (const Window& window : {Window{1, 3, 1, 1, 1},
                               {2, 3, 1, 1, 1},
                               {3, 3, 1, 1, 1},
                               {2, 3, 1, 2, 1},
                               {4, 3, 1, 2, 1},
                               {3, 7, 3, 1, 1},
                               {2, 5, 2, 1, 2},
                               {1, 1, 0, 1, 1}}) {
    const int64_t batch = 29, channels = 24, filters = 40, out = (window.size - 1) / window.stride + 1;
    Tensor *x = floats({batch, channels, window.size, window.size}),
           *w = floats({filters, channels / window.groups, window.kernel, window.kernel}),
           *bias = floats({filters}), *y = output({batch, filters, out, out}),
           *one = output({1, filters, out, out});
    std::vector<int32_t> numbers{2, window.groups, window.stride, window.stride, 1, 1};
    const std::vector<int64_t> pads{window.pad, window.pad};
    for (int32_t way : {3, 4}) {  // direct, winograd
      numbers[0] = 2 + 8 * way;
      if (!call("conv_pack", {w}, {.numbers = numbers}).ok()) continue;
      Tensor* packed = result(0);
      std::vector<int32_t> all = numbers;
      for (int64_t size : shape(w)) all.push_back(static_cast<int32_t>(size));
      for (ThreadPool* threads : pools_) {
        threads_ = threads;
        ASSERT_TRUE(call("conv_packed", {x, packed, bias}, {.scalars = pads, .numbers = all}, {y}).ok());
        for (int64_t image = 0; image < batch; ++image) {
          const auto size = static_cast<size_t>(channels * window.size * window.size);
          const float* from = x->as<float>() + image * static_cast<int64_t>(size);
          Tensor* alone = tensor<float>(DataType::f32, {1, channels, window.size, window.size},
                                        std::vector<float>(from, from + size));
          ASSERT_TRUE(
              call("conv_packed", {alone, packed, bias}, {.scalars = pads, .numbers = all}, {one}).ok());
          ASSERT_EQ(memcmp(one->data, y->as<float>() + image * one->elementCount, one->sizeBytes()), 0)
              << "image " << image << " of size " << window.size << ", way " << way - 1;
        }
      }
    }
  }
}

// The bytes of one tap in nine, and no turning: what is packed for blocks is not read at all.
TEST_F(ConvolutionTest, winogradReadsTheMiddleTapAloneInImagesOfOnePlace) {
  const KernelRow row{"double_and_mark", "double_and_mark", 2, 2, 3, 0, ""};
  for (const auto& [channels, filters] : {std::pair<int64_t, int64_t>{1, 1}, {7, 13}, {24, 16}, {37, 70}}) {
    Tensor *w = floats({filters, channels, 3, 3}), *bias = floats({filters});
    std::vector<int32_t> numbers{2 + 8 * (static_cast<int32_t>(kernels::Way::winograd) + 1), 1, 1, 1, 1, 1};
    ASSERT_TRUE(call("conv_pack", {w}, {.numbers = numbers}).ok());
    Tensor* packed = result(0);
    const int64_t lanes = packed->elementCount / (channels * 17);
    std::fill_n(packed->as<float>(), 16 * lanes * channels, std::numeric_limits<float>::quiet_NaN());
    for (int64_t size : shape(w)) numbers.push_back(static_cast<int32_t>(size));
    numbers.push_back(1);  // the epilogue
    for (const ImageLayout layout : {ImageLayout::planes, ImageLayout::channelsLast})
      for (const int64_t batch : {0, 1, 2, 13, 31})
        for (ThreadPool* threads : pools_) {
          threads_ = threads;
          const bool last = layout == ImageLayout::channelsLast;
          const auto images = [&](int64_t count) {
            return last ? std::vector<int64_t>{batch, 1, 1, count} : std::vector<int64_t>{batch, count, 1, 1};
          };
          Tensor *x = floats(images(channels)), *y = output(images(filters)),
                 *marks = output(images(filters));
          std::fill_n(marks->as<float>(), marks->elementCount, 0.0f);
          std::vector<int32_t> all = numbers;
          if (last) all[0] += LaidNumber::kUnit << 3;
          const Status status = call("conv_packed", {x, packed, bias},
                                     {.scalars = {1, 1, last ? filters : 1},
                                      .numbers = all,
                                      .kernels = {doubleAndMark},
                                      .rows = {row}},
                                     {y, marks});
          ASSERT_TRUE(status.ok()) << status.toString();
          for (int64_t i = 0; i < batch * filters; ++i) {
            double sum = static_cast<double>(bias->as<float>()[i % filters]);
            for (int64_t k = 0; k < channels; ++k)
              sum += static_cast<double>(x->as<float>()[i / filters * channels + k]) *
                     static_cast<double>(w->as<float>()[(i % filters * channels + k) * 9 + 4]);
            ASSERT_NEAR(y->as<float>()[i], 2 * sum, 1e-4) << "batch " << batch << " at " << i;
            ASSERT_EQ(marks->as<float>()[i], 1.0f) << "batch " << batch << " at " << i;
          }
        }
  }
}

// At stride 2 blocks of 3x3 places are more work than the sum itself in images that do not fill them.
TEST_F(ConvolutionTest, winogradAtStrideTwoReadsTheWindowsThemselvesInSmallImages) {
  const int64_t channels = 19, filters = 37, batch = 3;
  Tensor* w = floats({filters, channels, 3, 3});
  std::vector<int32_t> numbers{2 + 8 * (static_cast<int32_t>(kernels::Way::winograd) + 1), 1, 2, 2, 1, 1};
  for (const auto& [size, direct] : {std::pair<int64_t, bool>{1, true},
                                     {2, true},
                                     {3, true},
                                     {4, true},
                                     {5, false},
                                     {6, false},
                                     {7, true},
                                     {11, false},
                                     {14, true}}) {
    std::vector<int32_t> all = numbers;
    ASSERT_TRUE(call("conv_pack", {w}, {.numbers = all}).ok());
    Tensor* packed = result(0);
    const int64_t blocks = packed->elementCount / 34 * 25, out = (size - 1) / 2 + 1;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    if (direct)
      std::fill_n(packed->as<float>(), blocks, nan);
    else
      std::fill_n(packed->as<float>() + blocks, packed->elementCount - blocks, nan);
    for (int64_t dim : shape(w)) all.push_back(static_cast<int32_t>(dim));
    Tensor* x = floats({batch, channels, size, size});
    for (const bool last : {false, true})
      for (ThreadPool* threads : pools_) {
        threads_ = threads;
        all[0] = numbers[0] + (last ? LaidNumber::kUnit << 3 : 0);
        Tensor* y = output(last ? std::vector<int64_t>{batch, out, out, filters}
                                : std::vector<int64_t>{batch, filters, out, out});
        const Status status = call("conv_packed", {last ? moved(x, false) : x, packed},
                                   {.scalars = {1, 1}, .numbers = all}, {y});
        ASSERT_TRUE(status.ok()) << status.toString();
        const Tensor* planes = last ? moved(y, true) : y;
        for (int64_t i = 0; i < planes->elementCount; ++i) {
          const int64_t image = i / (filters * out * out), filter = i / (out * out) % filters,
                        top = i / out % out * 2 - 1, left = i % out * 2 - 1;
          double sum = 0;
          for (int64_t channel = 0; channel < channels; ++channel)
            for (int64_t tap = 0; tap < 9; ++tap)
              if (const int64_t row = top + tap / 3, column = left + tap % 3;
                  row >= 0 && row < size && column >= 0 && column < size)
                sum += static_cast<double>(
                           x->as<float>()[((image * channels + channel) * size + row) * size + column]) *
                       static_cast<double>(w->as<float>()[(filter * channels + channel) * 9 + tap]);
          ASSERT_NEAR(planes->as<float>()[i], sum, 1e-4) << "size " << size << " at " << i;
        }
      }
  }
}

int32_t refuseToRun(void* const*, const int64_t*, int64_t, int64_t, void*) { return DYN_KERNEL_BAD_VALUE; }

// Every way adds what belongs to a column and cuts at zero, in both layouts, and gives the bits that follow.
TEST_F(ConvolutionTest, closedEpiloguesAreComputedWithoutTheGeneratedKernel) {
  struct Window {
    std::vector<int64_t> x, w;
    int64_t pad, outputs;       // of the two axes
    std::vector<int32_t> rest;  // group, strides, dilations
  };
  const Window windows[] = {
      {{3, 20, 1, 1}, {37, 20, 3, 3}, 1, 1, {1, 1, 1, 1, 1}},
      {{2, 20, 2, 2}, {37, 20, 3, 3}, 1, 2, {1, 1, 1, 1, 1}},
      {{2, 20, 7, 7}, {18, 20, 3, 3}, 1, 4, {1, 2, 2, 1, 1}},
      {{5, 5, 3, 3}, {13, 5, 1, 1}, 0, 3, {1, 1, 1, 1, 1}},
      {{1, 5, 9, 9}, {40, 5, 1, 1}, 0, 9, {1, 1, 1, 1, 1}},
      {{1, 5, 27, 27}, {40, 5, 1, 1}, 0, 27, {1, 1, 1, 1, 1}},
      {{2, 37, 5, 5}, {37, 1, 3, 3}, 1, 5, {37, 1, 1, 1, 1}},
      {{2, 37, 3, 3}, {37, 1, 3, 3}, 1, 2, {37, 2, 2, 1, 1}},
      {{2, 20, 9, 9}, {37, 20, 3, 3}, 5, 9, {1, 1, 1, 5, 5}},
      {{2, 32, 4, 4}, {26, 16, 3, 3}, 1, 4, {2, 1, 1, 1, 1}},
  };
  const KernelRow plain{"refuse", "refuse", 2, 1, 2, 0, ""}, added{"refuse", "refuse", 3, 1, 2, 0, ""};
  for (const Window& window : windows)
    for (const kernels::Way way :
         {kernels::Way::rows, kernels::Way::staged, kernels::Way::direct, kernels::Way::winograd})
      for (const ImageLayout layout : {ImageLayout::planes, ImageLayout::channelsLast}) {
        const bool last = layout == ImageLayout::channelsLast;
        if (last && way == kernels::Way::staged) continue;
        std::vector<int32_t> numbers{2 + 8 * (static_cast<int32_t>(way) + 1)};
        numbers.insert(numbers.end(), window.rest.begin(), window.rest.end());
        Tensor* w = floats(window.w);
        if (!call("conv_pack", {w}, {.numbers = numbers}).ok()) continue;
        Tensor* packed = result(0);
        numbers[0] += last ? LaidNumber::kUnit << 3 : 0;
        for (int64_t size : window.w) numbers.push_back(static_cast<int32_t>(size));
        const int64_t filters = window.w[0], outputs = window.outputs,
                      columns = last ? filters : outputs * outputs;
        const auto images = [&](int64_t channels, int64_t size) {
          return last ? std::vector<int64_t>{window.x[0], size, size, channels}
                      : std::vector<int64_t>{window.x[0], channels, size, size};
        };
        Tensor *x = floats(images(window.x[1], window.x[2])), *bias = floats({filters}),
               *sums = output(images(filters, outputs)), *addend = floats({columns});
        const std::vector<int64_t> pads{window.pad, window.pad};
        ASSERT_TRUE(
            call("conv_packed", {x, packed, bias}, {.scalars = pads, .numbers = numbers}, {sums}).ok());
        for (ThreadPool* threads : pools_)
          for (const bool adds : {false, true}) {
            threads_ = threads;
            Tensor* y = output(images(filters, outputs));
            std::vector<int32_t> all = numbers;
            all.push_back(EpilogueNumber{1, {.bias = adds, .zero = true}}.number());
            std::vector<Object*> arguments{x, packed, bias};
            if (adds) arguments.push_back(addend);
            arguments.push_back(y);
            const Status status = call(
                "conv_packed", arguments,
                {.scalars = pads, .numbers = all, .kernels = {refuseToRun}, .rows = {adds ? added : plain}},
                {y});
            // Of planes of one place the columns are places, but those of the way they go are channels.
            ASSERT_TRUE(status.ok() || (adds && !last && outputs == 1))
                << status.toString() << ", way " << static_cast<int32_t>(way);
            for (int64_t i = 0; status.ok() && i < y->elementCount; ++i) {
              const float sum = sums->as<float>()[i] + (adds ? addend->as<float>()[i % columns] : 0.0f);
              ASSERT_EQ(y->as<float>()[i], sum < 0 ? 0.0f : sum)
                  << "way " << static_cast<int32_t>(way) << " at " << i;
            }
          }
      }
}

// Transposed: each input element times the window is added where the window stands.
TEST_F(ConvolutionTest, convTransposeEqualsTheNaiveSum) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  };
  for (int round = 0; round < 160; ++round) {
    threads_ = pools_[round % 3];
    const int64_t rank = pick(1, 3), groups = pick(1, 3), channels = pick(1, round % 4 == 0 ? 40 : 5),
                  filters = pick(1, round % 4 == 1 ? 40 : 5), batch = pick(0, 2);
    std::vector<int64_t> stride(3, 1), dilation(3, 1), pad(3, 0), in(3, 1), kernel(3, 1), out(3, 1);
    std::vector<int64_t> xs{batch, groups * channels}, ws{groups * channels, filters},
        ys{batch, groups * filters}, pads;
    for (auto d = static_cast<size_t>(3 - rank); d < 3; ++d) {
      stride[d] = pick(1, 4), dilation[d] = pick(1, 3), kernel[d] = pick(1, 4), pad[d] = pick(0, 3);
      in[d] = pick(1, rank == 1 ? 90 : rank == 2 ? 17 : 6);
      out[d] = std::max<int64_t>(
          1, (in[d] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1 - pad[d] + pick(-3, 3));
      xs.push_back(in[d]), ws.push_back(kernel[d]), ys.push_back(out[d]), pads.push_back(pad[d]);
    }
    std::vector<int32_t> numbers{static_cast<int32_t>(rank), static_cast<int32_t>(groups)};
    for (const std::vector<int64_t>* list : {&stride, &dilation})
      for (auto d = static_cast<size_t>(3 - rank); d < 3; ++d)
        numbers.push_back(static_cast<int32_t>((*list)[d]));
    Tensor *x = floats(xs), *w = floats(ws), *bias = round % 2 ? floats({groups * filters}) : nullptr,
           *y = output(ys);
    const Status status = call("conv_transpose", {x, w, bias}, {.scalars = pads, .numbers = numbers}, {y});
    ASSERT_TRUE(status.ok()) << status.toString();
    const int64_t plane = out[0] * out[1] * out[2], image = in[0] * in[1] * in[2],
                  taps = kernel[0] * kernel[1] * kernel[2];
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t f = 0; f < groups * filters; ++f) {
        std::vector<double> sums(static_cast<size_t>(plane),
                                 bias ? static_cast<double>(bias->as<float>()[f]) : 0);
        for (int64_t ch = 0; ch < channels; ++ch)
          for (int64_t at = 0; at < image; ++at)
            for (int64_t tap = 0; tap < taps; ++tap) {
              const int64_t from[] = {at / (in[1] * in[2]), at / in[2] % in[1], at % in[2]},
                            k[] = {tap / (kernel[1] * kernel[2]), tap / kernel[2] % kernel[1],
                                   tap % kernel[2]};
              int64_t to = 0;
              bool inside = true;
              for (size_t d = 0; d < 3; ++d) {
                const int64_t place = from[d] * stride[d] + k[d] * dilation[d] - pad[d];
                inside = inside && place >= 0 && place < out[d];
                to = to * out[d] + place;
              }
              const int64_t channel = f / filters * channels + ch;
              if (inside)
                sums[static_cast<size_t>(to)] +=
                    static_cast<double>(x->as<float>()[(n * groups * channels + channel) * image + at]) *
                    static_cast<double>(w->as<float>()[(channel * filters + f % filters) * taps + tap]);
            }
        for (int64_t at = 0; at < plane; ++at)
          ASSERT_NEAR(y->as<float>()[(n * groups * filters + f) * plane + at], sums[static_cast<size_t>(at)],
                      1e-4)
              << "round " << round << " rank " << rank;
      }
  }
}

TEST_F(ConvolutionTest, someWaysCanNotHaveTheirChannelsLast) {
  Tensor *x = floats({1, 4, 4, 8}), *w = floats({8, 8, 1, 1}), *y = output({1, 4, 4, 8});
  const auto first = [](int32_t axes, kernels::Way way, ImageLayout layout) {
    return axes | LaidNumber{1 + static_cast<int32_t>(way), layout}.joined() << 3;
  };
  using kernels::Way;
  const int32_t last = first(2, Way::staged, ImageLayout::channelsLast);
  EXPECT_EQ(
      call("conv_packed", {x, w}, {.scalars = {0, 0}, .numbers = {last, 1, 1, 1, 1, 1, 8, 8, 1, 1}}, {y})
          .code,
      DYN_BAD_PROGRAM);
  Tensor *planes = floats({1, 8, 4, 4}), *windows = floats({8, 8, 3, 3});
  for (int32_t wrong : {first(2, Way::winograd, ImageLayout::toChannelsLast),
                        first(2, Way::direct, static_cast<ImageLayout>(3))})
    EXPECT_EQ(call("conv_packed", {planes, windows},
                   {.scalars = {1, 1}, .numbers = {wrong, 1, 1, 1, 1, 1, 8, 8, 3, 3}}, {y})
                  .code,
              DYN_BAD_PROGRAM);
  Tensor *solid = floats({1, 2, 2, 2, 8}), *to = output({1, 2, 2, 2, 8});
  EXPECT_EQ(call("conv_packed", {solid, w},
                 {.scalars = {0, 0, 0},
                  .numbers = {first(3, Way::direct, ImageLayout::channelsLast), 1, 1, 1, 1, 1, 1, 1, 8, 8, 1,
                              1, 1}},
                 {to})
                .code,
            DYN_UNSUPPORTED);
}

TEST_F(ConvolutionTest, convInDoubleAndWrongShapes) {
  Tensor *x = tensor<double>(DataType::f64, {1, 1, 4}, {1, 2, 3, 4}),
         *w = tensor<double>(DataType::f64, {1, 1, 2}, {1, 10}), *y = output({1, 1, 3}, DataType::f64);
  ASSERT_TRUE(call("conv", {x, w}, {.scalars = {0}, .numbers = {1, 1, 1, 1}}, {y}).ok());
  EXPECT_THAT(data<double>(y), ElementsAre(21, 32, 43));
  EXPECT_EQ(call("conv", {x, w}, {.scalars = {0}, .numbers = {1, 2, 1, 1}}, {y}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("conv", {x, w}, {.scalars = {0}, .numbers = {4, 1, 1, 1}}, {y}).code, DYN_UNSUPPORTED);
  EXPECT_EQ(call("conv", {x, w}, {.scalars = {0}, .numbers = {1, 1, 0, 1}}, {y}).code, DYN_BAD_INPUT);
  Tensor *f = floats({1, 1, 4}), *wrong = floats({3}), *to = output({1, 1, 3});
  EXPECT_EQ(call("conv_packed", {f, wrong}, {.scalars = {0}, .numbers = {1, 1, 1, 1, 1, 1, 2}}, {to}).code,
            DYN_BAD_INPUT);
  EXPECT_EQ(call("conv_packed", {f, wrong}, {.scalars = {0}, .numbers = {1, 1, 1, 1, 1, 1, -2}}, {to}).code,
            DYN_BAD_PROGRAM);
  constexpr int32_t kLarge = INT32_MAX;
  EXPECT_EQ(
      call("conv_packed", {f, wrong}, {.scalars = {0}, .numbers = {1, 1, 1, 1, kLarge, kLarge, kLarge}}, {to})
          .code,
      DYN_BAD_INPUT);
}

}  // namespace
}  // namespace dyn::vm::test
