// Products of bytes against sums in 64 bits, by every family of micro-kernels that this CPU can run.
#include "vm/kernels/byte/byte_gemm.h"
#include "tests/unit/vm/kernels/builtin_harness.h"

namespace dyn::vm::test {
namespace {

using kernels::ByteGemmFamily;

class ByteGemmTest : public BuiltinTest {
 protected:
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  static int64_t least(DataType dtype) { return dtype == DataType::i8 ? -128 : 0; }
  static int64_t most(DataType dtype) { return dtype == DataType::i8 ? 127 : 255; }
  // Any bytes, or with `extreme` only the least and the greatest.
  Tensor* bytes(DataType dtype, std::vector<int64_t> shape, bool extreme = false) {
    int64_t count = 1;
    for (int64_t dim : shape) count *= dim;
    std::vector<uint8_t> data(static_cast<size_t>(count));
    for (uint8_t& x : data) {
      const int64_t value = extreme ? (number(0, 1) ? least(dtype) : most(dtype)) : number(0, 255);
      x = static_cast<uint8_t>(value);
    }
    return tensor(dtype, std::move(shape), data);
  }
  Tensor* same(DataType dtype, std::vector<int64_t> shape, int64_t value) {
    int64_t count = 1;
    for (int64_t dim : shape) count *= dim;
    return tensor(dtype, std::move(shape),
                  std::vector<uint8_t>(static_cast<size_t>(count), static_cast<uint8_t>(value)));
  }
  static int64_t at(const Tensor* x, int64_t i) {
    return x->dtype == DataType::i8 ? int64_t{x->as<int8_t>()[i]} : int64_t{x->as<uint8_t>()[i]};
  }
  static int64_t zero(const Tensor* zeros, int64_t i) {
    return zeros ? at(zeros, zeros->elementCount > 1 ? i : 0) : 0;
  }
  // [batches, rows, depth] x [batches or 1, depth, columns]
  static std::vector<int32_t> product(const Tensor* a, const Tensor* b, const Tensor* zeroA,
                                      const Tensor* zeroB, int64_t batches, int64_t rows, int64_t columns,
                                      int64_t depth, bool oneB) {
    std::vector<int32_t> c;
    for (int64_t batch = 0; batch < batches; ++batch)
      for (int64_t m = 0; m < rows; ++m)
        for (int64_t n = 0; n < columns; ++n) {
          int64_t sum = 0;
          for (int64_t k = 0; k < depth; ++k)
            sum += (at(a, (batch * rows + m) * depth + k) - zero(zeroA, m)) *
                   (at(b, ((oneB ? 0 : batch) * depth + k) * columns + n) - zero(zeroB, n));
          c.push_back(static_cast<int32_t>(sum));
        }
    return c;
  }
  Status gemm(const ByteGemmFamily& family, std::vector<Object*> arguments, int32_t flags, Tensor* c) {
    return gemm(family, std::move(arguments), {.numbers = {flags}}, c);
  }
  Status gemm(const ByteGemmFamily& family, std::vector<Object*> arguments, const Options& options,
              Tensor* c) {
    return callFlat(
        [&](const DynBuiltinCall* call, uint64_t* bytes) {
          return scratchOf(*call, *bytes, [&](const FlatCall& flat, int64_t& elements) {
            return kernels::byteGemmScratchBy(family, flat, elements);
          });
        },
        [&](const DynBuiltinCall* call) {
          return runOf(*call, [&](FlatCall& flat) { return kernels::byteGemmBy(family, flat); });
        },
        std::move(arguments), options, {c});
  }
  Status convolve(const ByteGemmFamily& family, std::vector<Object*> arguments, const Options& options,
                  Tensor* y) {
    return callFlat(
        [&](const DynBuiltinCall* call, uint64_t* bytes) {
          return scratchOf(*call, *bytes, [&](const FlatCall& flat, int64_t& elements) {
            return kernels::byteConvScratchBy(family, flat, elements);
          });
        },
        [&](const DynBuiltinCall* call) {
          return runOf(*call, [&](FlatCall& flat) { return kernels::byteConvBy(family, flat); });
        },
        std::move(arguments), options, {y});
  }
  Tensor* packed(const ByteGemmFamily& family, Tensor* b, int32_t transposed) {
    const Status status = call([&](BuiltinCall& call) { return kernels::bytePackBy(family, call); }, {b},
                               {.numbers = {transposed}});
    EXPECT_TRUE(status.ok()) << status.message;
    return result();
  }
};

constexpr DataType kBytes[] = {DataType::u8, DataType::i8};

TEST_F(ByteGemmTest, productsAreExact) {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 5, 3},     {2, 33, 4}, {3, 17, 31}, {13, 64, 32}, {12, 32, 5},
                              {25, 70, 67}, {1, 100, 129}, {5, 1, 7},  {7, 13, 0},  {0, 3, 5},    {3, 0, 5}};
  for (const ByteGemmFamily* family : kernels::byteGemmFamilies())
    for (const auto& [rows, columns, depth] : sizes)
      for (DataType left : kBytes)
        for (DataType right : kBytes)
          for (int zeros = 0; zeros < 3; ++zeros)
            for (ThreadPool* threads : pools_) {
              threads_ = threads;
              Tensor *a = bytes(left, {rows, depth}), *b = bytes(right, {depth, columns}),
                     *c = output({rows, columns}, DataType::i32);
              Tensor* zeroA =
                  zeros == 0 ? nullptr
                             : bytes(left, zeros == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{rows});
              Tensor* zeroB = zeros == 0 ? nullptr
                                         : bytes(right, zeros == 1 ? std::vector<int64_t>{1}
                                                                   : std::vector<int64_t>{columns});
              const auto expected = product(a, b, zeroA, zeroB, 1, rows, columns, depth, false);
              const Status status = gemm(*family, {a, b, zeroA, zeroB}, 0, c);
              ASSERT_TRUE(status.ok()) << status.message;
              ASSERT_EQ(data<int32_t>(c), expected)
                  << family->name << " " << rows << " x " << depth << " x " << columns;
              Tensor* pack = packed(*family, b, 0);
              Tensor* again = output({rows, columns}, DataType::i32);
              ASSERT_TRUE(gemm(*family, {a, pack, zeroA, zeroB}, 1, again).ok());
              ASSERT_EQ(data<int32_t>(again), expected) << family->name << ", packed";
            }
}

