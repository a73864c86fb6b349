// Weights of a file may lie at any address: what packs them reads them there (vm/kernels/halves.h, four.h).
// Under the sanitizers a read as if they were aligned is reported.
#include <cstring>

#include "tests/unit/vm/kernels/builtin_harness.h"

namespace dyn::vm::test {
namespace {

class PackingAnywhere : public BuiltinTest {
 protected:
  Tensor* weights(DataType dtype, const std::vector<int64_t>& shape) {
    Tensor* made = output(shape, dtype);
    for (size_t i = 0; i < made->sizeBytes(); ++i)
      reinterpret_cast<uint8_t*>(made->data)[i] = static_cast<uint8_t>(random_() % 0x40);
    return made;
  }
  std::vector<uint8_t> packed(const char* name, Tensor* weights, const std::vector<int32_t>& numbers) {
    const Status status = call(name, {weights}, {.numbers = numbers});
    EXPECT_TRUE(status.ok()) << name << ": " << status.toString();
    if (!status.ok()) return {};
    const auto* bytes = reinterpret_cast<const uint8_t*>(result()->data);
    return {bytes, bytes + result()->sizeBytes()};
  }
  void expectTheSameAnywhere(const char* name, Tensor* weights, const std::vector<int32_t>& numbers) {
    const std::vector<uint8_t> expected = packed(name, weights, numbers);
    auto* aligned = weights->data;
    for (const size_t offset : {1, 2, 3}) {
      std::vector<uint8_t> memory(weights->sizeBytes() + 8);
      memcpy(memory.data() + offset, aligned, weights->sizeBytes());
      weights->data = reinterpret_cast<decltype(aligned)>(memory.data() + offset);
      EXPECT_EQ(packed(name, weights, numbers), expected) << name << " of bytes " << offset << " behind";
      weights->data = aligned;
    }
  }
};

TEST_F(PackingAnywhere, Matrices) {
  constexpr int32_t kTransposed = 1, kRounded = 2, kNarrow = 4;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 1}, {37, 70}, {70, 37}, {64, 32}})
    for (const int32_t order : {0, kTransposed}) {
      for (const DataType dtype : {DataType::f32, DataType::f16, DataType::bf16})
        for (const int32_t form : {0, kRounded})
          expectTheSameAnywhere("gemmpack", weights(dtype, shape), {order | form});
      expectTheSameAnywhere("gemmpack", weights(DataType::bf16, shape), {order | kNarrow});
      for (const DataType dtype : {DataType::u8, DataType::i8})
        expectTheSameAnywhere("bytepack", weights(dtype, shape), {order});
    }
}

TEST_F(PackingAnywhere, Filters) {
  constexpr int32_t kAxes = 2;
  int32_t ways = 0;
  for (int32_t way = 0; way < 8; ++way)
    for (const auto& [shape, groups] :
         {std::pair<std::vector<int64_t>, int32_t>{{19, 5, 3, 3}, 1}, {{24, 1, 3, 3}, 24}}) {
      const std::vector<int32_t> numbers{kAxes | way << 3, groups, 1, 1, 1, 1};
      Tensor* filters = weights(DataType::f32, shape);
      if (!call("conv_pack", {filters}, {.numbers = numbers}).ok()) continue;  // no such way for this window
      ++ways;
      expectTheSameAnywhere("conv_pack", filters, numbers);
    }
  EXPECT_GE(ways, 4);
}

}  // namespace
}  // namespace dyn::vm::test
