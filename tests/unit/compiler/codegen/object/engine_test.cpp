#include "compiler/codegen/object/engine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "compiler/codegen/emit/faulty_module.h"
#include "compiler/codegen/emit/math_kernel.h"
#include "compiler/codegen/emit/micro_kernel.h"
#include "compiler/codegen/llvm/machine_catalog.h"
#include "tests/support/temporary_folder.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {
namespace {

namespace fs = std::filesystem;

MachineDescription host() {
  auto machine = detectHost();
  EXPECT_TRUE(machine.ok());
  return *machine;
}

KernelJob mathJob(MathFunction function, std::string key = "") {
  return {.name = std::string(mathFunctionRow(function).name), .key = std::move(key), .build = [function] {
            return emitMathKernel(function, FloatType::float32, host());
          }};
}

KernelEngine engineWith(const std::string& directory, int64_t maxBytes = 1 << 20) {
  auto engine = KernelEngine::create(
      host(), {.cache = {.directory = directory, .maxBytes = maxBytes}, .threadCount = 2});
  EXPECT_TRUE(engine.ok());
  return std::move(engine).value();
}

TEST(Engine, CompilesOptimisesLoadsAndUnloads) {
  KernelEngine engine = engineWith("none");
  KernelJob job = mathJob(MathFunction::exp);
  job.passes = IrPasses::o2;
  auto object = engine.compile(job);
  ASSERT_TRUE(object.ok()) << object.error().toString();
  for (int round = 0; round < 3; ++round) {  // the same symbols again, in sets of their own
    auto set = engine.load({*object}, {"dyn_math_exp_f32"});
    ASSERT_TRUE(set.ok()) << set.error().toString();
    auto kernel = set->function<DynKernelFunction>("dyn_math_exp_f32");
    ASSERT_TRUE(kernel.ok());
    std::vector<float> x(37, 1.0f), y(37);
    void* buffers[] = {x.data(), y.data()};
    EXPECT_EQ((*kernel)(buffers, nullptr, 0, 37, nullptr), 0);
    for (float value : y) EXPECT_NEAR(value, 2.7182818f, 3e-7f);
  }
}

TEST(Engine, SetOutlivesItsEngine) {
  std::optional<KernelSet> kept;
  {
    KernelEngine engine = engineWith("none");
    auto object = engine.compile(mathJob(MathFunction::tan));  // calls tanf of the process
    ASSERT_TRUE(object.ok());
    auto set = engine.load({*object}, {"dyn_math_tan_f32"});
    ASSERT_TRUE(set.ok()) << set.error().toString();
    kept.emplace(std::move(*set));
  }
  auto kernel = kept->function<DynKernelFunction>("dyn_math_tan_f32");
  ASSERT_TRUE(kernel.ok());
  float x = 0.5f, y = 0;
  void* buffers[] = {&x, &y};
  (*kernel)(buffers, nullptr, 0, 1, nullptr);
  EXPECT_FLOAT_EQ(y, std::tan(0.5f));
}

TEST(Engine, ManyModulesInOrderOfTheJobs) {
  KernelEngine engine = engineWith("none");
  std::vector<KernelJob> jobs;
  std::vector<std::string> symbols;
  for (const MathFunctionRow& row : mathFunctionTable()) {
    jobs.push_back(mathJob(row.function));
    symbols.push_back(mathKernelSymbol(row.function, FloatType::float32));
  }
  auto objects = engine.compileAll(jobs);
  ASSERT_TRUE(objects.ok()) << objects.error().toString();
  ASSERT_EQ(objects->size(), jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_NE((*objects)[i].bytes.find(symbols[i]), std::string::npos);
    auto again = engine.compile(jobs[i]);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->bytes, (*objects)[i].bytes) << "same input, same bytes";
  }
  auto set = engine.load(*objects, symbols);
  EXPECT_TRUE(set.ok()) << set.error().toString();
}

