#include "compiler/codegen/device/device_narrow.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace dyn {
namespace {

using llvm::Value;

constexpr int64_t kMostConstant = int64_t{1} << 30;

class Narrowing {
 public:
  explicit Narrowing(llvm::Function& function)
      : function_(function),
        narrow_(llvm::Type::getInt32Ty(function.getContext())),
        wide_(llvm::Type::getInt64Ty(function.getContext())) {}

  int run() {
    findBounded();
    for (llvm::PHINode* counter : counters()) narrowCounter(*counter);
    for (llvm::BinaryOperator* division : divisions()) narrowDivision(*division);
    for (llvm::GetElementPtrInst* address : addresses()) narrowAddress(*address);
    return count_;
  }

 private:
  static bool isDivision(const Value* v) {
    const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(v);
    return op && op->isIntDivRem();
  }
  // The loop of an emitter: phi [start], [phi + step], and at its head phi < limit, or phi + step <= limit.
  struct Counter {
    llvm::BinaryOperator* next = nullptr;
    llvm::ICmpInst* test = nullptr;
  };
  Counter counterOf(const llvm::PHINode& phi) const {
    Counter found;
    if (phi.getType() != wide_ || phi.getNumIncomingValues() != 2) return found;
    for (unsigned i = 0; i < 2 && !found.test; ++i) {
      auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValue(i));
      if (!next || next->getOpcode() != llvm::Instruction::Add || next->getOperand(0) != &phi) continue;
      if (!isBounded(phi.getIncomingValue(1 - i)) || !isBounded(next->getOperand(1))) continue;
      found.test = testOf(phi, phi, llvm::ICmpInst::ICMP_SLT);
      if (!found.test) found.test = testOf(phi, *next, llvm::ICmpInst::ICMP_SLE);
      if (found.test) found.next = next;
    }
    return found;
  }
  llvm::ICmpInst* testOf(const llvm::PHINode& phi, const Value& tested, llvm::ICmpInst::Predicate how) const {
    for (const llvm::User* user : tested.users())
      if (const auto* test = llvm::dyn_cast<llvm::ICmpInst>(user);
          test && test->getPredicate() == how && test->getOperand(0) == &tested &&
          test->getParent() == phi.getParent() && isBounded(test->getOperand(1)))
        return const_cast<llvm::ICmpInst*>(test);
    return nullptr;
  }

