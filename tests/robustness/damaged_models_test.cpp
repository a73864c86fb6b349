// Models cut off and changed byte by byte: whatever is left is loaded, compiled as far as the graph goes, or
// refused with a typed error. Nothing crashes, hangs or takes memory that the file's size does not justify.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/robustness/onnx_builder.h"
#include "tests/robustness/shell.h"
#include "tests/robustness/worker.h"
#include "tests/support/paths.h"

namespace dyn::robustness {
namespace {

constexpr unsigned char kChanges[] = {0x01, 0x08, 0x80, 0xff};

Msg branch(const char* op, const char* result) {
  return Msg().sub(1, onnx::test::node(op, {"h"}, {result})).sub(12, onnx::test::valueInfo(result, Msg()));
}

// Small, so that every byte can be tried; together they have control flow, windows, sizes from values,
// weights and text attributes.
std::vector<std::string> smallModels() {
  OnnxModel window, control, sizes;
  window.input("x", kFloat, {"n", "1", "h", "w"})
      .weight(floatTensor("k", {1, 1, 2, 2}, {1, 2, 3, 4}))
      .node("Conv", {"x", "k"}, {"c"}, {attribute("strides", {2, 1}), attribute("auto_pad", "SAME_UPPER")})
      .node("MaxPool", {"c"}, {"p"}, {attribute("kernel_shape", {2, 2}), attribute("ceil_mode", int64_t{1})})
      .node("Softmax", {"p"}, {"y"}, {attribute("axis", int64_t{-1})})
      .output("y");
  control.input("x", kFloat, {"n", "2"})
      .input("c", kBool, {})
      .node("Neg", {"x"}, {"h"})
      .node("If", {"c"}, {"y"},
            {graphAttribute("then_branch", branch("Abs", "t")),
             graphAttribute("else_branch", branch("Exp", "e"))})
      .output("y");
  sizes.input("x", kFloat, {"n", "4"})
      .ints("s", {0, 2, -1})
      .ints("b", {1})
      .ints("e", {9223372036854775807})
      .node("Reshape", {"x", "s"}, {"r"})
      .node("Slice", {"r", "b", "e", "b"}, {"z"})
      .node("NonZero", {"z"}, {"k"})
      .node("Transpose", {"k"}, {"y"}, {attribute("perm", {1, 0})})
      .output("y");
  return {window.bytes(), control.bytes(), sizes.bytes()};
}

// Damage number `i` of a file: cut at a byte, or one byte changed.
std::string damaged(const std::string& whole, size_t i) {
  const size_t at = i / (1 + std::size(kChanges)), how = i % (1 + std::size(kChanges));
  if (how == 0) return whole.substr(0, at);
  std::string bytes = whole;
  bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ kChanges[how - 1]);
  return bytes;
}
size_t damageCount(const std::string& whole) { return whole.size() * (1 + std::size(kChanges)); }

struct Case {
  const std::string* model;
  size_t damage;
};

// One shell for all cases of a worker: a model that does not load must leave the session usable.
void check(const std::vector<Case>& cases, bool passes) {
  std::unique_ptr<Shell> shell;
  const std::vector<CaseOutcome> outcomes = runApart(cases.size(), [&](size_t i) {
    if (!shell) shell = std::make_unique<Shell>();
    std::string text = said(*shell->load("m.onnx", damaged(*cases[i].model, cases[i].damage)));
    if (text.empty() && passes) text = said(*shell->line(":passes"));
    if (i + 1 == cases.size()) shell.reset();
    return text;
  });
  size_t refused = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const CaseOutcome& outcome = outcomes[i];
    refused += !outcome.text.empty();
    const bool good = outcome.finished && outcome.text.rfind("DEFECT", 0) != 0 &&
                      (!kMeasures || (outcome.cpuNs <= 1'000'000'000 &&
                                      outcome.grownBytes <= static_cast<int64_t>(256 * kMegabyte)));
    EXPECT_TRUE(good) << "case " << i << " (damage " << cases[i].damage << " of a model of "
                      << cases[i].model->size() << " bytes): " << outcome.fault() << " " << outcome.text
                      << ", " << outcome.cpuNs / 1000 << " us, " << outcome.grownBytes << " bytes";
  }
  EXPECT_GT(refused, cases.size() / 3) << "most damage shows";
}

TEST(DamagedModels, everyByteOfSmallOnes) {
  const std::vector<std::string> models = smallModels();
  std::vector<Case> cases;
  for (const std::string& model : models)
    for (size_t i = 0; i < damageCount(model); i += kMeasures ? 1 : 7) cases.push_back({&model, i});
  check(cases, true);
}

TEST(DamagedModels, manyBytesOfTheSamples) {
  std::vector<std::string> models;
  for (const auto& entry :
       std::filesystem::directory_iterator(dyn::test::sourceFolder() + "/samples/models")) {
    std::ifstream file(entry.path() / "model.onnx", std::ios::binary);
    models.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  ASSERT_GE(models.size(), 10u);
  std::sort(models.begin(), models.end());
  std::vector<Case> cases;
  const size_t perModel = kMeasures ? 150 : 15;
  for (const std::string& model : models)
    for (size_t i = 0; i < perModel; ++i)
      cases.push_back({&model, damageCount(model) / perModel * i + i % 5});
  check(cases, false);
}

}  // namespace
}  // namespace dyn::robustness
