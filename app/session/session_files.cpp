#include "app/session/session_files.h"

#include <algorithm>
#include <vector>

namespace dyn {

namespace {

// Endings that say how a file is read as a model, and the commands that write such a file.
struct ModelEnding {
  std::string_view ending;
  std::vector<CommandId> writers;
  std::string_view what;
};
const ModelEnding kModelEndings[] = {
    {".onnx",
     {CommandId::save, CommandId::infer, CommandId::generalise, CommandId::extract, CommandId::quantise},
     "an ONNX model"},
    {".dyn", {CommandId::save, CommandId::bisect, CommandId::ir}, "a text module"},
    {".dynpkg", {CommandId::compile, CommandId::exportModel}, "a package"},
};

Status checkEnding(const Command& command, const std::string& path) {
  for (const ModelEnding& row : kModelEndings) {
    if (path.size() <= row.ending.size() || path.substr(path.size() - row.ending.size()) != row.ending)
      continue;
    if (std::find(row.writers.begin(), row.writers.end(), command.id) != row.writers.end()) return {};
    return makeError(DiagnosticId::usageError, path + ": :" + std::string(commandSpec(command.id).name) +
                                                   " does not write " + std::string(row.what))
        .note("a file with this ending is read as one: choose another name");
  }
  return {};
}

}  // namespace

Status checkOutput(const std::vector<std::string>& read, const std::string& written) {
  ReadFiles files;
  for (const std::string& path : read) files.note(path);
  return files.mayWrite(written);
}

void noteFiles(const SessionState& state, const Command& command, ReadFiles& files) {
  if (state.now.model) files.add(state.now.model->files());
  files.note(command.place.file);
  for (const std::string& script : state.openScripts) files.note(script);
  for (const ArgumentSpec& argument : commandSpec(command.id).arguments) {
    if (argument.kind == ArgumentKind::file)
      for (const std::string& path : command.all(argument.name)) files.note(path);
    if (argument.kind != ArgumentKind::input && argument.kind != ArgumentKind::dim) continue;
    for (const std::string& text : command.all(argument.name)) {
      const size_t at = text.find("=@");  // what stands behind the name of a picture is noted when it is read
      if (at != std::string::npos) files.note(text.substr(at + 2));
    }
  }
}

Status checkOutputs(const SessionState& state, const Command& command, const ReadFiles& files) {
  ReadFiles model;  // records of tuning are among the files that it was loaded by
  if (state.now.model) model.note(state.now.model->request().path);
  for (const ArgumentSpec& argument : commandSpec(command.id).arguments) {
    if (argument.kind != ArgumentKind::output && argument.kind != ArgumentKind::records) continue;
    for (const std::string& path : command.all(argument.name)) {
      DYN_CHECK(argument.kind == ArgumentKind::records ? model.mayWrite(path) : files.mayWrite(path));
      DYN_CHECK(checkEnding(command, path));
    }
  }
  return {};
}

}  // namespace dyn
