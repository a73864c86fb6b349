#include "compiler/loop/builder/general_kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/widened_byte.h"

namespace dyn::loop {

namespace {

// Smaller numbers are windows, and rows that code is written out for.
constexpr int64_t kLeastLoop = 16;
// Of what is only multiplied with indices.
constexpr int64_t kLeastStride = 4;
// Rows up to here are copied as a whole.
constexpr int64_t kLongestCopied = 64;
constexpr int64_t kVector = 16;
constexpr double kLargestMean = 1 << 24;

class Opener {
 public:
  explicit Opener(const Kernel& kernel)
      : from_(kernel),
        dims_(std::make_shared<DimContext>()),
        context_(std::make_shared<LoopContext>(*dims_)) {}

  std::optional<GeneralKernel> run() {
    if (!from_.functions.empty()) return std::nullopt;
    findSizes();
    findScalars();
    GeneralKernel made;
    made.dims = dims_;
    Kernel& to = made.kernel;
    to.name = from_.name;
    to.description = from_.description;
    to.context = context_;
    for (const Buffer* b : from_.buffers) to.buffers.push_back(buffer(b));
    for (const Buffer* b : from_.scratch) to.scratch.push_back(buffer(b));
    to.unit = expression(from_.unit);
    openDigits();
    to.unitCount = expression(from_.unitCount);
    to.body = statement(*from_.body);
    if (failed_) return std::nullopt;
    to.scalars = scalars_;
    to.scalars.insert(to.scalars.end(), sizeSymbols_.begin(), sizeSymbols_.end());
    made.given = given_;
    made.sizes = sizes_;
    return made;
  }

 private:
  // --- what is open

  void findSizes() {
    for (const Buffer* b : from_.scratch)
      for (Expr extent : b->shape) keep(extent);
    lookAt(*from_.body);
    for (const Buffer* b : from_.buffers)
      for (Expr extent : b->shape) open(extent);
    for (Expr extent : loopExtents_) {
      open(extent);
      findBlock(extent);
    }
  }
  // A loop over min(64, n - b*64) takes its axis in blocks of 64, whatever has that size.
  void findBlock(Expr extent) {
    if (extent.kind() != ExprKind::binary || extent.binaryOp() != BinaryOp::min) return;
    for (Expr operand : extent.operands())
      if (operand.kind() == ExprKind::intConstant) blocks_.insert(operand.intValue());
  }
  bool isOfBlock(Expr e, Expr operand) const {
    return (e.binaryOp() == BinaryOp::min || e.binaryOp() == BinaryOp::mul) && e.dtype() == Dtype::i64 &&
           operand.kind() == ExprKind::intConstant && blocks_.count(operand.intValue());
  }
  void keep(Expr extent) {
    if (extent.kind() == ExprKind::intConstant) kept_.insert(extent.intValue());
  }
  void open(Expr extent) {
    if (extent.kind() != ExprKind::intConstant) return;
    const int64_t value = extent.intValue();
    const bool isLoop = std::any_of(loopExtents_.begin(), loopExtents_.end(), [&](Expr e) {
      return e.kind() == ExprKind::intConstant && e.intValue() == value;
    });
    if (value < (isLoop ? kLeastLoop : kLeastStride) || kept_.count(value) || open_.count(value)) return;
    const int64_t multiple = isLoop ? std::gcd(value, kVector) : 1;
    open_.emplace(value, multiple * newSize(value / multiple));
  }
  static bool copies(const Stmt& stmt) {
    return (stmt.kind == StmtKind::store && stmt.value.kind() == ExprKind::load) ||
           std::any_of(stmt.children.begin(), stmt.children.end(),
                       [](const StmtRef& child) { return child && copies(*child); });
  }
  // By a constant is a multiplication, by what is open it is not.
  static bool divides(BinaryOp op) {
    return op == BinaryOp::div || op == BinaryOp::floorDiv || op == BinaryOp::mod || op == BinaryOp::rem;
  }
  // Is this the number of the unit, or a digit of it? Digits are taken apart once for all loops of a unit.
  bool isOfUnit(Expr e) const {
    while (e.kind() == ExprKind::binary && divides(e.binaryOp())) e = e.operands()[0];
    return e.same(from_.unit);
  }
  // Statements nest as deep as a kernel has axes.
  void lookAt(const Stmt& stmt) {
    if (stmt.kind == StmtKind::loop && stmt.extent.kind() == ExprKind::intConstant) {
      const bool shortCopy = stmt.extent.intValue() <= kLongestCopied && copies(stmt);
      if (stmt.loopKind == LoopKind::unroll || (shortCopy && stmt.loopKind != LoopKind::tile))
        keep(stmt.extent);
    }
    if (stmt.kind == StmtKind::loop) {
      loopExtents_.push_back(stmt.extent);
      loopVariables_.insert(stmt.variable.id());
    }
    loopExtents_.insert(loopExtents_.end(), stmt.extents.begin(), stmt.extents.end());
    const std::vector<Expr> own = expressionsOf(stmt);
    for (Expr e : postorder(own)) {
      if (e.kind() == ExprKind::binary && e.dtype() == Dtype::i64 && divides(e.binaryOp()) &&
          !isOfUnit(e.operands()[0]))
        keep(e.operands()[1]);
      if (looksUpByte(e)) keep(e.buffer()->shape[0]);
    }
    for (const StmtRef& child : stmt.children)
      if (child) lookAt(*child);
  }

