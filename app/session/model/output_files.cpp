#include "app/session/model/output_files.h"

#include <sys/stat.h>

#include <cerrno>

#include "app/session/model/input_spec.h"

namespace dyn {

namespace {

Status makeDirectory(const std::string& path) {
  // Each level that is missing.
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
      return makeError(DiagnosticId::fileError, "the folder " + part + " can not be made", {.file = part});
    if (slash == std::string::npos) break;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return makeError(DiagnosticId::fileError, path + " is no folder", {.file = path});
  return {};
}

}  // namespace

Status writeOutputs(RunResult& result, const std::string& directory) {
  DYN_CHECK(makeDirectory(directory));
  for (NamedValue& output : result.outputs) {
    if (!output.value.isTensor()) {
      for (size_t i = 0; i < output.value.parts().size(); ++i) {
        const Value& part = output.value.parts()[i];
        if (!part.isTensor())
          return makeError(
              DiagnosticId::unsupportedFeature,
              "unsupported: output " + output.name + " is a nested value and can not be written as .npy");
        DYN_CHECK(writeNpyTensor(directory + "/" + fileNameOf(output.name) + "." + std::to_string(i) + ".npy",
                                 part.tensor()));
      }
      continue;
    }
    output.file = directory + "/" + fileNameOf(output.name) + ".npy";
    DYN_CHECK(writeNpyTensor(output.file, output.value.tensor()));
  }
  return {};
}

}  // namespace dyn
