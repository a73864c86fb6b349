// The freestanding runtime beside the VM: the same bits, the same kinds of errors, and just the memory
// that a dry run has said.
#include "compiler/export/freestanding_program.h"

#include "compiler/driver/target_choice.h"
#include "tests/support/freestanding_run.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::FreestandingResult;
using test::FreestandingRun;
using test::randomTensor;

class FreestandingProgram : public testing::Test {
 protected:
  void compile(const std::string& text, uint32_t flowPiece = 1000) {
    Result<Module> module = test::parseText(ir_, text);
    ASSERT_TRUE(module.ok()) << module.error().toString();
    Result<Target> host = hostTarget();
    ASSERT_TRUE(host.ok());
    if (host->machine.triple.empty()) GTEST_SKIP() << "no code generation";
    CompileOptions options;
    options.target = freestandingTarget(*host);
    options.flowPiece = flowPiece;
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    compiled_ = std::move(compiled).value();
    Result<std::unique_ptr<FreestandingRun>> fixed = FreestandingRun::make(compiled_->model);
    ASSERT_TRUE(fixed.ok()) << fixed.error().toString();
    fixed_ = std::move(fixed).value();
  }

  // In both; `known`: memory does not depend on values.
  void same(const std::vector<HostTensor>& inputs, bool known = true) {
    if (!fixed_) return;
    const Result<std::vector<HostTensor>> expected = compiled_->run(inputs);
    int32_t status = DYN_OK;
    const uint64_t bytes = fixed_->runDry(inputs, status);
    EXPECT_EQ(status == DYN_UNSUPPORTED, !known) << status;
    const FreestandingResult actual = bytes > 0 ? fixed_->run(inputs, bytes) : fixed_->run(inputs);
    ASSERT_EQ(actual.status == DYN_OK, expected.ok())
        << actual.message << (expected.ok() ? "" : expected.error().toString());
    EXPECT_TRUE(actual.intact);
    if (!expected.ok()) {
      EXPECT_EQ(test::idOf(static_cast<dyn_status>(actual.status)), expected.error().id) << actual.message;
      return;
    }
    if (bytes > 0) {
      EXPECT_EQ(actual.peakBytes, bytes);
      EXPECT_EQ(fixed_->run(inputs, bytes - 16).status, DYN_MEMORY_LIMIT);
    }
    ASSERT_EQ(actual.outputs.size(), expected->size());
    for (size_t i = 0; i < expected->size(); ++i) {
      ASSERT_EQ(actual.outputs[i].shape(), (*expected)[i].shape());
      EXPECT_EQ(std::memcmp(actual.outputs[i].data(), (*expected)[i].data(),
                            static_cast<size_t>((*expected)[i].sizeBytes())),
                0)
          << "output " << i;
    }
  }

  static HostTensor number(int64_t value) {
    HostTensor tensor = *HostTensor::create(Dtype::i64, {});
    tensor.setInt(0, value);
    return tensor;
  }

  IrContext ir_;
  std::unique_ptr<test::Compiled> compiled_;
  std::unique_ptr<FreestandingRun> fixed_;
};

TEST_F(FreestandingProgram, denseLayersOfAnyBatch) {
  compile(R"(fn @main(x: Tensor[(n, k), f32], w: Tensor[(k, m), f32], b: Tensor[(m), f32]) {
    y = softmax(relu(matmul(x, w) + b))
    return y, transpose(x) {perm = [1, 0]}
  })");
  for (const auto& [n, k, m] :
       {std::array<int64_t, 3>{3, 5, 7}, {1, 1, 1}, {0, 4, 3}, {13, 0, 2}, {64, 31, 17}})
    same({randomTensor(Dtype::f32, {n, k}, 1), randomTensor(Dtype::f32, {k, m}, 2),
          randomTensor(Dtype::f32, {m}, 3)});
}

TEST_F(FreestandingProgram, sizesThatDoNotAgree) {
  compile(R"(fn @main(x: Tensor[(?), f32], y: Tensor[(?), f32]) { return x + y })");
  same({randomTensor(Dtype::f32, {4}, 1), randomTensor(Dtype::f32, {4}, 2)});
  same({randomTensor(Dtype::f32, {4}, 1), randomTensor(Dtype::f32, {1}, 2)});
  same({randomTensor(Dtype::f32, {4}, 1), randomTensor(Dtype::f32, {3}, 2)});
}

