#include "compiler/codegen/flow/flow_emitter.h"

#include <cstddef>
#include <set>
#include <string_view>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "vm/include/abi/dyn_flow.h"
#include "vm/isa/instruction_reader.h"

namespace dyn {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using vm::DecodedOperand;
using vm::InstructionReader;
using vm::Opcode;
using vm::OperandKind;

constexpr std::string_view kFlowNames[] = {
#define DYN_FLOW(name, parameters, meaning) #name,
#include "vm/include/abi/dyn_flow.def"
#undef DYN_FLOW
};

unsigned tableIndex(std::string_view name) {
  unsigned index = 0;
  while (kFlowNames[index] != name) ++index;  // every name here is one of the rows: flow.cpp's asserts
  return index;
}

// Those of DynFlow, in order.
enum class FlowField : uint8_t {
  table,
  scalars,
  kernels,
  objects,
  constants,
  globals,
  trap,
  directSteps,
  launches,
  position
};
static_assert(offsetof(DynFlow, trap) == sizeof(void*) * static_cast<size_t>(FlowField::trap) &&
              offsetof(DynFlow, position) == offsetof(DynFlow, trap) + sizeof(void*) + 2 * sizeof(int64_t));

// What the rows of dyn_flow.def say of a function's parameters, from an instruction's operands.
std::vector<llvm::Type*> parameterTypes(llvm::IRBuilder<>& b, Opcode opcode) {
  const vm::InstructionRow& instruction = vm::row(opcode);
  std::vector<llvm::Type*> types = {b.getPtrTy()};
  for (uint32_t i = 0; i < instruction.operandCount; ++i) {
    const auto [kind, list] = instruction.operands[i];
    const bool scalar = kind == OperandKind::scalarRead || kind == OperandKind::immediate;
    if (list || kind == OperandKind::scalarWrite)
      types.push_back(b.getPtrTy());
    else
      types.push_back(scalar ? b.getInt64Ty() : b.getInt32Ty());
    if (list && scalar) types.push_back(b.getInt32Ty());
  }
  if (opcode == Opcode::invoke || opcode == Opcode::invokeClosure) types.push_back(b.getInt32Ty());
  return types;
}

class PieceEmitter {
 public:
  PieceEmitter(KernelModule& module, const vm::Program& program, const FlowFunction& graph,
               const FlowObjects& objects, const FlowPiece& piece, FlowCalls calls)
      : module_(module),
        code_(program.functions[piece.function]),
        graph_(graph),
        objects_(objects),
        piece_(piece),
        calls_(calls),
        b_(module.contents().context()) {}

