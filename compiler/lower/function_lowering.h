// FunctionLowering: one function of the placed graph IR to bytecode.
//
// Bodies of if, loop and match are lowered in place, as jumps, so they share the function's registers.
// Nesting is worked off with an explicit stack of tasks, never by recursion. Dims live in scalar registers
// (DimEmitter); tensors whose contents are known (constants, shapes) are made only where something reads
// their bytes.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/op_def.h"
#include "compiler/kernel/group_kernel.h"
#include "compiler/lower/dim_emitter.h"
#include "compiler/lower/program_builder.h"
#include "vm/shared/dyn_epilogue_form.h"

namespace dyn {

struct SelectionStep;

struct ByteRescale;

class FunctionLowering {
 public:
  FunctionLowering(const Module& module, ProgramBuilder& program)
      : module_(module), program_(program), dims_(code_), facts_(module.context->dims()) {}

  enum class Entry : uint8_t { main, internal };
  // Fills the program's function of that name.
  Status lower(const Function& function, Entry entry);

  // --- used by the shape program and by the parts that lower one kind of operation
  vm::CodeWriter& code() { return code_; }
  DimEmitter& dims() { return dims_; }
  // What holds where the code stands. A check says nothing about what runs before it: there its sizes may be
  // any, and code that relied on it would reach beyond a tensor before the check could fail.
  DimSolver& facts() { return facts_; }
  const Module& module() const { return module_; }
  ProgramBuilder& program() { return program_; }
  Type typeOf(ValueId value) const { return types_.at(value); }
  // The object register of a value; makes the tensor first when only its contents are known.
  Result<int32_t> object(ValueId value);
  // A scalar register with element `index` of an integer or bool value: from its contents when known, else
  // read from memory.
  Result<int32_t> element(ValueId value, int64_t index);
  // Contents of a value when known (constants, dims_value).
  std::optional<Contents> contents(ValueId value) const;
  const HostTensor* constant(ValueId value) const;

 private:
  using Task = std::function<Status()>;
  // What is known of a value besides its register.
  struct Lazy {
    const Op* op = nullptr;     // constant or dims_value
    int32_t scalar = -1;        // a rank-0 i64 that lives in a scalar register (loop counters)
    ValueId copyOf = kNoValue;  // of contents that are known: on the device
  };
  // Where the operations of a function or region are, and whether its end is the function's own end.
  struct Body {
    const Function* function = nullptr;
    size_t next = 0;
    bool tail = false;
  };

  Status learnFacts(const Function& function);
  Status bindParameters(const Function& function, Entry entry);
  void checkFact(const Fact& fact, int32_t value);
  Status checkStated(const std::unordered_set<SymbolId>& symbols);
  // Binds the still unbound symbols of a type to the dims of the tensor in `object`.
  Status bindFromObject(Type type, int32_t object);
  // Binds the unbound symbols of an operation's results by running its shape rule over its operands' values.
  Status bindFromRule(const Op& op, const std::unordered_map<ValueId, ValueId>& outer);
  Status ensureBound(const Op& op);
  const Op* writerOf(const Body& body, ValueId destination) const;

