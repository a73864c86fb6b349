// Packages in one process.
#include <unistd.h>

#include <fstream>
#include <random>

#include "compiler/driver/target_choice.h"
#include "compiler/export/file_places.h"
#include "compiler/export/package.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "vm/core/load/object_loader.h"
#include "vm/include/abi/dyn_flow.h"
#include "vm/isa/package.h"
#include "vm/isa/program_file.h"

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

// The host program as native code lies in the object of the package, beside the kernels.
const char* const kWithFlow =
    "fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) %z = mul(%y, %x) return %z }";

std::string bytesOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string objectOf(const std::string& package, vm::PackageSection* where = nullptr) {
  std::vector<vm::PackageSection> sections;
  EXPECT_TRUE(vm::readPackageTable(package.data(), package.size(), sections).ok());
  for (const vm::PackageSection& section : sections)
    if (section.kind == vm::SectionKind::object) {
      if (where) *where = section;
      return package.substr(section.offset, section.sizeBytes);
    }
  return "";
}

// In `bytes`, as a file.
dyn_status loadBytes(const std::string& bytes) {
  const std::string path = testing::TempDir() + "dyn_package_test_" + std::to_string(getpid()) + "_damaged";
  std::ofstream(path, std::ios::binary) << bytes;
  dyn_module* loaded = nullptr;
  const dyn_status status = dyn_module_load_file(path.c_str(), nullptr, &loaded);
  dyn_module_release(loaded);
  unlink(path.c_str());
  return status;
}

TEST(Packages, DamagedNativeFlowIsFoundByItsChecksum) {
  const std::string path = packageOf(kWithFlow, "flow");
  if (path.empty()) GTEST_SKIP() << "packages cannot be written here";
  const std::string whole = bytesOfFile(path);
  unlink(path.c_str());
  vm::PackageSection where;
  ASSERT_NE(objectOf(whole, &where).find(DYN_FLOW_PROGRAM_SYMBOL), std::string::npos)
      << "no native flow in it";
  ASSERT_EQ(loadBytes(whole), DYN_OK) << dyn_last_message();
  std::mt19937_64 random(17);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = whole;
    damaged[where.offset + random() % where.sizeBytes] ^= static_cast<char>(1 + random() % 255);
    ASSERT_EQ(loadBytes(damaged), DYN_BAD_PROGRAM);
    EXPECT_NE(std::string(dyn_last_message()).find("checksum"), std::string::npos) << dyn_last_message();
  }
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(loadBytes(whole.substr(0, where.offset + random() % where.sizeBytes)), DYN_BAD_PROGRAM);
  std::string newer = whole;
  newer[8] = 2;
  EXPECT_EQ(loadBytes(newer), DYN_BAD_PROGRAM);
  EXPECT_NE(std::string(dyn_last_message()).find("package format 2, this runtime reads 1"), std::string::npos)
      << dyn_last_message();
}

void put64(std::string& bytes, size_t at, uint64_t value) {
  for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

// With sums that are right again, as they stand in the header and its table (vm/isa/package.h).
void correctSums(std::string& package) {
  std::vector<vm::PackageSection> sections;
  ASSERT_TRUE(vm::readPackageTable(package.data(), package.size(), sections).ok());
  constexpr size_t kHeader = 64, kRow = 128, kSum = 80, kTableSum = 24;
  for (size_t i = 0; i < sections.size(); ++i)
    put64(package, kHeader + i * kRow + kSum,
          vm::checksumBytes(package.data() + sections[i].offset, sections[i].sizeBytes));
  put64(package, kTableSum, vm::checksumBytes(package.data() + kHeader, sections.size() * kRow));
}

// Whoever writes an object can write its sums, too.
TEST(Packages, DamagedObjectsWithRightSumsAreErrors) {
  const std::string path = packageOf(kWithFlow, "sums");
  if (path.empty()) GTEST_SKIP() << "packages cannot be written here";
  const std::string whole = bytesOfFile(path);
  unlink(path.c_str());
  vm::PackageSection where;
  (void)objectOf(whole, &where);
  std::mt19937_64 random(19);
  int refused = 0;
  // In headers and tables, at its begin and its end, and anywhere.
  constexpr uint64_t kTables = 2048;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const uint64_t at =
          random() % (random() % 2 == 0 ? where.sizeBytes : std::min(kTables, where.sizeBytes));
      damaged[where.offset + (random() % 2 == 0 ? at : where.sizeBytes - 1 - at)] =
          static_cast<char>(random());
    }
    correctSums(damaged);
    const dyn_status status = loadBytes(damaged);
    if (status == DYN_OK) continue;
    ++refused;
    EXPECT_TRUE(status == DYN_BAD_PROGRAM || status == DYN_UNSUPPORTED || status == DYN_OUT_OF_MEMORY ||
                status == DYN_IO_ERROR)
        << dyn_last_message();
  }
  EXPECT_GT(refused, 100);
}

