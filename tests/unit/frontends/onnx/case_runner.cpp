#include "tests/unit/frontends/onnx/case_runner.h"

#include <cmath>
#include <filesystem>

#include "compiler/infer/infer.h"
#include "compiler/reference/reference_interpreter.h"
#include "frontends/onnx/emit/tensor_loader.h"
#include "frontends/onnx/import/importer.h"

namespace dyn::onnx::test {
namespace {

Result<Value> valueOf(DataValue data) {
  if (data.kind == DataKind::tensor) {
    DYN_TRY(HostTensor tensor, toHostTensor(std::move(data.tensor)));
    return Value(tensor);
  }
  if (data.kind == DataKind::map) return makeError(DiagnosticId::unsupportedFeature, "a map");
  std::vector<Value> parts;
  for (DataValue& element : data.elements) {
    DYN_TRY(Value part, valueOf(std::move(element)));
    parts.push_back(part);
  }
  if (data.kind == DataKind::sequence) return Value::list(std::move(parts));
  return parts.empty() ? Value::nothing() : Value::some(parts[0]);
}

CaseResult verdictOf(const Diagnostic& error, const std::string& step) {
  CaseResult result;
  const bool unsupported = diagnosticRow(error.id).kind == FaultKind::unsupported;
  result.verdict = unsupported ? CaseVerdict::unsupported : CaseVerdict::failed;
  result.reason = step + ": " + error.op + " " + error.message;
  return result;
}

std::string tensorDifference(const HostTensor& a, const HostTensor& b, const Tolerance& tolerance) {
  if (a.dtype() != b.dtype())
    return "element type " + std::string(toString(b.dtype())) + ", not " + std::string(toString(a.dtype()));
  if (a.shape() != b.shape()) return "shape " + dyn::toString(b, 0) + ", not " + dyn::toString(a, 0);
  if (!isReal(a.dtype())) return a.identical(b) ? "" : dyn::toString(b, 8) + ", not " + dyn::toString(a, 8);
  for (int64_t i = 0; i < a.elementCount(); ++i) {
    const double x = a.realAt(i), y = b.realAt(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (std::fabs(x - y) <= tolerance.absolute + tolerance.relative * std::fabs(x)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(y) + ", not " + std::to_string(x);
  }
  return "";
}

}  // namespace

const char* toString(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::passed:
      return "passed";
    case CaseVerdict::passedWhenFixed:
      return "passed with small inputs fixed";
    case CaseVerdict::wrong:
      return "wrong";
    case CaseVerdict::failed:
      return "failed";
    case CaseVerdict::unsupported:
      return "unsupported";
  }
  return "?";
}

std::string difference(const Value& expected, const Value& actual, const Tolerance& tolerance) {
  if (expected.kind() != actual.kind())
    return std::string("a ") + dyn::toString(actual.kind()) + ", not a " + dyn::toString(expected.kind());
  if (expected.isTensor()) return tensorDifference(expected.tensor(), actual.tensor(), tolerance);
  if (expected.parts().size() != actual.parts().size())
    return std::to_string(actual.parts().size()) + " parts, not " + std::to_string(expected.parts().size());
  for (size_t i = 0; i < expected.parts().size(); ++i) {
    const std::string part = difference(expected.parts()[i], actual.parts()[i], tolerance);
    if (!part.empty()) return "part " + std::to_string(i) + ": " + part;
  }
  return "";
}

namespace {

// Fixed inputs: of each data set the small vectors and scalars (axes, scales, sizes) become constants of the program.
CaseResult runSets(const std::string& folder, const Tolerance& tolerance, const Model& model, bool fixes) {
  const auto kindOf = [&](std::span<const ValueInfoProto> infos, const std::string& name) {
    for (const ValueInfoProto& info : infos)
      if (info.name == name && info.type != nullptr) return dataKindOf(*info.type);
    return DataKind::tensor;
  };
  CaseResult result;
  for (int set = 0;; ++set) {
    const std::string data = folder + "/test_data_set_" + std::to_string(set);
    if (!std::filesystem::exists(data)) break;
    IrContext ir;
    ImportOptions options;
    std::vector<Value> inputs;
    int file = 0;
    for (const ValueInfoProto& info : model.graph->inputs) {
      const std::string path = data + "/input_" + std::to_string(file++) + ".pb";
      if (!std::filesystem::exists(path)) break;
      Result<DataValue> read = openData(path, kindOf(model.graph->inputs, std::string(info.name)));
      if (!read.ok()) return verdictOf(read.error(), "data");
      Result<Value> value = valueOf(std::move(*read));
      if (!value.ok()) return verdictOf(value.error(), "data");
      const Value* tensor = &*value;
      while (!tensor->isTensor() && !tensor->parts().empty()) tensor = &tensor->parts()[0];
      if (tensor->isTensor()) options.inputRanks[std::string(info.name)] = tensor->tensor().rank();
      if (fixes && value->isTensor() && value->tensor().rank() <= 1 && value->tensor().elementCount() <= 16) {
        options.fixedInputs[std::string(info.name)] = value->tensor();
      } else {
        inputs.push_back(*value);
      }
    }
    Result<ImportResult> imported = importModel(ir, folder + "/model.onnx", options);
    if (!imported.ok()) return verdictOf(imported.error(), "import");
    Result<InferredModule> typed = inferTypes(imported->module);
    if (!typed.ok()) return verdictOf(typed.error(), "infer");
    Result<std::vector<Value>> results = interpret(typed->module, std::move(inputs));
    if (!results.ok()) return verdictOf(results.error(), "evaluate set " + std::to_string(set));
    for (size_t i = 0; i < results->size(); ++i) {
      Result<DataValue> read = openData(data + "/output_" + std::to_string(i) + ".pb",
                                        kindOf(model.graph->outputs, imported->outputNames[i]));
      if (!read.ok()) return verdictOf(read.error(), "data");
      Result<Value> expected = valueOf(std::move(*read));
      if (!expected.ok()) return verdictOf(expected.error(), "data");
      const std::string differs = difference(*expected, (*results)[i], tolerance);
      if (differs.empty()) continue;
      result.verdict = CaseVerdict::wrong;
      result.reason = "set " + std::to_string(set) + ", output " + imported->outputNames[i] + ": " + differs;
      return result;
    }
    ++result.dataSets;
  }
  return result;
}

}  // namespace

CaseResult runCase(const std::string& folder, const Tolerance& tolerance) {
  Result<Model> model = openModel(folder + "/model.onnx");
  if (!model.ok()) return verdictOf(model.error(), "read");
  CaseResult result = runSets(folder, tolerance, *model, false);
  if (result.verdict == CaseVerdict::passed || result.verdict == CaseVerdict::wrong) return result;
  CaseResult fixed = runSets(folder, tolerance, *model, true);
  if (fixed.verdict == CaseVerdict::passed) fixed.verdict = CaseVerdict::passedWhenFixed;
  return fixed.verdict == CaseVerdict::passedWhenFixed || fixed.verdict == CaseVerdict::wrong ? fixed
                                                                                              : result;
}

}  // namespace dyn::onnx::test
