#include "app/engine/run/output_files.h"

#include "app/engine/inputs/input_spec.h"
#include "compiler/support/file_names.h"
#include "compiler/support/folders.h"
#include "compiler/support/read_files.h"

namespace dyn {

namespace {

struct OutputFile {
  std::string path;
  const HostTensor* tensor = nullptr;
};

// Of all outputs, in their order.
Result<std::vector<OutputFile>> nameFiles(RunResult& result, const std::string& directory,
                                          std::vector<std::string>& notes) {
  std::vector<OutputFile> files;
  FileNames names;
  const auto name = [&](const NamedValue& output, const std::string& ending, const HostTensor& tensor) {
    const std::string file = names.file(output.name, ending);
    files.push_back({directory + "/" + file, &tensor});
    if (file != output.name + ending)
      notes.push_back("output '" + output.name + "' is in the file " + files.back().path);
    return files.back().path;
  };
  for (NamedValue& output : result.outputs) {
    if (output.value.isTensor()) {
      output.file = name(output, ".npy", output.value.tensor());
      continue;
    }
    for (size_t i = 0; i < output.value.parts().size(); ++i) {
      const Value& part = output.value.parts()[i];
      if (!part.isTensor())
        return makeError(
            DiagnosticId::unsupportedFeature,
            "unsupported: output " + output.name + " is a nested value and cannot be written as .npy");
      output.partFiles.push_back(name(output, "." + std::to_string(i) + ".npy", part.tensor()));
    }
  }
  return files;
}

}  // namespace

Result<std::vector<std::string>> writeOutputs(RunResult& result, const std::string& directory) {
  std::vector<std::string> notes;
  DYN_TRY(const std::vector<OutputFile> files, nameFiles(result, directory, notes));
  for (const OutputFile& file : files) DYN_CHECK(mayWrite(file.path));
  DYN_CHECK(makeFolders(directory));
  for (const OutputFile& file : files) DYN_CHECK(writeNpyTensor(file.path, *file.tensor));
  return notes;
}

}  // namespace dyn
