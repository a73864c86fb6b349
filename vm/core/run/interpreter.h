// Interpreter: runs functions of a module. One switch over the words of verified code; calls push frames on
// an explicit stack, so program recursion never uses the C++ stack. One per context, one thread at a time;
// requestCancel() from any thread.
//
// Where the module has native code of its functions, that runs instead of the loop: the frames and the
// operations are the same (flow.h). @init, stepping and breakpoints are the loop's.
//
// Traps: jumps, calls and launches look at one word. While it is zero that is all; otherwise the traced loop
// takes over, which looks before every instruction (stepping, breakpoints, cancellation, profiling).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "vm/core/builtin/builtin_host.h"
#include "vm/core/device/device_session.h"
#include "vm/core/module/module.h"
#include "vm/core/object/known_elements.h"
#include "vm/core/profile/live_counts.h"
#include "vm/core/profile/profile.h"
#include "vm/core/run/flow.h"
#include "vm/core/run/stage.h"
#include "vm/isa/isa.h"

namespace dyn::vm {

enum class HostCodeForm : uint8_t { native, bytecode };  // native: where the module has it

struct InterpreterOptions {
  MemoryPool* pool = nullptr;     // objects, and tensors of the host
  ThreadPool* threads = nullptr;  // null: one thread
  uint32_t depthLimit = 100'000;
  HostCodeForm hostCode = HostCodeForm::native;
  uint64_t deviceLimitBytes = UINT64_MAX;  // of each device beside the host
  bool graphs = true;                      // device_graphs.h
  bool dryRun =
      false;  // kernels do not run; a program that looks at what they would compute ends with DYN_UNSUPPORTED
  int64_t keptPositions = -1;  // of a dry run: how many positions of a batch a mask keeps; -1: all
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

  // Of a dry run, for the runs that follow: see InterpreterOptions.
  void setValidPositions(int64_t positions) { options_.keptPositions = positions; }
  // Of a dry run, for the next run: the elements of an argument, which lives until then.
  void setKnownElements(const Tensor* tensor, const void* data);
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
  // Of the function where the run stands; empty between runs.
  std::span<const int64_t> scalarRegisters() const;
  std::span<Object* const> objectRegisters() const;
  void setProfiling(bool enabled);
  // Time as the profile and the run's statistics count it (ThreadPool::clockNs).
  uint64_t clockNs() const;
  // What the workers of the pool did since profiling began, by worker. While nothing runs.
  std::vector<std::vector<TaskSpan>> workerSpans() const;
  const Profile& profile() const { return profile_; }
  const LiveCounts& liveCounts() const { return live_; }

  std::vector<BoundOutput>& boundOutputs() { return bound_; }
  uint64_t launchCount() const { return launches_; }
  uint64_t instructionCount() const { return instructions_; }
  void beginDevices();                        // their peaks are those from now on
  MemoryStatistics deviceStatistics() const;  // of all but the host
  uint64_t graphLaunches() const;             // of the last run

 private:
  friend struct FlowCalls;
  friend struct FlowShortcuts;
  enum class Outcome { proceed, done, fault, switchLoop };
  enum TrapBit : uint32_t { kCancel = 1, kStep = 2, kBreakpoints = 4, kProfile = 8 };

  struct Frame {
    uint32_t function;
    const int32_t* resume;  // the caller's next instruction
    const int32_t*
        results;  // the caller's list of result registers: length, then registers; null for the outermost
    size_t scalarBase, objectBase;
    uint64_t enterNs;
    FrameView* views = nullptr;  // of native code; taken when the first is made
    FrameViews::Mark viewsBefore;
  };
  struct WordList {
    const int32_t* items;
    uint32_t count;
  };

  template <bool kTraced>
  Outcome loop();
  Outcome runNative();
  bool cancelled();                                                     // with a fault
  void putScalars(const int32_t* at, std::span<const int64_t> values);  // into the registers that it reads
  Outcome trace();                        // before an instruction, in the traced loop
  uint64_t beginNote(const int32_t* at);  // when
  void note(const int32_t* at, uint64_t beginNs);
  void noteTables(const int32_t* at);
  void noteOperands(const int32_t* at, bool isBuiltin);

