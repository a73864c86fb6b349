// Weights packed ahead of the load: in packages and in the object cache. The same bits as those packed by the
// program itself, and never read where they were packed for another machine.
#include "compiler/driver/packed_weights.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "compiler/driver/target_choice.h"
#include "compiler/export/package.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "compiler/target/panels.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "vm/isa/package.h"
#include "vm/isa/program_file.h"

namespace dyn {
namespace {

namespace fs = std::filesystem;

std::string literal(const HostTensor& tensor) {
  std::string text = std::string(tensor.dtype() == Dtype::i8 ? "i8" : "f32") + "[", open, close;
  int64_t last = 1;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    last = tensor.shape()[static_cast<size_t>(axis)];
    text += (axis ? ", " : "") + std::to_string(last);
  }
  text += "] ";
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    int64_t whole = 1;
    for (int axis = tensor.rank(); axis-- > 0;)
      if (i % (whole *= tensor.shape()[static_cast<size_t>(axis)]) == 0) text += "[";
    text += tensor.dtype() == Dtype::i8 ? std::to_string(tensor.intAt(i)) : std::to_string(tensor.realAt(i));
    whole = 1;
    for (int axis = tensor.rank(); axis-- > 0;)
      if ((i + 1) % (whole *= tensor.shape()[static_cast<size_t>(axis)]) == 0) text += "]";
    if (i + 1 < tensor.elementCount()) text += ", ";
  }
  return text;
}

struct Case {
  std::string name, text;
  HostTensor input;
  CompileOptions options = {};
};

HostTensor reals(std::vector<int64_t> shape, uint32_t seed) {
  return test::randomTensor(Dtype::f32, std::move(shape), seed);
}

// Weights of more than 64 KB, so that the object cache takes them.
std::vector<Case> cases() {
  std::vector<Case> all;
  const std::string product =
      "fn @main(%x: Tensor[(n, 160), f32]) { %w = constant() {value = " + literal(reals({160, 131}, 1)) +
      "} %y = matmul(%x, %w) return %y }";
  all.push_back({"product", product, reals({7, 160}, 2)});
  all.push_back({"rounded", product, reals({7, 160}, 3)});
  all.back().options.math = "bf16";
  all.push_back(
      {"transposed",
       "fn @main(%x: Tensor[(n, 160), f32]) { %w = constant() {value = " + literal(reals({131, 160}, 4)) +
           "} %t = transpose(%w) {perm = [1, 0]} %y = matmul(%x, %t) return %y }",
       reals({5, 160}, 5)});
  const auto convolution = [](int64_t filters, int64_t channels, const char* more) {
    return "fn @main(%x: Tensor[(n, " + std::to_string(*more ? filters : channels) +
           ", h, w), f32]) { %w = constant() {value = " + literal(reals({filters, channels, 3, 3}, 6)) +
           "} %y = conv(%x, %w) {pads = [1, 1, 1, 1]" + more + "} return %y }";
  };
  all.push_back({"winograd", convolution(48, 40, ""), reals({1, 40, 9, 8}, 7)});
  all.push_back({"direct", convolution(48, 40, ""), reals({1, 40, 9, 8}, 8)});
  all.back().options.versions["conv"] = "direct";
  all.push_back({"staged", convolution(48, 40, ""), reals({1, 40, 9, 8}, 9)});
  all.back().options.versions["conv"] = "staged";
  all.push_back({"rows", convolution(1850, 1, ", group = 1850"), reals({1, 1850, 5, 4}, 10)});
  const HostTensor bytes = test::randomTensor(Dtype::i8, {260, 270}, 11);
  all.push_back({"bytes",
                 "fn @main(%x: Tensor[(n, 260), i8]) { %w = constant() {value = " + literal(bytes) +
                     "} %y = matmul_integer(%x, %w) return %y }",
                 test::randomTensor(Dtype::i8, {6, 260}, 12)});
  return all;
}

