#include "app/session/report/report_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/engine/inputs/input_spec.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/report/report_graph.h"
#include "app/session/views/code_views.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/shell_views.h"
#include "app/session/views/view.h"
#include "app/session/views/view_json.h"
#include "app/session/views/why_views.h"
#include "compiler/loop/kernel.h"

namespace dyn {

namespace {

using Json = nlohmann::ordered_json;
using Handler = Result<View> (*)(SessionState&, const Command&, Outcome&);

// A page is to be opened in a moment: of what could be any number, so many.
constexpr size_t kMostQuestions = 200;
constexpr size_t kMostEvents = 5000;
constexpr size_t kMostSweeps = 4;

Json refusal(const Diagnostic& error) { return {{"refused", error.message}, {"notes", error.notes}}; }

std::string shellWord(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

class Collector {
 public:
  Collector(SessionState& state, const LoadedModel& model, const Command& command)
      : state_(state), model_(model), command_(command) {}

  Result<Json> collect() {
    Json data;
    data["version"] = DYN_VERSION;
    DYN_CHECK(addSettings(data));
    DYN_CHECK(add(data, "model", handle_info, Command::of(CommandId::info)));
    data["symbols"] = model_.info().symbols;
    DYN_CHECK(addPasses(data));
    data["graph"] = reportGraph(model_.trace(), model_.info().path);
    DYN_CHECK(addDims(data));
    DYN_CHECK(addRun(data));  // it tells the sizes, where they follow from inputs
    DYN_CHECK(add(data, "plan", handle_plan, atSizes(CommandId::plan, Lengths::with)));
    DYN_CHECK(add(data, "prediction", handle_predict, atSizes(CommandId::predict, Lengths::with)));
    DYN_CHECK(add(data, "kernels", handle_kernels, atSizes(CommandId::kernels, Lengths::without)));
    DYN_CHECK(addKernelTexts(data));
    DYN_CHECK(addSweeps(data));
    DYN_CHECK(add(data, "target", handle_ir, Command::of(CommandId::ir).add("level", "target")));
    return data;
  }

 private:
  enum class Lengths : uint8_t { with, without };

  // The view, or {"refused"}. Errors: cancelled.
  Result<View> ask(Handler handler, const Command& command, Json& refused) {
    Outcome outcome;
    Result<View> view = handler(state_, command, outcome);
    if (view.ok()) return view;
    if (view.error().id == DiagnosticId::cancelled) return view.takeError();
    refused = refusal(view.error());
    return View();
  }

  // An answer of one object stands there itself: {"plan": {...}}.
  Status add(Json& data, const char* name, Handler handler, const Command& command) {
    Json fields;
    DYN_TRY(const View view, ask(handler, command, fields));
    if (fields.is_null()) fields = toJson(view);
    if (fields.size() == 1 && fields.front().is_object()) fields = Json(fields.front());
    data[name] = std::move(fields);
    return {};
  }

  void addArguments(const char* name, Command& command) const {
    for (const std::string& text : command_.all(name)) command.add(name, text);
  }

  Command atSizes(CommandId id, Lengths lengths) const {
    Command made = Command::of(id);
    for (const auto& [name, size] : sizes_) made.add("dim", name + "=" + std::to_string(size));
    if (lengths == Lengths::with) addArguments("lengths", made);
    return made;
  }

  // For a shell of the system: the model, the arguments, and the settings that are not the default.
  std::string commandLine(const SettingTable& settings) const {
    std::string line = "dynrepl report " + shellWord(model_.info().path);
    for (const char* name : {"dim", "input", "lengths"})
      for (const std::string& text : command_.all(name))
        line += std::string(" --") + name + " " + shellWord(text);
    if (command_.has("no-run")) line += " --no-run";
    for (const SettingTable::Row& row : settings.rows) {
      if (row.from == "default" || row.option.empty()) continue;
      line += " " + row.option.substr(0, row.option.find_first_of(" ,"));
      if (row.option.rfind("--no-", 0) != 0) line += " " + shellWord(row.value);
    }
    return line + " -o " + shellWord(command_.text("o"));
  }

  Status addSettings(Json& data) {
    Outcome outcome;
    DYN_TRY(const View view, handle_set(state_, Command::of(CommandId::set), outcome));
    data["command_line"] = commandLine(*view.as<SettingTable>());
    data["settings"] = toJson(view)["settings"];
    return {};
  }

  Status addPasses(Json& data) {
    Outcome outcome;
    DYN_TRY(const View view, handle_passes(state_, Command::of(CommandId::passes), outcome));
    Json fields = toJson(view);
    const PassList& list = *view.as<PassList>();
    for (size_t i = 0; i < list.rows.size(); ++i) fields["passes"][i]["summary"] = list.rows[i].summary;
    data["pipeline"] = std::move(fields["pipeline"]);
    data["passes"] = std::move(fields["passes"]);
    return {};
  }

  Status addDims(Json& data) {
    Json dims;
    DYN_TRY(const View view, ask(handle_dims, Command::of(CommandId::dims), dims));
    data["dims"] = Json::array();
    data["checks"] = Json::array();
    data["why"] = Json::array();
    if (!dims.is_null()) {
      data["no_dims"] = std::move(dims);
      return {};
    }
    dims = toJson(view);
    data["dims"] = std::move(dims["dims"]);
    data["checks"] = std::move(dims["checks"]);
    const DimsTable& table = *view.as<DimsTable>();
    std::vector<std::string> questions;
    for (const DimRow& row : table.rows) questions.push_back(row.symbol);
    for (const ValueInfo& output : model_.info().outputs)
      for (size_t axis = 0; axis < output.shape.size(); ++axis)
        if (output.shape[axis].find_first_not_of("0123456789") != std::string::npos)
          questions.push_back(output.name + "." + std::to_string(axis));
    data["questions_count"] = questions.size();
    if (questions.size() > kMostQuestions) questions.resize(kMostQuestions);
    for (const std::string& question : questions) {
      Json refused;
      DYN_TRY(const View why, ask(handle_why, Command::of(CommandId::why).add("a", question), refused));
      Json answer = refused.is_null() ? toJson(why)["why"] : std::move(refused);
      answer["about"] = question;
      data["why"].push_back(std::move(answer));
    }
    return add(data, "padding", handle_why, Command::of(CommandId::why).add("a", "ragged"));
  }

  Status addRun(Json& data) {
    DYN_TRY(const std::vector<DimSpec> specs, parseDimSpecs(command_.all("dim")));
    for (const DimSpec& spec : specs)
      if (spec.value) sizes_[spec.name] = *spec.value;
    if (command_.has("no-run")) {
      data["run"] = {{"refused", "no run was wanted: --no-run"}, {"notes", Json::array()}};
      return {};
    }
    Command profile = atSizes(CommandId::profile, Lengths::with);
    addArguments("input", profile);
    Json run;
    DYN_TRY(const View view, ask(handle_profile, profile, run));
    if (run.is_null()) {
      const RunResult& result = *view.as<RunResult>();
      sizes_ = result.dims;
      run = toJson(view);
      run.erase("outputs");  // the page tells of the model, not of one run's values
      addTimeline(result, run);
    }
    data["run"] = std::move(run);
    return {};
  }

  // The longest, where there are too many.
  static void addTimeline(const RunResult& result, Json& run) {
    std::vector<const TimelineEvent*> events;
    for (const TimelineEvent& event : result.timeline) events.push_back(&event);
    run["events_count"] = events.size();
    if (events.size() > kMostEvents) {
      std::stable_sort(events.begin(), events.end(), [](const TimelineEvent* a, const TimelineEvent* b) {
        return a->durationNs > b->durationNs;
      });
      events.resize(kMostEvents);
    }
    Json list = Json::array();
    for (const TimelineEvent* event : events)
      list.push_back({{"name", event->name},
                      {"kind", event->kind},
                      {"place", event->place},
                      {"shapes", event->shapes},
                      {"begin_ns", event->beginNs},
                      {"duration_ns", event->durationNs},
                      {"bytes", event->bytes},
                      {"thread", event->thread}});
    run["timeline"] = std::move(list);
    Json lanes = Json::object();
    for (const auto& [thread, name] : result.lanes) lanes[std::to_string(thread)] = name;
    run["lanes"] = std::move(lanes);
  }

  Status addKernelTexts(Json& data) {
    data["kernel_texts"] = Json::array();
    const CompiledModel* compiled = model_.compiled();
    if (!compiled) return {};
    Json refused;
    DYN_TRY(const View linked,
            ask(handle_ir, Command::of(CommandId::ir).add("level", "loop").add("linked"), refused));
    const auto* text = linked.as<IrText>();
    for (size_t i = 0; i < compiled->lowered.kernels.size(); ++i) {
      Json machineCode;
      DYN_TRY(const View assembly,
              ask(handle_asm_, Command::of(CommandId::asm_).add("kernel", std::to_string(i)), machineCode));
      if (machineCode.is_null()) machineCode = assembly.as<IrText>()->text;
      Json item = {{"loop", loop::print(compiled->lowered.kernels[i])}, {"asm", std::move(machineCode)}};
      if (text && i < text->kernelPlaces.size()) item["places"] = text->kernelPlaces[i];
      data["kernel_texts"].push_back(std::move(item));
    }
    return {};
  }

  Status addSweeps(Json& data) {
    data["sweeps"] = Json::array();
    const std::vector<std::string>& symbols = model_.info().symbols;
    for (size_t i = 0; i < std::min(symbols.size(), kMostSweeps); ++i) {
      Command sweep = Command::of(CommandId::sweep).add("symbol", symbols[i]);
      for (const auto& [name, size] : sizes_)
        if (name != symbols[i]) sweep.add("dim", name + "=" + std::to_string(size));
      Json answer;
      DYN_TRY(const View view, ask(handle_sweep, sweep, answer));
      if (answer.is_null()) answer = toJson(view)["sweep"];
      answer["symbol"] = symbols[i];
      data["sweeps"].push_back(std::move(answer));
    }
    return {};
  }

  SessionState& state_;
  const LoadedModel& model_;
  const Command& command_;
  DimValues sizes_;
};

}  // namespace

Result<Json> reportData(SessionState& state, const Command& command) {
  DYN_TRY(const LoadedModel* model, state.modelWithPasses());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package has neither a graph nor passes to report on");
  return Collector(state, *model, command).collect();
}

}  // namespace dyn