  // What is below the limit where the launch says that its sizes are: sizes, thread numbers, and what is made
  // of them without data. Sums and products of sizes are numbers of elements or steps, too.
  void findBounded() {
    for (llvm::Argument& argument : function_.args())
      if (argument.getType() == wide_ &&
          argument.getArgNo() + 1 < function_.arg_size())  // the last: a launch
        bounded_.insert(&argument);
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::BasicBlock& block : function_)
        for (llvm::Instruction& i : block) {
          if (i.getType() != wide_ || bounded_.count(&i) || !becomesBounded(i)) continue;
          bounded_.insert(&i);
          changed = true;
        }
    }
  }
  bool becomesBounded(const llvm::Instruction& i) const {
    if (const auto* cast = llvm::dyn_cast<llvm::ZExtInst>(&i)) {
      const unsigned bits = cast->getSrcTy()->getScalarSizeInBits();
      return bits <= 16 || (bits == 32 && llvm::isa<llvm::IntrinsicInst>(cast->getOperand(0)));  // a thread
    }
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&i)) return counterOf(*phi).test != nullptr;
    if (const auto* least = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) {
      const llvm::Intrinsic::ID id = least->getIntrinsicID();
      if (id != llvm::Intrinsic::smin && id != llvm::Intrinsic::smax) return false;
      return isBounded(least->getArgOperand(0)) && isBounded(least->getArgOperand(1));
    }
    if (llvm::isa<llvm::SelectInst>(i)) return isBounded(i.getOperand(1)) && isBounded(i.getOperand(2));
    if (!llvm::isa<llvm::BinaryOperator>(i)) return false;
    switch (i.getOpcode()) {
      case llvm::Instruction::Add:
      case llvm::Instruction::Sub:
      case llvm::Instruction::UDiv:
      case llvm::Instruction::URem:
      case llvm::Instruction::SDiv:
      case llvm::Instruction::SRem:
        return isBounded(i.getOperand(0)) && isBounded(i.getOperand(1));
      case llvm::Instruction::Mul:
        return isSize(i.getOperand(0)) && isSize(i.getOperand(1));
      default:
        return false;
    }
  }
  bool isBounded(const Value* v) const {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v))
      return constant->getBitWidth() == 64 && constant->getSExtValue() < kMostConstant &&
             constant->getSExtValue() > -kMostConstant;
    return bounded_.count(v) > 0;
  }
  // A factor of a number of elements: an argument, a block's number and width, a product of such.
  bool isSize(const Value* v) const {
    const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(v);
    const bool isProduct = product && product->getOpcode() == llvm::Instruction::Mul;
    return isBounded(v) && (llvm::isa<llvm::Argument>(v) || llvm::isa<llvm::ConstantInt>(v) ||
                            llvm::isa<llvm::ZExtInst>(v) || isProduct);
  }

  std::vector<llvm::PHINode*> counters() const {
    std::vector<llvm::PHINode*> found;
    for (llvm::BasicBlock& block : function_)
      for (llvm::PHINode& phi : block.phis())
        if (bounded_.count(&phi)) found.push_back(&phi);
    return found;
  }
  std::vector<llvm::BinaryOperator*> divisions() const {
    std::vector<llvm::BinaryOperator*> found;
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : block)
        if (isDivision(&i) && bounded_.count(&i)) found.push_back(llvm::cast<llvm::BinaryOperator>(&i));
    return found;
  }
  std::vector<llvm::GetElementPtrInst*> addresses() const {
    std::vector<llvm::GetElementPtrInst*> found;
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : block)
        if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
            gep && gep->getNumIndices() == 1 && !gep->getSourceElementType()->isArrayTy())
          found.push_back(gep);
    return found;
  }

  // The phi and its step become narrow; who needs it wide has it widened at the head of the loop.
  void narrowCounter(llvm::PHINode& phi) {
    const Counter counter = counterOf(phi);
    if (!counter.test) return;
    llvm::IRBuilder<> head(&phi);
    llvm::PHINode* own = head.CreatePHI(narrow_, 2, phi.getName() + ".n");
    llvm::IRBuilder<> inside(&*phi.getParent()->getFirstInsertionPt());
    Value* widened = inside.CreateSExt(own, wide_);
    narrowed_[widened] = own;
    llvm::IRBuilder<> behind(counter.next);
    Value* next = behind.CreateAdd(own, narrow(counter.next->getOperand(1)), "", false, true);
    for (unsigned i = 0; i < 2; ++i) {
      llvm::BasicBlock* from = phi.getIncomingBlock(i);
      Value* given = phi.getIncomingValue(i);
      own->addIncoming(given == counter.next ? next : narrow(given), from);
    }
    llvm::IRBuilder<> at(counter.test);
    Value* tested = counter.test->getOperand(0) == &phi ? own : next;
    Value* test = at.CreateICmp(counter.test->getPredicate(), tested, narrow(counter.test->getOperand(1)));
    counter.test->replaceAllUsesWith(test);
    forget(counter.test);
    counter.test->eraseFromParent();
    // What is left is the phi and its step, each for the other.
    phi.replaceUsesWithIf(widened, [&](llvm::Use& use) { return use.getUser() != counter.next; });
    Value* wideNext = behind.CreateSExt(next, wide_);
    narrowed_[wideNext] = next;
    counter.next->replaceUsesWithIf(wideNext, [&](llvm::Use& use) { return use.getUser() != &phi; });
    bounded_.insert(widened);
    forget(&phi);
    forget(counter.next);
    phi.replaceAllUsesWith(llvm::PoisonValue::get(wide_));
    phi.eraseFromParent();
    counter.next->eraseFromParent();
    ++count_;
  }

  void narrowDivision(llvm::BinaryOperator& division) {
    llvm::IRBuilder<> at(&division);
    Value *a = narrow(division.getOperand(0)), *b = narrow(division.getOperand(1));
    Value* own = at.CreateBinOp(division.getOpcode(), a, b);
    Value* widened = at.CreateSExt(own, wide_);
    narrowed_[widened] = own;
    bounded_.insert(widened);
    division.replaceAllUsesWith(widened);
    forget(&division);
    division.eraseFromParent();
    ++count_;
  }

  void narrowAddress(llvm::GetElementPtrInst& address) {
    Value* index = address.getOperand(1);
    if (index->getType() != wide_ || llvm::isa<llvm::ConstantInt>(index)) return;
    llvm::IRBuilder<> at(&address);
    address.setOperand(1, at.CreateSExt(narrow(index), wide_));
    ++count_;
  }

  // Before it is gone: something else may come to lie there.
  void forget(const Value* v) {
    bounded_.erase(v);
    narrowed_.erase(v);
  }

  // The low half of a value: made where the value is, from the low halves of what it is made of.
  Value* narrow(Value* v) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v))
      return llvm::ConstantInt::get(narrow_, constant->getValue().trunc(32));
    if (auto known = narrowed_.find(v); known != narrowed_.end()) return known->second;
    Value* made = nullptr;
    auto* i = llvm::dyn_cast<llvm::Instruction>(v);
    if (!i) {
      llvm::IRBuilder<> entry(&*function_.getEntryBlock().getFirstInsertionPt());
      made = entry.CreateTrunc(v, narrow_);
    } else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(i);
               cast && cast->getOperand(0)->getType() == narrow_) {
      made = cast->getOperand(0);
    } else if (llvm::isa<llvm::BinaryOperator>(i) &&
               (i->getOpcode() == llvm::Instruction::Add || i->getOpcode() == llvm::Instruction::Sub ||
                i->getOpcode() == llvm::Instruction::Mul)) {
      Value *a = narrow(i->getOperand(0)), *b = narrow(i->getOperand(1));
      llvm::IRBuilder<> at(i);
      // What an address is made of is an index of a buffer, and does not wrap.
      made = i->getOpcode() == llvm::Instruction::Add   ? at.CreateNSWAdd(a, b)
             : i->getOpcode() == llvm::Instruction::Sub ? at.CreateNSWSub(a, b)
                                                        : at.CreateNSWMul(a, b);
    } else if (llvm::isa<llvm::SelectInst>(i)) {
      Value *a = narrow(i->getOperand(1)), *b = narrow(i->getOperand(2));
      made = llvm::IRBuilder<>(i).CreateSelect(i->getOperand(0), a, b);
    } else {
      llvm::Instruction* behind =
          llvm::isa<llvm::PHINode>(i) ? &*i->getParent()->getFirstInsertionPt() : i->getNextNode();
      made = llvm::IRBuilder<>(behind).CreateTrunc(v, narrow_);
    }
    narrowed_[v] = made;
    return made;
  }

  llvm::Function& function_;
  llvm::Type *narrow_, *wide_;
  std::unordered_set<const Value*> bounded_;
  std::unordered_map<const Value*, Value*> narrowed_;
  int count_ = 0;
};

}  // namespace

int narrowIndices(llvm::Function& function) { return Narrowing(function).run(); }

}  // namespace dyn
