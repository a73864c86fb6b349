#include "compiler/ir/ragged_parameters.h"

#include <algorithm>

#include "compiler/dims/ragged_dim.h"

namespace dyn {

namespace {

class RaggedParameters {
 public:
  RaggedParameters(const Module& module, const Function& function)
      : ir_(*module.context), function_(function) {}

  std::vector<Diagnostic> run() {
    for (const Parameter& p : function_.parameters) {
      if (!p.type) continue;
      const std::vector<SymbolId> symbols = symbolsOf(p.type);
      const auto ragged = std::find_if(symbols.begin(), symbols.end(),
                                       [&](SymbolId s) { return isRagged(ir_.dims().symbolById(s)); });
      if (ragged != symbols.end()) check(p, ir_.dims().symbolById(*ragged));
    }
    return std::move(faults_);
  }

 private:
  std::string name(const Parameter& p) const { return "%" + ir_.valueName(p.id); }

  void fault(DiagnosticId id, std::string message) {
    Diagnostic diagnostic;
    diagnostic.id = id;
    diagnostic.message = std::move(message);
    diagnostic.place = function_.place;
    faults_.push_back(std::move(diagnostic));
  }

  void check(const Parameter& p, Dim symbol) {
    const RaggedDim dim = *raggedDim(symbol);
    const std::string wanted = "(" + dim.batch.toString() + ", " + symbol.toString() + ", ...)";
    if (!hasForm(p.type, symbol, dim))
      fault(DiagnosticId::unsupportedFeature, "unsupported: parameter " + name(p) + " of type " +
                                                  p.type.toString() + ": a ragged one is " + wanted);
    if (function_.name != "main") return;  // the lengths are those of the caller's
    const auto lengths =
        std::find_if(function_.parameters.begin(), function_.parameters.end(),
                     [&](const Parameter& other) { return ir_.valueName(other.id) == dim.lengths; });
    const Type type = ir_.tensorType(Shape{dim.batch}, Dtype::i64);
    if (lengths == function_.parameters.end())
      fault(DiagnosticId::textName, "the lengths " + symbol.toString() + " of " + name(p) +
                                        " are those of a parameter %" + dim.lengths + ", which @" +
                                        function_.name + " has not");
    else if (lengths->type != type)
      fault(DiagnosticId::typeMismatch,
            name(*lengths) + " is " + (lengths->type ? lengths->type.toString() : "of no type") +
                ", but as the lengths " + symbol.toString() + " of " + name(p) + " it is " + type.toString());
  }

  // (b, len[b], ...), and no other dim of lengths or of the batch.
  static bool hasForm(Type type, Dim symbol, const RaggedDim& dim) {
    if (!type.isTensor() || type.rank() < 2 || type.dims()[0] != dim.batch || type.dims()[1] != symbol)
      return false;
    return std::none_of(type.dims().begin() + 2, type.dims().end(), [&](Dim d) {
      const std::vector<SymbolId> symbols = symbolsOf(d);
      return isRagged(d) || std::find(symbols.begin(), symbols.end(), dim.batch.symbol()) != symbols.end();
    });
  }

  IrContext& ir_;
  const Function& function_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

std::vector<Diagnostic> raggedFaults(const Module& module, const Function& function) {
  return RaggedParameters(module, function).run();
}

}  // namespace dyn
