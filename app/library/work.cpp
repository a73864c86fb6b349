// Compiling, writing and asking.
#include <functional>
#include <nlohmann/json.hpp>

#include "app/engine/model/loaded_model.h"
#include "app/library/model.h"
#include "app/session/session_state.h"
#include "app/session/views/view_json.h"
#include "app/session/views/view_text.h"

namespace dyn::library {

namespace {

// A command with a file and options; its status.
dyn_status write(dyn_model* model, Command command, const char* path, const dyn_option* options,
                 size_t optionCount) {
  dyn_status status = DYN_OK;
  const dyn_status thrown = reporting([&]() -> Status {
    if (!model) return badArgument("model is a null pointer");
    DYN_CHECK(addOptions(command, options, optionCount));
    if (path) command.add(command.id == CommandId::save ? "file" : "o", path);
    status = perform(*model, std::move(command));
    return {};
  });
  return thrown != DYN_OK ? thrown : status;
}

nlohmann::ordered_json documentOf(const Outcome& outcome) {
  nlohmann::ordered_json document = {{"schema", 1},
                                     {"command", std::string(commandSpec(outcome.command.id).name)}};
  nlohmann::ordered_json fields = toJson(outcome.view);
  for (auto& [key, value] : fields.items()) document[key] = std::move(value);
  const auto listOf = [&](const std::vector<Diagnostic>& diagnostics) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Diagnostic& one : diagnostics) list.push_back(toJson(one));
    return list;
  };
  if (!outcome.warnings.empty()) document["warnings"] = listOf(outcome.warnings);
  if (outcome.error) document["error"] = toJson(*outcome.error);
  if (!outcome.more.empty()) document["errors"] = listOf(outcome.more);
  return document;
}

dyn_status answer(dyn_model* model, const char* line, const char** target,
                  const std::function<std::string(const Outcome&)>& write) {
  if (target) *target = nullptr;
  dyn_status status = DYN_OK;
  const dyn_status thrown = reporting([&]() -> Status {
    if (!model || !line || !target) return badArgument("the model, the line or the answer is a null pointer");
    const std::string text = line;
    DYN_TRY(Command command, parseCommand(text.starts_with(':') ? text : ":" + text));
    if (command.id == CommandId::load || command.id == CommandId::reload)
      return badArgument("a dyn_model stays the model that it was opened as: dyn_model_open opens another");
    const std::shared_ptr<const Outcome> outcome = execute(*model, std::move(command));
    model->answer = write(*outcome);
    *target = model->answer.c_str();
    if (outcome->error) status = statusOf(outcome->error->id);
    return {};
  });
  return thrown != DYN_OK ? thrown : status;
}

}  // namespace

}  // namespace dyn::library

using namespace dyn;
using namespace dyn::library;

extern "C" {

dyn_status dyn_model_compile(dyn_model* model, dyn_module** module) {
  if (module) *module = nullptr;
  return reporting([&]() -> Status {
    if (!model || !module) return badArgument("model or module is a null pointer");
    VmModule made;
    const Status done = model->session->visit([&](SessionState& state) -> Status {
      DYN_TRY(LoadedModel * loaded, state.model());
      state.progress("compiling " + loaded->info().path);
      DYN_TRY(made, loaded->newProgram());
      return {};
    });
    if (!done.ok()) return Error{done.error()};
    *module = made.release();
    return {};
  });
}

dyn_status dyn_model_export(dyn_model* model, const char* kind, const char* path, const dyn_option* options,
                            size_t option_count) {
  if (!kind || !path)
    return reporting([]() -> Status { return badArgument("kind or path is a null pointer"); });
  return write(model, Command::of(CommandId::exportModel).add("kind", kind), path, options, option_count);
}

dyn_status dyn_model_save(dyn_model* model, const char* path, const dyn_option* options,
                          size_t option_count) {
  const std::string file = path ? path : "";
  if (!file.ends_with(".onnx") && !file.ends_with(".dyn"))
    return reporting([&]() -> Status {
      return badArgument("'" + file + "' ends in neither .onnx nor .dyn: it is written in no other form");
    });
  return write(model, Command::of(CommandId::save).add("value", "model"), path, options, option_count);
}

dyn_status dyn_model_tune(dyn_model* model, const dyn_option* options, size_t option_count) {
  return write(model, Command::of(CommandId::tune), nullptr, options, option_count);
}

dyn_status dyn_model_command(dyn_model* model, const char* line, const char** json) {
  return answer(model, line, json, [](const Outcome& outcome) { return jsonText(documentOf(outcome)); });
}

dyn_status dyn_model_command_text(dyn_model* model, const char* line, const char** text) {
  return answer(model, line, text, [](const Outcome& outcome) {
    return outcome.error ? std::string() : toText(outcome.view, TextOptions());
  });
}

}  // extern "C"