std::unique_ptr<test::Compiled> packedWeightsCompiledOf(const Case& row, const std::string& cache) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, row.text);
  EXPECT_TRUE(parsed.ok()) << row.name << ": " << parsed.error().toString();
  CompileOptions options = row.options;
  options.cacheDirectory = cache;
  Result<std::unique_ptr<test::Compiled>> made = test::Compiled::make(*parsed, options);
  EXPECT_TRUE(made.ok()) << row.name << ": " << made.error().toString();
  return made.ok() ? std::move(*made) : nullptr;
}

HostTensor resultOf(test::Compiled& compiled, const HostTensor& input) {
  Result<std::vector<HostTensor>> results = compiled.run({input});
  EXPECT_TRUE(results.ok()) << results.error().toString();
  return results.ok() ? (*results)[0] : HostTensor();
}

size_t weightFiles(const std::string& folder) {
  size_t count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    count += entry.path().extension() == ".dynweights";
  return count;
}

// The mapping of a file of this folder in this process: device and inode.
std::string mappedFrom(const std::string& folder) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(folder) != std::string::npos && line.find(".dynweights") != std::string::npos)
      return line.substr(line.find(' ') + 1, line.find('/') - line.find(' ') - 1);
  return "";
}

TEST(PackedWeights, FromTheCacheGiveTheSameBits) {
  for (const Case& row : cases()) {
    SCOPED_TRACE(row.name);
    test::TemporaryFolder folder;
    const std::unique_ptr<test::Compiled> plain = packedWeightsCompiledOf(row, "none");
    ASSERT_TRUE(plain);
    if (!plain->model->code) GTEST_SKIP() << "no code generation, no cache";
    const HostTensor expected = resultOf(*plain, row.input);
    const std::unique_ptr<test::Compiled> first = packedWeightsCompiledOf(row, folder.path());
    ASSERT_TRUE(first);
    EXPECT_EQ(weightFiles(folder.path()), 1u);
    EXPECT_TRUE(resultOf(*first, row.input).identical(expected));
    const std::unique_ptr<test::Compiled> second = packedWeightsCompiledOf(row, folder.path());
    ASSERT_TRUE(second);
    EXPECT_TRUE(resultOf(*second, row.input).identical(expected));
    EXPECT_EQ(weightFiles(folder.path()), 1u);
    EXPECT_FALSE(mappedFrom(folder.path()).empty());
    EXPECT_EQ(std::string(dyn_module_disassembly(second->module.get())).find("loadglobal"),
              std::string::npos);
  }
}

TEST(PackedWeights, OfTwoProcessesAreTheSamePages) {
  test::TemporaryFolder folder;
  const Case row = cases()[0];
  const std::unique_ptr<test::Compiled> here = packedWeightsCompiledOf(row, folder.path());
  ASSERT_TRUE(here);
  if (!here->model->code) GTEST_SKIP() << "no code generation, no cache";
  const std::string mapping = mappedFrom(folder.path());
  ASSERT_EQ(mapping.substr(0, 4), "r--p") << "read only, of a file";
  const pid_t child = fork();
  if (child == 0) {
    const std::unique_ptr<test::Compiled> there = packedWeightsCompiledOf(row, folder.path());
    _exit(there && mappedFrom(folder.path()) == mapping ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "another file is mapped";
}

TEST(PackedWeights, DamagedFilesAreMadeAnew) {
  test::TemporaryFolder folder;
  const Case row = cases()[0];
  std::unique_ptr<test::Compiled> compiled = packedWeightsCompiledOf(row, folder.path());
  ASSERT_TRUE(compiled);
  if (!compiled->model->code) GTEST_SKIP() << "no code generation, no cache";
  const HostTensor expected = resultOf(*compiled, row.input);
  compiled.reset();
  fs::path file;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path()))
    if (entry.path().extension() == ".dynweights") file = entry.path();
  const auto size = fs::file_size(file);
  for (const uintmax_t shorter : {uintmax_t{0}, uintmax_t{100}, uintmax_t{4096}, size - 1, size + 1}) {
    fs::resize_file(file, shorter);
    compiled = packedWeightsCompiledOf(row, folder.path());
    ASSERT_TRUE(compiled);
    EXPECT_TRUE(resultOf(*compiled, row.input).identical(expected)) << shorter;
    compiled.reset();
    EXPECT_EQ(fs::file_size(file), size) << "repaired";
  }
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << "another kind of file";
  compiled = packedWeightsCompiledOf(row, folder.path());
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(resultOf(*compiled, row.input).identical(expected));
}

