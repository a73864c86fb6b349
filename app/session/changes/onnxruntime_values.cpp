#include "app/session/changes/onnxruntime_values.h"

#ifdef DYN_HAVE_ONNX
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "app/engine/inputs/input_spec.h"
#include "compiler/export/linker.h"
#include "compiler/support/atomic_write.h"
#include "frontends/onnx/write/part_writer.h"

namespace dyn {

namespace {

// argv: the folder. It holds model.onnx, inputs and outputs (a name in each line), in0.npy and so on. Written
// are out0.npy and so on, or `fault`.
constexpr const char* kScript = R"(
import os, sys
folder = sys.argv[1]
def path(name):
    return os.path.join(folder, name)
try:
    import numpy, onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path("model.onnx"), options, providers=["CPUExecutionProvider"])
    def names(file):
        return open(path(file), encoding="utf-8").read().split("\n")[:-1]
    feeds = {name: numpy.load(path("in%d.npy" % i)) for i, name in enumerate(names("inputs"))}
    for i, value in enumerate(session.run(names("outputs"), feeds)):
        numpy.save(path("out%d.npy" % i), value)
except Exception as error:
    open(path("fault"), "w", encoding="utf-8").write("%s: %s" % (type(error).__name__, error))
)";

std::string namesAsLines(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

// Weights in files of their own are found from the folder of the model. Their paths were checked when the
// model was read.
Status copyExternalData(const onnx::Model& model, const TemporaryFolder& folder) {
  std::set<std::string> locations;
  for (const onnx::TensorProto& weight : model.graph->initializers)
    for (const onnx::StringPair& entry : weight.externalData)
      if (entry.key == "location") locations.emplace(entry.value);
  for (const std::string& location : locations) {
    const std::filesystem::path copy = folder.file(location);
    std::error_code fault;
    std::filesystem::create_directories(copy.parent_path(), fault);
    if (!fault) std::filesystem::copy_file(std::filesystem::path(model.folder) / location, copy, fault);
    if (fault) return makeError(DiagnosticId::fileError, copy.string() + ": " + fault.message());
  }
  return {};
}

}  // namespace

Result<std::vector<Value>> onnxruntimeValues(const std::string& path, const std::vector<std::string>& names,
                                             const onnx::TypesByName& types,
                                             const std::vector<std::pair<std::string, Value>>& inputs) {
  DYN_TRY(const onnx::Model model, onnx::openModel(path));
  DYN_TRY(const onnx::FilePieces wide, onnx::withOutputs(model, names, types));
  TemporaryFolder folder;
  DYN_CHECK(folder.make());
  DYN_CHECK(copyExternalData(model, folder));
  DYN_CHECK(writeFileAtomically(folder.file("model.onnx"), wide.pieces));
  std::vector<std::string> inputNames;
  for (const auto& [name, value] : inputs) {
    if (!value.isTensor())
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: input " + name + " is no tensor, beside onnxruntime");
    DYN_CHECK(writeNpyTensor(folder.file("in" + std::to_string(inputNames.size()) + ".npy"), value.tensor()));
    inputNames.push_back(name);
  }
  DYN_CHECK(writeFileAtomically(folder.file("inputs"), {namesAsLines(inputNames)}));
  DYN_CHECK(writeFileAtomically(folder.file("outputs"), {namesAsLines(names)}));
  const char* chosen = std::getenv("DYN_PYTHON");
  const std::array<const char*, 1> programs = {chosen && *chosen ? chosen : "python3"};
  DYN_CHECK(runTool(programs, {"-c", kScript, folder.file("")},
                    {folder.file("room"), 0, "could not run onnxruntime",
                     "onnxruntime needs Python; DYN_PYTHON names it"}));
  if (Result<MappedFile> fault = MappedFile::open(folder.file("fault")); fault.ok())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: onnxruntime does not run the model: " + std::string(fault->bytes()));
  std::vector<Value> values;
  for (size_t i = 0; i < names.size(); ++i) {
    DYN_TRY(HostTensor tensor, readNpyTensor(folder.file("out" + std::to_string(i) + ".npy")));
    values.push_back(Value(std::move(tensor)));
  }
  return values;
}

}  // namespace dyn
#endif