// 16-bit sums of two such products would saturate, and so would anything that is added up before it is
// widened.
TEST_F(ByteGemmTest, extremesDoNotSaturate) {
  const int64_t rows = 13, columns = 35;
  for (const ByteGemmFamily* family : kernels::byteGemmFamilies())
    for (int64_t depth : {int64_t{4099}, int64_t{32768}})
      for (DataType left : kBytes)
        for (DataType right : kBytes)
          for (bool mixed : {false, true}) {
            // Products of one sign: the sums grow as far as they can.
            Tensor* a = mixed ? bytes(left, {rows, depth}, true) : same(left, {rows, depth}, most(left));
            Tensor* b =
                mixed ? bytes(right, {depth, columns}, true) : same(right, {depth, columns}, least(right));
            Tensor *zeroA = same(left, {}, least(left)), *zeroB = same(right, {}, most(right));
            for (Tensor* zeros : {static_cast<Tensor*>(nullptr), zeroA}) {
              Tensor* c = output({rows, columns}, DataType::i32);
              Tensor* other = zeros ? zeroB : nullptr;
              ASSERT_TRUE(gemm(*family, {a, b, zeros, other}, 0, c).ok());
              ASSERT_EQ(data<int32_t>(c), product(a, b, zeros, other, 1, rows, columns, depth, false))
                  << family->name << " depth " << depth;
            }
          }
}