  Status run(Body body);
  Status lowerOp(const Op& op, Body& body);
  // How the host program does an operation of this row; null: it does not. The table is in host_lowering.cpp.
  using HostLowering = Status (FunctionLowering::*)(const Op& op, Body& body);
  static HostLowering hostLoweringOf(const OpDef& def);
  Status lowerPacking(const Op& op);
  Status lowerAlloc(const Op& op, Body& body);
  Status lowerArena(const Op& op, Body& body);
  Status lowerKill(const Op& op, Body& body);
  Status lowerInto(const Op& op, Body& body);
  Status lowerView(const Op& op, Body& body);
  Status lowerStrided(const Op& op, Body& body);
  // --- values of the target's device (device_lowering.cpp)
  Status lowerDeviceCopy(const Op& op, Body& body);
  static bool isOnDevice(const Op& op);
  // The object of a value in the memory of one side, made there when it lies on the other.
  Result<int32_t> objectOn(bool device, ValueId value);
  // --- results as long as values decide (selection_lowering.cpp)
  Status lowerSelection(const Op& op);
  // `memories`: the objects of SelectionKernels::memories.
  Status launchStep(SelectionStep step, const Op& op, std::span<const int32_t> memories,
                    std::span<const int32_t> results);
  Status lowerKernel(const Op& into, const Function& kernelBody, std::span<const ValueId> inputs,
                     std::span<const ValueId> outputs);
  Status lowerContraction(const Op& into);
  Status lowerAttention(const Op& into);
  // A builtin counts on the units; a device has forms of its own, and its operands in its memory.
  enum class KernelUse : uint8_t { launched, byBuiltin, onDevice };
  // Builds the kernel of `body` and launches it. `outer` maps its parameters to values here; `given` values
  // lie in the first destination.
  Status launchGroup(const Function& body, const std::unordered_map<ValueId, ValueId>& outer,
                     std::span<const ValueId> given, std::span<const int32_t> destinations,
                     const std::string& description, KernelUse use = KernelUse::launched);
  // A kernel with the registers it is called with: launched by itself, or handed to a builtin as its
  // epilogue.
  struct KernelCall {
    int32_t kernel = 0;
    std::vector<int32_t> buffers, scalars;
    EpilogueForm form;                    // of an epilogue
    int32_t checks = -1;                  // PlaceRow::checks
    int32_t units = 0, steps = 0;         // for a launch
    std::vector<KernelVersion> versions;  // of a kernel that is launched, with the same buffers
    struct Split {
      SplitKernels kernels;
      int32_t parts = 0;  // the object that holds them
      std::vector<int32_t> partsBuffers, wholeBuffers;
    };
    std::optional<Split> split;  // goes before the versions
  };
  // The first version whose guard holds, else the kernel itself.
  Status launch(KernelCall call);
  // The registers of one launch: what its guards compare, and what the kernel is called with.
  struct Launch {
    std::vector<std::pair<int32_t, int32_t>> compared;
    int32_t units = 0, steps = 0;
    std::vector<int32_t> scalars;
  };
  Result<Launch> prepare(const loop::Kernel& kernel, const std::vector<VersionGuard>& guards);
  void jumpUnless(const std::vector<VersionGuard>& guards, const Launch& ready, vm::Label next);
  Result<int32_t> unitsOf(const loop::Kernel& kernel);
  Result<KernelCall> makeKernel(const Function& body, const std::unordered_map<ValueId, ValueId>& outer,
                                std::span<const ValueId> given, std::span<const int32_t> destinations,
                                const std::string& description, const std::vector<size_t>& results,
                                std::optional<std::pair<Dim, Dim>> columns, KernelUse use);
  Status lowerBuiltin(const Op& op, std::span<const ValueId> operands, std::span<const int32_t> destinations,
                      bool into, const KernelCall* epilogue = nullptr);
  Status lowerRescaled(const Op& contraction, const ByteRescale& rescale, const Function& body,
                       const std::unordered_map<ValueId, ValueId>& outer, std::span<const ValueId> operands,
                       std::span<const int32_t> destinations);
  Status viewVectorsAsMatrices(const Op& op, std::span<const Type> types, std::vector<int32_t>& arguments,
                               std::vector<int32_t>& results, std::vector<int32_t>& views);
  Status lowerCheck(const Op& op, Body& body);
  Status lowerBindDims(const Op& op, Body& body);
  Status lowerShape(const Op& op, Body& body);
  Status lowerVariant(const Op& op, Body& body);
  Status lowerIf(const Op& op, Body& body);
  Status lowerLoop(const Op& op, Body& body);
  Status lowerMatch(const Op& op, Body& body);
  Status lowerCall(const Op& op, Body& body);
  Status lowerClosure(const Op& op, Body& body);
  Status makeTuple(const Op& op, int32_t tag);
  Status lowerTuple(const Op& op, Body& body);
  Status lowerGet(const Op& op, Body& body);
  Status lowerConstruct(const Op& op, Body& body);
  Status lowerOptional(const Op& op, Body& body);
  Status lowerHas(const Op& op, Body& body);
  Status lowerList(const Op& op, Body& body);
  Status lowerListLength(const Op& op, Body& body);
  Status lowerListAt(const Op& op, Body& body);
  Status lowerListInsert(const Op& op, Body& body);
  int32_t defineChangedList(const Op& op, const Body& body, int32_t& from);
  // Pushes the tasks of one region: its parameters stand for `arguments`; `finish` runs after its last
  // operation.
  void pushRegion(const Function& region, bool tail, Task finish);
  // Dims bound and facts learnt in a body are forgotten behind it.
  void openScope();
  void closeScope();
  bool isTail(const Op& op, const Body& body) const;
  bool isHandedOver(const Op& loop, ValueId operand, const Body& body) const;
  Status moveResults(const Function& region, std::span<const int32_t> to);
  Status bindCapture(const Parameter& parameter, ValueId captured);

  int32_t newObject();
  int32_t define(ValueId value);
  void alias(ValueId value, int32_t object);
  void setPlace(const SourceLocation& place);
  Result<std::vector<int32_t>> shapeRegisters(const Shape& shape);
  Result<std::vector<int32_t>> objectsOf(std::span<const ValueId> values);

  const Module& module_;
  ProgramBuilder& program_;
  vm::CodeWriter code_;
  DimEmitter dims_;
  DimSolver facts_;
  std::vector<size_t> factMarks_;  // of the open scopes
  std::vector<Task> tasks_;        // a stack
  int32_t nextObject_ = 0;
  std::vector<int32_t> freeObjects_;
  std::unordered_map<ValueId, int32_t> objects_;
  std::vector<RegisterValue> registerValues_;
  std::unordered_map<ValueId, Lazy> lazy_;
  std::unordered_map<ValueId, int32_t>
      materialised_;  // constants made into objects outside all branches and loops
  std::unordered_map<ValueId, Type> types_;
  std::unordered_set<ValueId> onDevice_;  // values whose bytes lie there
  std::unordered_set<ValueId> carried_;   // of them: what a loop carries, in a register of its own
  std::unordered_set<ValueId> borrowed_;  // parameters of regions: registers of the function around
  bool ended_ = false;                    // the code position cannot be reached (after a tail call)
};

}  // namespace dyn
