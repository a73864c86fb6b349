// Checklist: what runs, from one program for all shapes, and what bad input meets.
#include <fstream>
#include <thread>

#include "app/session/views/problem_views.h"
#include "tests/support/paths.h"
#include "tests/unit/app/session/checklist.h"

namespace dyn {
namespace {

using test::expectSame;
using test::ints;
using test::number;
using test::Passed;
using test::reals;
using testing::AllOf;
using testing::HasSubstr;

class ChecklistRun : public test::ChecklistSession {};

// Sizes as operands: computed at run time, and the same as constants.
TEST(Checklist, C10_SizesAsOperandsGiveWhatConstantsGive) {
  struct Case {
    const char *op, *constant;
    HostTensor size;
  };
  for (const Case& one : {Case{"reshape(%x, %s)", "i64[2] [3, 4]", ints({3, 4})},
                          Case{"expand(%x, %s)", "i64[3] [2, 1, 6]", ints({2, 1, 6})},
                          Case{"tile(%x, %s)", "i64[2] [2, 3]", ints({2, 3})},
                          Case{"pad(%x, %s)", "i64[4] [1, 0, 2, 1]", ints({1, 0, 2, 1})}}) {
    SCOPED_TRACE(one.op);
    auto result = [&](const std::string& text,
                      const std::vector<HostTensor>& inputs) -> std::optional<HostTensor> {
      IrContext ir;
      Result<Module> module = test::parseText(ir, text);
      EXPECT_TRUE(module.ok()) << module.error().toString();
      Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
      if (!compiled.ok()) return std::nullopt;
      Result<std::vector<HostTensor>> results = (*compiled)->run(inputs);
      EXPECT_TRUE(results.ok()) << results.error().toString();
      return results.ok() ? std::optional<HostTensor>((*results)[0]) : std::nullopt;
    };
    const std::string length = std::to_string(one.size.shape()[0]);
    const HostTensor x = reals({2, 6});
    auto dynamic = result("fn @main(%x: Tensor[(n, m), f32], %s: Tensor[(" + length +
                              "), i64]) {\n  %y = " + one.op + "\n  return %y\n}",
                          {x, one.size});
    auto fixed = result("fn @main(%x: Tensor[(2, 6), f32]) {\n  %s = constant() {value = " +
                            std::string(one.constant) + "}\n  %y = " + one.op + "\n  return %y\n}",
                        {x});
    if (!dynamic || !fixed) GTEST_SKIP() << "no code generation";
    EXPECT_TRUE(Value(*dynamic).identical(Value(*fixed)));
  }
}

TEST(Checklist, C14_SizesFromShapesFromValuesAndCutToTheTrueCount) {
  expectSame("fn @main(%x: Tensor[(n), f32]) {\n %y = concat(%x, %x) {axis = 0}\n return %y\n}",
             {{reals({3})}, {reals({0})}});
  expectSame(
      "fn @main(%a: Tensor[(), i64]) {\n %z = constant() {value = i64[] 0}\n %o = constant() {value = i64[] "
      "1}\n %y = "
      "range(%z, %a, %o)\n return %y\n}",
      {{number(0)}, {number(5)}});
  // The suppression may keep all boxes, and keeps as many as it keeps.
  expectSame(
      "fn @main(%b: Tensor[(1, n, 4), f32], %s: Tensor[(1, c, n), f32]) {\n %m = constant() {value = i64[1] "
      "[10]}\n %y = "
      "non_max_suppression(%b, %s, %m)\n %h = shape(%y)\n return %y, %h\n}",
      {{reals({1, 6, 4}, 3), reals({1, 2, 6}, 4)}, {reals({1, 1, 4}, 3), reals({1, 1, 1}, 4)}});
}

TEST(Checklist, C34_ClosuresRecursionDataAndHigherOrderFunctions) {
  // map and fold over a list written as data, the function handed over as a value.
  expectSame(R"(
    type List { Nil, Cons(Tensor[(2), f32], List) }
    fn @main(%x: Tensor[(2), f32], %k: Tensor[(2), f32]) {
      %n = construct() {type = "List", constructor = "Nil"}
      %a = construct(%x, %n) {type = "List", constructor = "Cons"}
      %b = construct(%k, %a) {type = "List", constructor = "Cons"}
      %f = closure(%k) {callee = "scale"}
      %m = call(%b, %f) {callee = "map"}
      %s = call(%m) {callee = "sum"}
      return %s
    }
    fn @scale(%k: Tensor[(2), f32], %v: Tensor[(2), f32]) -> (Tensor[(2), f32]) {
      %y = mul(%k, %v)
      return %y
    }
    fn @map(%l: List, %f: fn(Tensor[(2), f32]) -> (Tensor[(2), f32])) -> (List) {
      %r = match(%l, %f) case Nil(%g: fn(Tensor[(2), f32]) -> (Tensor[(2), f32])) {
        %n = construct() {type = "List", constructor = "Nil"}
        return %n
      } case Cons(%v: Tensor[(2), f32], %rest: List, %g2: fn(Tensor[(2), f32]) -> (Tensor[(2), f32])) {
        %w = invoke(%g2, %v)
        %t = call(%rest, %g2) {callee = "map"}
        %c = construct(%w, %t) {type = "List", constructor = "Cons"}
        return %c
      }
      return %r
    }
    fn @sum(%l: List) -> (Tensor[(2), f32]) {
      %r = match(%l) case Nil() {
        %z = constant() {value = f32[2] [0, 0]}
        return %z
      } case Cons(%v: Tensor[(2), f32], %rest: List) {
        %t = call(%rest) {callee = "sum"}
        %s = add(%v, %t)
        return %s
      }
      return %r
    })",
             {{reals({2}, 1), reals({2}, 2)}});
}

TEST(Checklist, C35_ConditionsOfEveryIntegerType) {
  for (Dtype dtype : {Dtype::boolean, Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64}) {
    const std::string name(toString(dtype));
    SCOPED_TRACE(name);
    std::vector<std::vector<HostTensor>> inputs;
    for (int64_t value : {0, 1}) inputs.push_back({HostTensor::scalarInt(dtype, value), reals({3})});
    expectSame(
        "fn @main(%v: Tensor[(), " + name + "], %x: Tensor[(n), f32]) {\n  %c = cast(%v) {to = bool}\n" +
            "  %y = if(%c, %x) then (%p: Tensor[(n), f32]) {\n    %a = exp(%p)\n    return %a\n  } else (%q: "
            "Tensor[(n), f32]) {\n    %b = neg(%q)\n    return %b\n  }\n  return %y\n}",
        inputs);
  }
}

constexpr const char* kChecklistProduct = R"(fn @main(%x: Tensor[(n, 4), f32]) -> (Tensor[(n, 3), f32]) {
  %w = constant() {value = f32[4, 3] [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9], [1.1, 1.2, 1.3]]}
  %y = matmul(%x, %w)
  %z = relu(%y)
  return %z
}
)";

