#include "app/session/data_sets.h"

#include <algorithm>

#include "compiler/support/folders.h"

namespace dyn {

Result<std::vector<std::string>> inputsOfDataSet(const Signature& signature, const std::string& folder) {
  const std::vector<std::string> files = membersOf(folder, "input_");
  if (files.empty()) return makeError(DiagnosticId::fileError, folder + " has no input_0.pb");
  std::vector<std::string> inputs;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const std::string file = "input_" + std::to_string(i) + ".pb";
    if (std::find(files.begin(), files.end(), file) != files.end())
      inputs.push_back(signature.inputs[i].info.name + "=@" + folder + "/" + file);
  }
  return inputs;
}

}  // namespace dyn
