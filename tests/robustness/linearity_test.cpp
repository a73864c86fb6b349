// Ten times the nodes are at most twelve times the work, in every stage from the file to the program. The
// work is counted in allocations and their bytes, which do not depend on the machine or on who else uses it.
// The CPU time of the thread stands beside them with much room: a pass that compares everything with
// everything takes a hundred times as long.
#include <gtest/gtest.h>

#include <time.h>

#include <functional>

#include "compiler/lower/lowered_module.h"
#include "compiler/passes/layout/refused_copies.h"
#include "compiler/passes/pass_table.h"
#include "tests/robustness/allocation_hook.h"
#include "tests/robustness/compiled_program.h"
#include "tests/robustness/onnx_builder.h"
#include "tests/robustness/worker.h"

namespace dyn::robustness {
namespace {

constexpr int kFew = 2'000;
constexpr double kMost = 12, kMostBytes = 15;  // a table that has just doubled is twice as long as it must be

std::string chainText(int count) {
  std::string text = "fn @main(%v0: Tensor[(n), f32]) {\n";
  for (int i = 0; i < count; ++i)
    text += "  %v" + std::to_string(i + 1) + (i % 2 ? " = neg(%v" : " = sin(%v") + std::to_string(i) + ")\n";
  return text + "  return %v" + std::to_string(count) + "\n}\n";
}

// One value used by all, and all used by one.
std::string fanText(int count) {
  std::string text = "fn @main(%x: Tensor[(n), f32]) {\n", all;
  for (int i = 0; i < count; ++i) {
    text += "  %v" + std::to_string(i) + " = add(%x, " + std::to_string(i) + ".0)\n";
    all += (i ? ", %v" : "%v") + std::to_string(i);
  }
  return text + "  %y = concat(" + all + ") {axis = 0}\n  return %y\n}\n";
}

// Every size another symbol's.
std::string symbolsText(int count) {
  std::string text = "fn @main(%v0: Tensor[(n), f32]) {\n";
  for (int i = 0; i < count; ++i) {
    const std::string at = std::to_string(i), next = std::to_string(i + 1);
    text += "  %k" + at + " = nonzero(%v" + at + ")\n  %v" + next + " = cast(%k" + at + ") {to = f32}\n";
    text += "  %v" + next + "r = reshape(%v" + next + ", [-1])\n";
  }
  return text + "  return %v" + std::to_string(count) + "\n}\n";
}

// Windows of two: a check for each, which differ in nothing but their dims.
std::string windowsText(int count) {
  std::string text = "fn @main(%v0: Tensor[(1, 2, n), f32]) {\n";
  for (int i = 0; i < count; ++i)
    text +=
        "  %v" + std::to_string(i + 1) + " = max_pool(%v" + std::to_string(i) + ") {kernel_shape = [3]}\n";
  return text + "  return %v" + std::to_string(count) + "\n}\n";
}

// Operands of sizes that have nothing to do with each other.
std::string strangersText(int count) {
  std::string parameters, all;
  for (int i = 0; i < count; ++i) {
    const std::string at = std::to_string(i);
    parameters += (i ? ", %x" : "%x") + at + ": Tensor[(d" + at + "), f32]";
    all += (i ? ", %x" : "%x") + at;
  }
  return "fn @main(" + parameters + ") {\n  %y = concat(" + all + ") {axis = 0}\n  return %y\n}\n";
}

std::string chainOnnx(int count) {
  OnnxModel model;
  model.input("v0", kFloat, {"n", "4"}).output("v" + std::to_string(count));
  for (int i = 0; i < count; ++i) {
    const std::string in = "v" + std::to_string(i), out = "v" + std::to_string(i + 1);
    model.node(i % 2 ? "Neg" : "Sin", {in.c_str()}, {out.c_str()});
  }
  return model.bytes();
}

std::string weightsOnnx(int count) {
  OnnxModel model;
  model.input("v0", kFloat, {"n", "4"}).output("v" + std::to_string(count));
  for (int i = 0; i < count; ++i) {
    const std::string in = "v" + std::to_string(i), out = "v" + std::to_string(i + 1),
                      weight = "w" + std::to_string(i);
    model.floats(weight, {1.0f, static_cast<float>(i), 2.0f, 3.0f})
        .node("Add", {in.c_str(), weight.c_str()}, {out.c_str()});
  }
  return model.bytes();
}

// Bodies in bodies.
std::string nestedText(int depth) {
  std::string text = "fn @main(%x0: Tensor[(n), f32], %c0: Tensor[(), bool]) {\n";
  for (int k = 0; k < depth; ++k) {
    const std::string at = std::to_string(k), in = std::to_string(k + 1);
    text += "%r" + at + " = if(%c" + at + ", %x" + at + ", %c" + at + ") then (%x" + in +
            ": Tensor[(n), f32], %c" + in + ": Tensor[(), bool]) {\n";
  }
  text += "%z = neg(%x" + std::to_string(depth) + ")\nreturn %z\n";
  for (int k = depth; k-- > 0;) {
    const std::string at = std::to_string(k);
    text += "} else (%y" + at + ": Tensor[(n), f32], %d" + at + ": Tensor[(), bool]) {\n%q" + at +
            " = exp(%y" + at + ")\nreturn %q" + at + "\n}\nreturn %r" + at + "\n";
  }
  return text + "}\n";
}

// One operation of as many results, of which all are used.
std::string splitText(int count) {
  std::string sizes, results, back;
  for (int i = 0; i < count; ++i) {
    sizes += (i ? ", 1" : "1");
    results += (i ? ", %p" : "%p") + std::to_string(i);
    back += (i ? ", %p" : "%p") + std::to_string(count - 1 - i);
  }
  const std::string all = std::to_string(count);
  return "fn @main(%x: Tensor[(" + all + ", n), f32]) {\n  %s = constant() {value = i64[" + all + "] [" +
         sizes + "]}\n  " + results + " = split(%x, %s) {axis = 0}\n  %y = concat(" + back +
         ") {axis = 0}\n  return %y\n}\n";
}

// Products of as many operands, named by letters.
std::string einsumText(int count) {
  std::string parameters, all, terms;
  for (int i = 0; i < count; ++i) {
    parameters += (i ? ", %x" : "%x") + std::to_string(i) + ": Tensor[(n), f32]";
    all += (i ? ", %x" : "%x") + std::to_string(i);
    terms += i ? ",i" : "i";
  }
  return "fn @main(" + parameters + ") {\n  %y = einsum(" + all + ") {equation = \"" + terms +
         "->i\"}\n  return %y\n}\n";
}

// Each sum over a size of its own: one kernel, which is told the size.
std::string sumsText(int count) {
  std::string text = "fn @main(", body = "  %axes = constant() {value = i64[1] [0]}\n", all;
  for (int i = 0; i < count; ++i) {
    const std::string at = std::to_string(i);
    text += (i ? ", %x" : "%x") + at + ": Tensor[(d" + at + ", 2), f32]";
    body += "  %s" + at + " = reduce_sum(%x" + at + ", %axes)\n";
    all += (i ? ", %s" : "%s") + at;
  }
  return text + ") {\n" + body + "  %y = concat(" + all + ") {axis = 0}\n  return %y\n}\n";
}

// Fibonacci's numbers: written out as a tree, the last has a leaf for each of them.
std::string ladderText(int count) {
  std::string text = "fn @main(%v0: Tensor[(n), f32]) {\n  %v1 = sin(%v0)\n";
  for (int i = 0; i < count; ++i)
    text += "  %v" + std::to_string(i + 2) + " = sub(%v" + std::to_string(i + 1) + ", %v" +
            std::to_string(i) + ")\n";
  return text + "  return %v" + std::to_string(count + 1) + "\n}\n";
}

constexpr double kMostTime = 40;

struct Work {
  std::string stage;
  AllocationCount spent;
  int64_t cpuNs;
};

int64_t threadCpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The standard pipeline and what is only for who asks for it.
Pipeline everyPass() {
  Pipeline pipeline;
  for (const PassDef& pass : passTable()) addPass(pipeline, {&pass, {}}, passTable());
  return pipeline;
}

// All stages up to the program, each with what it allocated. Code generation is left out: it is a call of
// LLVM for each kernel.
std::vector<Work> stagesOf(const std::string& source, bool isText, const std::string& passes) {
  std::vector<Work> work;
  AllocationCount before;
  int64_t startNs = 0;
  auto begin = [&] {
    before = allocationsOfThisThread();
    startNs = threadCpuNs();
  };
  auto done = [&](const std::string& stage) {
    const AllocationCount now = allocationsOfThisThread();
    work.push_back({stage, {now.count - before.count, now.bytes - before.bytes}, threadCpuNs() - startNs});
    begin();
  };
  begin();
  IrContext ir;
  Result<Module> module = isText ? parseText(ir, source) : importBytes(ir, source);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().toString());
  if (!module.ok()) return {};
  done("read");
  Result<Pipeline> pipeline = parsePipeline(passes, passTable(), everyPass());
  EXPECT_TRUE(pipeline.ok());
  Module current = *module;
  for (const PipelineItem& item : *pipeline) {
    PassContext context;
    context.options = item.options;
    begin();
    Result<Module> after = item.pass->run(current, context);
    EXPECT_TRUE(after.ok()) << item.pass->name << ": " << (after.ok() ? "" : after.error().toString());
    if (!after.ok()) return {};
    current = *std::move(after);
    done("pass " + std::string(item.pass->name));
  }
  begin();
  (void)refusedCopies(current);
  done("list of copies");
  LowerOptions options;
  Result<LoweredModule> lowered = lowerModule(current, options);
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().toString());
  done("lowering");
  return work;
}

