// FunctionLowering: one function of the placed graph IR to bytecode. It is the context of the functions that
// lower one operator each (host_lowering.h).
//
// Bodies of if, loop and match are lowered in place, as jumps, so they share the function's registers.
// Nesting is worked off with an explicit stack of tasks, never by recursion. Dims live in scalar registers
// (DimEmitter); tensors whose contents are known (constants, shapes) are made only where something reads
// their bytes.
//
//   Status lowerHas(FunctionLowering& c, const Op& op, Body&) {
//     DYN_TRY(int32_t from, c.object(op.operands[0]));               // the register of the operand
//     const int32_t tag = c.dims().newScalar();
//     c.emit(Opcode::getTag, tag, from);
//     c.emit(Opcode::fromScalar, c.define(op.results[0].id), ...);   // a register for the result
//     return {};
//   }
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/ir/op_def.h"
#include "compiler/lower/dim_emitter.h"
#include "compiler/lower/program_builder.h"

namespace dyn {

// Where the operations of a function or region are, and whether its end is the function's own end.
struct LoweredBody {
  const Function* function = nullptr;
  size_t next = 0;  // behind the operation that is lowered
  bool tail = false;
};

class FunctionLowering {
 public:
  using Task = std::function<Status()>;
  enum class Entry : uint8_t { main, internal };

  FunctionLowering(const Module& module, ProgramBuilder& program)
      : module_(module), program_(program), dims_(code_), facts_(module.context->dims()) {}

  // Fills the program's function of that name.
  Status lower(const Function& function, Entry entry);

  const Module& module() const { return module_; }
  IrContext& ir() const { return *module_.context; }
  ProgramBuilder& program() { return program_; }
  vm::CodeWriter& code() { return code_; }
  template <typename... Arguments>
  void emit(vm::Opcode opcode, Arguments&&... arguments) {
    code_.emit(opcode, std::forward<Arguments>(arguments)...);
  }

  // --- dims
  DimEmitter& dims() { return dims_; }
  // What holds where the code stands. A check says nothing about what runs before it: there its sizes may be
  // any, and code that relied on it would reach beyond a tensor before the check could fail.
  DimSolver& facts() { return facts_; }
  Result<std::vector<int32_t>> shapeRegisters(const Shape& shape);
  // Binds the still unbound symbols of a type to the dims of the tensor in `object`.
  Status bindFromObject(Type type, int32_t object);

  // --- registers of objects
  int32_t newObject();
  // Lives as long as the function: never among those that are used again.
  int32_t newLastingObject() { return nextObject_++; }
  // Empties the register; the next new object may have it.
  void kill(int32_t object);
  // A new register for the value.
  int32_t define(ValueId value);
  // The value lies in this register from here on.
  void alias(ValueId value, int32_t object);
  std::optional<int32_t> registerOf(ValueId value) const;
  // The end of a value: kills its register, if it has one of its own.
  void killOwn(ValueId value);
  // The value has no register any more: another value took it over.
  void handOver(ValueId value) { objects_.erase(value); }

  // --- values
  Type typeOf(ValueId value) const { return types_.at(value); }
  void setType(ValueId value, Type type) { types_[value] = type; }
  void setTypesOfResults(const Op& op);
  // The object register of a value; makes the tensor first when only its contents are known.
  Result<int32_t> object(ValueId value);
  Result<std::vector<int32_t>> objectsOf(std::span<const ValueId> values);
  // The object of a value in the memory of one side, made there when it lies on the other.
  Result<int32_t> objectOn(bool device, ValueId value);
  // Makes the object of a value here, if only its contents are known, for all code from here on.
  Status makeOnce(ValueId value);
  // A scalar register with element `index` of an integer or bool value: from its contents when known, else
  // read from memory.
  Result<int32_t> element(ValueId value, int64_t index);
  // Contents of a value when known (constants, dims_value).
  std::optional<Contents> contents(ValueId value) const;
  const HostTensor* constant(ValueId value) const;

  // What is known of a value that has no register.
  struct Lazy {
    const Op* op = nullptr;     // constant or dims_value
    int32_t scalar = -1;        // a rank-0 i64 that lives in a scalar register (loop counters)
    ValueId copyOf = kNoValue;  // of contents that are known: on the device
  };
  const Lazy* lazy(ValueId value) const;  // null: it has a register
  void setLazy(ValueId value, Lazy known) { lazy_[value] = known; }
  // Values whose bytes lie in the memory of the target's device.
  bool isOnDevice(ValueId value) const { return onDevice_.count(value) != 0; }
  void setOnDevice(ValueId value) { onDevice_.insert(value); }
  // Parameters of regions: registers of the function around.
  bool isBorrowed(ValueId value) const { return borrowed_.count(value) != 0; }
  void borrow(ValueId value) { borrowed_.insert(value); }
  // Of them: what a loop carries, in a register of its own.
  bool isCarried(ValueId value) const { return carried_.count(value) != 0; }
  void setCarried(ValueId value) { carried_.insert(value); }

  // --- regions
  // The task that was pushed last runs first; those of an operation run before the rest of its body.
  void push(Task task) { tasks_.push_back(std::move(task)); }
  // Pushes the tasks of one region, up to `finish`, which runs after its last operation. The caller opens the
  // region's scope and binds its parameters.
  void pushRegion(const Function& region, bool tail, Task finish);
  // Begins a region: dims bound and facts learnt in it are forgotten behind it.
  void openScope();
  // A region's parameter stands for a value of the function around: the same contents, or the same register.
  Status bindCapture(const Parameter& parameter, ValueId captured);
  // The code position cannot be reached (after a tail call).
  bool ended() const { return ended_; }
  void setEnded(bool ended) { ended_ = ended; }

 private:
  Status run(LoweredBody body);
  Status lowerOp(const Op& op, LoweredBody& body);
  void closeScope();
  void setPlace(const SourceLocation& place);
  Result<int32_t> makeContents(ValueId value, const Op& op);
  Status write(const Function& function);

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
  // Constants made into objects outside all branches and loops.
  std::unordered_map<ValueId, int32_t> materialised_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_set<ValueId> onDevice_, borrowed_, carried_;
  bool ended_ = false;
};

}  // namespace dyn
