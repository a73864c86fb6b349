#include "compiler/loop/kernel_key.h"

#include <gtest/gtest.h>

namespace dyn::loop {
namespace {

std::string keyOf(const std::string& text) {
  DimContext dims;
  Result<Kernel> kernel = parseKernel(dims, text);
  EXPECT_TRUE(kernel.ok()) << kernel.error().toString() << text;
  return kernel.ok() ? structuralKey(*kernel) : "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

const char* kRows =
    R"(kernel @rows(in x: f32[n, m], in z: f32[m], out y: f32[n, m]) scalars (n; m) units u < n about "rows" {
  accumulate total: f32 = sum over k < m vector {
    x[u, k]
  }
  check 0.0 < total fault 3
  for i < m vector {
    y[u, i] = x[u, i] * total + 0.5 + z[i]
  }
}
)";

TEST(KernelKey, NamesDoNotMatter) {
  const std::string key = keyOf(kRows);
  EXPECT_EQ(keyOf(replaced(kRows, "@rows", "@others")), key);
  EXPECT_EQ(keyOf(replaced(kRows, "total", "t")), key);
  EXPECT_EQ(keyOf(replaced(kRows, "\"rows\"", "\"rows, if m > 32768\"")), key);
}

TEST(KernelKey, NamesOfSizesDoNotMatter) {
  const auto vector = [](const std::string& size) {
    return "kernel @v(in x: f32[" + size + "], out y: f32[" + size + "]) scalars (" + size + ") units u < " +
           size + " {\n  y[u] = x[u]\n}\n";
  };
  EXPECT_EQ(keyOf(vector("n")), keyOf(vector("k")));
}

// A kernel for 16*n elements has no tail behind its vectors; its code would leave some of n out.
TEST(KernelKey, TheFormOfSizesMatters) {
  const auto vector = [](const std::string& size) {
    return "kernel @v(in x: f32[dim(" + size + ")], out y: f32[dim(" + size + ")]) scalars (n; " + size +
           ") units u < dim(" + size + ") {\n  y[u] = x[u]\n}\n";
  };
  EXPECT_EQ(keyOf(vector("2*n")), keyOf(vector("2*n")));
  EXPECT_NE(keyOf(vector("2*n")), keyOf(vector("16*n")));
  EXPECT_NE(keyOf(vector("floordiv(n + 24, 28)")), keyOf(vector("floordiv(n + 52, 56)")));
}

TEST(KernelKey, WhatIsComputedMatters) {
  const std::string key = keyOf(kRows);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"0.5", "0.25"},
                                                        {"sum over", "maximum over"},
                                                        {"fault 3", "fault 4"},
                                                        {"z[i]", "x[u, i]"},
                                                        {"* total", "/ total"},
                                                        {"i < m vector", "i < m"},
                                                        {"k < m vector", "k < n vector"},
                                                        {"scalars (n; m)", "scalars (m; n)"},
                                                        {"z: f32[m]", "z: f32[n]"},
                                                        {"u < n about", "u < 1 about"}}) {
    EXPECT_NE(keyOf(replaced(kRows, from, to)), key) << from << " -> " << to;
  }
  EXPECT_NE(keyOf(replaced(kRows, "0.5", "-0.0")), keyOf(replaced(kRows, "0.5", "0.0")));
}

// Each size is made of the one before: their forms would be the square of a program.
TEST(KernelKey, LongFormsAreNumbers) {
  DimContext dims;
  const auto copyOf = [&](Dim size) {
    auto context = std::make_shared<LoopContext>(dims);
    Kernel kernel;
    kernel.name = "copy";
    kernel.context = context;
    const Buffer* x = context->buffer("x", Dtype::f32, {context->dim(size)}, BufferRole::input);
    const Buffer* y = context->buffer("y", Dtype::f32, {context->dim(size)}, BufferRole::output);
    kernel.buffers = {x, y};
    kernel.scalars = {size};
    kernel.unit = context->variable("u");
    kernel.unitCount = context->dim(size);
    kernel.body = store(y, {kernel.unit}, context->load(x, {kernel.unit}));
    return kernel;
  };
  Dim size = dims.symbol("n"), other = dims.symbol("m");
  for (int i = 0; i < 20; ++i) {
    size = mod(size, dims.constant(100 + i)) + dims.constant(1);
    other = mod(other, dims.constant(100 + i)) + dims.constant(1);
  }
  EXPECT_EQ(structuralKey(copyOf(size)), structuralKey(copyOf(other)));
  EXPECT_EQ(lastingKey(copyOf(size)), structuralKey(copyOf(size)));
  for (int i = 0; i < 2000; ++i) {
    size = mod(size, dims.constant(200 + i)) + dims.constant(1);
    other = mod(other, dims.constant(200 + i)) + dims.constant(1);
  }
  EXPECT_EQ(structuralKey(copyOf(size)), structuralKey(copyOf(size)));
  EXPECT_NE(structuralKey(copyOf(size)), structuralKey(copyOf(other)));
  EXPECT_LT(structuralKey(copyOf(size)).size(), 200u);
  EXPECT_FALSE(lastingKey(copyOf(size)).has_value());
}

// As text the value of the last node is 2^60 leaves long.
TEST(KernelKey, SharedPartsAreWrittenOnce) {
  const auto ladder = [](int steps, double last) {
    DimContext dims;
    auto context = std::make_shared<LoopContext>(dims);
    const Dim n = dims.symbol("n");
    Kernel kernel;
    kernel.name = "ladder";
    kernel.context = context;
    const Buffer* x = context->buffer("x", Dtype::f32, {context->dim(n)}, BufferRole::input);
    const Buffer* y = context->buffer("y", Dtype::f32, {context->dim(n)}, BufferRole::output);
    kernel.buffers = {x, y};
    kernel.scalars = {n};
    kernel.unit = context->variable("u");
    kernel.unitCount = context->dim(n);
    Expr before = context->load(x, {kernel.unit}), value = before * before;
    for (int i = 0; i < steps; ++i) {
      const Expr next = value + before;
      before = value;
      value = next;
    }
    kernel.body = store(y, {kernel.unit}, value * context->real(last, Dtype::f32));
    return structuralKey(kernel);
  };
  EXPECT_LT(ladder(60, 2).size(), 2000u);
  EXPECT_NE(ladder(60, 2), ladder(60, 3));
  EXPECT_EQ(ladder(60, 2), ladder(60, 2));
}

}  // namespace
}  // namespace dyn::loop
