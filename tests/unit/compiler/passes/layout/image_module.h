// Text modules of convolutions with weights in them.
#pragma once

#include <array>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {

inline std::string list(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

// "  %NAME = constant() {...}": numbers about 0.
inline std::string constant(const std::string& name, const std::vector<int64_t>& shape, uint32_t seed) {
  const HostTensor values = randomTensor(Dtype::f32, shape, seed);
  std::string elements;
  size_t deepest = shape.size();
  for (int64_t i = 0; i < values.elementCount(); ++i) {
    int64_t block = 1;
    size_t opened = 0, closed = 0;
    for (size_t axis = deepest; axis-- > 0; block *= shape[axis]) {
      if (i % (block * shape[axis]) == 0) ++opened;
      if ((i + 1) % (block * shape[axis]) == 0) ++closed;
    }
    elements += (i == 0   ? ""
                 : opened ? ", "
                          : "") +
                std::string(opened, '[') + (opened || i == 0 ? "" : ", ") +
                std::to_string(0.4 * values.realAt(i)) + std::string(closed, ']');
  }
  std::string sizes = list(shape);
  return "%" + name + " = constant() {value = f32" + sizes + " " + elements + "}\n";
}

// Expand, depthwise, squeeze and excite, project, add; pools, a normalisation and a join behind it.
inline std::string residual() {
  return "fn @main(%x: Tensor[(n, 3, h, w), f32]) {\n" + constant("w0", {11, 3, 3, 3}, 1) +
         constant("b0", {11}, 2) + constant("w1", {19, 11, 1, 1}, 3) + constant("b1", {19}, 4) +
         constant("w2", {19, 1, 3, 3}, 5) + constant("b2", {19}, 6) + constant("w3", {5, 19, 1, 1}, 7) +
         constant("w4", {19, 5, 1, 1}, 8) + constant("w5", {11, 19, 1, 1}, 9) + constant("s", {11}, 10) +
         constant("w6", {9, 22, 3, 3}, 11) + constant("k", {11, 1, 1}, 12) +
         constant("w7", {17, 9, 5, 5}, 13) + R"(
    %mean = constant() {value = f32[11] [0, 1, 0, 2, 0, 0, 0.5, 0, 0, 0, -1]}
    %spread = constant() {value = f32[11] [1, 2, 1, 1, 3, 1, 1, 1, 0.5, 1, 1]}
    %axes = constant() {value = i64[2] [2, 3]}
    %a = conv(%x, %w0, %b0) {pads = [1, 1, 1, 1], strides = [2, 2]}
    %r = relu(%a)
    %c = conv(%r, %w1, %b1)
    %d = relu(%c)
    %e = conv(%d, %w2, %b2) {pads = [1, 1, 1, 1], group = 19}
    %f = relu(%e)
    %g = reduce_mean(%f, %axes)
    %i = conv(%g, %w3)
    %j = relu(%i)
    %l = conv(%j, %w4)
    %m = sigmoid(%l)
    %o = mul(%f, %m)
    %p = conv(%o, %w5)
    %q = add(%r, %p)
    %t = batch_norm(%q, %s, %b0, %mean, %spread)
    %u = mul(%t, %k)
    %v = max_pool(%u) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    %y = average_pool(%q) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    %z = concat(%v, %y) {axis = 1}
    %aa = conv(%z, %w6) {pads = [1, 1, 1, 1]}
    %ab = conv(%aa, %w7) {pads = [4, 4, 4, 4], dilations = [2, 2]}
    %ac = reduce_max(%ab, %axes) {keepdims = 0}
    return %ab, %ac
  })";
}

// Inputs [n, channels, h, w] of many sizes.
inline std::vector<std::vector<HostTensor>> images(int64_t channels) {
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : std::vector<std::array<int64_t, 3>>{
           {1, 8, 8}, {2, 7, 13}, {0, 9, 9}, {1, 1, 1}, {3, 2, 31}, {4, 16, 16}, {7, 12, 9}, {5, 33, 1}})
    sets.push_back({randomTensor(Dtype::f32, {n, channels, h, w}, 1)});
  return sets;
}

// Results of `one` on so many threads are those of `other` to the bit.
inline void expectSameBits(const std::string& text, const CompileOptions& one, const CompileOptions& other,
                           const std::vector<std::vector<HostTensor>>& sets, int threads = 1) {
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> a = Compiled::make(*parsed, one, threads);
  ASSERT_TRUE(a.ok()) << a.error().toString();
  IrContext second;
  Result<Module> again = parseText(second, text);
  ASSERT_TRUE(again.ok()) << again.error().toString();
  Result<std::unique_ptr<Compiled>> b = Compiled::make(*again, other, 1);
  ASSERT_TRUE(b.ok()) << b.error().toString();
  for (const std::vector<HostTensor>& inputs : sets) {
    Result<std::vector<HostTensor>> actual = (*a)->run(inputs), expected = (*b)->run(inputs);
    ASSERT_TRUE(actual.ok() && expected.ok()) << (actual.ok() ? expected : actual).error().toString();
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t i = 0; i < expected->size(); ++i)
      EXPECT_TRUE((*actual)[i].identical((*expected)[i])) << toString(inputs[0], 4) << ", output " << i;
  }
}

}  // namespace dyn::test