  // Calls. Arguments are gathered in `gathered_` (shared counts), which these take over.
  bool pushFrame(uint32_t function, const int32_t* resume, const int32_t* results);
  bool enter(uint32_t function);    // registers of the top frame from gathered_
  bool popFrame(WordList results);  // true: the outermost function has returned
  void gather(WordList registers);
  void dropGathered();
  void releaseRegisters(const Frame& frame);
  bool growStack(size_t scalars, size_t objects);
  void unwind();
  // `resume`: where the caller goes on; `results`: as in Frame.
  bool invoke(uint32_t function, WordList arguments, const int32_t* resume, const int32_t* results);
  bool tailInvoke(uint32_t function, WordList arguments);
  bool invokeClosure(int32_t source, WordList arguments, const int32_t* resume, const int32_t* results);

  // What instructions do, in terms of their operands: object registers by number, the rest by value. False
  // after a fault.
  bool dim(int32_t source, int32_t axis, int64_t& value);
  bool item(int32_t source, int64_t index, int64_t& value);
  bool fromScalars(int32_t target, DataType dtype, std::span<const int64_t> values, uint32_t rank);
  bool checkTensor(int32_t source, DataType dtype, int32_t rank, int32_t message);
  enum class CheckKind : uint8_t { equality, lessEqual, truth };
  bool checkFails(CheckKind kind, int64_t a, int64_t b, int32_t message);  // always false
  bool allocateStorage(int32_t target, int64_t size, int32_t device);
  bool allocateTensor(int32_t target, int32_t from, int64_t offset, DataType dtype,
                      std::span<const int64_t> shape, FrameView* view = nullptr);
  bool makeTensor(int32_t target, DataType dtype, int32_t device, std::span<const int64_t> shape);
  bool reuseTensor(int32_t target, int32_t source, DataType dtype, int32_t device,
                   std::span<const int64_t> shape);
  bool reshape(int32_t target, int32_t from, std::span<const int64_t> shape, FrameView* view = nullptr);
  bool stridedView(int32_t target, int32_t from, int64_t offset, std::span<const int64_t> shape,
                   std::span<const int64_t> strides);
  bool setStridedView(int32_t target, const Tensor* source, std::span<const int64_t> shape,
                      std::span<const int64_t> strides, int64_t count, std::byte* first);
  bool deviceCopy(int32_t target, int32_t from, int32_t fromDevice, int32_t toDevice);
  void loadConstant(int32_t target, uint32_t constant);
  void loadGlobal(int32_t target, uint32_t global);
  bool makeTuple(int32_t target, int32_t tag, WordList fields);
  bool getField(int32_t target, int32_t source, int32_t index);
  bool getTag(int32_t source, int64_t& value);
  bool makeList(int32_t target, WordList items);
  bool listLength(int32_t source, int64_t& value);
  bool listAt(int32_t target, int32_t source, int64_t given);
  bool listInsert(int32_t target, int32_t source, int32_t item, int64_t index);
  bool listErase(int32_t target, int32_t source, int64_t given);
  // With a view, tensors are made in the frame. The storage is not counted: native code makes a view only
  // while a register holds it.
  static Tensor* makeView(FrameView* view, MemoryPool* pool, DataType dtype, std::span<const int64_t> shape,
                          int64_t count, Storage* storage, void* data) {
    auto* tensor = new (view) Tensor(pool, dtype, static_cast<uint8_t>(shape.size()));
    tensor->references.store(kImmortal, std::memory_order_relaxed);
    tensor->elementCount = count;
    tensor->storage = storage;
    tensor->data = tensor->first = static_cast<std::byte*>(data);
    int64_t* sizes = tensor->shape();
    for (size_t axis = 0; axis < shape.size(); ++axis) sizes[axis] = shape[axis];
    return tensor;
  }
  bool viewScalar(int32_t target, DataType dtype, int64_t value, FrameView* view);
  FrameView* viewAt(int32_t place);
  bool makeClosure(int32_t target, uint32_t function, WordList captures);
  bool launch(uint32_t kernelIndex, int64_t extent, int64_t steps, const int32_t* buffers,
              const int64_t* scalars);
  // Calls that wait for others (stage.h). joinStage(): they run, if any do.
  void branch(const int32_t* at, int32_t branches, const stage::Call& call);
  bool joinStage() { return !stage_.isOpen() || runStage(); }
  bool runStage();
  bool addToStage(const BuiltinRow& builtin, const BuiltinCall& call);
  std::span<Object* const> objectsAt(std::span<const int32_t> registers);  // until the next call
  bool callBuiltin(uint32_t index, bool into, WordList results, WordList arguments,
                   std::span<const int64_t> scalars, WordList numbers);

  // Decoding: a list is its length, then its words.
  static WordList wordsAt(const int32_t* list) { return {list + 1, static_cast<uint32_t>(list[0])}; }
  static WordList wordsAfter(WordList list) { return wordsAt(list.items + list.count); }
  std::span<const int64_t> scalarsAt(const int32_t* list);
  std::span<const int64_t> shapeAt(const int32_t* list);

