#include "compiler/export/certificate/kernel_accesses.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/export/certificate/byte_writer.h"
#include "compiler/loop/access/guard_paths.h"
#include "vm/certificate/accesses.h"

namespace dyn {

namespace {

using certificate::EventKind;
using certificate::NodeKind;
using certificate::Operation;
using loop::BinaryOp;
using loop::Buffer;
using loop::Expr;
using loop::ExprKind;
using loop::GuardPath;
using loop::GuardPaths;
using loop::Kernel;
using loop::Stmt;
using loop::StmtKind;
using loop::UnaryOp;

constexpr int kDimDepth = 200;

Operation operationOf(DimKind kind) {
  switch (kind) {
    case DimKind::add:
      return Operation::add;
    case DimKind::mul:
      return Operation::mul;
    case DimKind::floorDiv:
      return Operation::floorDiv;
    case DimKind::mod:
      return Operation::mod;
    case DimKind::min:
      return Operation::minimum;
    case DimKind::max:
      return Operation::maximum;
    default:
      return Operation::symbol;
  }
}

class AccessWriter {
 public:
  explicit AccessWriter(const Kernel& kernel) : kernel_(kernel) {
    for (size_t i = 0; i < kernel.scalars.size(); ++i) scalars_.emplace(kernel.scalars[i].id(), i);
  }

  std::string run() {
    // Buffers first: their numbers are those of the kernel.
    for (const Buffer* buffer : kernel_.buffers) bufferNumber(*buffer);
    for (const Buffer* buffer : kernel_.scratch) bufferNumber(*buffer);
    for (size_t i = 0; i < kernel_.scalars.size(); ++i) {
      if (kernel_.scalars[i].isSymbol()) continue;
      const uint32_t formula = nodeOf(kernel_.scalars[i]);
      event(EventKind::same, valued(NodeKind::scalar, static_cast<int64_t>(i)), {formula});
    }
    event(EventKind::unit, nodeOf(kernel_.unit), {});
    tasks_.push_back({kernel_.body.get()});
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      if (task.stmt)
        statement(*task.stmt, task.keepsFacts);
      else if (!task.value.isNull())
        loads(std::span(&task.value, 1));
      else
        event(EventKind::pop, 0, {});
    }
    ByteWriter out;
    if (!isComplete_) {
      out.number(0);
      return out.bytes;
    }
    out.number(1);
    out.number(nodeCount_);
    out.bytes += nodes_.bytes;
    out.number(bufferCount_);
    out.bytes += buffers_.bytes;
    out.number(eventCount_);
    out.bytes += events_.bytes;
    return out.bytes;
  }

 private:
  struct Task {
    const Stmt* stmt = nullptr;
    Expr value;  // of an accumulate, behind its children; neither: the end of a scope
    bool keepsFacts = false;
  };

  // --- nodes
  uint32_t node(NodeKind kind, std::initializer_list<uint32_t> operands) {
    nodes_.number(static_cast<uint64_t>(kind));
    for (const uint32_t operand : operands) nodes_.number(operand);
    return nodeCount_++;
  }
  uint32_t node(Operation what, std::initializer_list<uint32_t> operands) {
    nodes_.number(static_cast<uint64_t>(NodeKind::operation) + static_cast<uint64_t>(what));
    for (const uint32_t operand : operands) nodes_.number(operand);
    return nodeCount_++;
  }
  uint32_t valued(NodeKind kind, int64_t value) {
    nodes_.number(static_cast<uint64_t>(kind));
    nodes_.signedNumber(value);
    return nodeCount_++;
  }
  uint32_t negated(uint32_t a) { return node(Operation::negation, {a}); }

  uint32_t nodeOf(Dim dim, int depth = 0) {
    const auto [at, isNew] = dims_.try_emplace(dim.id(), 0);
    if (!isNew) return at->second;
    const uint32_t made = makeNode(dim, depth);
    return dims_[dim.id()] = made;
  }

  uint32_t makeNode(Dim dim, int depth) {
    if (const auto scalar = scalars_.find(dim.id()); scalar != scalars_.end() && dim.isSymbol())
      return valued(NodeKind::scalar, static_cast<int64_t>(scalar->second));
    if (const std::optional<int64_t> value = dim.constant()) return valued(NodeKind::constant, *value);
    const Operation what = operationOf(dim.kind());
    if (what == Operation::symbol || depth > kDimDepth) {
      // A symbol that is no scalar, or a form that only a scalar can have.
      const auto scalar = scalars_.find(dim.id());
      return scalar != scalars_.end() ? valued(NodeKind::scalar, static_cast<int64_t>(scalar->second))
                                      : node(NodeKind::unknown, {});
    }
    uint32_t result = nodeOf(dim.operands()[0], depth + 1);
    for (size_t i = 1; i < dim.operands().size(); ++i)
      result = node(what, {result, nodeOf(dim.operands()[i], depth + 1)});
    return result;
  }