void expectLinear(const std::function<std::string(int)>& make, bool isText, const std::string& passes = "",
                  int fewNodes = kFew) {
  const std::vector<Work> few = stagesOf(make(fewNodes), isText, passes),
                          many = stagesOf(make(10 * fewNodes), isText, passes);
  ASSERT_EQ(few.size(), many.size());
  for (size_t i = 0; i < few.size(); ++i) {
    SCOPED_TRACE(few[i].stage);
    // A stage that does next to nothing has no rate.
    const double count = static_cast<double>(few[i].spent.count) + 100,
                 bytes = static_cast<double>(few[i].spent.bytes) + 65536;
    EXPECT_LE(static_cast<double>(many[i].spent.count), kMost * count) << "allocations";
    EXPECT_LE(static_cast<double>(many[i].spent.bytes), kMostBytes * bytes) << "bytes allocated";
    if (kMeasures) {
      EXPECT_LE(static_cast<double>(many[i].cpuNs), kMostTime * (static_cast<double>(few[i].cpuNs) + 2e6))
          << "CPU ns";
    }
  }
}

TEST(Linearity, aChainOfText) { expectLinear(chainText, true); }
TEST(Linearity, aChainOfTextWithoutFusion) { expectLinear(chainText, true, "-fuse"); }
TEST(Linearity, aFanOfText) { expectLinear(fanText, true, "", 500); }
TEST(Linearity, manyChecksOfText) { expectLinear(windowsText, true, "", 300); }
TEST(Linearity, aJoinOfStrangersOfText) { expectLinear(strangersText, true, "", 300); }
TEST(Linearity, aSplitOfText) { expectLinear(splitText, true, "", 1000); }
TEST(Linearity, anEinsumOfText) { expectLinear(einsumText, true, "", 300); }
TEST(Linearity, manySumsOfText) { expectLinear(sumsText, true, "", 300); }
TEST(Linearity, aLadderOfText) { expectLinear(ladderText, true, "", 300); }
TEST(Linearity, manySymbolsOfText) { expectLinear(symbolsText, true, "", 300); }
TEST(Linearity, nestedBodiesOfText) { expectLinear(nestedText, true, "", 500); }