// --- packages

struct Package {
  std::string path;
  vm::Program program;
  std::vector<vm::PackageSection> sections;
  std::string bytes;

  const vm::PackageSection& section(vm::SectionKind kind) const {
    return *std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.kind == kind; });
  }
};

bool write(const Case& row, const std::string& path, std::optional<Target> target = {}) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, row.text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  CompileOptions options = row.options;
  options.target = std::move(target);
  Result<CompiledModel> compiled = compileModel(*parsed, options);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  return compiled.ok() && writePackageFile(*compiled, path).ok();
}

Package read(const std::string& path) {
  Package package;
  package.path = path;
  package.bytes = std::string(MappedFile::open(path)->bytes());
  EXPECT_TRUE(vm::readPackageTable(package.bytes.data(), package.bytes.size(), package.sections).ok());
  const vm::PackageSection& program = package.section(vm::SectionKind::program);
  EXPECT_TRUE(
      vm::parseProgram(package.bytes.data() + program.offset, program.sizeBytes, package.program).ok());
  return package;
}

HostTensor resultOf(const std::string& path, const HostTensor& input) {
  dyn_module* module = nullptr;
  EXPECT_EQ(dyn_module_load_file(path.c_str(), nullptr, &module), DYN_OK) << dyn_last_message();
  if (!module) return {};
  test::Compiled loaded;
  loaded.module.reset(module);
  dyn_context* context = nullptr;
  EXPECT_EQ(dyn_context_create(module, nullptr, &context), DYN_OK);
  loaded.context.reset(context);
  return resultOf(loaded, input);
}

TEST(PackedWeights, LiePackedInPackages) {
  for (const Case& row : cases()) {
    SCOPED_TRACE(row.name);
    test::TemporaryFolder folder;
    const std::string path = folder.path() + "/first.dynpkg", again = folder.path() + "/again.dynpkg";
    if (!write(row, path)) GTEST_SKIP() << "packages cannot be written here";
    ASSERT_TRUE(write(row, again));
    const Package package = read(path);
    EXPECT_EQ(package.bytes, read(again).bytes) << "the same input gives the same bytes";
    EXPECT_EQ(package.program.initFunction, -1);
    EXPECT_EQ(package.program.globalCount, 0u);
    const uint64_t section = package.section(vm::SectionKind::constants).offset;
    int packed = 0;
    for (const vm::ConstantRow& constant : package.program.constants) {
      EXPECT_TRUE(constant.sizeBytes < 4096 || (section + constant.offset) % 4096 == 0) << constant.name;
      EXPECT_TRUE(constant.sizeBytes < 4096 || constant.name.ends_with(", packed")) << constant.name;
      packed += constant.name.ends_with(", packed");
    }
    EXPECT_EQ(packed, 1) << "and what it was packed from is not kept";
    const std::unique_ptr<test::Compiled> plain = packedWeightsCompiledOf(row, "none");
    ASSERT_TRUE(plain);
    EXPECT_TRUE(resultOf(path, row.input).identical(resultOf(*plain, row.input)));
  }
}