TEST_F(ChecklistRun, C38_APackageRunsAsTheModelAndDamageIsRefused) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(kChecklistProduct);
  const Value expected = run("--dim n=5")->outputs[0].value;
  const std::string package = folder_.write("p.dynpkg", "");
  ASSERT_TRUE(line(":compile -o " + package)->ok());
  ASSERT_TRUE(line(":load " + package)->ok());
  EXPECT_TRUE(run("--dim n=5")->outputs[0].value.identical(expected));
  std::ifstream file(package, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (size_t at : {size_t{0}, size_t{4}, size_t{9}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    auto outcome = line(":load " + folder_.write("d.dynpkg", damaged));
    // Padding between sections is nobody's; all else is found out.
    if (outcome->ok()) {
      EXPECT_TRUE(run("--dim n=5")->outputs[0].value.identical(expected)) << at;
    } else {
      EXPECT_EQ(outcome->error->id, DiagnosticId::badPackage) << at;
    }
  }
  for (size_t at : {size_t{0}, size_t{4}}) {  // magic and version
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    EXPECT_FALSE(line(":load " + folder_.write("d.dynpkg", damaged))->ok()) << at;
  }
}

TEST(Checklist, C40_InputsByIndexAndByName) {
  IrContext ir;
  Result<Module> module = test::parseText(
      ir, "fn @main(%x: Tensor[(n), f32], %z: Tensor[(n), f32]) {\n  %y = sub(%x, %z)\n  return %y\n}");
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
  if (!compiled.ok()) GTEST_SKIP() << compiled.error().toString();
  const std::vector<HostTensor> inputs = {reals({4}, 1), reals({4}, 2)};
  Result<std::vector<HostTensor>> byIndex = (*compiled)->run(inputs);
  ASSERT_TRUE(byIndex.ok());
  dyn_context* context = (*compiled)->context.get();
  for (const auto& [name, i] : {std::pair{"z", 1}, std::pair{"x", 0}}) {
    dyn_value* value = nullptr;  // borrowed memory: nothing is copied
    const HostTensor& tensor = inputs[static_cast<size_t>(i)];
    ASSERT_EQ(
        dyn_value_borrow(context, static_cast<int32_t>(Dtype::f32), 1, tensor.shape().data(), tensor.data(),
                         static_cast<size_t>(tensor.sizeBytes()), nullptr, nullptr, &value),
        DYN_OK);
    EXPECT_EQ(dyn_value_data(value), tensor.data());
    ASSERT_EQ(dyn_context_set_input_name(context, name, value), DYN_OK);
    dyn_value_release(value);
  }
  ASSERT_EQ(dyn_context_run(context), DYN_OK);
  dyn_value* result = nullptr;
  ASSERT_EQ(dyn_context_get_output(context, 0, &result), DYN_OK);
  EXPECT_TRUE(Value(test::fromVm(test::ValueHandle(result).get())).identical(Value((*byIndex)[0])));
  EXPECT_NE(dyn_context_set_input_name(context, "nobody", nullptr), DYN_OK);
}

TEST(Checklist, C41_TheProfileHasKernelsWithShapesAndAllocations) {
  IrContext ir;
  Result<Module> module = test::parseText(ir, kChecklistProduct);
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
  if (!compiled.ok()) GTEST_SKIP() << compiled.error().toString();
  dyn_context* context = (*compiled)->context.get();
  ASSERT_EQ(dyn_context_profile(context, 1), DYN_OK);
  ASSERT_TRUE((*compiled)->run({reals({5, 4})}).ok());
  const std::string trace = dyn_context_profile_text(context, "trace"),
                    csv = dyn_context_profile_text(context, "csv"),
                    json = dyn_context_profile_text(context, "json");
  EXPECT_THAT(trace, AllOf(HasSubstr("\"traceEvents\""), HasSubstr("shapes"), HasSubstr("5")));
  EXPECT_THAT(json, AllOf(HasSubstr("\"rows\""), HasSubstr("gemm"), HasSubstr("allocation")));
  EXPECT_THAT(csv, AllOf(HasSubstr("kind,name,count"), HasSubstr("gemm"), HasSubstr("allocation")));
}

TEST_F(ChecklistRun, C42_TheDisassemblyIsStable) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(kChecklistProduct);
  const std::string first = text(":bytecode");
  EXPECT_FALSE(first.empty());
  load(kChecklistProduct);
  EXPECT_EQ(text(":bytecode"), first);
}