// What differs in nothing but the names of its sizes, or in how deep they are made of others, is one kernel.
TEST(Linearity, kernelsOfOneStructureAreOne) {
  const auto kernelsOf = [](const std::string& source) -> size_t {
    IrContext ir;
    Result<Module> module = parseText(ir, source);
    Result<Pipeline> pipeline = parsePipeline("", passTable(), standardPipeline());
    EXPECT_TRUE(module.ok() && pipeline.ok());
    for (const PipelineItem& item : *pipeline) {
      PassContext context;
      context.options = item.options;
      Result<Module> after = item.pass->run(*module, context);
      EXPECT_TRUE(after.ok()) << item.pass->name;
      if (!after.ok()) return 0;
      module = std::move(after);
    }
    Result<LoweredModule> lowered = lowerModule(*module, LowerOptions());
    EXPECT_TRUE(lowered.ok());
    return lowered.ok() ? lowered->kernels.size() : 0;
  };
  EXPECT_EQ(kernelsOf(sumsText(70)), kernelsOf(sumsText(140)));
  EXPECT_EQ(kernelsOf(ladderText(640)), kernelsOf(ladderText(1280)));
}

TEST(Linearity, aChainOfOnnx) { expectLinear(chainOnnx, false); }
TEST(Linearity, nestedBodiesOfOnnx) { expectLinear(nestedIfs, false, "", 500); }
TEST(Linearity, manyWeightsOfOnnx) { expectLinear(weightsOnnx, false, "", 1000); }

}  // namespace
}  // namespace dyn::robustness
