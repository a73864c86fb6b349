// Packages in one process.
#include <unistd.h>

#include "compiler/driver/package.h"
#include "compiler/driver/target_choice.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

// Writes a text as a package; "" where packages cannot be written.
std::string packageOf(const std::string& text, const std::string& name, const CompileOptions& options = {}) {
  IrContext ir;
  Result<Module> module = test::parseText(ir, text);
  EXPECT_TRUE(module.ok()) << module.error().message;
  Result<CompiledModel> compiled = compileModel(*module, options);
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  const std::string path =
      testing::TempDir() + "dyn_package_test_" + std::to_string(getpid()) + "_" + name + ".dynpkg";
  const bool written = writePackageFile(*compiled, path).ok();
  EXPECT_EQ(kernelsCompiledAfterLoad(*compiled), 0) << "the kernels at hand were not used";
  return written ? path : "";
}

dyn_module* load(const std::string& path) {
  dyn_module* loaded = nullptr;
  EXPECT_EQ(dyn_module_load_file(path.c_str(), nullptr, &loaded), DYN_OK) << dyn_last_message();
  unlink(path.c_str());
  return loaded;
}

float resultFor(dyn_module* module, float x) {
  dyn_context* context = nullptr;
  const dyn_options options{};
  EXPECT_EQ(dyn_context_create(module, &options, &context), DYN_OK) << dyn_last_message();
  const int64_t shape[] = {1};
  dyn_value *input = nullptr, *output = nullptr;
  EXPECT_EQ(dyn_value_tensor(context, DYN_F32, 1, shape, &x, sizeof x, &input), DYN_OK);
  EXPECT_EQ(dyn_context_set_input(context, 0, input), DYN_OK);
  EXPECT_EQ(dyn_context_run(context), DYN_OK) << dyn_last_message();
  EXPECT_EQ(dyn_context_get_output(context, 0, &output), DYN_OK);
  const float result = *static_cast<const float*>(dyn_value_data(output));
  dyn_value_release(output);
  dyn_value_release(input);
  dyn_context_release(context);
  return result;
}

TEST(Packages, EachHasItsOwnCode) {
  const std::string paths[] = {
      packageOf("fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y }", "twice"),
      packageOf("fn @main(%x: Tensor[(n), f32]) { %y = neg(%x) return %y }", "negative"),
      packageOf("fn @main(%x: Tensor[(n), f32]) { %y = mul(%x, %x) return %y }", "square")};
  if (paths[0].empty()) GTEST_SKIP() << "packages cannot be written here";
  dyn_module *twice = load(paths[0]), *negative = load(paths[1]);
  ASSERT_TRUE(twice && negative);
  EXPECT_EQ(resultFor(twice, 3), 6);
  EXPECT_EQ(resultFor(negative, 3), -3);
  dyn_module_release(twice);
  dyn_module* square = load(paths[2]);
  ASSERT_TRUE(square);
  EXPECT_EQ(resultFor(square, 3), 9);
  EXPECT_EQ(resultFor(negative, 4), -4);
  dyn_module_release(negative);
  dyn_module_release(square);
}

TEST(Packages, OfAnotherMachineAreRefusedByName) {
  Result<Target> other = chooseTarget("cortex-a72");
  if (!other.ok()) GTEST_SKIP() << "no code generation";
  CompileOptions options;
  options.target = *other;
  const std::string path =
      packageOf("fn @main(%x: Tensor[(n), f32]) { %y = neg(%x) return %y }", "foreign", options);
  if (path.empty()) GTEST_SKIP() << "packages cannot be written here";
  dyn_module* loaded = nullptr;
  EXPECT_EQ(dyn_module_load_file(path.c_str(), nullptr, &loaded), DYN_UNSUPPORTED);
  EXPECT_NE(std::string(dyn_last_message()).find("built for another machine (aarch64)"), std::string::npos)
      << dyn_last_message();
  unlink(path.c_str());
}

}  // namespace
}  // namespace dyn