const char* const kFixedProgramIterations = R"(fn @main(n: Tensor[(), i64], x: Tensor[(k), f32]) {
  y = loop(n, _, x) {carried = 1} body (i, a) {
    b = a * 0.5 + 1.0
    return true, b
  }
  return y
})";

TEST_F(FreestandingProgram, loops) {
  compile(kFixedProgramIterations);
  for (int64_t iterations : {0, 1, 7}) same({number(iterations), randomTensor(Dtype::f32, {5}, 1)}, false);
}

TEST_F(FreestandingProgram, loopsInManyPieces) {
  compile(kFixedProgramIterations, 5);
  for (int64_t iterations : {0, 1, 7}) same({number(iterations), randomTensor(Dtype::f32, {5}, 1)}, false);
}

TEST_F(FreestandingProgram, loopsThatStack) {
  compile(R"(fn @main(x: Tensor[(k), f32], y: Tensor[(3), f32]) {
    n = constant() {value = i64[] 4}
    last, all = loop(n, _, x) {carried = 1} body (i, a) {
      b = a * 0.5 + 1.0
      return true, b, b
    }
    return last, all
  })");
  for (int64_t k : {0, 1, 5}) same({randomTensor(Dtype::f32, {k}, 1), randomTensor(Dtype::f32, {3}, 2)});
}

TEST_F(FreestandingProgram, recursion) {
  compile(R"(fn @main(n: Tensor[(), i64], x: Tensor[(k), f32]) { return @down(n, x) }
  fn @down(n: Tensor[(), i64], x: Tensor[(k), f32]) -> (Tensor[(k), f32]) {
    r = if(equal(n, 0), n, x) then (n, x) { return x } else (n, x) {
      y = @down(n - 1, x)
      return y + 1.0
    }
    return r
  })");
  for (int64_t depth : {0, 1, 100}) same({number(depth), randomTensor(Dtype::f32, {3}, 1)}, false);
}

TEST_F(FreestandingProgram, branchesTakeTheMostOfTheirWays) {
  compile(R"(fn @main(p: Tensor[(), bool], x: Tensor[(k), f32]) {
    r = if(p, x) then (x) { return concat(x, x) {axis = 0} } else (x) { return x }
    return r
  })");
  HostTensor yes = *HostTensor::create(Dtype::boolean, {});
  for (int64_t value : {0, 1}) {
    yes.setInt(0, value);
    same({yes, randomTensor(Dtype::f32, {9}, 1)}, false);
  }
}

// As the VM tells it: what, and which operation.
TEST_F(FreestandingProgram, faultsNameTheirPlace) {
  compile(
      "fn @main(x: Tensor[(n, 3), f32], i: Tensor[(k), i64], j: Tensor[(k), i64]) {\n"
      "  a = gather(x, i) {axis = 0}\n  b = gather(x, j) {axis = 1}\n"
      "  return a, b\n}");
  if (!fixed_) return;
  const auto indexes = [](int64_t last) {
    HostTensor tensor = *HostTensor::create(Dtype::i64, {2});
    tensor.setInt(0, 0);
    tensor.setInt(1, last);
    return tensor;
  };
  const HostTensor x = randomTensor(Dtype::f32, {5, 3}, 1);
  for (const auto& [first, second, message] :
       {std::tuple{7, 1, "index 7 is out of range: axis 0 has n elements, at <text>:2:7"},
        {1, -4, "index -4 is out of range: axis 1 has 3 elements, at <text>:3:7"}}) {
    EXPECT_EQ(fixed_->run({x, indexes(first), indexes(second)}).message, message);
    const Result<std::vector<HostTensor>> vm = compiled_->run({x, indexes(first), indexes(second)});
    ASSERT_FALSE(vm.ok());
    EXPECT_NE(vm.error().toString().find(std::string(message).substr(0, std::string(message).find(", at"))),
              std::string::npos)
        << vm.error().toString();
  }
}

TEST_F(FreestandingProgram, whatItsRuntimeHasNot) {
  Result<Module> module =
      test::parseText(ir_, "fn @main(x: Tensor[(n, k, k), f32]) { y = det(x)\n return y }");
  ASSERT_TRUE(module.ok()) << module.error().toString();
  CompileOptions options;
  options.target = freestandingTarget(*hostTarget());
  const Result<CompiledModel> compiled = compileModel(*module, options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_NE(compiled.error().toString().find("det"), std::string::npos) << compiled.error().toString();
}

}  // namespace
}  // namespace dyn
