// Rows that a result keeps between reductions (kernel/kept_rows.h): against the reference.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::withType;

struct Halves {
  const char* name;
  Dtype dtype;
  double tolerance;
};
constexpr Halves kHalves[] = {{"f16", Dtype::f16, 5e-3}, {"bf16", Dtype::bf16, 4e-2}};

void expectSameKeptRows(const Halves& halves, const char* body) {
  std::vector<std::vector<HostTensor>> inputs;
  for (int64_t n : {0, 1, 2, 13})
    for (int64_t m : {1, 2, 5, 64, 101})
      inputs.push_back({test::randomTensor(Dtype::f32, {n, m}, 1), test::randomTensor(halves.dtype, {m}, 2),
                        test::randomTensor(halves.dtype, {n, m}, 3)});
  const std::string head =
      "fn @main(%g: Tensor[(n, m), f32], %b: Tensor[(m), TYPE], %r: Tensor[(n, m), TYPE]) {"
      " %h = cast(%g) {to = TYPE} %a = add(%h, %b) %c = add(%a, %r) ";
  test::expectSame(withType(head + body + " }", halves.name), inputs, {}, halves.tolerance);
}

TEST(KeptRows, RoundedBeforeReductions) {
  for (const Halves& halves : kHalves) {
    SCOPED_TRACE(halves.name);
    expectSameKeptRows(halves, "%y = layer_norm(%c, %b, %b) {axis = -1} return %y");
    expectSameKeptRows(halves,
                       "%y = layer_norm(%c, %b, %b) {axis = -1} %z = cast(%y) {to = f32} return %z, %y");
    expectSameKeptRows(halves, "%y = softmax(%c) {axis = -1} return %y");
    expectSameKeptRows(halves, "%y = softmax(%c) {axis = -1} %z = cast(%y) {to = f32} return %z");
    expectSameKeptRows(
        halves,
        "%k = constant() {value = i64[1] [-1]} %s = reduce_max(%c, %k) {keepdims = 1} %y = sub(%c, "
        "%s) return %y");
  }
}

// What is kept is no longer there where something else is.
TEST(KeptRows, WhatIsReadAgainBesideIt) {
  for (const Halves& halves : kHalves) {
    SCOPED_TRACE(halves.name);
    expectSameKeptRows(halves, "%y = softmax(%c) {axis = -1} %z = mul(%y, %c) return %z");
    expectSameKeptRows(halves,
                       "%y = softmax(%c) {axis = -1} %z = mul(%y, %r) %w = cast(%z) {to = f32} return %w");
    expectSameKeptRows(halves,
                       "%y = softmax(%c) {axis = -1} %f = cast(%c) {to = f32} %z = cast(%y) {to = f32} "
                       "%w = mul(%z, %f) %v = add(%w, %g) return %v");
  }
}

}  // namespace
}  // namespace dyn
