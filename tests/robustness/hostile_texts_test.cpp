// Programs of the text language that are well-formed and yet out of place: what only passes may write, and
// element types that a kernel has no memory for. Each ends in a typed error or runs; none ends in an internal
// error.
#include <gtest/gtest.h>

#include <span>

#include "app/engine/model/model_info.h"
#include "tests/robustness/shell.h"
#include "tests/robustness/worker.h"

namespace dyn::robustness {
namespace {

struct TextRow {
  const char* name;
  const char* text;
  const char* says;  // the begin of what loading or running says; "": it runs; "?": either
};

// The form after the passes from `fuse` on, whole and with each part of it broken.
constexpr TextRow kFormsOfPasses[] = {
    {"a kernel as bufferize prints it",
     R"(fn @main(%x: Tensor[(n, 2), f32], %w: Tensor[(2, 3), f32]) -> (Tensor[(n, 3), f32]) {
  %y = alloc() : Tensor[(n, 3), f32]
  into(%x, %w, %y) {kind = "contraction", outputs = 1} body (%p: Tensor[(n, 2), f32], %q: Tensor[(2, 3), f32]) -> (Tensor[(n, 3), f32]) {
    %m = matmul(%p, %q) : Tensor[(n, 3), f32]
    %h = relu(%m) : Tensor[(n, 3), f32]
    return %h
  }
  return %y
})",
     "E0502 unsupported: `alloc` in a program"},
    {"a contraction without a product",
     R"(fn @main(%x: Tensor[(n, 2), f32]) {
  %y = fused(%x) {kind = "contraction"} body (%p: Tensor[(n, 2), f32]) -> (Tensor[(n, 2), f32]) {
    %h = relu(%p) : Tensor[(n, 2), f32]
    return %h
  }
  return %y
})",
     "E0502 unsupported: `fused` in a program"},
    {"attention that is none",
     R"(fn @main(%x: Tensor[(n, 2), f32]) {
  %y = fused(%x) {kind = "attention"} body (%p: Tensor[(n, 2), f32]) -> (Tensor[(n, 2), f32]) {
    %h = relu(%p) : Tensor[(n, 2), f32]
    return %h
  }
  return %y
})",
     "E0502 unsupported: `fused` in a program"},
    {"memory of a size that nothing says",
     "fn @main(%x: Tensor[(n), f32]) {\n  %y = alloc() : Tensor[(q), f32]\n  return %y\n}",
     "E0502 unsupported: `alloc` in a program"},
    {"a result that is dead", "fn @main(%x: Tensor[(n), f32]) {\n  %y = relu(%x)\n  kill(%y)\n  return %y\n}",
     "E0502 unsupported: `kill` in a program"},
    {"a stage without an end",
     R"(fn @main(%x: Tensor[(n), f32]) {
  %a = arena() : Tensor[(4*n), u8]
  %y = alloc(%a) {offset = dims(1000000000)} : Tensor[(n), f32]
  into(%x, %y) {kind = "loop", outputs = 1, stage = 0, branch = 0, branches = 2, joins = 0} body (%p: Tensor[(n), f32]) -> (Tensor[(n), f32]) {
    %h = relu(%p) : Tensor[(n), f32]
    return %h
  }
  return %y
})",
     "E0502 unsupported: `arena` in a program"},
    {"in a branch",
     R"(fn @main(%c: Tensor[(), bool], %x: Tensor[(n), f32]) {
  %y = if(%c, %x) then (%p: Tensor[(n), f32]) {
    %a = alloc() : Tensor[(n), f32]
    return %a
  } else (%p: Tensor[(n), f32]) {
    return %p
  }
  return %y
})",
     "E0502 unsupported: `alloc` in a program"},
    {"a view far outside", R"(fn @main(%x: Tensor[(n, 3), f32]) {
  %t = strided(%x) {offset = dims(1000000000), strides = dims(1, 3)} : Tensor[(3, n), f32]
  %y = relu(%t)
  return %y
})",
     "E0303"},
};

constexpr TextRow kElementTypes[] = {
    {"hardmax of 8-bit reals", "fn @main(%x: Tensor[(n, m), f8e4m3fn]) {\n  %y = hardmax(%x)\n  return %y\n}",
     "E0501 unsupported"},
    {"argmin of 8-bit reals",
     "fn @main(%x: Tensor[(n, 3), f8e4m3fn]) {\n  %y = argmin(%x) {axis = -1}\n  return %y\n}",
     "E0501 unsupported"},
    {"argmax of 4-bit reals",
     "fn @main(%x: Tensor[(n, 3), f4e2m1]) {\n  %y = argmax(%x) {axis = 0}\n  return %y\n}", "?"},
};

std::string loadAndRunText(const TextRow& row) {
  Shell shell;
  const auto loaded = shell.load("m.dyn", row.text);
  if (!loaded->ok()) return said(*loaded);
  std::string run = ":run";
  for (const std::string& symbol : loaded->as<ModelInfo>()->symbols) run += " --dim " + symbol + "=3";
  return said(*shell.line(run));
}

void checkTexts(std::span<const TextRow> rows) {
  const std::vector<CaseOutcome> outcomes =
      runApart(rows.size(), [&](size_t i) { return loadAndRunText(rows[i]); });
  for (size_t i = 0; i < rows.size(); ++i) {
    const CaseOutcome& outcome = outcomes[i];
    SCOPED_TRACE(std::string(rows[i].name) + ": " + outcome.text);
    EXPECT_EQ(outcome.fault(), "");
    EXPECT_NE(outcome.text.substr(0, 6), "DEFECT");
    const std::string expected = rows[i].says;
    if (expected != "?") {
      EXPECT_EQ(outcome.text.substr(0, expected.empty() ? outcome.text.size() : expected.size()), expected);
    }
  }
}

TEST(HostileTexts, formsOfPasses) { checkTexts(kFormsOfPasses); }
TEST(HostileTexts, elementTypes) { checkTexts(kElementTypes); }

// The greatest number of threads that the option takes is one that the runtime takes.
TEST(HostileTexts, manyThreads) {
  Shell shell;
  EXPECT_EQ(said(*shell.load("m.dyn", "fn @main(%x: Tensor[(n), f32]) {\n  %y = relu(%x)\n  return %y\n}")),
            "");
  EXPECT_EQ(said(*shell.line(":set threads 1025")).substr(0, 5), "E0005");
  EXPECT_EQ(said(*shell.line(":set threads 1024")), "");
  EXPECT_EQ(said(*shell.line(":run --dim n=3")), "");
}

}  // namespace
}  // namespace dyn::robustness
