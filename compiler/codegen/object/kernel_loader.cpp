// One of the two files that include LLVM's heaviest headers (LLJIT); nothing else belongs here.
#include "compiler/codegen/object/kernel_loader.h"

#include <atomic>
#include <mutex>

#include "compiler/codegen/llvm/llvm_failure.h"
#include "compiler/codegen/llvm/llvm_target.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

namespace dyn {

namespace orc = llvm::orc;

// The JIT, shared by the loader and the sets loaded through it.
struct KernelLoader::State {
  std::unique_ptr<orc::LLJIT> jit;
  std::atomic<uint64_t> setCount{0};
  std::mutex reportLock;
  std::string reported;  // what LLVM would have printed; the cause of the next failed look-up

  std::string takeReport() {
    std::lock_guard<std::mutex> hold(reportLock);
    return std::exchange(reported, {});
  }
};

struct KernelSet::State {
  std::shared_ptr<KernelLoader::State> loader;
  orc::JITDylib* library = nullptr;

  ~State() {
    if (library) llvm::consumeError(loader->jit->getExecutionSession().removeJITDylib(*library));
  }
};

namespace {

Error withReport(Error error, const std::string& report) {
  return report.empty() ? std::move(error) : std::move(error).note(report);
}

}  // namespace

KernelSet::KernelSet(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelSet::KernelSet(KernelSet&&) noexcept = default;
KernelSet& KernelSet::operator=(KernelSet&&) noexcept = default;
KernelSet::~KernelSet() = default;

Result<void*> KernelSet::find(const std::string& symbol) const {
  llvm::Expected<orc::ExecutorAddr> address = state_->loader->jit->lookup(*state_->library, symbol);
  if (!address)
    return withReport(fromLlvm(address.takeError(), "looking up '" + symbol + "'"),
                      state_->loader->takeReport());
  return address->toPtr<void*>();
}

KernelLoader::KernelLoader(std::shared_ptr<State> state) : state_(std::move(state)) {}
KernelLoader::KernelLoader(KernelLoader&&) noexcept = default;
KernelLoader& KernelLoader::operator=(KernelLoader&&) noexcept = default;
KernelLoader::~KernelLoader() = default;

Result<KernelLoader> KernelLoader::create() {
  initializeLlvm();
  auto state = std::make_shared<State>();
  orc::LLJITBuilder builder;
  builder.setPlatformSetUp(orc::setUpInactivePlatform);  // kernels have no static constructors to run
  llvm::Expected<std::unique_ptr<orc::LLJIT>> jit = builder.create();
  if (!jit) return fromLlvm(jit.takeError(), "starting the loader");
  state->jit = std::move(*jit);
  // The session ends inside ~LLJIT, while `reported` still lives (declared after it, so destroyed before):
  // hold it weakly.
  std::weak_ptr<State> weak = state;
  state->jit->getExecutionSession().setErrorReporter([weak](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    if (std::shared_ptr<State> alive = weak.lock()) {
      std::lock_guard<std::mutex> hold(alive->reportLock);
      alive->reported = std::move(text);
    }
  });
  return KernelLoader(std::move(state));
}

Result<KernelSet> KernelLoader::load(const std::vector<ObjectCode>& objects,
                                     const std::vector<std::string>& symbols) {
  auto set = std::make_unique<KernelSet::State>();
  set->loader = state_;
  std::string name = "kernels" + std::to_string(state_->setCount.fetch_add(1));
  llvm::Expected<orc::JITDylib&> library = state_->jit->createJITDylib(name);
  if (!library) return fromLlvm(library.takeError(), "making " + name);
  set->library = &*library;
  KernelSet loaded(std::move(set));
  for (size_t i = 0; i < objects.size(); ++i) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(objects[i].bytes, name + "." + std::to_string(i));
    if (llvm::Error error = state_->jit->addObjectFile(*library, std::move(buffer)))
      return withReport(fromLlvm(std::move(error), "adding object " + std::to_string(i)),
                        state_->takeReport());
  }
  // Linking happens at the first look-up; do it here so that a missing symbol is found now and not in the
  // middle of a run.
  for (const std::string& symbol : symbols) DYN_CHECK(loaded.find(symbol));
  return loaded;
}

}  // namespace dyn
