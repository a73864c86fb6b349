// Products have the same bits for every number of threads and every schedule: both decide how the work is cut, never how an element is summed.
#include <cstring>

#include "tests/unit/driver/run_both.h"
#include "vm/include/dyn_contraction.h"

namespace dyn {
namespace {

// A product with constant weights, on these schedules ("auto": by cost).
std::unique_ptr<test::Compiled> productOf(const HostTensor& weights, const std::string& version,
                                          int threads) {
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
  Result<std::unique_ptr<test::Compiled>> made = test::Compiled::make(*parsed, options, threads);
  EXPECT_TRUE(made.ok()) << made.error().toString();
  return made.ok() ? std::move(*made) : nullptr;
}

TEST(ProductBits, doNotDependOnThreadsOrSchedules) {
  for (const auto& [depth, columns] : {std::pair<int64_t, int64_t>{1000, 32}, {1601, 70}}) {
    const HostTensor weights = test::randomTensor(Dtype::f32, {depth, columns}, 7);
    std::vector<std::pair<std::string, std::unique_ptr<test::Compiled>>> all;
    for (int threads : {1, 2, 3, 4})
      all.emplace_back("auto, threads " + std::to_string(threads), productOf(weights, "auto", threads));
    for (const char* version :
         {"k384r6-panels", "k384r24-rows", "k768r6-rows", "k1536r24-panels", "kallr12-rows"})
      for (int threads : {1, 3})
        all.emplace_back(version + (", threads " + std::to_string(threads)),
                         productOf(weights, version, threads));
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

}  // namespace
}  // namespace dyn
