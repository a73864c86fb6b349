// Interpreter: runs functions of a module. One switch over the words of verified code; calls push frames on
// an explicit stack, so program recursion never uses the C++ stack. One per context, one thread at a time;
// requestCancel() from any thread.
//
// Traps: jumps, calls and launches look at one word. While it is zero that is all; otherwise the traced loop
// takes over, which looks before every instruction (stepping, breakpoints, cancellation, profiling).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vm/core/builtin_host.h"
#include "vm/core/device_session.h"
#include "vm/core/module.h"
#include "vm/core/profile.h"
#include "vm/isa/isa.h"

namespace dyn::vm {

struct InterpreterOptions {
  MemoryPool* pool = nullptr;     // objects, and tensors of the host
  ThreadPool* threads = nullptr;  // null: one thread
  uint32_t depthLimit = 100'000;
  bool rehearsal =
      false;  // kernels do not run; a program that looks at what they would compute ends with DYN_UNSUPPORTED
  std::function<void(std::span<const int32_t>)>
      globalStored;  // init only: the constants that were loaded since the last store
};

// Memory of the caller for a result. The interpreter learns which newtensor made the result and uses the
// memory there next time.
struct BoundOutput {
  void* memory = nullptr;
  uint64_t sizeBytes = 0;
  int32_t originFunction = -1;
  uint32_t originPosition = 0;
  bool used = false;  // in this run
};

class Interpreter {
 public:
  Interpreter(const Module& module, const InterpreterOptions& options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;

  // Runs to the end of `function`; arguments are shared. On success results() holds the results until the
  // next run or clear(). `globals` is given for the init function only. On failure the status has the place,
  // and nothing is left behind.
  Status run(uint32_t function, std::span<Object* const> arguments, std::vector<Object*>* globals = nullptr);
  const std::vector<Object*>& results() const { return results_; }
  void replaceResult(size_t index, Object* owned);
  void clear();  // lets results and the call stack go

  // Any thread; nothing happens unless a run is in progress.
  void requestCancel() { trapBits_.fetch_or(kCancel, std::memory_order_relaxed); }

  void setTrap(dyn_trap_callback callback, void* user, bool stepping);
  bool setBreakpoint(uint32_t function, uint32_t position, bool enabled);  // false: no instruction there
  void clearBreakpoints();
  void setProfiling(bool enabled);
  const Profile& profile() const { return profile_; }

  std::vector<BoundOutput>& boundOutputs() { return bound_; }
  uint64_t launchCount() const { return launches_; }
  uint64_t instructionCount() const { return instructions_; }
  void beginDevices();                        // their peaks are those from now on
  MemoryStatistics deviceStatistics() const;  // of all but the host

 private:
  enum class Outcome { proceed, done, fault, switchLoop };
  enum TrapBit : uint32_t { kCancel = 1, kStep = 2, kBreakpoints = 4, kProfile = 8 };

  struct Frame {
    uint32_t function;
    const int32_t* resume;  // the caller's next instruction
    const int32_t*
        results;  // the caller's list of result registers: length, then registers; null for the outermost
    size_t scalarBase, objectBase;
    uint64_t enterNs;
  };
  struct WordList {
    const int32_t* items;
    uint32_t count;
  };

  template <bool kTraced>
  Outcome loop();
  Outcome trace();  // before an instruction, in the traced loop
  void note(const int32_t* at, uint64_t beginNs);

  // Calls. Arguments are gathered in `gathered_` (shared counts), which these take over.
  bool pushFrame(uint32_t function, const int32_t* resume, const int32_t* results);
  bool enter(uint32_t function);    // registers of the top frame from gathered_
  bool popFrame(WordList results);  // true: the outermost function has returned
  void gather(WordList registers);
  void dropGathered();
  void releaseRegisters(const Frame& frame);
  bool growStack(size_t scalars, size_t objects);
  void unwind();
  bool callClosure(const int32_t* at);

  // Each takes the operands' first word and returns the next instruction; null after a fault.
  const int32_t* item(const int32_t* w);
  const int32_t* fromScalars(DataType dtype, uint32_t target, const int64_t* values, uint32_t rank,
                             uint32_t count, const int32_t* next);
  const int32_t* checkTensor(const int32_t* w);
  const int32_t* allocateStorage(const int32_t* w);
  const int32_t* allocateTensor(const int32_t* w);
  const int32_t* newTensorInstruction(int32_t result, const int32_t* w);
  const int32_t* reuseTensor(const int32_t* w);
  const int32_t* reshape(const int32_t* w);
  const int32_t* deviceCopy(const int32_t* w);
  const int32_t* makeTuple(const int32_t* w);
  const int32_t* getField(const int32_t* w);
  const int32_t* makeList(const int32_t* w);
  const int32_t* listAt(const int32_t* w);
  const int32_t* listInsert(const int32_t* w);
  const int32_t* listErase(const int32_t* w);
  const int32_t* makeClosure(const int32_t* w);
  const int32_t* launch(const int32_t* w);
  const int32_t* callBuiltin(const int32_t* w, bool into);

  Tensor* tensorAt(int32_t index);                              // null after a fault
  bool isDense(const Tensor* tensor, std::string_view reader);  // false after a fault
  void noteOrigin(Tensor* tensor) const;
  void noteOriginOf(Object* result) const;
  Tensor* inBoundMemory(DataType dtype, std::span<const int64_t> shape, int64_t count, dyn_status& why);
  List* listObject(int32_t index);
  bool readShape(const int32_t*& w, uint32_t& rank, int64_t& count);  // into shape_
  void setObject(int32_t index, Object* owned);
  const int32_t* fault(dyn_status code, std::string message);
  const int32_t* memoryFault(dyn_status why, uint64_t sizeBytes) noexcept;
  const int32_t* memoryFaultText(dyn_status why, uint64_t sizeBytes);
  const int32_t* rehearsalEnds(const std::string& what);
  Outcome scalarFault(const int32_t* at);

  // Devices (interpreter_devices.cpp).
  DeviceSession* deviceSession(int32_t device);
  Storage* newStorageOn(int32_t device, uint64_t sizeBytes, dyn_status& why);
  Tensor* newTensorOn(int32_t device, DataType dtype, std::span<const int64_t> shape, dyn_status& why);
  Status copyBetween(int32_t from, const void* source, int32_t to, void* target, uint64_t sizeBytes);
  bool runKernel(size_t index, int64_t units, int64_t steps, int32_t device, const int64_t* scalars);
  bool runOn(int32_t device, const KernelRow& kernel, DynLaunch& launch);
  void finishDevices();
  static bool isOnHost(const Object* object);  // lists: all items

  uint32_t positionOf(const int32_t* at) const { return static_cast<uint32_t>(at - code_); }
  ProfileOperands operandsOf(const int32_t* at, uint64_t& bytes) const;

  const Module& module_;
  const Program& program_;
  InterpreterOptions options_;
  std::string version_;  // of the last builtin that was called while a profile is recorded
  std::vector<Object*>* globals_ = nullptr;
  std::vector<int32_t> loadedConstants_;  // by init since it last stored a global

  // The running frame: base pointers into the stacks, its code, and the instruction that runs.
  std::vector<Frame> frames_;
  int64_t* R_ = nullptr;
  Object** V_ = nullptr;
  const int32_t* code_ = nullptr;
  const int32_t* at_ = nullptr;
  int64_t* scalarStack_ = nullptr;
  Object** objectStack_ = nullptr;
  size_t scalarCapacity_ = 0, objectCapacity_ = 0;

  std::vector<Object*> gathered_, results_;
  int64_t shape_[kMaximumRank];
  std::vector<void*> buffers_;
  std::vector<int64_t> scalars_;
  std::vector<Object*> builtinArguments_, builtinResults_;
  std::vector<BoundOutput> bound_;
  bool bindActive_ = false;

  Status status_;
  std::atomic<uint32_t> trapBits_{0};
  BuiltinHost host_;
  std::vector<std::unique_ptr<DeviceSession>> devices_;  // by number; null: not named yet
  dyn_trap_callback trapCallback_ = nullptr;
  void* trapUser_ = nullptr;
  std::vector<std::pair<uint32_t, uint32_t>> breakpoints_;  // sorted
  Profile profile_;
  std::string profileShapes_;
  uint64_t launches_ = 0, instructions_ = 0;
};

}  // namespace dyn::vm