TEST_F(ChecklistRun, C43_OneProgramForAllLengths) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  for (const char* model : {"lstm", "treelstm", "bert"}) {
    SCOPED_TRACE(model);
    const std::string folder = dyn::test::sourceFolder() + "/samples/models/" + model;
    auto loaded = line(":load " + folder + "/model.onnx");
    if (!loaded->ok() && loaded->exitCode() == 4) GTEST_SKIP() << loaded->error->message;
    auto verified = line(":verify " + folder);
    ASSERT_TRUE(verified->ok()) << verified->error->message;
    EXPECT_EQ(verified->as<VerifyResult>()->status, CaseStatus::passed);
    EXPECT_GE(verified->as<VerifyResult>()->dataSetsCount, 5);
  }
  ASSERT_TRUE(line(":load " + dyn::test::sourceFolder() + "/samples/models/bert/model.onnx")->ok());
  for (int seq : {1, 2, 17, 128, 511, 512})
    EXPECT_EQ(run("--dim batch=1 --dim seq=" + std::to_string(seq))->kernelsCompiledAfterLoadCount, 0);
}

TEST(Checklist, C45_LongChainsAndLongLoopsNeedNoStack) {
  std::string text = "fn @main(%v0: Tensor[(n), f32]) {\n";
  for (int i = 0; i < 1000; ++i)
    text +=
        "  %v" + std::to_string(i + 1) + " = " + (i % 2 ? "neg" : "tanh") + "(%v" + std::to_string(i) + ")\n";
  expectSame(text + "  return %v1000\n}", {{reals({3})}});
  expectSame(R"(fn @main(%n: Tensor[(), i64], %x: Tensor[(), i64]) {
  %y = loop(%n, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(), i64]) {
    %go = constant() {value = bool[] true}
    %b = add(%a, %i)
    return %go, %b
  }
  return %y
})",
             {{number(100'000), number(1)}});
}

TEST(Checklist, C46_ThreadsShareOneProgram) {
  IrContext ir;
  Result<Module> module = test::parseText(ir, kChecklistProduct);
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
  if (!compiled.ok()) GTEST_SKIP() << compiled.error().toString();
  std::vector<HostTensor> expected;
  for (int64_t n = 1; n <= 4; ++n) expected.push_back((*(*compiled)->run({reals({n, 4}, 9)}))[0]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int64_t n = 1; n <= 4; ++n)
    threads.emplace_back([&, n] {
      test::Compiled own;
      own.model = (*compiled)->model;
      dyn_options options{};
      options.thread_count = 1;
      dyn_context* context = nullptr;
      if (dyn_context_create((*compiled)->module.get(), &options, &context) != DYN_OK) return void(++wrong);
      own.context.reset(context);
      for (int i = 0; i < 200; ++i) {
        Result<std::vector<HostTensor>> results = own.run({reals({n, 4}, 9)});
        if (!results.ok() || !Value((*results)[0]).identical(Value(expected[static_cast<size_t>(n - 1)])))
          ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Checklist, M1_OneProgramTakesSizesAsOperands) {
  // slice bounds, padding, target shapes, ranges, broadcasts: all operands; 25 shapes, 0 and 1 among them.
  std::vector<std::vector<HostTensor>> inputs;
  for (int64_t n : {0, 1, 2, 5, 11})
    for (int64_t k : {1, 2, 3, 4, 7})
      inputs.push_back(
          {reals({n, k}), ints({0}), ints({k - 1}), ints({1, 0, 0, 2}), ints({k, n}), ints({3, n, k})});
  expectSame(
      R"(fn @main(%x: Tensor[(n, k), f32], %from: Tensor[(1), i64], %to: Tensor[(1), i64], %p: Tensor[(4), i64], %s: Tensor[(2), i64], %e: Tensor[(3), i64]) {
  %a = slice(%x, %from, %to)
  %b = pad(%x, %p)
  %c = reshape(%x, %s) {allowzero = 1}
  %d = expand(%x, %e)
  %f = constant_of_shape(%s) {value = f32[1] [2.5]}
  return %a, %b, %c, %d, %f
})",
      inputs);
}

TEST(Checklist, M24_EveryElementTypeRunsOrSaysWhyNot) {
  int runs = 0;
  for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64, Dtype::i8, Dtype::u8, Dtype::i16,
                      Dtype::i32, Dtype::i64, Dtype::boolean, Dtype::f8e4m3fn, Dtype::string}) {
    const std::string name(toString(dtype));
    SCOPED_TRACE(name);
    IrContext ir;
    Result<Module> module = test::parseText(ir, "fn @main(%x: Tensor[(n), " + name +
                                                    "]) {\n  %y = concat(%x, %x) {axis = 0}\n"
                                                    "  %z = cast(%y) {to = f32}\n  return %z\n}");
    ASSERT_TRUE(module.ok());
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
    if (!compiled.ok()) {
      EXPECT_EQ(exitCode(compiled.error().id), 4) << compiled.error().toString();
      EXPECT_FALSE(compiled.error().message.empty());
      continue;
    }
    ++runs;
    if (dtype == Dtype::string) continue;
    expectSame("fn @main(%x: Tensor[(n), " + name +
                   "]) {\n  %y = concat(%x, %x) {axis = 0}\n  %z = cast(%y) {to = f32}\n"
                   "  return %z\n}",
               {{test::randomTensor(dtype, {3}, 1)}});
  }
  EXPECT_TRUE(runs == 0 || runs >= 9) << runs;
}

// Faults that others had.
TEST_F(ChecklistRun, M25_ALowerBoundAloneIsNoSize) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(kChecklistProduct, "--dim n=4..");
  for (int n : {4, 5, 300})
    EXPECT_EQ(run("--dim n=" + std::to_string(n))->outputs[0].value.tensor().shape()[0], n);
}

