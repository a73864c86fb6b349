#include "app/session/handlers/models/calibration_runs.h"

#include <algorithm>

#include "app/session/data_sets.h"
#include "compiler/support/file_names.h"
#include "compiler/support/folders.h"

namespace dyn {

namespace {

// Of the visible members of a folder, in the order of their names.
struct FolderParts {
  std::vector<std::string> folders, files;
};

FolderParts partsOfFolder(const std::string& folder) {
  FolderParts parts;
  for (const std::string& name : membersOf(folder, "")) {
    if (name[0] == '.') continue;
    std::string path = folder + "/" + name;
    (isFolder(path) ? parts.folders : parts.files).push_back(std::move(path));
  }
  return parts;
}

std::vector<std::string> portNames(const Signature& signature) {
  std::vector<std::string> names;
  for (const Port& port : signature.inputs) names.push_back(port.info.name);
  return names;
}

bool isGiven(const std::string& name, const std::vector<std::string>& given) {
  return std::any_of(given.begin(), given.end(), [&](const std::string& text) {
    return text.compare(0, name.size() + 1, name + "=") == 0;
  });
}

std::string commaList(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// A folder whose files are called like the inputs.
Result<RunCase> runOfFolder(const Signature& signature, const std::string& folder) {
  RunCase run;
  run.place.file = folder;
  const std::vector<std::string> inputs = portNames(signature);
  const FolderParts parts = partsOfFolder(folder);
  for (const std::string& file : parts.files) {
    const std::string name = file.substr(file.rfind('/') + 1), stem = name.substr(0, name.rfind('.'));
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const std::string& one) {
      return one == stem || fileNameOf(std::string_view(one)) == stem;
    });
    if (input == inputs.end())
      return makeError(DiagnosticId::usageError,
                       file + ": " + stem + " is no input of the model; it takes " + commaList(inputs));
    run.inputs.push_back(*input + "=@" + file);
  }
  if (run.inputs.empty())
    return makeError(DiagnosticId::fileError, "the folder " + folder + " has no values of inputs");
  return run;
}

Result<std::vector<RunCase>> runsOfFiles(const Signature& signature, const std::string& folder,
                                         const std::vector<std::string>& files,
                                         const std::vector<std::string>& given) {
  std::vector<std::string> open;
  for (const std::string& name : portNames(signature))
    if (!isGiven(name, given)) open.push_back(name);
  if (open.size() != 1)
    return makeError(DiagnosticId::usageError,
                     folder + ": a folder of files has the values of one input; " +
                         (open.empty() ? "all are given by --input"
                                       : "these are not given: " + commaList(open) +
                                             ". Put the files of a run into a folder of its own, called "
                                             "like the inputs"));
  std::vector<RunCase> runs;
  for (const std::string& file : files) {
    RunCase run;
    run.place.file = file;
    run.inputs.push_back(open[0] + "=@" + file);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

Result<std::vector<RunCase>> calibrationRuns(const Signature& signature, const std::string& path,
                                             const std::vector<std::string>& given) {
  if (!isFolder(path)) return readCases(path);
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::vector<RunCase> runs;
  for (const std::string& set : membersOf(folder, "test_data_set_")) {
    RunCase run;
    run.place.file = folder + "/" + set;
    DYN_TRY(run.inputs, inputsOfDataSet(signature, run.place.file));
    runs.push_back(std::move(run));
  }
  if (!runs.empty()) return runs;
  const FolderParts parts = partsOfFolder(folder);
  if (parts.folders.empty() && parts.files.empty())
    return makeError(DiagnosticId::fileError, "the folder " + folder + " is empty");
  if (!parts.folders.empty() && !parts.files.empty())
    return makeError(DiagnosticId::usageError, folder + ": it has folders, such as " + parts.folders[0] +
                                                   ", and files, such as " + parts.files[0] +
                                                   "; the runs are either of them");
  if (parts.folders.empty()) return runsOfFiles(signature, folder, parts.files, given);
  for (const std::string& one : parts.folders) {
    DYN_TRY(RunCase run, runOfFolder(signature, one));
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace dyn