  Tensor* tensorAt(int32_t index);                              // null after a fault
  bool isDense(const Tensor* tensor, std::string_view reader);  // false after a fault
  void noteOrigin(Tensor* tensor) const;
  void noteOriginOf(Object* result) const;
  Tensor* inBoundMemory(DataType dtype, std::span<const int64_t> shape, int64_t count, dyn_status& why);
  List* listObject(int32_t index);
  bool elementCount(std::span<const int64_t> shape, int64_t& count);
  void setObject(int32_t index, Object* owned) {
    Object* old = V_[index];
    V_[index] = owned;
    release(old);
  }
  // All return false.
  // `user`: instead of the place that the program gives the instruction.
  bool fault(dyn_status code, std::string message, const std::string& user = {});
  bool kernelFault(const DynDeviceText& text);
  bool memoryFault(dyn_status why, uint64_t sizeBytes) noexcept;
  bool memoryFaultText(dyn_status why, uint64_t sizeBytes);
  bool dryRunEnds(const std::string& what);
  void dryRunKernel(uint32_t index, int64_t units, int64_t steps, const int32_t* buffers,
                    const int64_t* scalars);
  void dryRunBuiltin(const BuiltinRow& row, const BuiltinCall& call);
  bool runBeside(const BuiltinRow& row, const BuiltinCall& call, std::vector<KnownElements::Bytes>& made);
  bool scalarFault(std::string_view instruction, std::span<const int64_t> values);
  Outcome scalarFault(const int32_t* at);

  // Devices (interpreter_devices.cpp).
  // Where what the program has there is: devices that the module does without are the host.
  int32_t actual(int32_t device) const { return module_.device().onHost ? kHostDevice : device; }
  DeviceSession* deviceSession(int32_t device);
  Storage* newStorageOn(int32_t device, uint64_t sizeBytes, dyn_status& why);
  Tensor* newTensorOn(int32_t device, DataType dtype, std::span<const int64_t> shape, dyn_status& why);
  Status copyBetween(int32_t from, const void* source, int32_t to, void* target, uint64_t sizeBytes);
  // On the host, without its tasks and scratch memory.
  bool runKernel(size_t index, int64_t units, int64_t steps, int32_t device, const int64_t* scalars);
  bool runOn(int32_t device, size_t index, DynLaunch& launch);
  // `all`: everything was waited for; else what was launched goes on being counted.
  Status afterWait(const DeviceSession& session, Status status, bool all);
  // What a host operation reads is there. False after a fault.
  bool arrived(const Object* object) { return !isArriving(object) || settle(); }
  static bool isArriving(const Object* object);  // lists: any item
  bool settle();
  Status pull(const Tensor* source, Tensor* target, int32_t device);
  static std::string checkText(const Module::Check& check, int32_t fault);
  void finishDevices();
  static bool isOnHost(const Object* object);  // lists: all items

  uint32_t positionOf(const int32_t* at) const { return static_cast<uint32_t>(at - code_); }
  ProfileOperands operandsOf(const int32_t* at, uint64_t& bytes) const;

  const Module& module_;
  const Program& program_;
  InterpreterOptions options_;
  KnownElements known_, nextKnown_;  // of a dry run; nextKnown_: of the arguments of the next one
  std::string version_;              // of the last builtin that was called while a profile is recorded
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
  std::vector<uint64_t> bufferBytes_;
  std::vector<int64_t> scalars_;
  std::vector<Object*> builtinArguments_, builtinResults_, stageObjects_;
  std::vector<BoundOutput> bound_;
  bool bindActive_ = false;

  Status status_;
  std::atomic<uint32_t> trapBits_{0};
  BuiltinHost host_;
  Stage stage_;
  std::vector<std::unique_ptr<DeviceSession>> devices_;      // by number; null: not named yet
  std::vector<std::pair<uint32_t, uint32_t>> launchPlaces_;  // on a device, since it was waited for
  FlowHead flow_;
  FrameViews views_;
  dyn_trap_callback trapCallback_ = nullptr;
  void* trapUser_ = nullptr;
  std::vector<std::pair<uint32_t, uint32_t>> breakpoints_;  // sorted
  Profile profile_;
  LiveCounts live_;
  std::string profileShapes_;
  uint64_t launches_ = 0, instructions_ = 0, graphLaunchesBefore_ = 0;
};

}  // namespace dyn::vm
