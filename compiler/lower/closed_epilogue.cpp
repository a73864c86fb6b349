#include "compiler/lower/closed_epilogue.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/loop/expr_forms.h"

namespace dyn {

namespace {

using loop::BinaryOp;
using loop::Buffer;
using loop::Expr;
using loop::ExprKind;
using loop::Stmt;
using loop::StmtKind;

// The one store of a kernel and what its lets stand for; `store` is null where it has other statements.
struct OneStore {
  const Stmt* store = nullptr;
  std::unordered_map<uint32_t, Expr> lets;
  std::optional<Expr> column;  // the variable of its one loop

  explicit OneStore(const loop::Kernel& kernel) {
    std::vector<const Stmt*> waiting{kernel.body.get()};
    int64_t stores = 0, loops = 0;
    bool others = false;
    while (!waiting.empty()) {
      const Stmt& stmt = *waiting.back();
      waiting.pop_back();
      for (const loop::StmtRef& child : stmt.children) waiting.push_back(child.get());
      loops += stmt.kind == StmtKind::loop;
      if (stmt.kind == StmtKind::loop) column = stmt.variable;
      stores += stmt.kind == StmtKind::store;
      if (stmt.kind == StmtKind::store) store = &stmt;
      if (stmt.kind == StmtKind::let) lets.emplace(stmt.variable.id(), stmt.value);
      others |=
          stmt.kind == StmtKind::accumulate || stmt.kind == StmtKind::branch || stmt.kind == StmtKind::check;
    }
    if (stores != 1 || loops > 1 || others) store = nullptr;
  }

  Expr resolved(Expr e) const {
    for (auto let = lets.find(e.id()); let != lets.end(); let = lets.find(e.id())) e = let->second;
    return e;
  }
};

class FormReader {
 public:
  FormReader(const loop::Kernel& kernel, const Buffer* product) : product_(product), from_(kernel) {}

  // Is each element made of elements at its own place and of single ones?
  bool isEven() const {
    if (!from_.store || from_.store->buffer->dtype != Dtype::f32 || product_->dtype != Dtype::f32 ||
        !columnIsLast())
      return false;
    std::vector<Expr> waiting{from_.store->value};
    std::unordered_set<uint32_t> seen;
    while (!waiting.empty()) {
      const Expr e = from_.resolved(waiting.back());
      waiting.pop_back();
      if (!seen.insert(e.id()).second) continue;
      switch (e.kind()) {
        case ExprKind::intConstant:
        case ExprKind::realConstant:
          break;
        case ExprKind::load:
          if (!isItsOwn(e)) return false;
          break;
        case ExprKind::unary:
        case ExprKind::binary:
        case ExprKind::select:
        case ExprKind::cast:
          for (const Expr& operand : e.operands()) waiting.push_back(operand);
          break;
        default:
          return false;
      }
    }
    return true;
  }

  // `buffers`: bias, low and high.
  EpilogueForm read(std::vector<const Buffer*>& buffers) const {
    if (!from_.store || from_.store->buffer->dtype != Dtype::f32 || product_->dtype != Dtype::f32) return {};
    EpilogueForm form;
    Expr value = from_.resolved(from_.store->value);
    const Buffer *high = bound(value, BinaryOp::min), *low = bound(value, BinaryOp::max);
    form.high = high != nullptr;
    form.low = low != nullptr;
    if (!low) form.zero = cutAtZero(value);
    const Buffer* bias = added(value);
    form.bias = bias != nullptr;
    if (!isProduct(value)) return {};
    for (const Buffer* buffer : {bias, low, high})
      if (buffer) buffers.push_back(buffer);
    return form;
  }

 private:
  // Is the last index of the store the column, and no other one of it?
  bool columnIsLast() const {
    const std::vector<Expr>& index = from_.store->index;
    if (index.empty() || !from_.column || !isBinary(index.back(), BinaryOp::add)) return false;
    const std::span<const Expr> sum = index.back().operands();
    if (sum[0].kind() != ExprKind::dim || !sum[1].same(*from_.column)) return false;
    for (const Expr& at : std::span(index).first(index.size() - 1))
      if (mentions(from_.resolved(at), *from_.column)) return false;
    return true;
  }
  // The element of the store's place in a buffer of the same shape, or the first one of any.
  bool isItsOwn(const Expr& load) const {
    const std::vector<Expr>&shape = load.buffer()->shape, &result = from_.store->buffer->shape;
    bool same = isAtStore(load.operands()) && shape.size() == result.size();
    for (size_t i = 0; same && i < shape.size(); ++i) same = shape[i].same(result[i]);
    if (same) return true;
    for (const Expr& at : load.operands())
      if (!isZero(at)) return false;
    return load.buffer() != product_;
  }
  bool isProduct(Expr e) const {
    return e.kind() == ExprKind::load && e.buffer() == product_ && isAtStore(e.operands());
  }
  bool isAtStore(std::span<const Expr> index) const {
    const std::vector<Expr>& written = from_.store->index;
    bool same = index.size() == written.size();
    for (size_t i = 0; same && i < index.size(); ++i) same = index[i].same(written[i]);
    return same;
  }

  // min(bound, e) or max(bound, e) with a bound that is the first element of a buffer: `value` becomes e.
  const Buffer* bound(Expr& value, BinaryOp op) const {
    if (!isBinary(value, op)) return nullptr;
    const Expr limit = from_.resolved(value.operands()[0]);
    if (limit.kind() != ExprKind::load || limit.buffer() == product_) return nullptr;
    for (const Expr& at : limit.operands())
      if (!isZero(at)) return nullptr;
    value = from_.resolved(value.operands()[1]);
    return limit.buffer();
  }
  // select(e < 0, 0, e): `value` becomes e.
  bool cutAtZero(Expr& value) const {
    if (value.kind() != ExprKind::select) return false;
    const Expr condition = from_.resolved(value.operands()[0]), below = from_.resolved(value.operands()[1]),
               otherwise = from_.resolved(value.operands()[2]);
    if (!isBinary(condition, BinaryOp::less) || !isZero(below) ||
        !from_.resolved(condition.operands()[0]).same(otherwise) ||
        !isZero(from_.resolved(condition.operands()[1])))
      return false;
    value = otherwise;
    return true;
  }
  // The product and, for its column, the element of a buffer: `value` becomes the product.
  const Buffer* added(Expr& value) const {
    if (!isBinary(value, BinaryOp::add)) return nullptr;
    Expr one = from_.resolved(value.operands()[0]), other = from_.resolved(value.operands()[1]);
    if (!isProduct(one)) std::swap(one, other);
    if (!isProduct(one) || other.kind() != ExprKind::load || other.buffer() == product_) return nullptr;
    const std::span<const Expr> index = other.operands();
    if (index.empty() || !index.back().same(from_.store->index.back())) return nullptr;
    for (const Expr& at : index.first(index.size() - 1))
      if (!isZero(at)) return nullptr;
    value = one;
    return other.buffer();
  }

  const Buffer* product_;
  const OneStore from_;
};

}  // namespace

EpilogueForm closedFormOf(const loop::Kernel& kernel, const Buffer* product) {
  std::vector<const Buffer*> read;
  const FormReader reader(kernel, product);
  const EpilogueForm form = reader.read(read);
  // Behind those that are read: the product and the result.
  const bool isClosed = form.isClosed() && kernel.buffers.size() == read.size() + 2 &&
                        std::equal(read.begin(), read.end(), kernel.buffers.begin()) &&
                        kernel.buffers[read.size()] == product;
  return isClosed ? form : EpilogueForm{.even = reader.isEven()};
}

}  // namespace dyn
