// Products have the same bits for every number of threads and every schedule: both decide how the work is
// cut, never how an element is summed.
#include <cstring>

#include "tests/unit/compiler/driver/run_both.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn {
namespace {

// A product with constant weights, on these schedules ("auto": by cost).
std::unique_ptr<test::Compiled> productOf(const HostTensor& weights, const std::string& version, int threads,
                                          const char* math) {
  const int64_t depth = weights.shape()[0], columns = weights.shape()[1];
  std::string text = "fn @main(%x: Tensor[(n, " + std::to_string(depth) +
                     "), f32]) { %w = constant() {value = f32[" + std::to_string(depth) + ", " +
                     std::to_string(columns) + "] [";
  for (int64_t k = 0; k < depth; ++k) {
    text += k ? ", [" : "[";
    for (int64_t j = 0; j < columns; ++j)
      text += (j ? ", " : "") + std::to_string(weights.realAt(k * columns + j));
    text += "]";
  }
  IrContext context;
  Result<Module> parsed = test::parseText(context, text + "]} %y = matmul(%x, %w) return %y }");
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  CompileOptions options;
  options.versions["matmul"] = version;
  options.math = math;
  Result<std::unique_ptr<test::Compiled>> made = test::Compiled::make(*parsed, options, threads);
  EXPECT_TRUE(made.ok()) << made.error().toString();
  return made.ok() ? std::move(*made) : nullptr;
}

void expectSameProductBits(const char* math) {
  for (const auto& [depth, columns] : {std::pair<int64_t, int64_t>{1000, 32}, {1601, 70}}) {
    const HostTensor weights = test::randomTensor(Dtype::f32, {depth, columns}, 7);
    std::vector<std::pair<std::string, std::unique_ptr<test::Compiled>>> all;
    for (int threads : {1, 2, 3, 4})
      all.emplace_back("auto, threads " + std::to_string(threads), productOf(weights, "auto", threads, math));
    for (const char* version :
         {"k384r6-panels", "k384r24-rows", "k768r6-rows", "k1536r24-panels", "kallr12-rows"})
      for (int threads : {1, 3})
        all.emplace_back(version + (", threads " + std::to_string(threads)),
                         productOf(weights, version, threads, math));
    for (int64_t rows : {1, 3, 7, 13, 15, 29, 85, 86, 169, 170, 171, 338, 347}) {
      const HostTensor x = test::randomTensor(Dtype::f32, {rows, depth}, static_cast<uint32_t>(rows));
      std::optional<HostTensor> first;
      for (const auto& [name, compiled] : all) {
        Result<std::vector<HostTensor>> y = compiled->run({x});
        ASSERT_TRUE(y.ok()) << y.error().toString();
        if (!first) first = (*y)[0];
        EXPECT_EQ(std::memcmp(first->data(), (*y)[0].data(), static_cast<size_t>(first->sizeBytes())), 0)
            << rows << " x " << depth << " x " << columns << ": " << name;
      }
    }
  }
}

TEST(ProductBits, doNotDependOnThreadsOrSchedules) { expectSameProductBits("fp32"); }

// Also by tiles, which add up 32 depths at a time: blocks of depth are whole steps of them.
TEST(ProductBits, inBf16DoNotDependOnThreadsOrSchedules) { expectSameProductBits("bf16"); }

// f64 and integers: panels of their own, rows in place, batches with threads over them and within them.
TEST(ProductBits, ofOtherTypesDoNotDependOnThreads) {
  struct Case {
    const char* parameters;  // with T for the type
    const char* attributes;
    std::vector<int64_t> a, b;
  };
  const std::vector<Case> cases = {
      {"%a: Tensor[(n, k), T], %b: Tensor[(k, m), T]", "", {2, 300}, {300, 41}},
      {"%a: Tensor[(n, k), T], %b: Tensor[(k, m), T]", "", {97, 523}, {523, 67}},
      {"%a: Tensor[(n, k), T], %b: Tensor[(k, m), T]", "", {230, 17}, {17, 131}},
      {"%a: Tensor[(k, n), T], %b: Tensor[(m, k), T]",
       " {transpose_a = 1, transpose_b = 1}",
       {301, 53},
       {37, 301}},
      {"%a: Tensor[(b, n, k), T], %b: Tensor[(b, k, m), T]", "", {2, 64, 65}, {2, 65, 33}},
      {"%a: Tensor[(b, n, k), T], %b: Tensor[(b, m, k), T]",
       " {transpose_b = 1}",
       {7, 31, 129},
       {7, 47, 129}},
      {"%a: Tensor[(b, n, k), T], %b: Tensor[(k, m), T]", "", {5, 3, 257}, {257, 19}},
      {"%a: Tensor[(b, n, k), T], %b: Tensor[(b, k, m), T]", "", {7, 131, 67}, {7, 67, 1}},
      {"%a: Tensor[(b, k, n), T], %b: Tensor[(b, k, m), T]", " {transpose_a = 1}", {7, 67, 131}, {7, 67, 1}}};
  for (const char* dtype : {"f64", "i32", "u64"}) {
    for (const Case& c : cases) {
      std::string text =
          std::string("fn @main(") + c.parameters + ") { %y = matmul(%a, %b)" + c.attributes + " return %y }";
      for (size_t at; (at = text.find(", T]")) != std::string::npos;)
        text.replace(at, 4, std::string(", ") + dtype + "]");
      IrContext context;
      Result<Module> parsed = test::parseText(context, text);
      ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
      const Dtype type = *parseDtype(dtype);
      const std::vector<HostTensor> inputs = {test::randomTensor(type, c.a, 3),
                                              test::randomTensor(type, c.b, 4)};
      test::expectSame(text, {inputs}, {}, 1e-12);
      std::optional<HostTensor> first;
      for (int threads : {1, 2, 3, 4}) {
        auto compiled = test::Compiled::make(*parsed, {}, threads);
        ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
        Result<std::vector<HostTensor>> y = (*compiled)->run(inputs);
        ASSERT_TRUE(y.ok()) << y.error().toString();
        if (!first) first = (*y)[0];
        EXPECT_EQ(std::memcmp(first->data(), (*y)[0].data(), static_cast<size_t>(first->sizeBytes())), 0)
            << text << ", threads " << threads;
      }
    }
  }
}

// One column, with what follows it: known when compiled or only at run time, constant (then it is not packed)
// or not, with batches that repeat.
TEST(ProductBits, ofOneColumnIsThatOfTheReference) {
  std::string column = "%w = constant() {value = f32[67, 1] [";
  for (int k = 0; k < 67; ++k) column += (k ? ", [" : "[") + std::to_string(k % 13 - 6) + "]";
  const std::string constant = "fn @main(%a: Tensor[(b, n, 67), f32], %c: Tensor[(), f32]) { " + column +
                               "]} %p = matmul(%a, %w) %s = add(%p, %c) %y = sigmoid(%s) return %y }";
  const char* given =
      "fn @main(%a: Tensor[(b, n, k), f32], %b: Tensor[(d, k, 1), f32], %c: Tensor[(n, 1), f32]) "
      "{ %p = matmul(%a, %b) %s = add(%p, %c) %y = relu(%s) return %y }";
  const char* later =
      "fn @main(%a: Tensor[(b, n, k), f32], %b: Tensor[(d, k, m), f32], %c: Tensor[(n, m), f32]) "
      "{ %p = matmul(%a, %b) %s = add(%p, %c) %y = relu(%s) return %y }";
  const auto tensor = [](std::vector<int64_t> shape, uint32_t seed) {
    return test::randomTensor(Dtype::f32, std::move(shape), seed);
  };
  std::vector<std::vector<HostTensor>> ofConstant, ofGiven;
  for (int64_t batches : {0, 1, 5})
    for (int64_t rows : {0, 1, 3, 131}) {
      ofConstant.push_back({tensor({batches, rows, 67}, 1), tensor({}, 2)});
      for (int64_t depth : {0, 1, 2, 17, 67})
        for (int64_t own : {int64_t{1}, batches})
          ofGiven.push_back(
              {tensor({batches, rows, depth}, 3), tensor({own, depth, 1}, 4), tensor({rows, 1}, 5)});
    }
  test::expectSame(constant, ofConstant);
  test::expectSame(given, ofGiven);
  test::expectSame(later, ofGiven);
}

}  // namespace
}  // namespace dyn