  void emit() {
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt32Ty()}, false);
    function_ = addFunction(module_, flowPieceSymbol(piece_), type);
    flow_ = function_->getArg(0);
    flow_->setName("flow");
    entry_ = BasicBlock::Create(b_.getContext(), "entry", function_);
    b_.SetInsertPoint(entry_);
    out_ = b_.CreateAlloca(b_.getInt64Ty(), nullptr, "out");
    emitFaults();
    b_.SetInsertPoint(entry_);
    emitEntries();
    emitBody();
    placeValues();
  }

 private:
  // --- frame

  // Where the target lays the field: its pointers may be of another size than this machine's.
  Value* fieldAt(FlowField field) {
    auto* pointer = b_.getPtrTy();
    auto* wide = b_.getInt64Ty();
    auto* type = llvm::StructType::get(pointer, pointer, pointer, pointer, pointer, pointer, pointer, wide,
                                       wide, b_.getInt32Ty());
    return b_.CreateStructGEP(type, flow_, static_cast<unsigned>(field));
  }
  Value* field(FlowField field, const char* name) {
    llvm::LoadInst* load = b_.CreateLoad(b_.getPtrTy(), fieldAt(field), name);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return load;
  }

  llvm::AllocaInst* scalarSlot(uint32_t scalar) {
    llvm::AllocaInst*& slot = scalars_[scalar];
    if (!slot) {
      llvm::IRBuilder<> entry(entry_, entry_->begin());
      slot = entry.CreateAlloca(b_.getInt64Ty(), nullptr, "r" + std::to_string(scalar));
    }
    return slot;
  }
  Value* scalar(int32_t index) {
    return b_.CreateLoad(b_.getInt64Ty(), scalarSlot(static_cast<uint32_t>(index)));
  }
  void setScalar(int32_t index, Value* value) {
    b_.CreateStore(value, scalarSlot(static_cast<uint32_t>(index)));
  }
  Value* waitingScalar(uint32_t index) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), waiting_, index);
  }
  void saveScalars(uint32_t position) {
    for (uint32_t index : graph_.liveScalars(position))
      b_.CreateStore(scalar(static_cast<int32_t>(index)), waitingScalar(index));
  }

  void notePosition(uint32_t position) {
    b_.CreateStore(b_.getInt32(position), fieldAt(FlowField::position));
  }

  // The piece is entered at one of a few positions, each with the scalars that live there.
  void emitEntries() {
    waiting_ = field(FlowField::scalars, "waiting");
    BasicBlock* unknown = BasicBlock::Create(b_.getContext(), "unknown", function_);
    llvm::SwitchInst* where = b_.CreateSwitch(function_->getArg(1), unknown);
    b_.SetInsertPoint(unknown);
    b_.CreateUnreachable();
    for (uint32_t position : piece_.entries) {
      BasicBlock* enter = BasicBlock::Create(b_.getContext(), "enter" + std::to_string(position), function_);
      where->addCase(b_.getInt32(position), enter);
      b_.SetInsertPoint(enter);
      for (uint32_t index : graph_.liveScalars(position)) {
        Value* value = b_.getInt64(0);
        if (position != 0) value = b_.CreateLoad(b_.getInt64Ty(), waitingScalar(index));
        setScalar(static_cast<int32_t>(index), value);
      }
      b_.CreateBr(blockAt(position));
    }
  }

  BasicBlock* blockAt(uint32_t position) {
    BasicBlock*& block = blocks_[position];
    if (block) return block;
    block = BasicBlock::Create(b_.getContext(), "at" + std::to_string(position), function_);
    if (position >= piece_.begin && position < piece_.end) return block;
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(block);
    saveScalars(position);
    notePosition(position);
    b_.CreateRet(b_.getInt32(DYN_FLOW_MOVED));
    return block;
  }

  // --- faults

  // One block for all arithmetic: what is rare shall be short.
  void emitFaults() {
    fault_ = BasicBlock::Create(b_.getContext(), "fault", function_);
    b_.SetInsertPoint(fault_);
    b_.CreateRet(b_.getInt32(DYN_FLOW_FAULT));
    arithmetic_ = BasicBlock::Create(b_.getContext(), "arithmetic", function_);
    b_.SetInsertPoint(arithmetic_);
    faultPosition_ = b_.CreatePHI(b_.getInt32Ty(), 8);
    faultOpcode_ = b_.CreatePHI(b_.getInt32Ty(), 8);
    faultA_ = b_.CreatePHI(b_.getInt64Ty(), 8);
    faultB_ = b_.CreatePHI(b_.getInt64Ty(), 8);
    b_.CreateStore(faultPosition_, fieldAt(FlowField::position));
    auto* type = llvm::FunctionType::get(
        b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
    b_.CreateCall(type, callee("arithmetic", type), {flow_, faultOpcode_, faultA_, faultB_});
    b_.CreateBr(fault_);
  }

  // `bad`: this instruction faults with these operands.
  void faultIf(Value* bad, Value* a, Value* b) {
    BasicBlock* next = BasicBlock::Create(b_.getContext(), "", function_);
    BasicBlock* here = b_.GetInsertBlock();
    b_.CreateCondBr(bad, arithmetic_, next);
    faultPosition_->addIncoming(b_.getInt32(position_), here);
    faultOpcode_->addIncoming(b_.getInt32(static_cast<uint32_t>(opcode_)), here);
    faultA_->addIncoming(a, here);
    faultB_->addIncoming(b, here);
    b_.SetInsertPoint(next);
  }

  // --- calls of the runtime

  Value* callee(std::string_view name, llvm::FunctionType* type) {
    if (calls_ == FlowCalls::symbols)
      return module_.contents()
          .module->getOrInsertFunction("dyn_flow_" + std::string(name), type)
          .getCallee();
    Value* table = field(FlowField::table, "table");
    Value* at = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), table, tableIndex(name));
    llvm::LoadInst* load = b_.CreateLoad(b_.getPtrTy(), at);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return load;
  }

  // A list as isa.def encodes it, among the module's constants.
  Value* constantList(const DecodedOperand& operand) {
    std::vector<uint32_t> words = {operand.count};
    for (uint32_t i = 0; i < operand.count; ++i) words.push_back(static_cast<uint32_t>(operand.words[i]));
    llvm::Constant* data = llvm::ConstantDataArray::get(b_.getContext(), words);
    auto* list = new llvm::GlobalVariable(*module_.contents().module, data->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, data);
    list->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    list->setAlignment(llvm::Align(4));
    return list;
  }

  // Where lists of scalars are put; as long as the longest of the piece.
  Value* scalarList(const DecodedOperand& operand) {
    if (operand.count == 0) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    if (!valuesPlace_)
      valuesPlace_ =
          llvm::IRBuilder<>(entry_, entry_->begin()).CreateAlloca(b_.getInt64Ty(), b_.getInt64(1), "values");
    // An instruction's lists lie one behind the other.
    const uint32_t begin = std::exchange(valuesUsed_, valuesUsed_ + operand.count);
    valuesCount_ = std::max(valuesCount_, valuesUsed_);
    for (uint32_t i = 0; i < operand.count; ++i)
      b_.CreateStore(scalar(operand.words[i]),
                     b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), valuesPlace_, begin + i));
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), valuesPlace_, begin);
  }
  void placeValues() {
    if (valuesPlace_) valuesPlace_->setOperand(0, b_.getInt64(valuesCount_));
  }

  // The runtime does this instruction; its result.
  Value* callRuntime(const InstructionReader& reader, int32_t resume = -1, const char* view = nullptr,
                     int32_t place = 0) {
    valuesUsed_ = 0;
    const vm::InstructionRow& instruction = vm::row(opcode_);
    std::vector<llvm::Type*> types = parameterTypes(b_, opcode_);
    if (view) types.insert(types.begin() + 2, b_.getInt32Ty());
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
    std::vector<Value*> arguments = {flow_};
    for (uint32_t i = 0; i < instruction.operandCount; ++i) {
      const auto [kind, list] = instruction.operands[i];
      const DecodedOperand& operand = reader.operand(i);
      if (kind == OperandKind::scalarWrite) {
        arguments.push_back(out_);
      } else if (list && kind == OperandKind::scalarRead) {
        arguments.push_back(scalarList(operand));
        arguments.push_back(b_.getInt32(operand.count));
      } else if (list) {
        arguments.push_back(constantList(operand));
      } else if (kind == OperandKind::scalarRead) {
        arguments.push_back(scalar(operand.words[0]));
      } else {
        arguments.push_back(b_.getInt32(static_cast<uint32_t>(operand.words[0])));
      }
    }
    if (view) arguments.insert(arguments.begin() + 2, b_.getInt32(static_cast<uint32_t>(place)));
    if (resume >= 0) arguments.push_back(b_.getInt32(static_cast<uint32_t>(resume)));
    notePosition(position_);
    return b_.CreateCall(type, callee(view ? view : instruction.text, type), arguments);
  }

  void emitOperation(const InstructionReader& reader) {
    Value* well = callRuntime(reader);
    const vm::InstructionRow& instruction = vm::row(opcode_);
    BasicBlock* next = BasicBlock::Create(b_.getContext(), "", function_);
    b_.CreateCondBr(b_.CreateICmpNE(well, b_.getInt32(0)), next, fault_);
    b_.SetInsertPoint(next);
    for (uint32_t i = 0; i < instruction.operandCount; ++i)
      if (instruction.operands[i].kind == OperandKind::scalarWrite)
        setScalar(reader.operand(i).words[0], b_.CreateLoad(b_.getInt64Ty(), out_));
  }

  // The runtime is called only to fault.
  void emitCheck(const InstructionReader& reader, Value* holds) {
    BasicBlock* fails = BasicBlock::Create(b_.getContext(), "fails", function_);
    BasicBlock* next = BasicBlock::Create(b_.getContext(), "", function_);
    b_.CreateCondBr(holds, next, fails);
    b_.SetInsertPoint(fails);
    callRuntime(reader);
    b_.CreateBr(fault_);
    b_.SetInsertPoint(next);
  }

  // --- scalars

  Value* checked(llvm::Intrinsic::ID operation, Value* a, Value* b) {
    Value* both = b_.CreateBinaryIntrinsic(operation, a, b);
    faultIf(b_.CreateExtractValue(both, 1), a, b);
    return b_.CreateExtractValue(both, 0);
  }

  // The rounding of vm/base/checked.h.
  Value* divided(Value* a, Value* b) {
    Value* zero = b_.getInt64(0);
    Value* least = b_.getInt64(static_cast<uint64_t>(INT64_MIN));
    Value* overflows =
        b_.CreateAnd(b_.CreateICmpEQ(a, least), b_.CreateICmpEQ(b, b_.getInt64(static_cast<uint64_t>(-1))));
    faultIf(b_.CreateOr(b_.CreateICmpEQ(b, zero), overflows), a, b);
    Value* quotient = b_.CreateSDiv(a, b);
    Value* inexact = b_.CreateICmpNE(b_.CreateSRem(a, b), zero);
    Value* negative = b_.CreateICmpSLT(b_.CreateXor(a, b), zero);
    if (opcode_ == Opcode::floorDiv)
      return b_.CreateSub(quotient, b_.CreateZExt(b_.CreateAnd(inexact, negative), b_.getInt64Ty()));
    return b_.CreateAdd(quotient,
                        b_.CreateZExt(b_.CreateAnd(inexact, b_.CreateNot(negative)), b_.getInt64Ty()));
  }
  Value* rest(Value* a, Value* b) {
    Value* zero = b_.getInt64(0);
    faultIf(b_.CreateICmpEQ(b, zero), a, b);
    // The processor faults at INT64_MIN by -1; by 1 the rest is the same.
    Value* minusOne = b_.CreateICmpEQ(b, b_.getInt64(static_cast<uint64_t>(-1)));
    Value* rest = b_.CreateSRem(a, b_.CreateSelect(minusOne, b_.getInt64(1), b));
    Value* differs = b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, b), zero));
    return b_.CreateSelect(differs, b_.CreateAdd(rest, b), rest);
  }
  Value* truth(Value* bit) { return b_.CreateZExt(bit, b_.getInt64Ty()); }
  Value* isTrue(Value* value) { return b_.CreateICmpNE(value, b_.getInt64(0)); }

  // Null: not an instruction on scalars alone.
  Value* scalarResult(const InstructionReader& reader) {
    const auto a = [&] { return scalar(reader.operand(1).words[0]); };
    const auto b = [&] { return scalar(reader.operand(2).words[0]); };
    const auto immediate = [&](uint32_t i) {
      return b_.getInt64(static_cast<uint64_t>(reader.operand(i).immediate()));
    };
    switch (opcode_) {
      case Opcode::constInt:
        return immediate(1);
      case Opcode::move:
        return a();
      case Opcode::add:
        return checked(llvm::Intrinsic::sadd_with_overflow, a(), b());
      case Opcode::sub:
        return checked(llvm::Intrinsic::ssub_with_overflow, a(), b());
      case Opcode::mul:
        return checked(llvm::Intrinsic::smul_with_overflow, a(), b());
      case Opcode::addImmediate:
        return checked(llvm::Intrinsic::sadd_with_overflow, a(), immediate(2));
      case Opcode::mulImmediate:
        return checked(llvm::Intrinsic::smul_with_overflow, a(), immediate(2));
      case Opcode::floorDiv:
      case Opcode::ceilDiv:
        return divided(a(), b());
      case Opcode::mod:
        return rest(a(), b());
      case Opcode::minimum:
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a(), b());
      case Opcode::maximum:
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a(), b());
      case Opcode::equal:
        return truth(b_.CreateICmpEQ(a(), b()));
      case Opcode::less:
        return truth(b_.CreateICmpSLT(a(), b()));
      case Opcode::lessEqual:
        return truth(b_.CreateICmpSLE(a(), b()));
      case Opcode::logicalAnd:
        return truth(b_.CreateAnd(isTrue(a()), isTrue(b())));
      case Opcode::logicalNot:
        return truth(b_.CreateNot(isTrue(a())));
      default:
        return nullptr;
    }
  }

  // --- control

  void emitJump(const InstructionReader& reader) {
    const bool conditional = opcode_ != Opcode::jump;
    const auto label = static_cast<uint32_t>(reader.operand(conditional ? 1 : 0).words[0]);
    Value* condition = conditional ? isTrue(scalar(reader.operand(0).words[0])) : nullptr;
    if (label <= position_) emitTrapPoint();
    if (!conditional)
      b_.CreateBr(blockAt(label));
    else if (opcode_ == Opcode::jumpIf)
      b_.CreateCondBr(condition, blockAt(label), blockAt(reader.position()));
    else
      b_.CreateCondBr(condition, blockAt(reader.position()), blockAt(label));
  }

  void emitTrapPoint() {
    BasicBlock* trapped = BasicBlock::Create(b_.getContext(), "trapped", function_);
    BasicBlock* next = BasicBlock::Create(b_.getContext(), "", function_);
    Value* word = b_.CreateLoad(b_.getInt32Ty(), field(FlowField::trap, "trap"),
                                /*isVolatile=*/true);
    b_.CreateCondBr(b_.CreateICmpEQ(word, b_.getInt32(0)), next, trapped);
    b_.SetInsertPoint(trapped);
    notePosition(position_);
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false);
    Value* well = b_.CreateCall(type, callee("trap", type), {flow_});
    b_.CreateCondBr(b_.CreateICmpNE(well, b_.getInt32(0)), next, fault_);
    b_.SetInsertPoint(next);
  }

  void emitCall(const InstructionReader& reader) {
    const bool waits = opcode_ == Opcode::invoke || opcode_ == Opcode::invokeClosure;
    if (waits) saveScalars(reader.position());
    b_.CreateRet(callRuntime(reader, waits ? static_cast<int32_t>(reader.position()) : -1));
  }

  // --- objects that are not counted

  Value* wordAt(FlowField place, int32_t index, const char* name) {
    Value* words = field(place, name);
    return b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), words, static_cast<uint64_t>(index));
  }
  // Behind a move in the same block: the kill of its source, before anything else looks there; or 0. The
  // object changes its register then, and nobody counts.
  uint32_t killOf(int32_t source, InstructionReader reader) const {
    bool used = false;
    while (!used && !reader.atEnd() && !graph_.beginsBlock(reader.position())) {
      const uint32_t position = reader.position();
      if (!reader.next()) return 0;
      if (reader.opcode() == Opcode::kill && reader.operand(0).words[0] == source) return position;
      const vm::InstructionRow& instruction = vm::row(reader.opcode());
      for (uint32_t i = 0; i < instruction.operandCount; ++i) {
        const OperandKind kind = instruction.operands[i].kind;
        if (kind != OperandKind::objectRead && kind != OperandKind::objectWrite) continue;
        for (uint32_t item = 0; item < reader.operand(i).count; ++item)
          used = used || reader.operand(i).words[item] == source;
      }
    }
    return 0;
  }
  bool emitTake(const InstructionReader& reader) {
    if (opcode_ == Opcode::kill && takenBefore_.count(position_)) return true;
    if (opcode_ != Opcode::moveObject) return false;
    const int32_t target = reader.operand(0).words[0], source = reader.operand(1).words[0];
    const uint32_t kill = target == source ? 0 : killOf(source, reader);
    if (kill == 0 || kill >= piece_.end) return false;
    takenBefore_.insert(kill);
    notePosition(position_);
    if (objects_.before(position_) == Holds::something) {
      auto* type =
          llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getInt32Ty()}, false);
      b_.CreateCall(
          type, callee("take", type),
          {flow_, b_.getInt32(static_cast<uint32_t>(target)), b_.getInt32(static_cast<uint32_t>(source))});
      return true;
    }
    Value* from = wordAt(FlowField::objects, source, "objects");
    b_.CreateStore(b_.CreateLoad(b_.getPtrTy(), from), wordAt(FlowField::objects, target, "objects"));
    b_.CreateStore(llvm::ConstantPointerNull::get(b_.getPtrTy()), from);
    return true;
  }

  // Writes one word where that is all: false where the runtime must count.
  bool emitWord(const InstructionReader& reader) {
    const bool kills = opcode_ == Opcode::kill;
    const bool loads = opcode_ == Opcode::loadConstant || opcode_ == Opcode::loadGlobal;
    if ((!kills && !loads) || objects_.before(position_) == Holds::something) return false;
    Value* object = llvm::ConstantPointerNull::get(b_.getPtrTy());
    if (loads) {
      const bool constant = opcode_ == Opcode::loadConstant;
      Value* from = wordAt(constant ? FlowField::constants : FlowField::globals, reader.operand(1).words[0],
                           constant ? "constants" : "globals");
      object = b_.CreateLoad(b_.getPtrTy(), from);
    }
    b_.CreateStore(object, wordAt(FlowField::objects, reader.operand(0).words[0], "objects"));
    return true;
  }

  // The same operands as the instruction's, and behind the first the place in the frame.
  void emitView(const InstructionReader& reader, int32_t place) {
    const char* name = opcode_ == Opcode::allocTensor  ? "viewtensor"
                       : opcode_ == Opcode::fromScalar ? "viewscalar"
                                                       : "viewreshape";
    Value* well = callRuntime(reader, -1, name, place);
    BasicBlock* next = BasicBlock::Create(b_.getContext(), "", function_);
    b_.CreateCondBr(b_.CreateICmpNE(well, b_.getInt32(0)), next, fault_);
    b_.SetInsertPoint(next);
  }

  void emitInstruction(const InstructionReader& reader) {
    if (emitTake(reader) || emitWord(reader)) return;
    if (const int32_t place = objects_.viewSlot(position_); place >= 0) return emitView(reader, place);
    if (Value* value = scalarResult(reader)) {
      setScalar(reader.operand(0).words[0], value);
      return;
    }
    const auto read = [&](uint32_t i) { return scalar(reader.operand(i).words[0]); };
    switch (opcode_) {
      case Opcode::checkEqual:
        return emitCheck(reader, b_.CreateICmpEQ(read(0), read(1)));
      case Opcode::checkLessEqual:
        return emitCheck(reader, b_.CreateICmpSLE(read(0), read(1)));
      case Opcode::check:
        return emitCheck(reader, isTrue(read(0)));
      case Opcode::fatal:
        callRuntime(reader);
        b_.CreateBr(fault_);
        return;
      case Opcode::jump:
      case Opcode::jumpIf:
      case Opcode::jumpIfNot:
        return emitJump(reader);
      case Opcode::invoke:
      case Opcode::tailInvoke:
      case Opcode::invokeClosure:
      case Opcode::ret:
        return emitCall(reader);
      default:
        return emitOperation(reader);
    }
  }

  void emitBody() {
    InstructionReader reader(code_.code);
    reader.moveTo(piece_.begin);
    bool open = false;  // does the instruction before fall through to here?
    while (reader.position() < piece_.end) {
      position_ = reader.position();
      if (graph_.beginsBlock(position_)) {
        BasicBlock* block = blockAt(position_);
        if (open) b_.CreateBr(block);
        b_.SetInsertPoint(block);
      }
      if (!reader.next()) return;
      opcode_ = reader.opcode();
      emitInstruction(reader);
      open = b_.GetInsertBlock()->getTerminator() == nullptr;
    }
    if (open) b_.CreateBr(blockAt(piece_.end));
  }

  KernelModule& module_;
  const vm::Function& code_;
  const FlowFunction& graph_;
  const FlowObjects& objects_;
  const FlowPiece& piece_;
  const FlowCalls calls_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  Value *flow_ = nullptr, *waiting_ = nullptr, *out_ = nullptr;
  llvm::AllocaInst* valuesPlace_ = nullptr;
  uint32_t valuesCount_ = 1, valuesUsed_ = 0;
  BasicBlock *entry_ = nullptr, *fault_ = nullptr, *arithmetic_ = nullptr;
  llvm::PHINode *faultPosition_ = nullptr, *faultOpcode_ = nullptr, *faultA_ = nullptr, *faultB_ = nullptr;
  std::map<uint32_t, llvm::AllocaInst*> scalars_;
  std::map<uint32_t, BasicBlock*> blocks_;
  std::set<uint32_t> takenBefore_;  // kills whose object a move has taken
  // The instruction in hand.
  uint32_t position_ = 0;
  Opcode opcode_ = Opcode::ret;
};

}  // namespace

std::string flowPieceSymbol(const FlowPiece& piece) {
  return "dyn_flow_code_" + std::to_string(piece.function) + "_" + std::to_string(piece.begin);
}

void emitFlowPiece(KernelModule& module, const vm::Program& program, const FlowFunction& function,
                   const FlowObjects& objects, const FlowPiece& piece, FlowCalls calls) {
  PieceEmitter(module, program, function, objects, piece, calls).emit();
}

}  // namespace dyn