  uint32_t nodeOf(Expr root) {
    for (const Expr& e : postorder(std::span(&root, 1)))
      if (exprs_.count(e.id()) == 0) {
        const uint32_t made = makeNode(e);
        exprs_[e.id()] = made;
      }
    return exprs_.at(root.id());
  }

  // A value of this type is computed as an integer without bounds is: i64 sums don't wrap (sizes checked).
  static bool isExact(Dtype dtype) { return dtype == Dtype::i64 || dtype == Dtype::boolean; }

  uint32_t makeNode(Expr e) {
    const auto of = [&](size_t operand) { return exprs_.at(e.operands()[operand].id()); };
    switch (e.kind()) {
      case ExprKind::intConstant:
        return valued(NodeKind::constant, e.intValue());
      case ExprKind::variable:
        return node(NodeKind::variable, {});
      case ExprKind::dim:
        return nodeOf(e.dimValue());
      case ExprKind::load:
        return load(*e.buffer(), e.operands());
      case ExprKind::call:
        if (e.function()->array) return load(*e.function()->array, e.operands());
        if (e.function()->dim && e.operands().empty()) return nodeOf(e.function()->dim);
        break;
      case ExprKind::unary:
        if (e.unaryOp() == UnaryOp::logicalNot) return negated(of(0));
        if (e.unaryOp() == UnaryOp::neg && isExact(e.dtype()))
          return node(Operation::sub, {valued(NodeKind::constant, 0), of(0)});
        break;
      case ExprKind::binary:
        return binary(e);
      case ExprKind::select:
        if (isExact(e.dtype())) return node(NodeKind::select, {of(0), of(1), of(2)});
        break;
      case ExprKind::cast: {
        const Dtype from = e.operands()[0].dtype(), to = e.dtype();
        const bool fits = from == to || from == Dtype::boolean || (to == Dtype::i64 && from != Dtype::u64);
        if (to != Dtype::boolean && isInteger(to) && fits && (isInteger(from) || from == Dtype::boolean))
          return of(0);
        break;
      }
      default:
        break;
    }
    return node(NodeKind::unknown, {});
  }

  uint32_t load(const Buffer& buffer, std::span<const Expr> index) {
    nodes_.number(static_cast<uint64_t>(NodeKind::load));
    nodes_.signedNumber(parameterOf(buffer));
    nodes_.number(index.size());
    for (const Expr& e : index) nodes_.number(exprs_.at(e.id()));
    return nodeCount_++;
  }

  uint32_t binary(Expr e) {
    const uint32_t a = exprs_.at(e.operands()[0].id()), b = exprs_.at(e.operands()[1].id());
    const Dtype dtype = e.operands()[0].dtype();
    const bool isWhole = isInteger(dtype) || dtype == Dtype::boolean;
    const auto exact = [&](Operation what) {
      return isExact(dtype) ? node(what, {a, b}) : node(NodeKind::unknown, {});
    };
    const auto whole = [&](Operation what) {
      return isWhole ? node(what, {a, b}) : node(NodeKind::unknown, {});
    };
    switch (e.binaryOp()) {
      case BinaryOp::add:
        return exact(Operation::add);
      case BinaryOp::sub:
        return exact(Operation::sub);
      case BinaryOp::mul:
        return exact(Operation::mul);
      case BinaryOp::floorDiv:
        return exact(Operation::floorDiv);
      case BinaryOp::mod:
        return exact(Operation::mod);
      case BinaryOp::min:
        return whole(Operation::minimum);
      case BinaryOp::max:
        return whole(Operation::maximum);
      case BinaryOp::less:
        return whole(Operation::less);
      case BinaryOp::lessEqual:
        return whole(Operation::lessEqual);
      case BinaryOp::equal:
        return whole(Operation::equal);
      case BinaryOp::notEqual:
        return negated(whole(Operation::equal));
      case BinaryOp::logicalAnd:
        return node(Operation::both, {a, b});
      case BinaryOp::logicalOr:
        return negated(node(Operation::both, {negated(a), negated(b)}));
      default:
        return node(NodeKind::unknown, {});
    }
  }