TEST_F(ByteGemmTest, batchesAndTransposedPanels) {
  for (const ByteGemmFamily* family : kernels::byteGemmFamilies())
    for (ThreadPool* threads : pools_) {
      threads_ = threads;
      Tensor *a = bytes(DataType::u8, {5, 3, 19}), *zeroA = bytes(DataType::u8, {3});
      Tensor *own = bytes(DataType::i8, {5, 19, 37}), *one = bytes(DataType::u8, {19, 37});
      Tensor *c = output({5, 3, 37}, DataType::i32), *d = output({5, 3, 37}, DataType::i32);
      ASSERT_TRUE(gemm(*family, {a, own, zeroA}, 0, c).ok());
      EXPECT_EQ(data<int32_t>(c), product(a, own, zeroA, nullptr, 5, 3, 37, 19, false));
      ASSERT_TRUE(gemm(*family, {a, one, zeroA}, 0, d).ok());
      EXPECT_EQ(data<int32_t>(d), product(a, one, zeroA, nullptr, 5, 3, 37, 19, true));
      std::vector<uint8_t> turned(19 * 37);
      for (size_t k = 0; k < 19; ++k)
        for (size_t n = 0; n < 37; ++n) turned[n * 19 + k] = one->as<uint8_t>()[k * 37 + n];
      Tensor *panels = packed(*family, tensor(DataType::u8, {37, 19}, turned), 1),
             *e = output({5, 3, 37}, DataType::i32);
      ASSERT_TRUE(gemm(*family, {a, panels, zeroA}, 1, e).ok());
      EXPECT_EQ(data<int32_t>(e), data<int32_t>(d));
    }
}

