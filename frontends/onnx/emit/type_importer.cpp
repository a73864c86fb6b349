#include "frontends/onnx/emit/type_importer.h"

#include <algorithm>

namespace dyn::onnx {
namespace {

bool isPlainName(Text text) {
  const auto isWord = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), isWord);
}

}  // namespace

void TypeImporter::learnNames(const TypeProto& type) {
  for (const Dimension& d : type.shape)
    if (d.kind == Dimension::Kind::parameter && isPlainName(d.parameter)) plainNames_.emplace(d.parameter);
}

Dim TypeImporter::dimOf(const Dimension& dimension, const std::string& what) {
  if (dimension.kind == Dimension::Kind::value && dimension.value >= 0)
    return ir_.dims().constant(dimension.value);
  if (dimension.kind != Dimension::Kind::parameter || dimension.parameter.empty())
    return ir_.dims().any(what + " has no size and no name in the model");
  std::string text(dimension.parameter);
  // In a model `len[b]` is a name as any other, and no length of a sequence (compiler/dims/ragged_dim.h).
  if (text.ends_with(']')) text += ' ';
  if (text == "?") return ir_.dims().any(what + " is `?` in the model");
  if (!isPlainName(text)) {
    // Parsed aside first: names of a text that is no expression must not become symbols.
    DimContext aside;
    Result<Dim> parsed = parseDim(aside, text);
    bool known = parsed.ok() && !parsed->isInvalid();
    if (known)
      for (SymbolId symbol : symbolsOf(*parsed))
        known = known && plainNames_.count(aside.symbolName(symbol)) != 0;
    if (known) {
      Result<Dim> expression = parseDim(ir_.dims(), text);
      if (expression.ok()) return *expression;
    }
  }
  const bool fresh = !ir_.dims().hasSymbol(text);
  const Dim symbol = ir_.dims().symbol(text);
  if (fresh) ir_.dims().setSymbolReason(symbol.symbol(), "the model's name for " + what);
  return symbol;
}

Result<Type> TypeImporter::import(const TypeProto& type, const std::string& what, std::optional<int> rank) {
  if (type.kind != TypeProto::Kind::tensor) {
    const char* reason = type.kind == TypeProto::Kind::missing        ? " has no type"
                         : type.kind == TypeProto::Kind::sparseTensor ? " is a sparse tensor"
                                                                      : " is of an opaque type";
    return makeError(
        type.kind == TypeProto::Kind::missing ? DiagnosticId::onnxInvalid : DiagnosticId::unsupportedFeature,
        what + reason);
  }
  const std::optional<Dtype> dtype = dtypeFromOnnx(type.elementType);
  if (!dtype) {
    return makeError(type.elementType == 0 ? DiagnosticId::onnxInvalid : DiagnosticId::unsupportedDtype,
                     what + " has element type " + elementTypeName(type.elementType));
  }
  if (!type.hasShape && !rank) {
    return makeError(DiagnosticId::unsupportedFeature, what + " has no shape: its rank is not known")
        .note(
            "write a shape with the right number of dims into the model; the dims themselves may be unknown");
  }
  Shape dims;
  for (int i = 0; !type.hasShape && i != *rank; ++i)
    dims.push_back(ir_.dims().any("dim " + std::to_string(i) + " of " + what + " is not in the model"));
  for (size_t i = 0; i != type.shape.size(); ++i)
    dims.push_back(dimOf(type.shape[i], "dim " + std::to_string(i) + " of " + what));
  Type result = ir_.tensorType(std::move(dims), *dtype);
  for (size_t i = type.wrappers.size(); i-- > 0;) {
    if (type.wrappers[i].kind == TypeWrapper::Kind::map)
      return makeError(DiagnosticId::unsupportedFeature, what + " is a map");
    result = type.wrappers[i].kind == TypeWrapper::Kind::sequence ? ir_.listType(result)
                                                                  : ir_.optionalType(result);
  }
  return result;
}

}  // namespace dyn::onnx