  void findScalars() {
    for (size_t i = 0; i < from_.scalars.size(); ++i)
      if (!from_.scalars[i].isConstant()) scalarPlaces_.try_emplace(from_.scalars[i].id(), i);
  }

  // Does a scalar become a symbol by itself? Symbols are sizes: what may be less than 0 stays what it is made
  // of. Extents of tensors, and the number of units that there are, are not.
  bool isSymbol(Dim scalar) const {
    if (scalar.kind() != DimKind::add && scalar.kind() != DimKind::mul) return true;
    const auto is = [&](Expr size) { return size.kind() == ExprKind::dim && size.dimValue() == scalar; };
    const auto isExtentOf = [&](const Buffer* b) { return std::ranges::any_of(b->shape, is); };
    if (is(from_.unitCount) || std::ranges::any_of(from_.buffers, isExtentOf)) return true;
    const Dim nothing = scalar.context().constant(0);
    return DimSolver(scalar.context()).lessEqual(nothing, scalar) == Answer::yes;
  }
  // What one can see that a scalar is a multiple of, where a loop runs to it; else 1.
  int64_t multipleOf(Dim scalar) const {
    const bool isExtent = std::any_of(loopExtents_.begin(), loopExtents_.end(), [&](Expr extent) {
      return extent.kind() == ExprKind::dim && extent.dimValue() == scalar;
    });
    int64_t multiple = isExtent ? kVector : 1;
    while (mod(scalar, scalar.context().constant(multiple)).constant() != 0) multiple /= 2;
    return multiple;
  }

  // --- the same in the new contexts

  Dim number(int64_t value) {
    const auto found = open_.find(value);
    return found == open_.end() ? dims_->constant(value) : found->second;
  }

  Dim newSize(int64_t value) {
    sizeSymbols_.push_back(dims_->symbol("size." + std::to_string(sizes_.size())));
    sizes_.push_back(value);
    return sizeSymbols_.back();
  }
  // A number that stands in some place (`of`, by id): what it is equal to elsewhere does not matter.
  Expr ownSize(int64_t value, uint32_t of = 0) {
    Dim& size = ownSizes_[{value, of}];
    if (!size) size = newSize(value);
    return context_->dim(size);
  }