TEST(PackedWeights, PackedForAnotherMachineAreRefused) {
  test::TemporaryFolder folder;
  const std::string path = folder.path() + "/model.dynpkg";
  if (!write(cases()[0], path)) GTEST_SKIP() << "packages cannot be written here";
  Package package = read(path);
  PanelLayout other = panelsOf(*hostTarget());
  other.gemm *= 2;
  bool said = false;
  for (auto& [key, value] : package.program.metadata)
    if (key == kPanelsKey) {
      EXPECT_EQ(value, dyn_packed_weights_layout());
      value = toString(other);
      said = true;
    }
  EXPECT_TRUE(said);
  std::vector<const void*> constants;
  const uint64_t section = package.section(vm::SectionKind::constants).offset;
  for (const vm::ConstantRow& row : package.program.constants)
    constants.push_back(package.bytes.data() + section + row.offset);
  std::vector<vm::ObjectSection> objects;
  for (const vm::PackageSection& s : package.sections)
    if (s.kind == vm::SectionKind::object)
      objects.push_back({s.name, std::string_view(package.bytes).substr(s.offset, s.sizeBytes)});
  const std::string foreign = folder.path() + "/foreign.dynpkg";
  vm::PackageBytes bytes;
  ASSERT_TRUE(vm::makePackage(package.program, constants, objects, bytes).ok());
  ASSERT_TRUE(writeFileAtomically(foreign, bytes.pieces).ok());
  dyn_module* module = nullptr;
  EXPECT_EQ(dyn_module_load_file(foreign.c_str(), nullptr, &module), DYN_UNSUPPORTED);
  EXPECT_NE(std::string(dyn_last_message()).find("gemm"), std::string::npos) << dyn_last_message();
}

// For machines whose kernels read other panels, whatever this one's do.
TEST(PackedWeights, LiePackedInPackagesForOtherMachines) {
  for (const char* machine : {"cortex-a72", "haswell", "skylake-avx512", "znver4"}) {
    Result<Target> other = chooseTarget(machine);
    if (!other.ok()) GTEST_SKIP() << "no code generation";
    for (const Case& row : cases()) {
      SCOPED_TRACE(std::string(machine) + ", " + row.name);
      test::TemporaryFolder folder;
      const std::string path = folder.path() + "/model.dynpkg";
      if (!write(row, path, *other)) GTEST_SKIP() << "packages cannot be written here";
      const Package package = read(path);
      EXPECT_EQ(package.program.initFunction, -1);
      EXPECT_THAT(package.program.metadata,
                  testing::Contains(testing::Pair(kPanelsKey, toString(panelsOf(*other)))));
    }
  }
}

// Machines of one level read what each can do best: they pack when they load.
TEST(PackedWeights, ForALevelArePackedWhenLoaded) {
  Result<Target> level = hostTarget();
  ASSERT_TRUE(level.ok());
  if (level->machine.triple.rfind("x86_64", 0) != 0) GTEST_SKIP() << "no code generation for x86-64";
  level->machine.cpu = "x86-64-v2";
  level->machine.features.clear();
  level->machine.vectorBits = 128;
  level->machine.fma = level->machine.avx512 = false;
  test::TemporaryFolder folder;
  const std::string path = folder.path() + "/model.dynpkg";
  const Case row = cases()[0];
  if (!write(row, path, *level)) GTEST_SKIP() << "packages cannot be written here";
  const Package package = read(path);
  EXPECT_GE(package.program.initFunction, 0);
  for (const auto& [key, value] : package.program.metadata) EXPECT_NE(key, kPanelsKey);
  const HostTensor result = resultOf(path, row.input);
  const std::unique_ptr<test::Compiled> plain = packedWeightsCompiledOf(row, "none");
  ASSERT_TRUE(plain);
  const HostTensor expected = resultOf(*plain, row.input);
  ASSERT_EQ(result.elementCount(), expected.elementCount());
  for (int64_t i = 0; i < expected.elementCount(); ++i)
    EXPECT_NEAR(result.realAt(i), expected.realAt(i), 1e-4 * (1 + std::abs(expected.realAt(i))));
}

// One function states the layout for the compiler, the kernels' own tables for the runtime.
TEST(PackedWeights, TheTargetStatesWhatTheMachineReads) {
  Result<Target> host = hostTarget();
  ASSERT_TRUE(host.ok());
  if (host->machine.triple.empty()) GTEST_SKIP() << "no code generation";
  EXPECT_EQ(toString(panelsOf(*host)), dyn_packed_weights_layout());
}

}  // namespace
}  // namespace dyn
