#include "compiler/lower/homes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/op_def.h"
#include "compiler/ops/control_infer.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

class HomeFinder {
 public:
  explicit HomeFinder(const Module& module) : module_(module) {}

  Status visit(const Function& function) {
    stack_.push_back({&function, nullptr, 0, 0, log_.size()});
    for (const Parameter& p : function.parameters) {
      define(p.id, p.type);
      bindShape(p.type);
    }
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next < frame.function->ops.size()) {
        const Op& op = *frame.function->ops[frame.next++];
        Status status = operation(op);
        if (!status.ok()) return inFunction(status.takeError().at(op.place));
        if (!op.regions.empty() && op.def != &ops::intoOp) enter(op, 0);
        continue;
      }
      DYN_CHECK(leave());
    }
    return {};
  }

 private:
  struct Frame {
    const Function* function = nullptr;
    const Op* owner = nullptr;  // whose body it is
    size_t region = 0, next = 0, logStart = 0;
  };
  // What a body added, to be forgotten at its end.
  struct Entry {
    bool isSymbol = false;
    uint32_t id = 0;
  };
  struct Known {
    Type type;
    const Op* lazy = nullptr;  // its dims are computed where it is read
  };

  Error inFunction(Error error) const {
    if (!stack_.empty()) error.diagnostic().notes.push_back("in function @" + stack_.back().function->name);
    error.diagnostic().notes.push_back("a pass parted a need from its home");
    return error;
  }

  std::string name(ValueId value) const { return "%" + module_.context->valueName(value); }

  void define(ValueId value, Type type, const Op* lazy = nullptr) {
    if (value == kNoValue) return;
    known_[value] = {type, lazy};
    log_.push_back({false, value});
  }
  void bind(SymbolId symbol) {
    if (bound_.insert(symbol).second) log_.push_back({true, symbol});
  }
  // Dims of a tensor are read off the tensor where they stand alone.
  void bindShape(Type type) {
    if (!type || !type.isTensor()) return;
    for (Dim d : type.dims())
      if (d.isSymbol()) bind(d.symbol());
  }

  Status need(Dim dim, const std::string& where) const {
    for (SymbolId s : symbolsOf(dim)) {
      if (bound_.count(s)) continue;
      const Dim symbol = module_.context->dims().symbolById(s);
      return makeError(DiagnosticId::internalError, "the dim " + symbol.toString() + " has no value " +
                                                        where + " (" + dim.context().symbolReason(s) + ")");
    }
    return {};
  }
  Status needAll(const Shape& dims, const std::string& where) const {
    for (Dim d : dims) DYN_CHECK(need(d, where));
    return {};
  }

  // The value is there. Its bytes, too: dims that stand for them are computed here.
  Status there(ValueId value, const Op* reader) const {
    if (value == kNoValue || known_.count(value)) return {};
    return makeError(DiagnosticId::internalError,
                     name(value) + " is read and has no register where " + where(reader) + " reads it");
  }
  Status read(ValueId value, const Op* reader) const {
    if (value == kNoValue) return {};
    DYN_CHECK(there(value, reader));
    const Op* lazy = known_.at(value).lazy;
    if (!lazy || lazy->attributes.tensor("value")) return {};
    return needAll(lazy->attributes.dims("value"), "where " + where(reader) + " reads " + name(value));
  }
  std::string where(const Op* reader) const {
    if (!reader) return "the function's end";
    if (reader->def == &ops::intoOp && !reader->regions.empty() && !reader->regions[0]->ops.empty())
      return "the kernel of " + std::string(reader->regions[0]->ops.back()->def->name);
    return std::string(reader->def->name);
  }

  Status operation(const Op& op) {
    if (op.def->traits.contentsKnown) {
      define(op.results[0].id, op.results[0].type, &op);
      return {};
    }
    if (op.def == &ops::allocOp) return alloc(op);
    if (op.def == &ops::killOp) return kill(op);
    if (op.def == &ops::intoOp) return into(op);
    if (op.def == &ops::arenaOp) DYN_CHECK(needAll(op.results[0].type.dims(), "where the arena is made"));
    if (op.def == &ops::checkOp || op.def == &ops::variantOp) {
      DYN_CHECK(needAll(op.attributes.dims("lhs"), "where it is checked"));
      DYN_CHECK(needAll(op.attributes.dims("rhs"), "where it is checked"));
    }
    // Conditions, trip counts and shapes may be known without their bytes.
    const bool onlyFirst = op.def->traits.view;
    for (size_t i = 0; i < op.operands.size(); ++i)
      DYN_CHECK(onlyFirst && i > 0 ? there(op.operands[i], &op) : read(op.operands[i], &op));
    if (op.def == &ops::stridedOp) {
      for (const char* name : {"offset", "strides"})
        DYN_CHECK(needAll(op.attributes.dims(name), "where " + this->name(op.results[0].id) + " is seen"));
      DYN_CHECK(needAll(op.results[0].type.dims(), "where " + this->name(op.results[0].id) + " is seen"));
    }
    if (op.def == &ops::bind_dimsOp)
      for (Dim d : op.attributes.dims("dims"))
        if (d.isSymbol()) bind(d.symbol());
    if (op.def->traits.readsShape)
      DYN_CHECK(needAll(known_.at(op.operands[0]).type.dims(), "where its shape is read"));
    if (!op.regions.empty()) return {};  // the results come behind the bodies
    for (const ValueDef& result : op.results) {
      if (onlyFirst) bindShape(result.type);
      define(result.id, result.type);
      if (op.def != &ops::arenaOp) bindShape(result.type);
    }
    return {};
  }

  // The operation that writes there computes the size where it is not known by now.
  Status alloc(const Op& op) {
    const ValueDef& result = op.results[0];
    for (ValueId v : op.operands) DYN_CHECK(read(v, &op));
    const std::vector<SymbolId> symbols = symbolsOf(result.type);
    if (std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return !bound_.count(s); }))
      if (const Op* writer = writerOf(result.id))
        for (const Op* inner : writer->regions[0]->ops)
          for (const ValueDef& made : inner->results) bindShape(made.type);
    DYN_CHECK(needAll(result.type.dims(), "where " + name(result.id) + " gets its memory"));
    if (const Shape offset = op.attributes.dims("offset"); !offset.empty())
      DYN_CHECK(needAll(offset, "where " + name(result.id) + " gets its place in the arena"));
    define(result.id, result.type);
    return {};
  }

  const Op* writerOf(ValueId destination) const {
    const Frame& frame = stack_.back();
    for (size_t i = frame.next; i < frame.function->ops.size(); ++i) {
      const Op* op = frame.function->ops[i];
      if (op->def == &ops::intoOp &&
          std::find(op->operands.begin(), op->operands.end(), destination) != op->operands.end())
        return op;
    }
    return nullptr;
  }

  Status kill(const Op& op) {
    const ValueId value = op.operands[0];
    // What stands for a value of the function around, and what has no register, stays.
    if (auto found = known_.find(value);
        found != known_.end() && !found->second.lazy && !borrowed_.count(value))
      known_.erase(found);
    return {};
  }

  Status into(const Op& op) {
    const Function& body = *op.regions[0];
    for (ValueId v : op.operands) DYN_CHECK(read(v, &op));
    if (kernelKindOf(op) != KernelKind::loop) return {};
    for (Type type : body.resultTypes)
      if (type.isTensor()) DYN_CHECK(needAll(type.dims(), "where " + where(&op) + " writes"));
    return {};
  }

  // A parameter of a body stands for a value around it, or for what the operation gives it.
  void enter(const Op& op, size_t region) {
    const Function& body = *op.regions[region];
    stack_.push_back({&body, &op, region, 0, log_.size()});
    const size_t captures = static_cast<size_t>(captureCount(op));
    for (size_t i = 0; i < body.parameters.size(); ++i) {
      const Parameter& p = body.parameters[i];
      const size_t fromEnd = body.parameters.size() - i;
      const Op* lazy = nullptr;
      if (fromEnd <= captures)
        if (auto found = known_.find(op.operands[op.operands.size() - fromEnd]); found != known_.end())
          lazy = found->second.lazy;
      define(p.id, p.type, lazy);
      borrowed_.insert(p.id);
      if (!lazy) bindShape(p.type);
    }
  }

  Status leave() {
    const Frame frame = stack_.back();
    for (ValueId v : frame.function->results) {
      Status status = read(v, nullptr);
      if (!status.ok()) return inFunction(status.takeError().at(frame.function->place));
    }
    stack_.pop_back();
    for (; log_.size() > frame.logStart; log_.pop_back()) {
      const Entry& entry = log_.back();
      if (entry.isSymbol) {
        bound_.erase(entry.id);
      } else {
        known_.erase(entry.id);
        borrowed_.erase(entry.id);
      }
    }
    if (!frame.owner) return {};
    if (frame.region + 1 < frame.owner->regions.size()) {
      enter(*frame.owner, frame.region + 1);
      return {};
    }
    for (const ValueDef& result : frame.owner->results) {
      define(result.id, result.type);
      bindShape(result.type);
    }
    return {};
  }

  const Module& module_;
  std::vector<Frame> stack_;
  std::vector<Entry> log_;
  std::unordered_map<ValueId, Known> known_;
  std::unordered_set<ValueId> borrowed_;
  std::unordered_set<SymbolId> bound_;
};

}  // namespace

Status everyUseIsDominated(const Module& placed) {
  for (const Function* function : placed.functions) DYN_CHECK(HomeFinder(placed).visit(*function));
  return {};
}

}  // namespace dyn
