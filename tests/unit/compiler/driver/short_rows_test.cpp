// Rows too short for vectors, side by side in lanes (kernel/staged_rows.h): against the reference, for all
// lengths up to those that are not staged any more.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::withType;

void expectSameShortRows(const std::string& dtype, Dtype elements, const char* body,
                         double tolerance = 1e-4) {
  for (const char* length : {"m", "1", "3", "10", "16", "31", "32"}) {
    SCOPED_TRACE(dtype + ", rows of " + length + ": " + body);
    const std::string text =
        withType("fn @main(%x: Tensor[(n, M), TYPE], %b: Tensor[(M), TYPE], %r: Tensor[(n, M), TYPE]) {",
                 dtype) +
        withType(body, dtype) + " }";
    std::string sized = text;
    for (size_t at; (at = sized.find('M')) != std::string::npos;) sized.replace(at, 1, length);
    std::vector<std::vector<HostTensor>> inputs;
    std::vector<int64_t> lengths;
    if (length[0] == 'm')
      lengths = {1, 2, 4, 7, 9, 16, 15, 21, 31, 32};
    else
      lengths = {std::stoll(length)};
    for (int64_t m : lengths)
      for (int64_t n : {0, 1, 9, 64, 131})
        inputs.push_back({test::randomTensor(elements, {n, m}, 1), test::randomTensor(elements, {m}, 2),
                          test::randomTensor(elements, {n, m}, 3)});
    test::expectSame(sized, inputs, {}, tolerance);
    if (testing::Test::HasFatalFailure()) return;
  }
}

constexpr const char* kSoftmax = "%y = softmax(%x) {axis = -1} return %y";
constexpr const char* kLogSoftmax = "%y = log_softmax(%x) {axis = -1} return %y";
constexpr const char* kFused =
    "%s = add(%x, %b) %t = mul(%s, %r) %y = softmax(%t) {axis = -1} %z = add(%y, %x) return %z";
constexpr const char* kTwo = "%s = add(%x, %r) %y = softmax(%s) {axis = -1} %z = sub(%s, %y) return %y, %z";
constexpr const char* kNorm = "%y = layer_norm(%x, %b, %b) {axis = -1} return %y";
constexpr const char* kShortPlaces =
    "%y = argmax(%x) {axis = 1, keepdims = 0} %z = argmin(%x) {axis = 1, keepdims = 0, select_last_index = "
    "1} "
    "return %y, %z";
constexpr const char* kFolds =
    "%k = constant() {value = i64[1] [-1]} %a = reduce_sum(%x, %k) {keepdims = 0} %c = reduce_max(%x, %k) "
    "{keepdims = 1} %d = sub(%x, %c) return %a, %d";

TEST(ShortRows, OfReals) {
  for (const char* body : {kSoftmax, kLogSoftmax, kFused, kTwo, kNorm, kShortPlaces, kFolds}) {
    expectSameShortRows("f32", Dtype::f32, body);
    if (HasFatalFailure()) return;
  }
  for (const char* body : {kSoftmax, kShortPlaces, kFolds}) {
    expectSameShortRows("f64", Dtype::f64, body);
    expectSameShortRows("f16", Dtype::f16, body, 1e-2);
    if (HasFatalFailure()) return;
  }
}

TEST(ShortRows, OfIntegers) {
  for (const char* body : {kShortPlaces, kFolds}) {
    expectSameShortRows("i32", Dtype::i32, body);
    expectSameShortRows("i64", Dtype::i64, body);
    expectSameShortRows("u8", Dtype::u8, body);
    if (HasFatalFailure()) return;
  }
}

// Rows that lie apart, or are read only under a condition, are right, too.
TEST(ShortRows, WhatIsNotAWholeRow) {
  std::vector<std::vector<HostTensor>> inputs;
  for (int64_t n : {1, 9, 70})
    for (int64_t m : {1, 3, 12})
      inputs.push_back(
          {test::randomTensor(Dtype::f32, {n, m}, 1), test::randomTensor(Dtype::f32, {n, 2}, 2)});
  test::expectSame(
      "fn @main(%x: Tensor[(n, m), f32], %r: Tensor[(n, 2), f32]) { %c = concat(%x, %r) {axis = 1} "
      "%y = softmax(%c) {axis = -1} return %y }",
      inputs);
  test::expectSame(
      "fn @main(%x: Tensor[(n, m), f32], %r: Tensor[(n, 2), f32]) { %t = transpose(%x) {perm = [1, 0]} "
      "%y = softmax(%t) {axis = -1} return %y }",
      inputs);
}

}  // namespace
}  // namespace dyn