TEST(Engine, FailuresAreErrors) {
  KernelEngine engine = engineWith("none");
  for (FaultyModule kind :
       {FaultyModule::malformed, FaultyModule::notSelectable, FaultyModule::badInlineAssembly}) {
    auto object = engine.compile(
        {.name = "faulty", .build = [kind] { return makeFaultyModule(kind, *machinePreset("x86-64")); }});
    ASSERT_FALSE(object.ok());
    EXPECT_EQ(object.error().id, DiagnosticId::internalError) << object.error().toString();
  }
  // And the engine still works.
  EXPECT_TRUE(engine.compile(mathJob(MathFunction::log)).ok());

  auto undefined = engine.compile(
      {.name = "undefined", .build = [] { return makeFaultyModule(FaultyModule::undefinedSymbol, host()); }});
  ASSERT_TRUE(undefined.ok()) << undefined.error().toString();
  auto set = engine.load({*undefined}, {"faulty"});
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().toString().find("dyn_nowhere_defined"), std::string::npos) << set.error().toString();

  auto object = engine.compile(mathJob(MathFunction::log));
  ASSERT_TRUE(object.ok());
  EXPECT_FALSE(engine.load({*object}, {"no_such_symbol"}).ok());
  EXPECT_FALSE(engine.load({*object, *object}, {"dyn_math_log_f32"}).ok()) << "a symbol defined twice";
  EXPECT_FALSE(engine.load({ObjectCode{"this is not an object file"}}, {"x"}).ok());
  EXPECT_FALSE(
      engine.load({ObjectCode{object->bytes.substr(0, object->bytes.size() / 2)}}, {"dyn_math_log_f32"})
          .ok());
}

TEST(Engine, TheFirstFailingJobDecides) {
  KernelEngine engine = engineWith("none");
  auto failing = [](const char* text) -> KernelJob {
    return {.name = text, .build = [text]() -> Result<KernelModule> {
              return makeError(DiagnosticId::unsupportedOp, text);
            }};
  };
  auto objects = engine.compileAll(
      {mathJob(MathFunction::exp), failing("first"), mathJob(MathFunction::log), failing("second")});
  ASSERT_FALSE(objects.ok());
  EXPECT_EQ(objects.error().message, "first");
}

TEST(Engine, OtherMachinesAreRefusedForLoading) {
  for (const char* name : {"cortex-a72", "rv64gcv", "sapphirerapids"}) {
    auto machine = machinePreset(name);
    ASSERT_TRUE(machine.ok());
    if (runsOnThisHost(*machine)) continue;
    auto engine = KernelEngine::create(*machine);
    ASSERT_TRUE(engine.ok());
    auto family = loadGemmFamily(*engine);
    ASSERT_FALSE(family.ok());
    EXPECT_EQ(family.error().id, DiagnosticId::unsupportedFeature);
  }
  MachineDescription wrong = host();
  wrong.cpu = "abacus";
  EXPECT_FALSE(KernelEngine::create(wrong).ok());
  wrong = host();
  wrong.features = "+teleport";
  EXPECT_FALSE(KernelEngine::create(wrong).ok());
  wrong = host();
  wrong.triple = "moon-base-none-elf";
  EXPECT_FALSE(KernelEngine::create(wrong).ok());
}

TEST(ObjectCache, HitsAcrossEnginesWithAndWithoutKey) {
  test::TemporaryFolder directory;
  for (const char* key : {"", "exp of float, version 1"}) {
    std::string bytes;
    {
      KernelEngine engine = engineWith(directory.path());
      auto object = engine.compile(mathJob(MathFunction::exp, key));
      ASSERT_TRUE(object.ok());
      bytes = object->bytes;
      EXPECT_EQ(engine.statistics().compiled, 1);
      EXPECT_EQ(engine.statistics().cache.misses, 1);
      EXPECT_EQ(engine.statistics().cache.stored, 1);
    }
    KernelEngine engine = engineWith(directory.path());
    auto object = engine.compile(mathJob(MathFunction::exp, key));
    ASSERT_TRUE(object.ok());
    EXPECT_EQ(object->bytes, bytes);
    EXPECT_EQ(engine.statistics().compiled, 0);
    EXPECT_EQ(engine.statistics().cache.hits, 1);
    // Another function or key misses.
    EXPECT_TRUE(engine.compile(mathJob(MathFunction::log, *key ? "log" : "")).ok());
    EXPECT_EQ(engine.statistics().compiled, 1);
  }
}

TEST(ObjectCache, KeysKnowMachineAndPasses) {
  test::TemporaryFolder directory;
  int64_t compiled = 0;
  for (const char* name : {"x86-64", "haswell", "znver4"}) {
    auto machine = machinePreset(name);
    ASSERT_TRUE(machine.ok());
    auto engine = KernelEngine::create(*machine, {.cache = {.directory = directory.path()}});
    ASSERT_TRUE(engine.ok());
    for (IrPasses passes : {IrPasses::none, IrPasses::registers, IrPasses::quick, IrPasses::o2}) {
      KernelJob job{.name = "exp", .key = "exp", .passes = passes};
      job.build = [&] { return emitMathKernel(MathFunction::exp, FloatType::float32, *machine); };
      ASSERT_TRUE(engine->compile(job).ok());
    }
    compiled += engine->statistics().compiled;
  }
  EXPECT_EQ(compiled, 12);
  EXPECT_NE(makeObjectKey({"ab", "c"}).hex, makeObjectKey({"a", "bc"}).hex);
}

