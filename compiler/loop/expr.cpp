#include "compiler/loop/expr.h"

#include <bit>
#include <cassert>

#include "compiler/loop/expr_node.h"
#include "compiler/loop/scalar_math.h"

namespace dyn::loop {

namespace {

size_t mix(size_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdull;
}

}  // namespace

size_t NodeHash::operator()(const ExprNode* n) const {
  size_t h = mix(static_cast<size_t>(n->kind), static_cast<uint64_t>(n->dtype));
  h = mix(h, n->op);
  h = mix(h, static_cast<uint64_t>(n->intValue));
  h = mix(h, std::bit_cast<uint64_t>(n->realValue));
  h = mix(h, n->dim ? n->dim.id() + 1 : 0);
  h = mix(h, reinterpret_cast<uintptr_t>(n->reference));
  for (Expr e : n->operands) h = mix(h, e.id());
  for (Expr e : n->variables) h = mix(h, e.id());
  return h;
}

bool NodeEqual::operator()(const ExprNode* a, const ExprNode* b) const {
  if (a->kind != b->kind || a->dtype != b->dtype || a->op != b->op || a->intValue != b->intValue ||
      std::bit_cast<uint64_t>(a->realValue) != std::bit_cast<uint64_t>(b->realValue) || a->dim != b->dim ||
      a->reference != b->reference || a->operands.size() != b->operands.size() ||
      a->variables.size() != b->variables.size() || a->name != b->name)
    return false;
  for (size_t i = 0; i < a->operands.size(); ++i)
    if (!a->operands[i].same(b->operands[i])) return false;
  for (size_t i = 0; i < a->variables.size(); ++i)
    if (!a->variables[i].same(b->variables[i])) return false;
  return true;
}

ExprKind Expr::kind() const { return node_->kind; }
Dtype Expr::dtype() const { return node_->dtype; }
uint32_t Expr::id() const { return node_->id; }
std::span<const Expr> Expr::operands() const { return node_->operands; }
int64_t Expr::intValue() const { return node_->intValue; }
double Expr::realValue() const { return node_->realValue; }
Dim Expr::dimValue() const { return node_->dim; }
const std::string& Expr::name() const { return node_->name; }
const Buffer* Expr::buffer() const { return static_cast<const Buffer*>(node_->reference); }
const UninterpretedFunction* Expr::function() const {
  return static_cast<const UninterpretedFunction*>(node_->reference);
}
UnaryOp Expr::unaryOp() const { return static_cast<UnaryOp>(node_->op); }
BinaryOp Expr::binaryOp() const { return static_cast<BinaryOp>(node_->op); }
ReduceOp Expr::reduceOp() const { return static_cast<ReduceOp>(node_->op); }
int32_t Expr::fault() const { return static_cast<int32_t>(node_->intValue); }
std::span<const Expr> Expr::reduceVariables() const { return node_->variables; }
LoopContext& Expr::context() const { return *node_->context; }

LoopContext::LoopContext(DimContext& dims) : impl_(std::make_unique<Impl>(dims)) {}
LoopContext::~LoopContext() = default;
DimContext& LoopContext::dims() const { return impl_->dims; }

Expr LoopContext::intern(ExprNode node) {
  if (auto found = impl_->interned.find(&node); found != impl_->interned.end()) return Expr(*found);
  node.id = static_cast<uint32_t>(impl_->nodes.size());
  node.context = this;
  impl_->nodes.push_back(std::move(node));
  impl_->interned.insert(&impl_->nodes.back());
  return Expr(&impl_->nodes.back());
}

std::string LoopContext::Impl::uniqueName(std::string_view hint) {
  std::string base;
  for (char c : hint) base += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base.insert(base.begin(), '_');
  std::string name = base;
  // Names are never given back: below the last number of a base all are taken.
  for (int& k = lastNumber[base]; isReservedWord(name) || names.contains(name) || dims.hasSymbol(name);)
    name = base + "_" + std::to_string(++k);
  names.insert(name);
  return name;
}

Expr LoopContext::integer(int64_t value, Dtype dtype) {
  assert((isInteger(dtype) || dtype == Dtype::boolean) && "integer constants have an integer dtype");
  return intern({.kind = ExprKind::intConstant, .dtype = dtype, .intValue = wrapInteger(dtype, value)});
}

Expr LoopContext::boolean(bool value) {
  return intern({.kind = ExprKind::intConstant, .dtype = Dtype::boolean, .intValue = value});
}

Expr LoopContext::real(double value, Dtype dtype) {
  assert(isReal(dtype) && "real constants have a real dtype");
  double rounded = roundReal(dtype, value);
  if (std::isnan(rounded)) rounded = std::numeric_limits<double>::quiet_NaN();  // one NaN, one node
  return intern({.kind = ExprKind::realConstant, .dtype = dtype, .realValue = rounded});
}

Expr LoopContext::number(double value, Dtype dtype) {
  if (isReal(dtype)) return real(value, dtype);
  if (dtype == Dtype::boolean) return boolean(value != 0);
  return integer(realToInteger(dtype, value), dtype);
}

Expr LoopContext::variable(const std::string& hint) { return variable(hint, Dtype::i64); }

Expr LoopContext::variable(const std::string& hint, Dtype dtype) {
  return namedVariable(impl_->uniqueName(hint), dtype);
}

Expr LoopContext::namedVariable(const std::string& name, Dtype dtype) {
  if (auto found = impl_->variables.find(name); found != impl_->variables.end()) {
    assert(found->second->dtype == dtype && "a variable has one dtype");
    return Expr(found->second);
  }
  impl_->names.insert(name);
  // A variable's name is its identity: it takes part in no hash, so it is not interned but mapped.
  ExprNode node{.kind = ExprKind::variable, .dtype = dtype, .name = name};
  node.id = static_cast<uint32_t>(impl_->nodes.size());
  node.context = this;
  impl_->nodes.push_back(std::move(node));
  impl_->variables.emplace(name, &impl_->nodes.back());
  return Expr(&impl_->nodes.back());
}

Expr LoopContext::dim(Dim dim) {
  assert(dim && "a null dim has no value");
  if (auto value = dim.constant()) return integer(*value);
  return intern({.kind = ExprKind::dim, .dim = dim});
}

Expr LoopContext::load(const Buffer* buffer, std::vector<Expr> index) {
  assert(index.size() == buffer->shape.size() && "a load has one index per axis of its buffer");
  for ([[maybe_unused]] Expr e : index) assert(e.dtype() == Dtype::i64 && "indices are i64");
  return intern(
      {.kind = ExprKind::load, .dtype = buffer->dtype, .reference = buffer, .operands = std::move(index)});
}

Expr LoopContext::call(const UninterpretedFunction* function, std::vector<Expr> arguments) {
  assert(static_cast<int>(arguments.size()) == function->arity && "a call has one argument per parameter");
  for ([[maybe_unused]] Expr e : arguments) assert(e.dtype() == Dtype::i64 && "arguments are i64");
  if (arguments.size() == 1 && arguments[0].kind() == ExprKind::call) {
    const UninterpretedFunction* inner = arguments[0].function();
    if (function->facts.inverseOf == inner) return arguments[0].operands()[0];  // f(g(x)) = x
  }
  return intern({.kind = ExprKind::call, .reference = function, .operands = std::move(arguments)});
}

void LoopContext::bound(Expr variable, Expr extent) {
  assert(variable.kind() == ExprKind::variable && extent.dtype() == Dtype::i64 &&
         "bounds are of i64 variables");
  impl_->extents[variable.id()] = extent;
  if (extent.kind() == ExprKind::dim) impl_->sizeDims.insert(extent.dimValue().id());
}

Expr LoopContext::extentOf(Expr variable) const {
  auto found = impl_->extents.find(variable.id());
  return found == impl_->extents.end() ? Expr() : found->second;
}

const Buffer* LoopContext::buffer(std::string name, Dtype dtype, std::vector<Expr> shape, BufferRole role) {
  for (Expr e : shape)
    if (e.kind() == ExprKind::dim) impl_->sizeDims.insert(e.dimValue().id());
  impl_->buffers.push_back({impl_->uniqueName(name), dtype, std::move(shape), role});
  return &impl_->buffers.back();
}

const Buffer* LoopContext::view(const Buffer* buffer, std::vector<Expr> shape) {
  for (Expr e : shape)
    if (e.kind() == ExprKind::dim) impl_->sizeDims.insert(e.dimValue().id());
  impl_->buffers.push_back({buffer->name, buffer->dtype, std::move(shape), buffer->role});
  return &impl_->buffers.back();
}

void LoopContext::setShape(const Buffer* buffer, size_t axis, Expr extent) {
  const_cast<Buffer*>(buffer)->shape[axis] = extent;  // this context owns it
  if (extent.kind() == ExprKind::dim) impl_->sizeDims.insert(extent.dimValue().id());
}

const UninterpretedFunction* LoopContext::function(UninterpretedFunction function) {
  function.name = impl_->uniqueName(function.name);
  impl_->functions.push_back(std::move(function));
  return &impl_->functions.back();
}

// Canonical variables: level 0 for a body without reductions, one more than the deepest canonical variable
// met in the body otherwise, so neither a free variable of an enclosing reduction nor a bound one of an inner
// reduction is captured.
Expr LoopContext::reduce(ReduceOp op, std::vector<Expr> variables, std::vector<Expr> extents, Expr body) {
  assert(variables.size() == extents.size() && "a reduction has one extent per variable");
  std::unordered_set<uint32_t> own;
  for (Expr v : variables) own.insert(v.id());
  int32_t level = -1;
  for (Expr e : postorder(std::span(&body, 1))) {
    if (e.kind() == ExprKind::variable && !own.contains(e.id()))
      level = std::max(level, e.node_->reduceLevel);
    if (e.kind() == ExprKind::reduce)
      for (Expr v : e.reduceVariables()) level = std::max(level, v.node_->reduceLevel);
  }
  for (Expr e : postorder(extents))
    if (e.kind() == ExprKind::variable) level = std::max(level, e.node_->reduceLevel);
  ++level;
  std::unordered_map<uint32_t, Expr> renamed;
  std::vector<Expr> canonical;
  for (size_t k = 0; k < variables.size(); ++k) {
    Expr v = namedVariable("$" + std::to_string(level) + "." + std::to_string(k), Dtype::i64);
    const_cast<ExprNode*>(v.node_)->reduceLevel = level;
    canonical.push_back(v);
    renamed.emplace(variables[k].id(), v);
    if (extents[k].kind() == ExprKind::dim) impl_->sizeDims.insert(extents[k].dimValue().id());
  }
  body = rename(body, renamed);
  std::vector<Expr> operands = std::move(extents);
  for (Expr& e : operands) e = rename(e, renamed);
  operands.push_back(body);
  return intern({.kind = ExprKind::reduce,
                 .dtype = body.dtype(),
                 .op = static_cast<uint8_t>(op),
                 .operands = std::move(operands),
                 .variables = std::move(canonical)});
}

Expr LoopContext::checked(Expr condition, int32_t fault, Expr value, Expr subject) {
  assert(condition.dtype() == Dtype::boolean && "a check has a boolean condition");
  if (condition.kind() == ExprKind::intConstant && condition.intValue() != 0) return value;
  std::vector<Expr> operands{condition, value};
  if (!subject.isNull()) operands.push_back(subject);
  return intern({.kind = ExprKind::checked,
                 .dtype = value.dtype(),
                 .intValue = fault,
                 .operands = std::move(operands)});
}

Expr LoopContext::withOperands(Expr e, std::span<const Expr> operands) {
  std::vector<Expr> copy(operands.begin(), operands.end());
  switch (e.kind()) {
    case ExprKind::load:
      return load(e.buffer(), std::move(copy));
    case ExprKind::call:
      return call(e.function(), std::move(copy));
    case ExprKind::unary:
      return unary(e.unaryOp(), copy[0]);
    case ExprKind::binary:
      return binary(e.binaryOp(), copy[0], copy[1]);
    case ExprKind::select:
      return select(copy[0], copy[1], copy[2]);
    case ExprKind::cast:
      return cast(copy[0], e.dtype());
    case ExprKind::checked:
      return checked(copy[0], e.fault(), copy[1], copy.size() > 2 ? copy[2] : Expr());
    case ExprKind::reduce: {
      Expr body = copy.back();
      copy.pop_back();
      return reduce(e.reduceOp(), {e.reduceVariables().begin(), e.reduceVariables().end()}, std::move(copy),
                    body);
    }
    default:
      return e;
  }
}

Expr LoopContext::substitute(Expr root, const std::function<Expr(Expr)>& replacement) {
  std::unordered_map<uint32_t, Expr> done;
  struct Visit {
    Expr expr;
    bool expanded = false;
  };
  std::vector<Visit> stack{{root}};
  std::vector<Expr> operands;
  while (!stack.empty()) {
    const Expr e = stack.back().expr;
    if (done.contains(e.id())) {
      stack.pop_back();
      continue;
    }
    if (!stack.back().expanded) {
      if (Expr r = replacement(e)) {
        done.emplace(e.id(), r);
        stack.pop_back();
        continue;
      }
      stack.back().expanded = true;
      for (size_t i = e.operands().size(); i-- > 0;)
        if (!done.contains(e.operands()[i].id())) stack.push_back({e.operands()[i]});
      continue;
    }
    stack.pop_back();
    operands.clear();
    bool changed = false;
    for (Expr o : e.operands()) {
      operands.push_back(done.at(o.id()));
      changed |= !operands.back().same(o);
    }
    done.emplace(e.id(), changed ? withOperands(e, operands) : e);
  }
  return done.at(root.id());
}

Expr LoopContext::rename(Expr root, const std::unordered_map<uint32_t, Expr>& names) {
  return substitute(root, [&](Expr e) {
    if (e.kind() == ExprKind::reduce) {
      std::unordered_map<uint32_t, Expr> free = names;
      for (Expr v : e.reduceVariables()) free.erase(v.id());
      if (free.size() < names.size()) return free.empty() ? e : rename(e, free);
    }
    auto found = names.find(e.id());
    return found == names.end() ? Expr() : found->second;
  });
}

std::vector<Expr> postorder(std::span<const Expr> roots) {
  std::vector<Expr> order;
  std::unordered_set<uint32_t> seen;
  struct Visit {
    Expr expr;
    size_t next = 0;
  };
  std::vector<Visit> stack;
  for (Expr root : roots) {
    if (root.isNull() || !seen.insert(root.id()).second) continue;
    stack.push_back({root});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.expr.operands().size()) {
        const Expr o = top.expr.operands()[top.next++];
        if (seen.insert(o.id()).second) stack.push_back({o});
      } else {
        order.push_back(top.expr);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace dyn::loop