TEST(Checklist, M25_BranchesShareNoStorageWithWhatLives) {
  std::vector<std::vector<HostTensor>> inputs;
  for (bool taken : {true, false})
    for (int64_t n : {1, 9}) inputs.push_back({HostTensor::scalarInt(Dtype::boolean, taken), reals({n, 4})});
  expectSame(R"(fn @main(%c: Tensor[(), bool], %x: Tensor[(n, 4), f32]) {
  %t = transpose(%x) {perm = [1, 0]}
  %p = matmul(%x, %t)
  %y = if(%c, %p) then (%a: Tensor[(n, n), f32]) {
    %s = matmul(%a, %a)
    %u = softmax(%s) {axis = -1}
    %v = matmul(%u, %a)
    return %v
  } else (%b: Tensor[(n, n), f32]) {
    %w = softmax(%b) {axis = 0}
    return %w
  }
  %z = matmul(%y, %p)
  return %z, %y, %p
})",
             inputs);
}

TEST_F(ChecklistRun, M25_HugeSizesAreAnError) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(R"(fn @main(%s: Tensor[(2), i64]) {
  %y = constant_of_shape(%s) {value = f32[1] [1]}
  %z = exp(%y)
  return %z
})");
  auto outcome = line(":run --input s=[4611686018427387904,4]");
  ASSERT_FALSE(outcome->ok());
  EXPECT_NE(outcome->exitCode(), 70) << outcome->error->message;
}