  Dim dim(Dim root) {
    std::vector<Dim> work{root};
    while (!work.empty()) {
      const Dim d = work.back();
      bool ready = true;
      const auto place = scalarPlaces_.find(d.id());
      const bool isFresh = !madeDims_.count(d.id());
      if (isFresh && place != scalarPlaces_.end() && isSymbol(d)) {
        const int64_t multiple = multipleOf(d);
        const Dim scalar = dims_->symbol("scalar." + std::to_string(given_.size()));
        madeDims_.emplace(d.id(), multiple * scalar);
        give(scalar, {place->second, multiple});
      } else if (isFresh) {
        for (Dim operand : d.operands())
          if (!madeDims_.count(operand.id())) {
            ready = false;
            work.push_back(operand);
          }
      }
      if (!ready) continue;
      work.pop_back();
      if (madeDims_.count(d.id())) continue;
      madeDims_.emplace(d.id(), combined(d));
      if (place != scalarPlaces_.end()) give(madeDims_.at(d.id()), {place->second, 1});
    }
    return madeDims_.at(root.id());
  }
  void give(Dim scalar, GivenScalar from) {
    scalars_.push_back(scalar);
    given_.push_back(from);
  }
  Dim combined(Dim d) {
    if (const std::optional<int64_t> value = d.constant()) return number(*value);
    if (d.isSymbol() || d.isInvalid()) {  // not given: whoever computes the kernel could not know it
      failed_ = true;
      return dims_->invalid();
    }
    Dim result = madeDims_.at(d.operands()[0].id());
    for (Dim operand : d.operands().subspan(1))
      result = combined(d.kind(), result, madeDims_.at(operand.id()));
    return result;
  }
  static Dim combined(DimKind kind, Dim a, Dim b) {
    switch (kind) {
      case DimKind::add:
        return a + b;
      case DimKind::mul:
        return a * b;
      case DimKind::floorDiv:
        return floorDiv(a, b);
      case DimKind::ceilDiv:
        return ceilDiv(a, b);
      case DimKind::mod:
        return mod(a, b);
      case DimKind::min:
        return min(a, b);
      default:
        return max(a, b);
    }
  }

  const Buffer* buffer(const Buffer* b) {
    if (!b) return nullptr;
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    std::vector<Expr> shape;
    for (Expr extent : b->shape) shape.push_back(expression(extent));
    // Views of one buffer have its name.
    const auto [first, fresh] = byName_.try_emplace(b->name, nullptr);
    if (fresh) first->second = context_->buffer(b->name, b->dtype, std::move(shape), b->role);
    const Buffer* made = fresh ? first->second : context_->view(first->second, std::move(shape));
    return buffers_.emplace(b, made).first->second;
  }

  Expr expression(Expr root) {
    if (root.isNull()) return {};
    for (Expr e : postorder(std::span(&root, 1)))
      if (!made_.count(e.id())) {
        const Expr made = node(e);
        made_.emplace(e.id(), made);
      }
    return made_.at(root.id());
  }
  Expr node(Expr e) {
    std::vector<Expr> operands;
    for (Expr operand : e.operands()) operands.push_back(made_.at(operand.id()));
    switch (e.kind()) {
      case ExprKind::intConstant:
        return e.dtype() == Dtype::i64 ? context_->dim(number(e.intValue()))
                                       : context_->integer(e.intValue(), e.dtype());
      case ExprKind::realConstant:
        return context_->real(e.realValue(), e.dtype());
      case ExprKind::variable: {
        const Expr variable = context_->namedVariable(e.name(), e.dtype());
        if (const Expr extent = e.context().extentOf(e); !extent.isNull())
          context_->bound(variable, expression(extent));
        return variable;
      }
      case ExprKind::dim:
        return context_->dim(dim(e.dimValue()));
      case ExprKind::load:
        for (size_t i = 0; i < operands.size(); ++i) operands[i] = place(e.operands()[i]);
        return context_->load(buffer(e.buffer()), std::move(operands));
      case ExprKind::binary:
        for (size_t i = 0; i < operands.size(); ++i)
          if (isOfBlock(e, e.operands()[i])) operands[i] = context_->integer(e.operands()[i].intValue());
        if (choosesRows(e)) operands[1] = sizeOf(e.operands()[1].intValue());
        if (const Expr size = openDivisor(e); !size.isNull()) operands[1] = size;
        return context_->withOperands(e, operands);
      case ExprKind::unary:
      case ExprKind::select:
      case ExprKind::cast:
        return context_->withOperands(e, operands);
      case ExprKind::call:
      case ExprKind::reduce:
      case ExprKind::checked:
        break;
    }
    failed_ = true;
    return context_->integer(0, isReal(e.dtype()) ? Dtype::i64 : e.dtype());
  }

