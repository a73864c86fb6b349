// libFuzzer: any bytes as a serialized program (past its checksum), as a package, or as assembly text. What
// the verifier accepts runs, instruction by instruction with limits: it may fault, but must not read or write
// out of bounds, whatever registers, shapes and lists it makes up. Text that is accepted prints to text that
// reads back the same.
//
// Kernels are native code, which no verifier can see through: here they do nothing. Builtins are the real
// ones.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/replay/fuzz_target.h"
#include "vm/base/clock.h"
#include "vm/core/run/interpreter.h"
#include "vm/core/run/module_init.h"
#include "vm/isa/assembler.h"
#include "vm/isa/package.h"
#include "vm/isa/program_file.h"

namespace {

using namespace dyn::vm;

constexpr size_t kProgramHeaderBytes = 32, kProgramChecksumAt = 24;
constexpr size_t kPackageHeaderBytes = 64, kPackageRowBytes = 128, kPackageChecksumAt = 24;
constexpr uint64_t kMemoryBytes = uint64_t{1} << 17;  // small, so that no builtin has much to do
constexpr uint64_t kMaximumNs = 200'000'000;

int32_t doNothing(void* const*, const int64_t*, int64_t, int64_t, void*) { return DYN_KERNEL_OK; }

// What one program may still do.
struct Budget {
  int steps = 400;
  uint64_t endNs = nowNs() + kMaximumNs;
  static dyn_trap_action spend(void* user, const dyn_trap*) {
    auto& budget = *static_cast<Budget*>(user);
    return --budget.steps < 0 || nowNs() > budget.endNs ? DYN_TRAP_STOP : DYN_TRAP_STEP;
  }
};

class Pool {
 public:
  Pool() {
    MemoryPoolOptions options;
    options.limitBytes = kMemoryBytes;
    pool_ = MemoryPool::create(options);
  }
  ~Pool() { pool_->releaseOwner(); }
  Pool(const Pool&) = delete;
  MemoryPool* get() const { return pool_; }

 private:
  MemoryPool* pool_;
};

// Small tensors of the kinds a model is fed with; further parameters stay empty.
std::vector<Object*> makeArguments(MemoryPool* pool, size_t count) {
  static constexpr int64_t kShapes[][3] = {{2, 3, 4}, {3}, {}, {3, 4}};
  static constexpr uint32_t kRanks[] = {3, 1, 0, 2};
  static constexpr DataType kTypes[] = {DataType::f32, DataType::i64, DataType::i64, DataType::boolean};
  std::vector<Object*> arguments(count, nullptr);
  for (size_t i = 0; i < std::min(count, std::size(kRanks)); ++i) {
    dyn_status why = DYN_OK;
    Tensor* tensor = newTensor(pool, kTypes[i], kRanks[i], kShapes[i], why);
    if (tensor) memset(tensor->data, 1, tensor->sizeBytes());
    arguments[i] = tensor;
  }
  return arguments;
}

void runAll(const Module& module) {
  const Program& program = module.program();
  Pool pool;
  InterpreterOptions options;
  options.pool = pool.get();
  options.depthLimit = 50;
  Interpreter interpreter(module, options);
  Budget budget;
  for (uint32_t i = 0; i < program.functions.size() && budget.steps > 0; ++i) {
    if (program.functions[i].parameterCount > 64) continue;
    interpreter.setTrap(Budget::spend, &budget, true);
    const std::vector<Object*> arguments = makeArguments(pool.get(), program.functions[i].parameterCount);
    (void)interpreter.run(i, arguments);
    for (const Object* result : interpreter.results()) (void)describe(result);
    interpreter.clear();
    for (Object* argument : arguments) release(argument);
  }
}

// The data of constants: as many bytes as the largest small one needs. Strings are pointers, which bytes
// cannot make up.
struct Host {
  const Program* program;
  std::vector<std::byte> bytes = std::vector<std::byte>(1 << 16, std::byte{1});
  static const void* constant(void* user, int32_t index) {
    auto& host = *static_cast<Host*>(user);
    const ConstantRow& row = host.program->constants[static_cast<size_t>(index)];
    const bool known =
        row.sizeBytes <= host.bytes.size() && row.dtype != static_cast<uint8_t>(DataType::string);
    return known ? host.bytes.data() : nullptr;
  }
};

// Each says whether it came to running.
bool loadAndRun(Program program) {
  const Program copy = program;
  Host host{&copy};
  Module::Options options;
  options.host.user = &host;
  options.host.resolve_kernel = [](void*, const char*) -> DynKernelFunction { return doNothing; };
  options.host.resolve_constant = Host::constant;
  options.memoryLimitBytes = kMemoryBytes;
  std::shared_ptr<Module> module;
  if (!loadModule(std::move(program), std::move(options), module).ok()) return false;
  const std::string text = printProgram(module->program());
  Program again;
  if (parseProgramText(text, again).ok() && printProgram(again) != text) std::abort();
  runAll(*module);
  return true;
}

bool tryProgram(std::vector<uint8_t> bytes) {
  if (bytes.size() < kProgramHeaderBytes) return false;
  const uint64_t checksum =
      checksumBytes(bytes.data() + kProgramHeaderBytes, bytes.size() - kProgramHeaderBytes);
  memcpy(bytes.data() + kProgramChecksumAt, &checksum, sizeof checksum);
  const uint64_t size = bytes.size() - kProgramHeaderBytes;
  memcpy(bytes.data() + kProgramChecksumAt - sizeof size, &size, sizeof size);
  Program program;
  return parseProgram(bytes.data(), bytes.size(), program).ok() && loadAndRun(std::move(program));
}

// Objects are left out: linking code is trusting it.
bool tryPackage(std::vector<uint8_t> bytes) {
  const PackagePlace place = placeOfPackage(bytes.data(), bytes.size());
  if (place.offset > bytes.size() || place.sizeBytes > bytes.size() - place.offset) std::abort();
  if (bytes.size() < kPackageHeaderBytes) return false;
  uint32_t count = 0;
  memcpy(&count, bytes.data() + 12, sizeof count);
  if (count <= (bytes.size() - kPackageHeaderBytes) / kPackageRowBytes) {
    const uint64_t checksum = checksumBytes(bytes.data() + kPackageHeaderBytes, count * kPackageRowBytes);
    memcpy(bytes.data() + kPackageChecksumAt, &checksum, sizeof checksum);
  }
  std::vector<PackageSection> sections;
  if (!readPackageTable(bytes.data(), bytes.size(), sections).ok()) return false;
  bool ran = false;
  for (const PackageSection& section : sections) {
    (void)checkSection(bytes.data(), section);
    if (section.kind != SectionKind::program) continue;
    const uint8_t* at = bytes.data() + section.offset;
    ran |= tryProgram(std::vector<uint8_t>(at, at + section.sizeBytes));
  }
  return ran;
}

bool startsWith(const uint8_t* data, size_t size, const char* magic) {
  return size >= strlen(magic) && memcmp(data, magic, strlen(magic)) == 0;
}

}  // namespace

bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) return false;
  if (startsWith(data, size, "DYNBYTES")) return tryProgram(std::vector<uint8_t>(data, data + size));
  if (startsWith(data, size, "DYNPACK1")) return tryPackage(std::vector<uint8_t>(data, data + size));
  Program program;
  if (!parseProgramText(std::string(reinterpret_cast<const char*>(data), size), program).ok()) return false;
  const std::string once = printProgram(program);
  Program again;
  if (!parseProgramText(once, again).ok() || printProgram(again) != once) std::abort();
  return loadAndRun(std::move(program));
}
