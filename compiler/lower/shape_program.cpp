#include "compiler/lower/shape_program.h"

#include "compiler/ir/op_def.h"
#include "compiler/lower/function_lowering.h"

namespace dyn {

using vm::Immediate;
using vm::Label;
using vm::Opcode;

namespace {

constexpr int64_t kMaxElementsRead = 64;  // a shape operand has as many elements as a tensor has axes

class ShapeProgram : public InferContext {
 public:
  ShapeProgram(FunctionLowering& lowering, const Op& op, const std::unordered_map<ValueId, ValueId>& outer)
      : lowering_(lowering), op_(op), outer_(outer), results_(op.results.size()) {}

  const Op& op() const override { return op_; }
  IrContext& ir() const override { return *lowering_.module().context; }
  const Module& module() const override { return lowering_.module(); }
  DimSolver& solver() const override { return lowering_.facts(); }

  Type operandType(int i) const override { return lowering_.typeOf(value(i)); }

  std::optional<Contents> operandContents(int i) const override {
    if (!hasOperand(i)) return std::nullopt;
    if (std::optional<Contents> known = lowering_.contents(value(i))) return known;
    const Type type = operandType(i);
    if (!type.isTensor() || type.rank() > 1 || !(isInteger(type.dtype()) || type.dtype() == Dtype::boolean))
      return std::nullopt;
    const int64_t count = type.rank() == 0 ? 1 : type.dims()[0].constant().value_or(-1);
    if (count < 0 || count > kMaxElementsRead) return std::nullopt;
    Contents read;
    for (int64_t k = 0; k < count; ++k) {
      Result<int32_t> scalar = lowering_.element(value(i), k);
      if (!scalar.ok()) return std::nullopt;
      read.push_back(elementSymbol(*scalar, "element of an operand"));
    }
    return read;
  }

  const HostTensor* operandConstant(int i) const override {
    return hasOperand(i) ? lowering_.constant(value(i)) : nullptr;
  }

  Status requireEqual(Dim a, Dim b, std::string_view what) override {
    return require(a, b, what, Opcode::checkEqual, " must equal ");
  }
  Status requireLessEqual(Dim a, Dim b, std::string_view what) override {
    return require(a, b, what, Opcode::checkLessEqual, " must be at most ");
  }

  Result<Dim> broadcast(Dim a, Dim b, std::string_view what) override {
    if (a == b || b.isConstant(1) || solver().equal(a, b) == Answer::yes) return a;
    if (a.isConstant(1)) return b;
    DYN_TRY(int32_t left, lowering_.dims().emit(a));
    DYN_TRY(int32_t right, lowering_.dims().emit(b));
    vm::CodeWriter& code = lowering_.code();
    const int32_t result = lowering_.dims().newScalar(), test = lowering_.dims().newScalar(),
                  one = lowering_.dims().emitConstant(1);
    const Label done = code.newLabel();
    code.emit(Opcode::move, result, right);
    code.emit(Opcode::equal, test, left, one);
    code.emit(Opcode::jumpIf, test, done);
    code.emit(Opcode::move, result, left);
    code.emit(Opcode::equal, test, right, one);
    code.emit(Opcode::jumpIf, test, done);
    code.emit(Opcode::checkEqual, left, right,
              lowering_.program().string(std::string(what) + ": dims cannot be broadcast together"));
    code.bind(done);
    return symbolFor(result, "broadcast");
  }

  Dim fresh(std::string_view reason) override {
    needsValues_ = std::string(reason);
    return ir().dims().any(std::string(reason));
  }
  Dim freshFromOperand(int i, int64_t index, std::string_view reason) override {
    Result<int32_t> scalar = lowering_.element(value(i), index);
    if (!scalar.ok()) return fresh(reason);
    return elementSymbol(*scalar, reason);
  }

  void setResult(int i, Type type) override { results_.at(static_cast<size_t>(i)) = type; }
  void setResultContents(int, Contents) override {}
  Status inferRegion(int, std::span<const Type>, std::vector<Type>*) override {
    return error(DiagnosticId::internalError, "a shape program over a region");
  }

  Status bindResults() {
    for (size_t r = 0; r < results_.size(); ++r) {
      const Type wanted = op_.results[r].type, computed = results_[r];
      if (!wanted.isTensor() || !computed || computed.rank() != wanted.rank()) continue;
      for (int axis = 0; axis < wanted.rank(); ++axis) {
        const Dim d = wanted.dims()[axis];
        if (!d.isSymbol() || lowering_.dims().bound(d.symbol())) continue;
        if (!lowering_.dims().computable(computed.dims()[axis]))
          return error(DiagnosticId::unsupportedFeature,
                       "unsupported: dim " + std::to_string(axis) +
                           " is only known when the values are: " + needsValues_);
        DYN_TRY(int32_t scalar, lowering_.dims().emit(computed.dims()[axis]));
        lowering_.dims().bind(d.symbol(), scalar);
      }
    }
    return {};
  }

 private:
  ValueId value(int i) const {
    const ValueId own = op_.operands[static_cast<size_t>(i)];
    auto it = outer_.find(own);
    return it == outer_.end() ? own : it->second;
  }

  // An element of a tensor is no size: it may be negative.
  Dim elementSymbol(int32_t scalar, std::string_view reason) const {
    const Dim symbol = symbolFor(scalar, reason);
    (void)solver().addRange(symbol, INT64_MIN, std::nullopt, {"element of an integer tensor", op_.place});
    return symbol;
  }

  Dim symbolFor(int32_t scalar, std::string_view reason) const {
    const Dim symbol = ir().dims().any(std::string(reason));
    lowering_.dims().bind(symbol.symbol(), scalar);
    return symbol;
  }

  Status require(Dim a, Dim b, std::string_view what, Opcode check, const char* relation) {
    const Answer known = check == Opcode::checkEqual ? solver().equal(a, b) : solver().lessEqual(a, b);
    if (known == Answer::yes) return {};
    DYN_TRY(int32_t left, lowering_.dims().emit(a));
    DYN_TRY(int32_t right, lowering_.dims().emit(b));
    lowering_.code().emit(
        check, left, right,
        lowering_.program().string(std::string(what) + ": " + a.toString() + relation + b.toString()));
    return {};
  }

  FunctionLowering& lowering_;
  const Op& op_;
  const std::unordered_map<ValueId, ValueId>& outer_;
  std::vector<Type> results_;
  std::string needsValues_ = "no rule";
};

}  // namespace

Status runShapeProgram(FunctionLowering& lowering, const Op& op,
                       const std::unordered_map<ValueId, ValueId>& outer) {
  bool missing = false;
  for (const ValueDef& r : op.results)
    if (r.type.isTensor())
      for (SymbolId s : symbolsOf(r.type)) missing |= !lowering.dims().bound(s);
  if (!missing) return {};
  if (!op.def->infer)
    return makeError(DiagnosticId::internalError, "no shape rule for " + std::string(op.def->name), op.place);
  ShapeProgram program(lowering, op, outer);
  DYN_CHECK(op.def->infer(program));
  return program.bindResults();
}

}  // namespace dyn