  // The lets at the head of the body that take the unit's number apart, last axis first: they stay its
  // digits, of whatever sizes.
  void openDigits() {
    if (from_.body->kind != StmtKind::block || loopExtents_.empty()) return;
    Expr rest = from_.unit, made = made_.at(rest.id());
    for (const StmtRef& let : from_.body->children) {
      if (let->kind != StmtKind::let || let->value.kind() != ExprKind::binary) return;
      const Expr extent = let->value.operands()[1];
      if (let->value.binaryOp() != BinaryOp::mod || !let->value.operands()[0].same(rest)) return;
      const Expr size =
          extent.kind() == ExprKind::intConstant ? ownSize(extent.intValue(), rest.id()) : expression(extent);
      made_[let->value.id()] = context_->binary(BinaryOp::mod, made, size);
      rest = floorDiv(rest, extent);
      made = floorDiv(made, size);
      made_[rest.id()] = made;
    }
  }
  // What a digit of the unit's number, or a mean, is divided by. A division by a power of two that is no size
  // is another code.
  Expr openDivisor(Expr e) {
    if (!divides(e.binaryOp())) return {};
    const Expr divisor = e.operands()[1];
    if (divisor.kind() == ExprKind::intConstant && isOfUnit(e.operands()[0]) && !loopExtents_.empty())
      return ownSize(divisor.intValue(), e.operands()[0].id());
    if (divisor.kind() != ExprKind::realConstant) return {};
    const double value = divisor.realValue();
    if (value < static_cast<double>(kLeastLoop) || value > kLargestMean || value != std::trunc(value))
      return {};
    const auto size = static_cast<int64_t>(value);
    if (!open_.count(size) && std::has_single_bit(static_cast<uint64_t>(size))) return {};
    return context_->cast(sizeOf(size), divisor.dtype());
  }
  // The index of an access: what is added to it is open as well.
  Expr place(Expr index) {
    const Expr made = made_.at(index.id());
    if (index.kind() != ExprKind::binary || index.binaryOp() != BinaryOp::add) return made;
    const Expr before = made_.at(index.operands()[0].id()), offset = index.operands()[1];
    if (offset.kind() != ExprKind::intConstant || open_.count(offset.intValue())) return made;
    if (offset.intValue() >= kLeastLoop) return before + ownSize(offset.intValue());
    if (offset.intValue() <= -kLeastLoop) return before - sizeOf(-offset.intValue());
    return made;
  }
  Expr sizeOf(int64_t value) {
    const auto found = open_.find(value);
    return found == open_.end() ? ownSize(value) : context_->dim(found->second);
  }
  // Rows of a fused Concat are chosen by where they begin.
  bool choosesRows(Expr e) const {
    return e.binaryOp() == BinaryOp::less && e.operands()[0].kind() == ExprKind::variable &&
           !loopVariables_.count(e.operands()[0].id()) && e.operands()[1].kind() == ExprKind::intConstant &&
           e.operands()[1].intValue() >= kLeastLoop;
  }

  StmtRef statement(const Stmt& stmt) {
    auto made = std::make_shared<Stmt>(stmt);
    for (Expr* e : {&made->variable, &made->extent, &made->value, &made->condition, &made->subject})
      *e = expression(*e);
    for (std::vector<Expr>* list : {&made->variables, &made->extents})
      for (Expr& e : *list) e = expression(e);
    for (Expr& e : made->index) {
      expression(e);
      e = place(e);
    }
    made->buffer = buffer(stmt.buffer);
    for (StmtRef& child : made->children)
      if (child) child = statement(*child);
    return made;
  }

  const Kernel& from_;
  std::shared_ptr<DimContext> dims_;
  std::shared_ptr<LoopContext> context_;
  std::vector<Expr> loopExtents_;
  std::unordered_set<uint32_t> loopVariables_;
  std::unordered_set<int64_t> kept_, blocks_;
  std::unordered_map<int64_t, Dim> open_;
  std::map<std::pair<int64_t, uint32_t>, Dim> ownSizes_;
  std::vector<Dim> sizeSymbols_;
  std::vector<int64_t> sizes_;
  std::map<uint32_t, size_t> scalarPlaces_;
  std::vector<GivenScalar> given_;
  std::vector<Dim> scalars_;  // these, in the new context
  bool failed_ = false;
  std::unordered_map<uint32_t, Dim> madeDims_;
  std::unordered_map<uint32_t, Expr> made_;
  std::unordered_map<const Buffer*, const Buffer*> buffers_;
  std::unordered_map<std::string, const Buffer*> byName_;
};

}  // namespace

std::optional<GeneralKernel> generalOf(const Kernel& kernel) { return Opener(kernel).run(); }

}  // namespace dyn::loop
