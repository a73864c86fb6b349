#include "compiler/loop/kernel_key.h"

#include <bit>
#include <optional>
#include <unordered_map>

#include "compiler/loop/expr_node.h"

namespace dyn::loop {

namespace {

// How dims are told: by what they are made of, or by their number in the context of the program.
enum class DimsBy : uint8_t { form, number };

// Parts that the forms of a kernel's dims may have together. Where each size is made of the one before, forms
// would be the square of a program.
constexpr uint64_t kMostParts = 256;

class KeyWriter {
 public:
  KeyWriter(const Kernel& kernel, DimsBy dimsBy) : kernel_(kernel), dimsBy_(dimsBy) {}

  // Null: the forms have too many parts.
  std::optional<std::string> write() {
    say(kernel_.scalars.size());
    // Code generation multiplies dims and asks what is left of them after whole vectors, so it looks through
    // a scalar at what that is made of: all of it is part of the key.
    for (Dim scalar : kernel_.scalars) say(dim(scalar));
    for (const std::vector<const Buffer*>* list : {&kernel_.buffers, &kernel_.scratch}) {
      say(list->size());
      for (const Buffer* b : *list) say(buffer(b));
    }
    say(kernel_.functions.size());
    for (const UninterpretedFunction* f : kernel_.functions) say(function(f));
    say(expression(kernel_.unit));
    say(expression(kernel_.unitCount));
    body();
    if (nextDim_ > kMostParts && dimsBy_ == DimsBy::form) return std::nullopt;
    std::string key;
    number(key, definitions_.size());
    return key + definitions_ + kernelText_;
  }

 private:
  // Two streams: what dims, buffers, functions and expressions are, and the kernel that is made of them. In
  // each, what a byte stands for is known from those before it, so that two keys are equal only if all they
  // say is.
  void number(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  }
  void define(uint64_t value) { number(definitions_, value); }
  void say(uint64_t value) { number(kernelText_, value); }

  // The place of a name among those seen.
  uint64_t named(const std::string& name) { return names_.try_emplace(name, names_.size()).first->second; }

  uint64_t dim(Dim root) {
    if (!root) return 0;
    if (dimsBy_ == DimsBy::number) {
      const auto [known, fresh] = dims_.try_emplace(root.id(), nextDim_);
      if (fresh) {
        define('i');
        define(root.id());
        ++nextDim_;
      }
      return known->second + 1;
    }
    std::vector<Dim> work{root};
    while (!work.empty()) {
      if (nextDim_ > kMostParts) return 0;
      const Dim d = work.back();
      if (dims_.count(d.id())) {
        work.pop_back();
        continue;
      }
      bool ready = true;
      for (Dim operand : d.operands())
        if (!dims_.count(operand.id())) {
          ready = false;
          work.push_back(operand);
        }
      if (!ready) continue;
      work.pop_back();
      define('d');
      define(static_cast<uint64_t>(d.kind()));
      if (const std::optional<int64_t> constant = d.constant()) define(static_cast<uint64_t>(*constant));
      define(d.operands().size());
      for (Dim operand : d.operands()) define(dims_.at(operand.id()));
      dims_.emplace(d.id(), nextDim_++);
    }
    return dims_.at(root.id()) + 1;
  }

  // Views of one buffer have its name.
  uint64_t buffer(const Buffer* b) {
    if (!b) return 0;
    if (auto it = buffers_.find(b); it != buffers_.end()) return it->second + 1;
    std::vector<uint64_t> shape;
    for (Expr extent : b->shape) shape.push_back(expression(extent));
    define('b');
    define(named(b->name));
    define(static_cast<uint64_t>(b->dtype));
    define(static_cast<uint64_t>(b->role));
    define(shape.size());
    for (uint64_t extent : shape) define(extent);
    return buffers_.emplace(b, buffers_.size()).first->second + 1;
  }

  uint64_t function(const UninterpretedFunction* f) {
    if (!f) return 0;
    if (auto it = functions_.find(f); it != functions_.end()) return it->second + 1;
    const uint64_t place = functions_.emplace(f, functions_.size()).first->second;  // facts may name it again
    const uint64_t size = dim(f->dim), array = buffer(f->array), low = expression(f->facts.low),
                   high = expression(f->facts.high);
    define('f');
    define(place);
    define(static_cast<uint64_t>(f->arity));
    define(static_cast<uint64_t>(f->backing));
    for (uint64_t part : {size, array, low, high}) define(part);
    define((f->facts.monotone ? 1 : 0) + (f->facts.injective ? 2 : 0));
    define(static_cast<uint64_t>(f->facts.multipleOf));
    const uint64_t inverse = f->facts.inverseOf ? named(f->facts.inverseOf->name) + 1 : 0,
                   prefix = f->facts.prefixSumOf ? named(f->facts.prefixSumOf->name) + 1 : 0;
    define(named(f->name));
    define(inverse);
    define(prefix);
    return place + 1;
  }