TEST(ObjectCache, DamagedFilesAreCompiledAnew) {
  test::TemporaryFolder directory;
  auto object = engineWith(directory.path()).compile(mathJob(MathFunction::exp, "k"));
  ASSERT_TRUE(object.ok());
  ASSERT_EQ(directory.files().size(), 1u);
  const fs::path file = directory.files()[0];
  std::string good;
  {
    std::ifstream in(file, std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::vector<std::string> damages = {"", "short", good.substr(0, good.size() - 1), good + "x"};
  for (size_t at : {size_t{0}, size_t{20}, size_t{80}, size_t{90}, good.size() / 2, good.size() - 1}) {
    damages.push_back(good);
    damages.back()[at] ^= 0x40;
  }
  for (const std::string& damage : damages) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << damage;
    KernelEngine engine = engineWith(directory.path());
    auto again = engine.compile(mathJob(MathFunction::exp, "k"));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->bytes, object->bytes);
    EXPECT_EQ(engine.statistics().cache.damaged, 1);
    EXPECT_EQ(engine.statistics().compiled, 1);
    EXPECT_EQ(engine.statistics().cache.stored, 1) << "repaired";
  }
  // A directory in the file's place can be neither read nor replaced.
  fs::remove(file);
  fs::create_directory(file);
  KernelEngine engine = engineWith(directory.path());
  EXPECT_TRUE(engine.compile(mathJob(MathFunction::exp, "k")).ok());
  EXPECT_EQ(engine.statistics().cache.storeFailures, 1);
}

TEST(ObjectCache, UnusableDirectoriesAreNotErrors) {
  test::TemporaryFolder directory;
  struct Case {
    std::string path;
    bool refused;
  };
  const std::string file = directory.path() + "/file", open = directory.path() + "/open";
  std::ofstream(file) << "x";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  for (const Case& row : {Case{"none", false}, Case{"", false}, Case{file, true}, Case{open, true},
                          Case{directory.path() + "/absent/deeper", true}}) {
    KernelEngine engine = engineWith(row.path);
    EXPECT_TRUE(engine.compile(mathJob(MathFunction::exp, "k")).ok());
    EXPECT_EQ(engine.cacheRefusal().empty(), !row.refused) << row.path << ": " << engine.cacheRefusal();
    EXPECT_EQ(engine.statistics().cache.stored, 0);
  }
  EXPECT_TRUE(fs::is_empty(open));
}

TEST(ObjectCache, FailedWritesAreCounted) {
  // A directory that became read-only; permissions do not bind root, for whom it vanishes instead.
  test::TemporaryFolder parent;
  const std::string directory = parent.path() + "/cache";
  KernelEngine engine = engineWith(directory);
  if (::geteuid() == 0) {
    fs::remove(directory);
  } else {
    fs::permissions(directory, fs::perms::owner_read | fs::perms::owner_exec);
  }
  EXPECT_TRUE(engine.compile(mathJob(MathFunction::exp, "k")).ok());
  EXPECT_EQ(engine.statistics().cache.storeFailures, 1);
  EXPECT_EQ(engine.statistics().cache.stored, 0);
}

TEST(ObjectCache, StaysWithinItsSizeAndDropsTheOldest) {
  test::TemporaryFolder directory;
  ObjectCache cache({.directory = directory.path(), .maxBytes = 10000});
  auto key = [](int i) { return makeObjectKey({std::to_string(i)}); };
  for (int i = 0; i < 20; ++i) {
    cache.store(key(i), {std::string(1000, static_cast<char>('a' + i))});
    // Ages in seconds, so that the order does not hang on the clock's resolution: file i is 100 - i old.
    for (const fs::path& file : directory.files())
      if (file.filename().string().starts_with(key(i).hex))
        fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(100 - i));
  }
  int64_t total = 0;
  for (const fs::path& file : directory.files()) total += static_cast<int64_t>(fs::file_size(file));
  EXPECT_LE(total, 10000);
  EXPECT_GT(cache.statistics().evicted, 0);
  EXPECT_FALSE(cache.find(key(0)).has_value());
  auto newest = cache.find(key(19));
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->bytes, std::string(1000, static_cast<char>('a' + 19)));
  cache.store(key(50), {std::string(20000, 'x')});  // never fits
  EXPECT_EQ(cache.statistics().storeFailures, 1);
}

}  // namespace
}  // namespace dyn
