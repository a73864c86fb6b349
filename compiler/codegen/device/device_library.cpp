#include "compiler/codegen/device/device_library.h"

#include <algorithm>
#include <optional>

#include "compiler/codegen/device/device_digits.h"

namespace dyn {
namespace {

using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;
using loop::Stmt;
using loop::StmtKind;

bool isSupported(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16; }

class Describer {
 public:
  Describer(const loop::Kernel& kernel, const TiledProduct& product) : kernel_(kernel), product_(product) {
    add('b', product.batch);
    add('r', product.rows);
    add('c', product.columns);
    add('k', product.depth);
  }

  LibraryProduct run(DeviceMath math) {
    const std::string digits = digitsText();
    const std::string left = factorText(product_.rowPart), right = factorText(product_.columnPart);
    std::string result, bias;
    if (why_.empty()) takeResult(result, bias);
    if (!why_.empty()) return {"", why_};
    return {digits + ";" + left + ";" + right + ";" + result + ";" + bias + ";" + std::string(toString(math)),
            ""};
  }

 private:
  struct Digit {
    char role;
    ProductDigit digit;
  };

  void add(char role, const std::vector<ProductDigit>& digits) {
    for (const ProductDigit& digit : digits) digits_.push_back({role, digit});
  }
  // The first reason is told.
  std::string refuse(const std::string& why) {
    if (why_.empty()) why_ = why;
    return "";
  }

  std::string digitsText() {
    std::string text;
    for (const Digit& digit : digits_) {
      const std::string extent = extentAtLaunch(kernel_, product_.unitExtents, {digit.digit});
      if (extent.empty()) return refuse("a size of it is not known at the launch");
      text += (text.empty() ? "" : ",") + std::string(1, digit.role) + extent;
    }
    return text;
  }

  // "3": a digit goes along this axis, which may have one element for all; "-": nothing does. Else nullopt.
  std::optional<std::string> alongAxis(Expr index, Expr size) const {
    if (isZero(index)) return "-";
    if (index.kind() == ExprKind::select) {
      const std::span<const Expr> parts = index.operands();
      const bool ofThisAxis = isBinary(parts[0], BinaryOp::equal) && parts[0].operands()[0].same(size) &&
                              parts[0].operands()[1].kind() == ExprKind::intConstant &&
                              parts[0].operands()[1].intValue() == 1;
      return ofThisAxis && isZero(parts[1]) ? alongAxis(parts[2], size) : std::nullopt;
    }
    for (size_t i = 0; i < digits_.size(); ++i)
      if (digits_[i].digit.variable.same(index)) return std::to_string(i);
    return std::nullopt;
  }

  std::string matrixText(const loop::Buffer* buffer, std::span<const Expr> index) {
    if (!isSupported(buffer->dtype))
      return refuse("its elements are " + std::string(toString(buffer->dtype)));
    if (index.empty()) return refuse("a single number is not a matrix");
    std::string shape, digits;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      const std::string size = knownAtLaunch(kernel_, buffer->shape[axis]);
      const std::optional<std::string> digit = alongAxis(index[axis], buffer->shape[axis]);
      if (size.empty()) return refuse("a size of it is not known at the launch");
      if (!digit) return refuse("a factor is not a matrix as it lies in memory");
      shape += (axis ? "." : "") + size;
      digits += (axis ? "." : "") + *digit;
    }
    const auto at = std::find(kernel_.buffers.begin(), kernel_.buffers.end(), buffer);
    if (at == kernel_.buffers.end()) return refuse("a factor is computed by the kernel itself");
    return std::to_string(at - kernel_.buffers.begin()) + ":" + std::string(toString(buffer->dtype)) + ":" +
           shape + ":" + digits;
  }

  std::string factorText(Expr part) {
    const std::optional<PlainFactor> plain = plainFactorOf(part, {}, {});
    if (!plain) return refuse("a factor is computed by the kernel itself");
    const Dtype other = narrowestOf(product_.rowPart);
    if (narrowestOf(product_.columnPart) != other) return refuse("its factors have elements of two types");
    factorDtype_ = plain->load.buffer()->dtype;
    return matrixText(plain->load.buffer(), plain->load.operands());
  }

  // The one store of what follows, with what lets stand for put in.
  const Stmt* onlyStore(Expr& value) {
    const Stmt* store = nullptr;
    std::vector<std::pair<Expr, Expr>> lets;
    for (const loop::StmtRef& s : product_.after) {
      if (s->kind == StmtKind::let) {
        lets.emplace_back(s->variable, s->value);
      } else if (s->kind == StmtKind::store && !store) {
        store = s.get();
      } else {
        return nullptr;
      }
    }
    if (!store) return nullptr;
    value = store->value;
    for (size_t i = lets.size(); i-- > 0;)
      value = kernel_.context->substitute(
          value, [&](Expr e) { return e.same(lets[i].first) ? lets[i].second : Expr(); });
    return store;
  }

  void takeResult(std::string& result, std::string& bias) {
    Expr value;
    const Stmt* store = onlyStore(value);
    if (!store) return (void)refuse("the kernel has several results");
    const Dtype dtype = store->buffer->dtype;
    if (dtype != Dtype::f32 && dtype != factorDtype_)
      return (void)refuse("its result is " + std::string(toString(dtype)));
    bias = "-";
    // A sum of f32 that is rounded where it is stored.
    while (value.kind() == ExprKind::cast && value.dtype() == dtype) value = value.operands()[0];
    if (!value.same(product_.sum) && dtype == Dtype::f32 && isBinary(value, BinaryOp::add)) {
      const bool sumIsFirst = value.operands()[0].same(product_.sum);
      if (sumIsFirst || value.operands()[1].same(product_.sum)) {
        bias = biasText(value.operands()[sumIsFirst ? 1 : 0]);
        value = product_.sum;
      }
    }
    if (!value.same(product_.sum) || bias.empty())
      return (void)refuse("the epilogue of the product is more than an f32 bias");
    result = matrixText(store->buffer, store->index);
  }

  // "2": of f32, as many as there are columns; "": no bias.
  std::string biasText(Expr value) const {
    if (value.kind() != ExprKind::load || value.buffer()->dtype != Dtype::f32) return "";
    if (product_.columns.size() != 1 || value.operands().size() != 1 ||
        !value.operands()[0].same(product_.columns[0].variable))
      return "";
    const auto at = std::find(kernel_.buffers.begin(), kernel_.buffers.end(), value.buffer());
    return at == kernel_.buffers.end() ? "" : std::to_string(at - kernel_.buffers.begin());
  }

  const loop::Kernel& kernel_;
  const TiledProduct& product_;
  std::vector<Digit> digits_;
  Dtype factorDtype_ = Dtype::f32;
  std::string why_;
};

}  // namespace

LibraryProduct libraryProductOf(const loop::Kernel& kernel, const TiledProduct& product, DeviceMath math) {
  return Describer(kernel, product).run(math);
}

}  // namespace dyn
