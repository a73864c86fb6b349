#include "frontends/onnx/import/importer.h"

#include <memory>

#include "frontends/onnx/import/graph_importer.h"
#include "frontends/onnx/import/list_settling.h"

namespace dyn::onnx {
namespace {

constexpr size_t kProblemsInNotes = 20;

Result<ImportResult> importRead(IrContext& ir, const Model& model, const ImportOptions& options) {
  ImportResult result = GraphImporter(ir, model, options).run();
  if (result.problems.empty() && result.openInputs.empty()) {
    Result<SettledLists> settled = settleLists(result.module);
    if (settled.ok()) {
      result.module = settled->module;
      std::move(settled->warnings.begin(), settled->warnings.end(), std::back_inserter(result.warnings));
    } else {
      result.problems.push_back(settled.error());
    }
  }
  if (!result.problems.empty() && options.collectProblems) result.module = Module{&ir, {}, {}};
  if (result.problems.empty() || options.collectProblems) return result;
  Error error;
  error.diagnostic() = result.problems[0];
  const size_t others = result.problems.size() - 1;
  for (size_t i = 1; i <= std::min(others, kProblemsInNotes); ++i) {
    const Diagnostic& other = result.problems[i];
    error.diagnostic().notes.push_back("also: " + other.message +
                                       (other.place.known() ? " at " + other.place.toString() : ""));
  }
  if (others > kProblemsInNotes)
    error.diagnostic().notes.push_back("and " + std::to_string(others - kProblemsInNotes) + " more problems");
  return error;
}

}  // namespace

Result<ImportResult> importModel(IrContext& ir, const std::string& path, const ImportOptions& options) {
  DYN_TRY(Model model, openModel(path, options.read));
  return importRead(ir, model, options);
}

Result<ImportResult> importModel(IrContext& ir, MappedFile file, const ImportOptions& options) {
  DYN_TRY(Model model, readModel(std::move(file), options.read));
  return importRead(ir, model, options);
}

}  // namespace dyn::onnx
