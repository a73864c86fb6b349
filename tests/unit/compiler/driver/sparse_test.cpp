// Sparse matrices in compressed rows against the dense product.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::randomTensor;

// The matrix, of which about a third is not 0, in compressed rows; then both products.
constexpr const char* kBoth = R"(fn @main(a: Tensor[(rows, k), f32], d: Tensor[(k, n), f32]) {
  zero = sub(a, a)
  s = where(greater(a, 0.5), a, zero)
  places = nonzero(s)
  values = gather_nd(s, transpose(places, perm = [1, 0]))
  columns = gather(places, i64[] 1)
  counts = reduce_sum(cast(cast(s, to = bool), to = i64), i64[1] [1], keepdims = 0)
  starts = concat(i64[1] [0], cumsum(counts, i64[] 0), axis = 0)
  return spmm(values, columns, starts, d), matmul(s, d), relu(spmm(values, columns, starts, d * 2.0) + 1.0)
})";

// Every size gives the right answer from one compilation: no rows, empty rows, one column, primes, equal sizes for different symbols.
TEST(Sparse, Db_spmmEqualsTheDenseProductAtAllSizes) {
  IrContext context;
  Result<Module> module = test::parseText(context, kBoth);
  ASSERT_TRUE(module.ok()) << module.error().toString();
  for (const char* passes : {"", "-fuse", "-simplify"}) {
    CompileOptions options;
    options.passes = passes;
    IrContext own;
    Result<std::unique_ptr<test::Compiled>> compiled =
        test::Compiled::make(*test::parseText(own, kBoth), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    for (int64_t rows : {0, 1, 2, 7, 31})
      for (int64_t k : {0, 1, 3, 7, 67})
        for (int64_t n : {0, 1, 5, 7, 33}) {
          const HostTensor a = randomTensor(Dtype::f32, {rows, k}, static_cast<uint32_t>(rows + 3 * k)),
                           d = randomTensor(Dtype::f32, {k, n}, static_cast<uint32_t>(n));
          Result<std::vector<HostTensor>> result = (*compiled)->run({a, d});
          ASSERT_TRUE(result.ok()) << rows << " " << k << " " << n << ": " << result.error().toString();
          test::expectClose((*result)[0], (*result)[1], "spmm", 1e-5);
          for (int64_t i = 0; i < (*result)[2].elementCount(); ++i)
            ASSERT_NEAR((*result)[2].realAt(i), std::max(0.0, 2 * (*result)[1].realAt(i) + 1), 1e-3);
        }
    EXPECT_EQ(kernelsCompiledAfterLoad(*(*compiled)->model), 0);
  }
}

// Sizes of the rows that do not fit the entries end in a fault, whichever way they are wrong.
TEST(Sparse, wrongStartsAreFaults) {
  const char* text =
      R"(fn @main(v: Tensor[(e), f32], c: Tensor[(e), i64], s: Tensor[(r), i64], d: Tensor[(k, n), f32]) {
    return spmm(v, c, s, d)
  })";
  const HostTensor v = randomTensor(Dtype::f32, {3}, 1), d = randomTensor(Dtype::f32, {4, 2}, 2);
  auto integers = [](std::vector<int64_t> all) { return HostTensor::vectorInt(Dtype::i64, all); };
  const HostTensor columns = integers({0, 3, 1});
  test::expectSame(text, {{v, columns, integers({0, 2, 3}), d},
                          {v, columns, integers({0, 0, 0}), d},
                          {v, columns, integers({2}), d},
                          {v, columns, integers({}), d},
                          {v, columns, integers({0, 2, 1}), d},
                          {v, columns, integers({-1, 2, 3}), d},
                          {v, columns, integers({0, 2, 4}), d},
                          {v, columns, integers({0, INT64_MAX, 3}), d},
                          {v, integers({0, 4, 1}), integers({0, 2, 3}), d},
                          {v, integers({0, -1, 1}), integers({0, 2, 3}), d},
                          {v, integers({0, -1, 1}), integers({2, 3, 3}), d}});
}

}  // namespace
}  // namespace dyn
