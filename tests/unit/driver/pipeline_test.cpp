// Modules in text, compiled and interpreted: one artefact, many shapes.
#include "tests/unit/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::randomTensor;

std::vector<std::vector<HostTensor>> shapes(std::vector<std::vector<int64_t>> list, Dtype dtype = Dtype::f32) {
  std::vector<std::vector<HostTensor>> sets;
  uint32_t seed = 1;
  for (std::vector<int64_t>& shape : list) sets.push_back({randomTensor(dtype, std::move(shape), seed++)});
  return sets;
}

TEST(Pipeline, elementwise) {
  expectSame("fn @main(%x: Tensor[(n, m), f32]) { relu(x) * 2.0 + x }", shapes({{0, 3}, {1, 1}, {2, 3}, {7, 13}, {64, 129}}));
}

TEST(Pipeline, broadcastOfUnknownDims) {
  expectSame("fn @main(%x: Tensor[(n, m), f32], %y: Tensor[(k, m), f32]) { x + y }",
             {{randomTensor(Dtype::f32, {3, 5}, 1), randomTensor(Dtype::f32, {3, 5}, 2)},
              {randomTensor(Dtype::f32, {3, 5}, 1), randomTensor(Dtype::f32, {1, 5}, 2)},
              {randomTensor(Dtype::f32, {1, 5}, 1), randomTensor(Dtype::f32, {4, 5}, 2)},
              {randomTensor(Dtype::f32, {3, 5}, 1), randomTensor(Dtype::f32, {2, 5}, 2)}});  // an error in both
}

TEST(Pipeline, softmaxIsOneKernel) {
  const char* text = "fn @main(%x: Tensor[(n, m), f32]) { softmax(x, axis = -1) }";
  expectSame(text, shapes({{1, 1}, {2, 3}, {7, 13}, {3, 1000}, {0, 5}}));
}

TEST(Pipeline, reductions) {
  expectSame("fn @main(%x: Tensor[(n, m, k), f32]) { reduce_sum(x, [1], keepdims = 0), reduce_max(x, [-1]) }",
             shapes({{1, 1, 1}, {2, 3, 4}, {5, 7, 19}}));
}

TEST(Pipeline, matmulWithEpilogue) {
  expectSame("fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(k, m), f32], %b: Tensor[(m), f32]) { relu(x @ w + b) }",
             {{randomTensor(Dtype::f32, {3, 5}, 1), randomTensor(Dtype::f32, {5, 7}, 2), randomTensor(Dtype::f32, {7}, 3)},
              {randomTensor(Dtype::f32, {0, 5}, 1), randomTensor(Dtype::f32, {5, 7}, 2), randomTensor(Dtype::f32, {7}, 3)},
              {randomTensor(Dtype::f32, {64, 100}, 1), randomTensor(Dtype::f32, {100, 33}, 2), randomTensor(Dtype::f32, {33}, 3)}});
}

TEST(Pipeline, ifTakesABranch) {
  const char* text = R"(fn @main(%c: Tensor[(), bool], %x: Tensor[(n), f32]) {
    %y = if(%c, %x) then (%p: Tensor[(n), f32]) { %q = relu(%p) return %q } else (%p2: Tensor[(n), f32]) { %q2 = neg(%p2) return %q2 }
    return %y
  })";
  HostTensor yes = HostTensor::scalarInt(Dtype::boolean, 1), no = HostTensor::scalarInt(Dtype::boolean, 0);
  expectSame(text, {{yes, randomTensor(Dtype::f32, {5}, 1)}, {no, randomTensor(Dtype::f32, {3}, 2)}, {no, randomTensor(Dtype::f32, {0}, 2)}});
}

TEST(Pipeline, loopCarriesAndScans) {
  const char* text = R"(fn @main(%t: Tensor[(), i64], %x: Tensor[(n), f32]) {
    %last, %all = loop(%t, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) {
      %go = constant() {value = bool[] true}
      %b = mul(%a, %a)
      return %go, %b, %b
    }
    return %last, %all
  })";
  for (int64_t trips : {1, 3}) {
    SCOPED_TRACE(trips);
    expectSame(text, {{HostTensor::scalarInt(Dtype::i64, trips), randomTensor(Dtype::f32, {4}, 1)}});
  }
}

}  // namespace
}  // namespace dyn
