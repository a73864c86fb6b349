// KernelEngine: from emitters to callable functions, for one machine, with an object cache and several
// threads.
//
//   DYN_TRY(KernelEngine engine, KernelEngine::create(machine, {.cache = {.directory = dir}}));
//   std::vector<KernelJob> jobs = {{.name = "softmax", .key = loopText, .build = [&] { return emitSoftmax(machine); }}};
//   DYN_TRY(std::vector<ObjectCode> objects, engine.compileAll(jobs));        // in the order of the jobs
//   DYN_TRY(KernelSet set, engine.load(objects, {"dyn_softmax"}));  // keep the set while its code is used
//   DYN_TRY(auto kernel, set.function<DynKernelFunction>("dyn_softmax"));
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/object/kernel_loader.h"
#include "compiler/codegen/object/object_cache.h"
#include "compiler/codegen/object/object_compiler.h"

namespace dyn {

// Code of a job with this key that was compiled before, for processors of this level of x86-64 and Linux.
struct BuiltObject {
  std::string_view key;
  int32_t level = 1;
  size_t size = 0;                       // of the object, in bytes
  std::span<const unsigned char> bytes;  // packed (packed_object.h)
};

struct EngineSettings {
  ObjectCacheSettings cache;
  // Taken instead of compiling where they fit (built/built_objects.h). Ascending by key; of one key, the
  // highest level first.
  std::span<const BuiltObject> built;
  int32_t threadCount = 0;  // for compileAll; 0: one per hardware thread
  VerifyModules verify = VerifyModules::yes;
};

struct KernelJob {
  std::string name;  // for messages
  // What the code is a function of, apart from the machine: two jobs with equal keys must make equal code.
  // The engine adds machine, passes, LLVM's version and a fingerprint of codegen's own sources. Empty: the
  // module's IR text is the key (always right, but the module must be built to find it).
  std::string key;
  // Called on the thread that compiles, not at all on a cache hit of a job with a key. Must be safe to call
  // beside others.
  std::function<Result<KernelModule>()> build;
  IrPasses passes = IrPasses::none;
};

struct EngineStatistics {
  int64_t compiled = 0;   // modules that went through LLVM
  int64_t compileNs = 0;  // building and compiling, summed over threads
  ObjectCacheStatistics cache;
};

// Safe to use from many threads.
class KernelEngine {
 public:
  // The machine need not be this one; then objects can be compiled but not loaded.
  static Result<KernelEngine> create(const MachineDescription& machine, EngineSettings settings = {});
  KernelEngine(KernelEngine&&) noexcept;
  KernelEngine& operator=(KernelEngine&&) noexcept;
  ~KernelEngine();

  const MachineDescription& machine() const;

  Result<ObjectCode> compile(const KernelJob& job);
  // Is there an object for jobs with this key, so that none is compiled?
  bool isBuilt(const std::string& key) const;
  // On threadCount threads; the first failing job (in job order) decides the error.
  Result<std::vector<ObjectCode>> compileAll(const std::vector<KernelJob>& jobs);
  // Assembly text of a module, for inspection and tests; never cached.
  Result<std::string> assembly(const KernelJob& job);

  // Into this process; `symbols` must all be found. An engine for another machine answers unsupportedFeature.
  Result<KernelSet> load(const std::vector<ObjectCode>& objects, const std::vector<std::string>& symbols);

  EngineStatistics statistics() const;
  bool usesCache() const;
  // Why no cache is used although a directory was given; empty otherwise.
  const std::string& cacheRefusal() const;

 private:
  struct State;
  explicit KernelEngine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dyn