TEST(Packages, PlacesNameTheFileWithoutItsFolder) {
  const std::pair<const char*, const char*> kPlaces[] = {
      {"/a/b/bert.onnx: byte 17: node /layer/MatMul (MatMul, opset 17)",
       "bert.onnx: byte 17: node /layer/MatMul (MatMul, opset 17)"},
      {"a/net.dyn:3:7", "net.dyn:3:7"},
      {"../net.dyn:12", "net.dyn:12"},
      {"C:/a/net.dyn:12", "net.dyn:12"},
      {"a/b.onnx: node x/y", "b.onnx: node x/y"},
      {"a/b.onnx", "b.onnx"},
      {"b.onnx: byte 3", "b.onnx: byte 3"},
      {"node /layer/MatMul (MatMul)", "node /layer/MatMul (MatMul)"},
      {"byte 5: node a/b", "byte 5: node a/b"},
      {"line 3: node a/b", "line 3: node a/b"},
      {"<text>:1:2", "<text>:1:2"},
      {"", ""},
  };
  for (const auto& [place, expected] : kPlaces) EXPECT_EQ(placeWithoutFolder(place), expected);
  vm::Program program;
  program.strings = {"a/n.dyn:1:2", "a/n.dyn:1:2\tindex\taxis 0 has 3/4 elements\na/n.dyn:4\tsize\tx", "a/b"};
  vm::Function function;
  function.places = {{0, 0, 1}, {4, 0, -1}};
  program.functions.push_back(function);
  leaveOutFolders(program);
  EXPECT_EQ(program.strings[0], "n.dyn:1:2");
  EXPECT_EQ(program.strings[1], "n.dyn:1:2\tindex\taxis 0 has 3/4 elements\nn.dyn:4\tsize\tx");
  EXPECT_EQ(program.strings[2], "") << "nothing names it";
}

// Without the system's dynamic linker: what it takes is the object alone, whose sum is right.
TEST(Packages, ObjectsAreLoadedWithoutTheDynamicLinker) {
  const std::string path = packageOf(kWithFlow, "own");
  if (path.empty()) GTEST_SKIP() << "packages cannot be written here";
  const std::string object = objectOf(bytesOfFile(path));
  unlink(path.c_str());
  std::unique_ptr<vm::LoadedObject> loaded;
  const vm::Status status = vm::LoadedObject::load(object.data(), object.size(), loaded);
  ASSERT_TRUE(status.ok()) << status.message;
  ASSERT_NE(loaded->find(DYN_FLOW_PROGRAM_SYMBOL), nullptr);
  EXPECT_EQ(loaded->find("nonsense"), nullptr);
  const auto* flow = static_cast<const DynFlowProgram*>(loaded->find(DYN_FLOW_PROGRAM_SYMBOL));
  EXPECT_TRUE(loaded->holds(flow));
  const auto* askew = reinterpret_cast<const DynFlowProgram*>(reinterpret_cast<uintptr_t>(flow) - 1);
  EXPECT_FALSE(loaded->holds(askew)) << "it may not be read as a table";
  std::mt19937_64 random(18);
  int refused = 0;
  const auto tryBytes = [&](const std::string& bytes) {
    std::unique_ptr<vm::LoadedObject> made;
    const vm::Status result = vm::LoadedObject::load(bytes.data(), bytes.size(), made);
    EXPECT_EQ(result.ok(), made != nullptr);
    if (!result.ok()) {
      ++refused;
      EXPECT_TRUE(result.code == DYN_BAD_PROGRAM || result.code == DYN_UNSUPPORTED ||
                  result.code == DYN_OUT_OF_MEMORY || result.code == DYN_IO_ERROR)
          << result.message;
      EXPECT_FALSE(result.message.empty());
    }
  };
  // Half of them in headers and tables, which are at its begin and its end.
  constexpr size_t kTables = 2048;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = object;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const bool anywhere = random() % 2 == 0;
      const size_t range = anywhere ? object.size() : std::min(kTables, object.size());
      const size_t at = random() % range;
      damaged[random() % 2 == 0 ? at : object.size() - 1 - at] = static_cast<char>(random());
    }
    tryBytes(damaged);
  }
  EXPECT_GT(refused, 100);
  for (size_t length = 0; length < object.size(); length += 1 + length / 16)
    tryBytes(object.substr(0, length));
  std::string empty = object;
  constexpr size_t kHeaderCountAt = 56;  // of the program headers, 16 bits, in the ELF header
  empty.replace(kHeaderCountAt, 2, 2, '\0');
  std::unique_ptr<vm::LoadedObject> none;
  const vm::Status withoutHeaders = vm::LoadedObject::load(empty.data(), empty.size(), none);
  EXPECT_NE(withoutHeaders.message.find("it has no code"), std::string::npos) << withoutHeaders.message;
}

}  // namespace
}  // namespace dyn
