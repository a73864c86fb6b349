// The reference interpreter: limits, cancellation, space of tail calls, deep values, explicit memory.
#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kForever = R"(
    fn @main(%x: Tensor[(), i64]) -> (Tensor[(), i64]) {
      %y = call(%x) {callee = "again"}
      return %y
    }
    fn @again(%x: Tensor[(), i64]) -> (Tensor[(), i64]) {
      %y = call(%x) {callee = "again"}
      TAIL
      return %z
    })";

Program forever(std::string tail) {
  std::string text(kForever);
  return inferText(text.replace(text.find("TAIL"), 4, tail));
}

DiagnosticId failure(const Program& p, const InterpreterOptions& options) {
  Result<std::vector<Value>> results = interpret(p.inferred.module, {Value(scalar(1))}, options);
  return results.ok() ? DiagnosticId::warning : results.error().id;
}

TEST(Interpreter, CallDepthIsLimitedButTailCallsAreFree) {
  InterpreterOptions options;
  options.maxFrames = 100;
  options.maxSteps = 100'000;
  EXPECT_EQ(failure(forever("%z = neg(%y)"), options), DiagnosticId::memoryLimit);
  // In tail position the frame is replaced: only the step limit ends it.
  std::string text(kForever);
  text.replace(text.find("TAIL"), 4, "");
  text.replace(text.find("return %z"), 9, "return %y");
  EXPECT_EQ(failure(inferText(text), options), DiagnosticId::timeLimit);
}

TEST(Interpreter, IsCancelled) {
  const std::atomic<bool> stop{true};
  InterpreterOptions options;
  options.cancelled = &stop;
  EXPECT_EQ(failure(forever("%z = neg(%y)"), options), DiagnosticId::cancelled);
}

TEST(Interpreter, InputsMustFitTheirTypes) {
  Program p = inferText("fn @main(%x: Tensor[(n, 2*n), f32]) { %y = relu(%x) return %y }");
  Diagnostic wrong = runTextError(p, {real({3, 5})});
  EXPECT_EQ(wrong.id, DiagnosticId::inputMismatch);
  EXPECT_THAT(wrong.message, HasSubstr("dim 1 is 5"));
  EXPECT_THAT(wrong.message, HasSubstr("2*n = 6"));
  EXPECT_EQ(runTextError(p, {real({3, 6}, Dtype::f64)}).id, DiagnosticId::inputMismatch);
  EXPECT_EQ(runTextError(p, {real({3})}).id, DiagnosticId::inputMismatch);
  EXPECT_EQ(runTextError(p, {}).id, DiagnosticId::inputMissing);
  // A dim that stands nowhere by itself is solved for.
  Program q =
      inferText("fn @main(%x: Tensor[(2*k + 1), f32]) { %y = dim_value() {value = dims(k)} return %y }");
  EXPECT_EQ(elements(run(q, {real({7})})), (std::vector<double>{3}));
  EXPECT_EQ(runTextError(q, {real({6})}).id, DiagnosticId::inputMismatch);
}

TEST(Interpreter, RunsFusedGroupsAndExplicitMemory) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n), f32]) {
      %f = fused(%x) {kind = "loop"} region (%p) {
        %a = neg(%p)
        %b = relu(%a)
        return %b
      }
      %m = alloc() : Tensor[(n), f32]
      into(%f, %m) {kind = "loop", outputs = 1} region (%q: Tensor[(n), f32]) -> (Tensor[(n), f32]) {
        %c = add(%q, %q) : Tensor[(n), f32]
        return %c
      }
      kill(%f)
      return %m
    })");
  EXPECT_EQ(elements(run(p, {reals({3}, {-1, 2, -3})})), (std::vector<double>{2, 0, 6}));
}

TEST(Interpreter, ValuesMayBeAMillionDeep) {
  Value chain = Value::data("End", {});
  for (int i = 0; i < 1'000'000; ++i) chain = Value::data("Link", {chain});
  const Value same = chain;
  EXPECT_TRUE(chain.identical(same));
  EXPECT_EQ(chain.toString().substr(0, 10), "Link(Link(");
}

TEST(Interpreter, ObserverSeesEachOperation) {
  Program p = inferText("fn @main(%x: Tensor[(n), f32]) { %a = relu(%x) %y = neg(%a) return %y }");
  std::vector<std::string> seen;
  InterpreterOptions options;
  options.observer = [&](const Function&, const Op& op, std::span<const Value> results) {
    seen.push_back(std::string(op.def->name) + " " + std::to_string(results.size()));
  };
  ASSERT_TRUE(interpret(p.inferred.module, {Value(real({2}))}, options).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"relu 1", "neg 1"}));
}

}  // namespace
}  // namespace dyn::test