TEST_F(ByteGemmTest, badCallsAreErrors) {
  Tensor *a = bytes(DataType::u8, {2, 3}), *b = bytes(DataType::i8, {3, 4}),
         *c = output({2, 4}, DataType::i32);
  EXPECT_EQ(call("bytegemm", {a, bytes(DataType::i8, {4, 4})}, {}, {c}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("bytegemm", {a, floats({3, 4})}, {}, {c}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("bytegemm", {a, b}, {}, {output({2, 4}, DataType::i64)}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("bytegemm", {a, b, bytes(DataType::i8, {})}, {}, {c}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("bytegemm", {a, b, nullptr, bytes(DataType::i8, {3})}, {}, {c}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("bytegemm", {a, bytes(DataType::i8, {12})}, {.numbers = {1}}, {c}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("bytepack", {floats({3, 4})}).code, DYN_BAD_INPUT);
}

// The low bytes of three times the product plus the row's number. Buffers: the product, the result; scalars:
// the length of a row, then the columns.
int32_t lowBytes(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end, void*) {
  const auto* product = static_cast<const int32_t*>(buffers[0]);
  auto* made = static_cast<uint8_t*>(buffers[1]);
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = scalars[1]; column < scalars[2]; ++column) {
      const int64_t i = row * scalars[0] + column;
      made[i] = static_cast<uint8_t>(3 * product[i] + row);
    }
  return DYN_KERNEL_OK;
}
const KernelRow kLowBytes{"low_bytes", "low_bytes", 2, 1, 3, 0, ""};

std::vector<uint8_t> lowBytesOf(const std::vector<int32_t>& product, int64_t rowLength) {
  std::vector<uint8_t> made;
  for (size_t i = 0; i < product.size(); ++i)
    made.push_back(static_cast<uint8_t>(3 * product[i] + static_cast<int64_t>(i) / rowLength));
  return made;
}

TEST_F(ByteGemmTest, productsThatEndAsBytes) {
  const int64_t sizes[][3] = {{1, 1, 1}, {7, 33, 5}, {13, 700, 31}, {301, 130, 67}, {260, 3, 9}, {0, 3, 2}};
  for (const ByteGemmFamily* family : kernels::byteGemmFamilies())
    for (const auto& [rows, columns, depth] : sizes)
      for (int64_t batches : {1, 4})
        for (ThreadPool* threads : pools_) {
          threads_ = threads;
          Tensor *a = bytes(DataType::u8, {batches, rows, depth}),
                 *b = bytes(DataType::i8, {batches, depth, columns}),
                 *c = output({batches, rows, columns}, DataType::u8);
          const Status status =
              gemm(*family, {a, b, nullptr, nullptr, c},
                   {.scalars = {columns}, .numbers = {0, 1}, .kernels = {lowBytes}, .rows = {kLowBytes}}, c);
          ASSERT_TRUE(status.ok()) << status.toString();
          const auto expected = product(a, b, nullptr, nullptr, batches, rows, columns, depth, false);
          ASSERT_EQ(data<uint8_t>(c), lowBytesOf(expected, columns))
              << family->name << " " << rows << " x " << depth << " x " << columns;
        }
  // Without an epilogue, or without a place for the product among its arguments, there are no bytes.
  Tensor *a = bytes(DataType::u8, {2, 3}), *b = bytes(DataType::i8, {3, 4}),
         *c = output({2, 4}, DataType::u8);
  EXPECT_EQ(call("bytegemm", {a, b}, {}, {c}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("bytegemm", {a, b},
                 {.scalars = {4}, .numbers = {0, 1}, .kernels = {lowBytes}, .rows = {kLowBytes}}, {c})
                .code,
            DYN_BAD_PROGRAM);
}

struct ConvolutionCase {
  int64_t batch, channels, height, width, filters, groups, kernel, stride, dilation, pad;
};

TEST_F(ByteGemmTest, convolutionsAreExact) {
  const ConvolutionCase cases[] = {
      {1, 1, 5, 5, 1, 1, 3, 1, 1, 1},
      {2, 3, 11, 13, 7, 1, 3, 1, 1, 1},
      {1, 8, 7, 7, 5, 1, 1, 1, 1, 0},
      {2, 6, 9, 10, 4, 2, 3, 2, 1, 1},
      {1, 16, 8, 35, 16, 16, 3, 1, 1, 1},
      {2, 4, 9, 37, 4, 4, 3, 2, 1, 1},
      {1, 2, 12, 12, 3, 1, 3, 1, 2, 2},
      {1, 3, 20, 21, 13, 1, 7, 2, 1, 3},
      {1, 5, 4, 4, 2, 1, 3, 1, 1, 4},
      {0, 3, 5, 5, 2, 1, 3, 1, 1, 1},
      {1, 67, 6, 6, 33, 1, 1, 2, 1, 0},
      {2, 12, 9, 21, 5, 1, 3, 2, 1, 1},
      {1, 8, 17, 30, 6, 2, 3, 1, 2, 2},
      {1, 3, 9, 40, 3, 3, 5, 1, 1, 2},
      {2, 5, 8, 33, 5, 5, 5, 2, 1, 2},
      {1, 3, 30, 31, 3, 3, 7, 3, 1, 2},
      {1, 4, 12, 19, 4, 4, 3, 1, 3, 1},
      {1, 2, 3, 3, 2, 2, 3, 1, 1, 5},
      {1, 2, 6, 129, 2, 2, 1, 1, 1, 0},
      {1, 2, 150, 131, 2, 2, 3, 1, 1, 1},
      {1, 2, 5, 5, 2, 2, 3, 1 << 20, 1, 1 << 20},
  };
  for (const ByteGemmFamily* family : kernels::byteGemmFamilies())
    for (const ConvolutionCase& s : cases)
      for (DataType left : kBytes)
        for (DataType right : kBytes)
          for (int zeros = 0; zeros < 3; ++zeros) {
            threads_ = zeros == 1 ? &three_ : &single_;
            const int64_t own = s.channels / s.groups, reach = (s.kernel - 1) * s.dilation + 1;
            const int64_t oh = (s.height + 2 * s.pad - reach) / s.stride + 1,
                          ow = (s.width + 2 * s.pad - reach) / s.stride + 1;
            Tensor *x = bytes(left, {s.batch, s.channels, s.height, s.width}),
                   *w = bytes(right, {s.filters, own, s.kernel, s.kernel}),
                   *y = output({s.batch, s.filters, oh, ow}, DataType::i32);
            Tensor* zeroX = zeros == 0 ? nullptr : bytes(left, {});
            Tensor* zeroW = zeros == 0 ? nullptr
                                       : bytes(right, zeros == 1 ? std::vector<int64_t>{}
                                                                 : std::vector<int64_t>{s.filters});
            const auto stride = static_cast<int32_t>(s.stride), dilation = static_cast<int32_t>(s.dilation);
            const Status status =
                convolve(*family, {x, w, zeroX, zeroW},
                         {.scalars = {s.pad, s.pad},
                          .numbers = {2, static_cast<int32_t>(s.groups), stride, stride, dilation, dilation}},
                         y);
            ASSERT_TRUE(status.ok()) << status.message;
            std::vector<int32_t> expected;
            for (int64_t n = 0; n < s.batch; ++n)
              for (int64_t f = 0; f < s.filters; ++f)
                for (int64_t oy = 0; oy < oh; ++oy)
                  for (int64_t ox = 0; ox < ow; ++ox) {
                    int64_t sum = 0;
                    for (int64_t ch = 0; ch < own; ++ch)
                      for (int64_t ky = 0; ky < s.kernel; ++ky)
                        for (int64_t kx = 0; kx < s.kernel; ++kx) {
                          const int64_t iy = oy * s.stride + ky * s.dilation - s.pad,
                                        ix = ox * s.stride + kx * s.dilation - s.pad;
                          if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
                          const int64_t channel = f / (s.filters / s.groups) * own + ch;
                          sum += (at(x, ((n * s.channels + channel) * s.height + iy) * s.width + ix) -
                                  zero(zeroX, 0)) *
                                 (at(w, ((f * own + ch) * s.kernel + ky) * s.kernel + kx) - zero(zeroW, f));
                        }
                    expected.push_back(static_cast<int32_t>(sum));
                  }
            ASSERT_EQ(data<int32_t>(y), expected)
                << family->name << " kernel " << s.kernel << " groups " << s.groups << " zeros " << zeros;
            Tensor* ended = output({s.batch, s.filters, oh, ow}, DataType::u8);
            const Status narrow = convolve(
                *family, {x, w, zeroX, zeroW, ended},
                {.scalars = {s.pad, s.pad, oh * ow},
                 .numbers = {2, static_cast<int32_t>(s.groups), stride, stride, dilation, dilation, 1},
                 .kernels = {lowBytes},
                 .rows = {kLowBytes}},
                ended);
            ASSERT_TRUE(narrow.ok()) << narrow.toString();
            ASSERT_EQ(data<uint8_t>(ended), lowBytesOf(expected, oh * ow))
                << family->name << " kernel " << s.kernel << " groups " << s.groups << ", as bytes";
            if (own % 4 != 0) continue;
            // The same weights with the channels last.
            const int64_t taps = s.kernel * s.kernel;
            Tensor *moved = bytes(right, {s.filters, s.kernel, s.kernel, own}),
                   *again = output({s.batch, s.filters, oh, ow}, DataType::i32);
            for (int64_t i = 0; i < moved->elementCount; ++i)
              reinterpret_cast<uint8_t*>(moved->data)[i] =
                  w->as<uint8_t>()[(i / (taps * own) * own + i % own) * taps + i / own % taps];
            const Status last = convolve(
                *family, {x, moved, zeroX, zeroW},
                {.scalars = {s.pad, s.pad},
                 .numbers = {2 + 8, static_cast<int32_t>(s.groups), stride, stride, dilation, dilation}},
                again);
            ASSERT_TRUE(last.ok()) << last.message;
            ASSERT_EQ(data<int32_t>(again), expected) << family->name << " kernel " << s.kernel << " groups "
                                                      << s.groups << " zeros " << zeros << ", channels last";
          }
}

}  // namespace
}  // namespace dyn::vm::test
