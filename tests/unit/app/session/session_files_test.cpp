// No command writes over what it reads, whatever the file is called.
#include "app/session/session_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "app/engine/model/model_info.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;

constexpr const char* kSquare = "fn @main(%x: Tensor[(n), f32]) { %y = mul(%x, %x) return %y }\n";

class SessionFilesTest : public test::SessionFixture {
 protected:
  void SetUp() override {
    model_ = folder_.write("m.dyn", kSquare);
    ASSERT_EQ(::symlink(model_.c_str(), (folder_ / "symbolic").c_str()), 0);
    ASSERT_EQ(::link(model_.c_str(), (folder_ / "hard").c_str()), 0);
    ASSERT_TRUE(line(":load " + model_)->ok());
  }
  std::string textOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void expectRefused(const Outcome& outcome, const std::string& path, const std::string& before) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.exitCode(), 2) << outcome.error->message;
    EXPECT_THAT(outcome.error->message, HasSubstr("not overwritten"));
    EXPECT_EQ(textOf(path), before);
  }

  std::string model_;
};

TEST_F(SessionFilesTest, NoOutputOfAnyCommandIsItsModel) {
  int outputs = 0;
  for (const CommandSpec& spec : commandTable())
    for (const ArgumentSpec& written : spec.arguments) {
      if (written.kind != ArgumentKind::output && written.kind != ArgumentKind::records) continue;
      ++outputs;
      for (const std::string& path : {model_, folder_ / "symbolic", folder_ / "hard"}) {
        SCOPED_TRACE(std::string(spec.name) + " " + written.name + " " + path);
        Command command = Command::of(spec.id).add(written.name, path);
        for (const ArgumentSpec& other : spec.arguments)
          if (other.required && other.name != written.name) command.add(other.name, "nothing");
        expectRefused(*session_.execute(command), model_, kSquare);
        EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "symbolic"));
      }
    }
  EXPECT_GE(outputs, 11);
}

TEST_F(SessionFilesTest, AnInputIsNotWrittenOverByAnyOutput) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(
      line(":source " + folder_.write("x.dyns", "x = [1.0, 2.0]\n:save x " + folder_ / "y.npy"))->ok());
  const std::string before = textOf(folder_ / "y.npy");
  ASSERT_FALSE(before.empty());
  const std::string input = " --input x=@" + folder_ / "y.npy";
  expectRefused(*line(":run" + input + " --output-dir " + folder_.path()), folder_ / "y.npy", before);
  expectRefused(*line(":run" + input + " --profile " + folder_ / "y.npy"), folder_ / "y.npy", before);
  expectRefused(*line(":profile " + folder_ / "y.npy" + input), folder_ / "y.npy", before);
  EXPECT_TRUE(line(":run" + input + " --output-dir " + folder_ / "new/deep")->ok());
  EXPECT_EQ(textOf(folder_ / "new/deep/y.npy").size(), before.size());
}

// What was the input of another command is none of this one.
TEST_F(SessionFilesTest, AScriptMayWriteWhatItReadBeforeButNotItself) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const std::string file = folder_ / "x.npy";
  const std::string good = folder_.write(
      "good.dyns", "x = [1.0]\n:save x " + file + "\nz = load(\"" + file + "\")\n:save z " + file + "\n");
  auto outcome = line(":source " + good);
  EXPECT_TRUE(outcome->ok()) << outcome->error->message;
  const std::string text =
      "x = [1.0]\n:save x " + folder_ / "inner.dyns.npy" + "\n:save x " + folder_ / "outer.npy\n";
  const std::string inner = folder_.write("inner.dyns", text);
  ASSERT_EQ(::symlink(inner.c_str(), (folder_ / "inner.dyns.npy").c_str()), 0);
  auto refused = line(":source " + inner);  // what it says is its command's own
  EXPECT_EQ(refused->exitCode(), 2);
  EXPECT_EQ(textOf(inner), text);
}

TEST_F(SessionFilesTest, APackageIsNotCalledAModelOfAnotherKind) {
  for (const std::string command : {":compile -o ", ":export --kind exe -o ", ":export --kind package -o "})
    for (const std::string ending : {".onnx", ".dyn"}) {
      auto outcome = line(command + folder_ / "new" + ending);
      ASSERT_FALSE(outcome->ok());
      EXPECT_EQ(outcome->exitCode(), 2);
      EXPECT_FALSE(std::filesystem::exists(folder_ / "new" + ending));
    }
}

TEST_F(SessionFilesTest, APackageIsKnownByWhatItHolds) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  auto compiled = line(":compile -o " + folder_ / "noext");
  ASSERT_TRUE(compiled->ok()) << compiled->error->message;
  auto loaded = line(":load " + folder_ / "noext");
  ASSERT_TRUE(loaded->ok()) << loaded->error->message;
  EXPECT_EQ(loaded->as<ModelInfo>()->kind, ModelKind::package);
  auto other = line(":load " + folder_.write("other", "text"));
  ASSERT_FALSE(other->ok());
  EXPECT_EQ(other->exitCode(), 2);
}

}  // namespace
}  // namespace dyn