  uint64_t expression(Expr root) {
    if (root.isNull()) return 0;
    std::vector<Expr> work{root};
    while (!work.empty()) {
      const Expr e = work.back();
      const size_t before = work.size();
      if (!expressions_.count(e.id()))
        for (Expr operand : e.operands())
          if (!expressions_.count(operand.id())) work.push_back(operand);
      if (work.size() > before) continue;
      work.pop_back();
      if (!expressions_.count(e.id())) node(e);
    }
    return expressions_.at(root.id()) + 1;
  }

  void node(Expr e) {
    uint64_t reference = 0;
    switch (e.kind()) {
      case ExprKind::intConstant:
        reference = static_cast<uint64_t>(e.intValue());
        break;
      case ExprKind::realConstant:
        reference = std::bit_cast<uint64_t>(e.realValue());
        break;
      case ExprKind::dim:
        reference = dim(e.dimValue());
        break;
      case ExprKind::load:
        reference = buffer(e.buffer());
        break;
      case ExprKind::call:
        reference = function(e.function());
        break;
      case ExprKind::unary:
        reference = static_cast<uint64_t>(e.unaryOp());
        break;
      case ExprKind::binary:
        reference = static_cast<uint64_t>(e.binaryOp());
        break;
      case ExprKind::reduce:
        reference = static_cast<uint64_t>(e.reduceOp());
        break;
      case ExprKind::checked:
        reference = static_cast<uint64_t>(e.fault());
        break;
      case ExprKind::variable:  // known by its number
      case ExprKind::select:
      case ExprKind::cast:
        break;
    }
    if (expressions_.count(e.id())) return;  // the shape of its own buffer named it
    std::vector<uint64_t> variables;
    if (e.kind() == ExprKind::reduce)
      for (Expr variable : e.reduceVariables()) variables.push_back(expression(variable));
    define('e');
    define(static_cast<uint64_t>(e.kind()));
    define(static_cast<uint64_t>(e.dtype()));
    define(reference);
    define(variables.size());
    for (uint64_t variable : variables) define(variable);
    define(e.operands().size());
    for (Expr operand : e.operands()) define(expressions_.at(operand.id()));
    expressions_.emplace(e.id(), expressions_.size());
  }

  // Statements in the order in which they stand; 'z' ends a list of children. Blocks are their children, as
  // in the text.
  void body() {
    std::vector<const Stmt*> stack{kernel_.body.get()};
    while (!stack.empty()) {
      const Stmt* s = stack.back();
      stack.pop_back();
      if (!s) {
        say('z');
        continue;
      }
      if (s->kind != StmtKind::block) {
        statement(*s);
        stack.push_back(nullptr);
      }
      for (size_t i = s->children.size(); i-- > 0;)
        if (s->children[i]) stack.push_back(s->children[i].get());
    }
  }

  void statement(const Stmt& s) {
    std::vector<uint64_t> parts;
    for (Expr e : {s.variable, s.extent, s.value, s.condition, s.subject}) parts.push_back(expression(e));
    parts.push_back(buffer(s.buffer));
    for (const std::vector<Expr>* list : {&s.index, &s.variables, &s.extents}) {
      parts.push_back(list->size());
      for (Expr e : *list) parts.push_back(expression(e));
    }
    say('s');
    say(static_cast<uint64_t>(s.kind));
    say(static_cast<uint64_t>(s.loopKind));
    say(static_cast<uint64_t>(s.reduceOp));
    say(static_cast<uint64_t>(static_cast<int64_t>(s.fault)));
    for (uint64_t part : parts) say(part);
  }

  const Kernel& kernel_;
  const DimsBy dimsBy_;
  std::string definitions_, kernelText_;
  uint64_t nextDim_ = 0;
  std::unordered_map<uint32_t, uint64_t> dims_, expressions_;
  std::unordered_map<const Buffer*, uint64_t> buffers_;
  std::unordered_map<const UninterpretedFunction*, uint64_t> functions_;
  std::unordered_map<std::string, uint64_t> names_;
};

}  // namespace

std::optional<std::string> lastingKey(const Kernel& kernel) {
  return KeyWriter(kernel, DimsBy::form).write();
}

std::string generalKeyOf(const std::string& lastingKey, size_t givenCount) {
  return lastingKey + "scalars " + std::to_string(givenCount) + "\n";
}

std::string structuralKey(const Kernel& kernel) {
  if (std::optional<std::string> key = lastingKey(kernel)) return *std::move(key);
  return "numbers" + KeyWriter(kernel, DimsBy::number).write().value();
}

}  // namespace dyn::loop
