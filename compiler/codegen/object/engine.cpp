#include "compiler/codegen/object/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "compiler/codegen/llvm/machine_catalog.h"
#include "compiler/codegen/object/packed_object.h"
#include "llvm/Config/llvm-config.h"

// Set by the build: a digest of codegen's sources, so that objects made by other versions of the emitters are
// not reused.
#ifndef DYN_CODEGEN_FINGERPRINT
#error "the build must define DYN_CODEGEN_FINGERPRINT"
#endif

namespace dyn {

struct KernelEngine::State {
  MachineDescription machine;
  const int32_t level;
  EngineSettings settings;
  ObjectCache cache;
  std::atomic<int64_t> compiled{0}, compileNs{0};

  std::mutex lock;  // guards the two below
  std::vector<ObjectCompiler> idleCompilers;
  std::optional<KernelLoader> loader;

  State(const MachineDescription& m, EngineSettings s)
      : machine(m), level(processorLevel(m)), settings(s), cache(std::move(s.cache)) {}

  Result<ObjectCompiler> takeCompiler();
  void giveBack(ObjectCompiler compiler);
  ObjectKey keyOf(const KernelJob& job, const std::string& text) const;
  const BuiltObject* findBuilt(const std::string& key) const;
  Result<ObjectCode> compile(const KernelJob& job);
  Result<ObjectCode> build(const KernelJob& job);
};

namespace {

class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<int64_t>& totalNs) : totalNs_(totalNs) {}
  ~Stopwatch() {
    auto spent = std::chrono::steady_clock::now() - start_;
    totalNs_ += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  }

 private:
  std::atomic<int64_t>& totalNs_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<ObjectCompiler> KernelEngine::State::takeCompiler() {
  {
    std::lock_guard<std::mutex> hold(lock);
    if (!idleCompilers.empty()) {
      ObjectCompiler compiler = std::move(idleCompilers.back());
      idleCompilers.pop_back();
      return compiler;
    }
  }
  return ObjectCompiler::create(machine);
}

void KernelEngine::State::giveBack(ObjectCompiler compiler) {
  std::lock_guard<std::mutex> hold(lock);
  idleCompilers.push_back(std::move(compiler));
}

ObjectKey KernelEngine::State::keyOf(const KernelJob& job, const std::string& text) const {
  // Not the whole machine: cache sizes and the like act through the code, so they are part of `text` where
  // they matter.
  const std::string shape =
      std::to_string(machine.vectorBits) + " " + std::to_string(static_cast<int>(job.passes));
  return makeObjectKey({job.key.empty() ? "ir" : "key", text, machine.triple, machine.cpu, machine.features,
                        machine.abi, shape, LLVM_VERSION_STRING, DYN_CODEGEN_FINGERPRINT});
}

Result<ObjectCode> KernelEngine::State::build(const KernelJob& job) {
  Stopwatch watch(compileNs);
  DYN_TRY(KernelModule module, job.build());
  std::optional<ObjectKey> irKey;
  if (job.key.empty() && cache.isOn()) {
    irKey = keyOf(job, module.irText());
    if (std::optional<ObjectCode> found = cache.find(*irKey)) return std::move(*found);
  }
  DYN_TRY(ObjectCompiler compiler, takeCompiler());
  compiled++;
  // On failure the compiler is dropped: LLVM may have left it in any state.
  DYN_TRY(ObjectCode object, compiler.compile(module, {job.passes, settings.verify}));
  giveBack(std::move(compiler));
  if (irKey) cache.store(*irKey, object);
  return object;
}

const BuiltObject* KernelEngine::State::findBuilt(const std::string& key) const {
  const auto [first, end] = std::ranges::equal_range(settings.built, key, {}, &BuiltObject::key);
  for (const BuiltObject& built : std::span(first, end))
    if (built.level <= level && canUnpack(built.bytes, built.size)) return &built;
  return nullptr;
}

Result<ObjectCode> KernelEngine::State::compile(const KernelJob& job) {
  if (job.key.empty()) return build(job);
  if (const BuiltObject* built = findBuilt(job.key)) return unpackObject(built->bytes, built->size);
  ObjectKey key = keyOf(job, job.key);
  if (std::optional<ObjectCode> found = cache.find(key)) return std::move(*found);
  DYN_TRY(ObjectCode object, build(job));
  cache.store(key, object);
  return object;
}

KernelEngine::KernelEngine(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelEngine::KernelEngine(KernelEngine&&) noexcept = default;
KernelEngine& KernelEngine::operator=(KernelEngine&&) noexcept = default;
KernelEngine::~KernelEngine() = default;

Result<KernelEngine> KernelEngine::create(const MachineDescription& machine, EngineSettings settings) {
  auto state = std::make_unique<State>(machine, std::move(settings));
  DYN_TRY(ObjectCompiler compiler, ObjectCompiler::create(machine));  // an unknown machine is found here
  state->giveBack(std::move(compiler));
  return KernelEngine(std::move(state));
}

const MachineDescription& KernelEngine::machine() const { return state_->machine; }

bool KernelEngine::isBuilt(const std::string& key) const { return state_->findBuilt(key) != nullptr; }

Result<ObjectCode> KernelEngine::compile(const KernelJob& job) { return state_->compile(job); }

Result<std::vector<ObjectCode>> KernelEngine::compileAll(const std::vector<KernelJob>& jobs) {
  std::vector<std::optional<Result<ObjectCode>>> results(jobs.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < jobs.size();) results[i].emplace(state_->compile(jobs[i]));
  };
  size_t wanted = state_->settings.threadCount > 0 ? static_cast<size_t>(state_->settings.threadCount)
                                                   : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  try {
    for (size_t i = 1; i < std::min(wanted, jobs.size()); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: those that started, and this one, do all the work.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<ObjectCode> objects;
  objects.reserve(jobs.size());
  for (std::optional<Result<ObjectCode>>& result : results) {
    DYN_TRY(ObjectCode object, std::move(*result));
    objects.push_back(std::move(object));
  }
  return objects;
}

Result<std::string> KernelEngine::assembly(const KernelJob& job) {
  DYN_TRY(KernelModule module, job.build());
  DYN_TRY(ObjectCompiler compiler, ObjectCompiler::create(state_->machine));
  return compiler.assembly(module, {job.passes, state_->settings.verify});
}

Result<KernelSet> KernelEngine::load(const std::vector<ObjectCode>& objects,
                                     const std::vector<std::string>& symbols) {
  {
    std::lock_guard<std::mutex> hold(state_->lock);
    if (!state_->loader) {
      if (!runsOnThisHost(state_->machine))
        return makeError(DiagnosticId::unsupportedFeature, "code for '" + state_->machine.name + "' (" +
                                                               state_->machine.cpu +
                                                               ") cannot run on this machine");
      DYN_TRY(KernelLoader loader, KernelLoader::create());
      state_->loader.emplace(std::move(loader));
    }
  }
  return state_->loader->load(objects, symbols);
}

EngineStatistics KernelEngine::statistics() const {
  return {state_->compiled, state_->compileNs, state_->cache.statistics()};
}

bool KernelEngine::usesCache() const { return state_->cache.isOn(); }

const std::string& KernelEngine::cacheRefusal() const { return state_->cache.refusal(); }

}  // namespace dyn