TEST_F(ChecklistRun, M25_EachDimIsCheckedNotTheProduct) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load("fn @main(%x: Tensor[(n, k), f32]) {\n  %y = exp(%x)\n  return %y\n}", "--dim n=1..8 --dim k=1..8");
  EXPECT_THAT(errorOf(":run --dim n=16 --dim k=2"),
              AllOf(HasSubstr("\"x\""), HasSubstr("dim 0"), HasSubstr("8")));
  EXPECT_EQ(run("--dim n=2 --dim k=1")->outputs[0].value.tensor().shape(),
            (std::vector<int64_t>{2, 1}));  // far below
}

TEST(Checklist, M25_ADerivedSizeStaysDerived) {
  Passed m(
      "fn @main(%x: Tensor[(n), f32]) {\n  %y = concat(%x, %x) {axis = 0}\n  %z = relu(%y)\n  return %z\n}");
  ASSERT_TRUE(m.ok());
  for (const TraceStep& step : m.trace.steps)
    EXPECT_EQ(step.after.main()->resultTypes[0].toString(), "Tensor[(2*n), f32]") << step.name;
}

TEST(Checklist, M25_NothingIsSpecialisedSilently) {
  Passed m("fn @main(%x: Tensor[(n), f32]) {\n  %y = relu(%x) : Tensor[(4), f32]\n  return %y\n}");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m.count(m.typed, ops::checkOp), 1);  // said by a check, which names the dim
  EXPECT_EQ(m.placed.main()->parameters[0].type.toString(), "Tensor[(n), f32]");
}

// One packing serves all shapes: it is no part of a run.
TEST(Checklist, M15_WeightsArePackedOnceForAllShapes) {
  IrContext ir;
  Result<Module> module = test::parseText(
      ir,
      "fn @main(%x: Tensor[(n, 3), f32]) {\n %w = constant() {value = f32[3, 2] [[1, 2], [3, 4], [5, 6]]}\n"
      " %y = matmul(%x, %w)\n return %y\n}");
  ASSERT_TRUE(module.ok()) << module.error().toString();
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
  if (!compiled.ok()) GTEST_SKIP() << "no code generation";
  const std::string bytecode = dyn_module_disassembly((*compiled)->module.get());
  EXPECT_THAT(bytecode, HasSubstr("gemmpack"));
  ASSERT_EQ(dyn_context_profile((*compiled)->context.get(), 1), DYN_OK);
  for (int64_t n : {1, 5, 0, 40}) {
    Result<std::vector<HostTensor>> results = (*compiled)->run({reals({n, 3})});
    ASSERT_TRUE(results.ok()) << results.error().toString();
    EXPECT_EQ((*results)[0].shape(), (std::vector<int64_t>{n, 2}));
  }
  const std::string profile = dyn_context_profile_text((*compiled)->context.get(), "json");
  EXPECT_THAT(profile, HasSubstr("\"gemm\""));
  EXPECT_THAT(profile, testing::Not(HasSubstr("gemmpack")));
}

}  // namespace
}  // namespace dyn