  // --- buffers
  // A view has the name of the buffer whose memory it is.
  int64_t parameterOf(const Buffer& buffer) const {
    for (size_t i = 0; i < kernel_.buffers.size(); ++i)
      if (kernel_.buffers[i]->name == buffer.name) return static_cast<int64_t>(i);
    return -1;
  }
  uint32_t bufferNumber(const Buffer& buffer) {
    const auto [at, isNew] = bufferNumbers_.try_emplace(&buffer, bufferCount_);
    if (!isNew) return at->second;
    std::vector<uint32_t> shape;
    for (const Expr& extent : buffer.shape) shape.push_back(nodeOf(extent));
    buffers_.signedNumber(parameterOf(buffer));
    buffers_.number(static_cast<uint64_t>(storageBytes(buffer.dtype)));
    buffers_.number(shape.size());
    for (const uint32_t each : shape) buffers_.number(each);
    return bufferCount_++;
  }

  // --- events
  void event(EventKind kind, uint32_t subject, const std::vector<uint32_t>& operands) {
    events_.number(static_cast<uint64_t>(kind));
    events_.number(subject);
    events_.number(operands.size());
    for (const uint32_t operand : operands) events_.number(operand);
    ++eventCount_;
  }
  void access(const Buffer& buffer, std::span<const Expr> index) {
    std::vector<uint32_t> nodes;
    for (const Expr& e : index) nodes.push_back(nodeOf(e));
    const uint32_t number = bufferNumber(buffer);
    event(EventKind::access, number, nodes);
  }
  void condition(Expr e, bool holds) { event(holds ? EventKind::assume : EventKind::refuse, nodeOf(e), {}); }
  void variable(Expr variable, Expr extent) {
    const uint32_t subject = nodeOf(variable);
    event(EventKind::variable, subject, {nodeOf(extent)});
  }

  void loads(std::span<const Expr> roots) {
    const GuardPaths guards(roots, true);
    isComplete_ = isComplete_ && guards.complete();
    for (const Expr& e : guards.order()) {
      const bool isArray = e.kind() == ExprKind::call && e.function()->array;
      if (e.kind() != ExprKind::load && !isArray) continue;
      const Buffer& buffer = isArray ? *e.function()->array : *e.buffer();
      for (const uint32_t path : guards.of(e)) {
        const std::vector<GuardPath> conditions = guards.conditions(path);
        if (!conditions.empty()) event(EventKind::push, 0, {});
        for (const GuardPath& guard : conditions) condition(guard.condition, guard.holds);
        access(buffer, e.operands());
        if (!conditions.empty()) event(EventKind::pop, 0, {});
      }
    }
  }

  void children(const Stmt& s, bool keepsFacts) {
    for (size_t i = s.children.size(); i-- > 0;) tasks_.push_back({s.children[i].get(), {}, keepsFacts});
  }
  void scope() {
    event(EventKind::push, 0, {});
    tasks_.emplace_back();
  }

  void statement(const Stmt& s, bool keepsFacts) {
    if (s.kind != StmtKind::accumulate)
      if (const std::vector<Expr> own = expressionsOf(s); !own.empty()) loads(own);
    switch (s.kind) {
      case StmtKind::block:
        if (!keepsFacts) scope();
        children(s, false);
        break;
      case StmtKind::loop:
        scope();
        variable(s.variable, s.extent);
        children(s, false);
        break;
      case StmtKind::store:
        access(*s.buffer, s.index);
        break;
      case StmtKind::let: {
        const uint32_t subject = nodeOf(s.variable);
        event(EventKind::let, subject, {nodeOf(s.value)});
        break;
      }
      case StmtKind::accumulate:
        if (!s.extents.empty()) loads(s.extents);
        scope();
        for (size_t i = 0; i < s.variables.size(); ++i) variable(s.variables[i], s.extents[i]);
        tasks_.push_back({nullptr, s.value, false});
        children(s, true);
        break;
      case StmtKind::branch:
        scope();
        condition(s.condition, true);
        children(s, false);
        break;
      case StmtKind::check:
        condition(s.condition, true);  // until the enclosing block ends
        break;
    }
  }

  const Kernel& kernel_;
  std::unordered_map<uint32_t, size_t> scalars_;
  std::unordered_map<uint32_t, uint32_t> dims_, exprs_;
  std::unordered_map<const Buffer*, uint32_t> bufferNumbers_;
  std::vector<Task> tasks_;
  ByteWriter nodes_, buffers_, events_;
  uint32_t nodeCount_ = 0, bufferCount_ = 0, eventCount_ = 0;
  bool isComplete_ = true;
};

}  // namespace

std::string writeAccesses(const loop::Kernel& kernel) { return AccessWriter(kernel).run(); }

}  // namespace dyn
