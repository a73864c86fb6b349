#include "frontends/onnx/import/declared_outputs.h"

#include "frontends/onnx/read/wire_reader.h"

namespace dyn::onnx {
namespace {

// What is wrong with its elements, and with its shape; "" when nothing is known to be.
std::string dtypeFault(const DeclaredOutput& output, Type type) {
  if (!output.dtype || !type.isTensor() || *output.dtype == type.dtype()) return "";
  return "its elements are declared to be " + std::string(toString(*output.dtype)) + ", they are " +
         std::string(toString(type.dtype()));
}

std::string shapeFault(const DeclaredOutput& output, Type type, const DimSolver& facts) {
  if (!output.hasShape || !type.isTensor()) return "";
  const Shape& dims = type.dims();
  if (output.dims.size() != dims.size())
    return "it is declared to have rank " + std::to_string(output.dims.size()) + ", it has rank " +
           std::to_string(dims.size());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const std::optional<int64_t> declared = output.dims[axis];
    if (!declared) continue;
    const std::string what =
        "its dim " + std::to_string(axis) + " is declared as " + std::to_string(*declared);
    if (*declared < 0) return what + ", which is not a size: it is " + dims[axis].toString();
    if (facts.equal(dims[axis], dims[axis].context().constant(*declared)) == Answer::no)
      return what + ", it is " + dims[axis].toString();
  }
  return "";
}

}  // namespace

DeclaredOutput declaredOutput(const ValueInfoProto& output, SourceLocation place) {
  DeclaredOutput declared;
  declared.name = std::string(output.name);
  declared.place = std::move(place);
  const TypeProto* type = output.type;
  if (type == nullptr || type->kind != TypeProto::Kind::tensor || !type->wrappers.empty()) return declared;
  declared.dtype = dtypeFromOnnx(type->elementType);
  declared.hasShape = type->hasShape;
  for (const Dimension& dim : type->shape) {
    const bool isNumber = dim.kind == Dimension::Kind::value;
    declared.dims.push_back(isNumber ? std::optional<int64_t>(dim.value) : std::nullopt);
  }
  return declared;
}

std::vector<Diagnostic> wrongOutputs(const std::vector<DeclaredOutput>& outputs, const Function& main,
                                     const DimSolver& facts) {
  std::vector<Diagnostic> faults;
  const auto add = [&](DiagnosticId id, Severity severity, const DeclaredOutput& output,
                       const std::string& wrong, std::string note) {
    if (wrong.empty()) return;
    Diagnostic& fault = faults.emplace_back();
    fault.id = id;
    fault.severity = severity;
    fault.message = "output " + quotedText(output.name) + ": " + wrong;
    fault.place = output.place;
    fault.notes.push_back(std::move(note));
  };
  for (size_t i = 0; i < outputs.size() && i < main.resultTypes.size(); ++i) {
    const Type type = main.resultTypes[i];
    if (!type) continue;
    add(DiagnosticId::onnxInvalid, Severity::error, outputs[i], dtypeFault(outputs[i], type),
        "whoever reads the output would take its bytes for something else: correct the declaration");
    add(DiagnosticId::warning, Severity::warning, outputs[i], shapeFault(outputs[i], type, facts),
        "the declaration is left out of account");
  }
  return faults;
}

}  // namespace dyn::onnx
