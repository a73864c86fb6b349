// Handlers: opening, compiling and inspecting the model.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/engine/inputs/input_spec.h"
#include "app/engine/model/model_flops.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/specialisation.h"
#include "app/session/answers/contraction_rows.h"
#include "app/session/answers/dim_views.h"
#include "app/session/answers/plan_view.h"
#include "app/session/answers/why_cache.h"
#include "app/session/answers/why_many.h"
#include "app/session/answers/why_ragged.h"
#include "app/session/answers/why_stages.h"
#include "app/session/causes/why_run.h"
#include "app/session/graph/graph_after.h"
#include "app/session/graph/level_links.h"
#include "app/session/graph/source_text.h"
#include "app/session/graph/trace_views.h"
#include "app/session/handlers/compile_anew.h"
#include "app/session/handlers/stepping.h"
#include "app/session/records/latency_runs.h"
#include "app/session/session_state.h"
#include "app/session/views/code_views.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/view.h"
#include "app/session/views/view_json.h"
#include "app/session/views/why_views.h"
#include "compiler/driver/builtin_code.h"
#include "compiler/driver/device_versions.h"
#include "compiler/driver/target_choice.h"
#include "compiler/ir/printer.h"
#include "compiler/passes/pass_table.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "compiler/support/suggestion.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn {

namespace {

Result<size_t> kernelIndex(const CompiledModel& compiled, const std::string& text) {
  const auto& rows = compiled.lowered.program.kernels;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    const size_t index = std::stoul(text.substr(0, 9));
    if (index < rows.size()) return index;
    return makeError(DiagnosticId::textName,
                     "there is no kernel " + text + ", there are " + std::to_string(rows.size()));
  }
  std::vector<std::string_view> names;
  for (const std::string& builtin : compiled.lowered.program.builtins) names.push_back(builtin);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == text || rows[i].symbol == text) return i;
    names.push_back(rows[i].name);
  }
  const std::string near = suggestion(text, names);
  return makeError(DiagnosticId::textName, "there is no kernel '" + text + "'")
      .note(near.empty() ? ":kernels lists all" : "did you mean " + near + "?");
}

// The view of a text, which a command may want in a file, too.
Result<View> shown(const Command& command, IrText text) {
  if (command.has("o")) {
    text.file = command.text("o");
    DYN_CHECK(writeFileAtomically(text.file, {text.text}));
  }
  return makeView(std::move(text));
}

// Of kernels that run on the device: its code. The others are named.
Result<IrText> deviceCodeText(SessionState& state, const DeviceRow& device) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_CHECK(model->ensureCompiled());
  const CompiledModel& compiled = *model->compiled();
  if (compiled.target.device != device.kind)
    return makeError(DiagnosticId::usageError, std::string("the model is compiled for the ") +
                                                   toString(compiled.target.device) + ", which has no " +
                                                   std::string(device.language))
        .note("--device " + std::string(device.name) + ", or :set device " + std::string(device.name));
  IrText text;
  text.level = IrLevel::deviceCode;
  text.device = device.kind;
  int64_t count = 0;
  for (size_t i = 0; i < compiled.lowered.kernels.size(); ++i) {
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    const std::string title =
        "// kernel " + std::to_string(i) + ": " + compiled.lowered.program.kernels[i].name;
    if (!compiled.lowered.kernelOnDevice[i]) {
      text.text += title + " runs on the host\n";
      continue;
    }
    DYN_TRY(const std::string one, kernelText(compiled, i, KernelText::assembly));
    text.text += title + "\n" + one + (one.empty() || one.back() != '\n' ? "\n" : "");
    ++count;
  }
  text.title = std::to_string(count) + (count == 1 ? " kernel" : " kernels") + " on the GPU";
  return text;
}

Result<IrText> kernelTexts(SessionState& state, const Command& command, KernelText form) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_CHECK(model->ensureCompiled());
  const CompiledModel& compiled = *model->compiled();
  IrText text;
  text.level = form == KernelText::llvm ? IrLevel::llvm : IrLevel::assembly;
  std::vector<size_t> wanted;
  const std::vector<std::string>& builtins = compiled.lowered.program.builtins;
  if (const std::string name = command.text("kernel");
      std::find(builtins.begin(), builtins.end(), name) != builtins.end()) {
    DYN_TRY(const std::vector<std::string> texts, builtinTexts(compiled, {name}, text.level));
    text.title = name;
    text.text = texts[0];
    if (form != KernelText::assembly || !runsOnMatrixKernels(name)) return text;
    DYN_TRY(const std::string matrix, matrixKernelsText(compiled));
    text.text += matrix;
    return text;
  }
  if (command.has("kernel")) {
    DYN_TRY(size_t index, kernelIndex(compiled, command.text("kernel")));
    wanted.push_back(index);
  } else {
    for (size_t i = 0; i < compiled.lowered.kernels.size(); ++i) wanted.push_back(i);
  }
  text.title = std::to_string(wanted.size()) + (wanted.size() == 1 ? " kernel" : " kernels");
  for (size_t index : wanted) {
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    DYN_TRY(std::string one, kernelText(compiled, index, form));
    const char* comment = form == KernelText::llvm ? "; " : "# ";
    text.text += comment + std::string("kernel ") + std::to_string(index) + ": " +
                 compiled.lowered.program.kernels[index].name + "\n" + one;
    if (!text.text.empty() && text.text.back() != '\n') text.text += '\n';
  }
  return text;
}

// What the model is compiled for, in the form that --target reads.
Result<IrText> targetText(SessionState& state) {
  DYN_TRY(Target target, chooseTarget(state.now.options.target));
  IrText text;
  text.level = IrLevel::target;
  text.title = target.machine.name;
  text.text = printTarget(target);
  return text;
}

Result<IrText> stageLoopText(SessionState& state) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_CHECK(model->ensureCompiled());
  IrText text;
  text.level = IrLevel::loop;
  text.title = std::to_string(model->compiled()->lowered.kernels.size()) + " kernels";
  for (const loop::Kernel& kernel : model->compiled()->lowered.kernels) {
    text.text += loop::print(kernel);
    if (text.text.back() != '\n') text.text += '\n';
  }
  return text;
}

Result<IrText> bytecodeText(SessionState& state) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_TRY(dyn_module * program, model->program());
  IrText text;
  text.level = IrLevel::bytecode;
  text.title = "host code";
  const char* listing = dyn_module_disassembly(program);
  text.text = listing ? listing : "";
  return text;
}

}  // namespace

Result<View> handle_load(SessionState& state, const Command& command, Outcome& outcome) {
  LoadRequest request;
  request.path = command.text("model");
  DYN_TRY(request.dims, parseDimSpecs(command.all("dim")));
  request.requireStatic = command.has("static");
  request.collectProblems = command.has("anyway");
  DYN_CHECK(openModel(state, std::move(request)));
  outcome.warnings = state.now.model->info().warnings;
  return makeView(state.now.model->info());
}

Result<View> handle_reload(SessionState& state, const Command&, Outcome& outcome) {
  DYN_TRY(LoadedModel * model, state.opened());
  DYN_CHECK(openModel(state, LoadRequest(model->request())));
  outcome.warnings = state.now.model->info().warnings;
  return makeView(state.now.model->info());
}

Result<View> handle_info(SessionState& state, const Command&, Outcome&) {
  DYN_TRY(LoadedModel * model, state.opened());
  if (!model->hasModule()) {
    ModelInfo info = model->info();
    info.latency = latencyInfo(state, *model);
    return makeView(std::move(info));
  }
  if (!model->problems().empty()) return makeView(model->info());
  // The outputs' types; a model that does not type-check has its inputs at least.
  const bool isTyped = model->ensurePasses().ok();
  ModelInfo info = model->info();
  if (const Dim flops = isTyped ? flopsOf(model->typed()) : Dim()) info.flops = flops.toString();
  return makeView(std::move(info));
}

namespace {

Result<const TraceStep*> stepOf(LoadedModel& model, const std::string& pass, bool placed) {
  if (!pass.empty()) return graphAfter(model, pass);
  DYN_CHECK(model.ensurePasses());
  if (placed) return findStep(model.trace(), pass);
  // Without a pass: the typed graph, the one people think in.
  if (const TraceStep* step = model.trace().find("infer")) return step;
  return findStep(model.trace(), "import");
}

struct AskedLevel {
  IrLevel level = IrLevel::graph;
  const DeviceRow* device = nullptr;  // of the level deviceCode
};

Result<AskedLevel> levelOf(const std::string& level) {
  for (const IrLevel known : {IrLevel::source, IrLevel::graph, IrLevel::placed, IrLevel::loop, IrLevel::llvm,
                              IrLevel::assembly, IrLevel::bytecode, IrLevel::target})
    if (level == toString(known)) return AskedLevel{known};
  if (const DeviceRow* device = findDeviceOfLevel(level)) return AskedLevel{IrLevel::deviceCode, device};
  const std::string near = suggestion(level, levelNames());
  return makeError(DiagnosticId::usageError, "there is no level '" + level + "'")
      .note(near.empty() ? "the levels: " + listOfLevels() : "did you mean " + near + "?");
}

enum class Origins : uint8_t { leaveOut, add };
Result<IrText> levelTextOf(SessionState& state, AskedLevel asked, const std::string& pass, Places places,
                           Origins origins) {
  const IrLevel level = asked.level;
  const bool isGraph = level == IrLevel::graph || level == IrLevel::placed;
  const TraceStep* step = nullptr;
  IrText text;
  text.level = level;
  if (isGraph) {
    DYN_TRY(LoadedModel * model, state.model());
    DYN_TRY(step, stepOf(*model, pass, level == IrLevel::placed));
    text = irText(*step, places);
    text.level = level;
  } else if (level == IrLevel::source) {
    DYN_TRY(LoadedModel * model, state.opened());
    DYN_TRY(text, modelSource(*model));
    // A model that cannot be compiled has no other levels.
    if (!model->problems().empty() || !model->ensurePasses().ok()) return text;
  } else if (level == IrLevel::target) {
    return targetText(state);
  } else if (asked.device) {
    return deviceCodeText(state, *asked.device);
  } else if (level == IrLevel::bytecode) {
    DYN_TRY(text, bytecodeText(state));
  } else if (origins == Origins::leaveOut && level == IrLevel::loop) {
    return stageLoopText(state);
  } else if (origins == Origins::leaveOut) {
    return kernelTexts(state, Command::of(CommandId::ir),
                       level == IrLevel::llvm ? KernelText::llvm : KernelText::assembly);
  }
  if (origins == Origins::add) {
    DYN_TRY(LoadedModel * model, state.model());
    DYN_CHECK(addOrigins(*model, step, text));
  }
  return text;
}

}  // namespace

Result<View> handle_ir(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(const AskedLevel level, levelOf(command.text("level", "graph")));
  DYN_TRY(IrText text, levelTextOf(state, level, command.text("pass"),
                                   command.has("places") ? Places::show : Places::leaveOut,
                                   command.has("linked") ? Origins::add : Origins::leaveOut));
  return shown(command, std::move(text));
}

Result<View> handle_lines(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(const AskedLevel asked, levelOf(command.text("level")));
  const IrLevel level = asked.level;
  DYN_TRY(const int64_t line, command.integer("line", 1));
  if (level == IrLevel::target || asked.device)
    return makeError(DiagnosticId::usageError,
                     "the level " + command.text("level") + " has no lines that lead elsewhere");
  DYN_TRY(const IrText from, levelTextOf(state, asked, command.text("pass"), Places::leaveOut, Origins::add));
  const auto textAt = [](const IrText& text, uint32_t at) {
    size_t begin = 0;
    for (uint32_t i = 1; i < at && begin != std::string::npos; ++i) begin = text.text.find('\n', begin) + 1;
    return text.text.substr(begin, text.text.find('\n', begin) - begin);
  };
  const int64_t count = std::count(from.text.begin(), from.text.end(), '\n');
  if (line < 1 || line > count)
    return makeError(DiagnosticId::usageError,
                     "there is no line " + std::to_string(line) + ", there are " + std::to_string(count));
  LinkedLines view;
  view.level = level;
  view.line = {static_cast<uint32_t>(line), textAt(from, static_cast<uint32_t>(line))};
  for (const IrLevel other : {IrLevel::source, IrLevel::graph, IrLevel::placed, IrLevel::bytecode,
                              IrLevel::loop, IrLevel::llvm, IrLevel::assembly}) {
    if (other == level) continue;
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    DYN_TRY(const IrText text, levelTextOf(state, AskedLevel{other}, "", Places::leaveOut, Origins::add));
    LinkedLines::Level found{other, {}};
    for (const uint32_t at : linesOf(from, static_cast<uint32_t>(line), text))
      found.lines.push_back({at, textAt(text, at)});
    view.levels.push_back(std::move(found));
  }
  return makeView(std::move(view));
}

namespace {

// What the passes are for, and what can be set.
Status addPipeline(const CompileOptions& options, PassList& list) {
  DYN_TRY(const Pipeline pipeline, pipelineOf(options));
  list.pipeline = toString(pipeline);
  list.edits = options.passes;
  for (PassRow& row : list.rows)
    for (const PassDef& pass : passTable()) {
      if (row.name != pass.name || row.kind != "pass") continue;
      row.summary = pass.summary;
      row.required = pass.required;
      for (const PassOptionSpec& option : pass.options) row.options.emplace_back(option.name, option.doc);
    }
  return {};
}

}  // namespace

Result<View> handle_passes(SessionState& state, const Command&, Outcome& outcome) {
  DYN_TRY(LoadedModel * model, state.model());
  Status passes = model->ensurePasses();
  if (!passes.ok() && (!model->hasModule() || passes.error().id == DiagnosticId::cancelled))
    return passes.takeError();
  if (!passes.ok()) outcome.error = passes.error();  // with the view: the failed pass stands in the list
  PassList list = passList(model->trace(), state.now.currentStep);
  DYN_CHECK(addPipeline(model->compileOptions(), list));
  return makeView(std::move(list));
}

namespace {

Result<View> moveStep(SessionState& state, int64_t by) {
  DYN_TRY(LoadedModel * model, state.modelWithPasses());
  const int64_t last = static_cast<int64_t>(model->trace().steps.size()) - 1;
  const int64_t target = state.now.currentStep + by;
  if (target < 0 || target > last)
    return makeError(DiagnosticId::usageError,
                     target < 0 ? "this is the first step" : "this is the last step")
        .note("the steps are 0.." + std::to_string(last) + ", :passes lists them");
  state.now.currentStep = static_cast<int>(target);
  return makeView(diffView(model->trace().steps[static_cast<size_t>(target)]));
}

}  // namespace

Result<View> handle_step(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(int64_t count, command.integer("count", 1));
  if (state.debug && state.debug->isStopped()) return stepRun(state, StepBy::operation, count);
  return moveStep(state, count);
}

Result<View> handle_back(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(int64_t count, command.integer("count", 1));
  return moveStep(state, -count);
}

Result<View> handle_dims(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(const LoadedModel* loaded, state.model());
  if (loaded->kind() == ModelKind::package) {
    DYN_TRY(DimsTable table, dimsOfPackage(loaded->signature(), command.text("symbol")));
    return makeView(std::move(table));
  }
  DYN_TRY(LoadedModel * model, state.modelWithPasses());
  DYN_TRY(DimsTable table, dimsTable(model->typed(), model->questions().copy(), command.text("symbol")));
  return makeView(std::move(table));
}

Result<View> handle_why(SessionState& state, const Command& command, Outcome&) {
  if (asksAboutRun(command)) {
    DYN_TRY(RunCauses causes, whyOfRun(state, command));
    return makeView(std::move(causes));
  }
  DYN_TRY(LoadedModel * model, state.modelWithPasses());
  if (command.text("a") == "ragged" && !model->typed().context->dims().hasSymbol("ragged")) {
    DYN_TRY(WhyView ragged, whyRagged(model->trace(), command.text("b")));
    return makeView(std::move(ragged));
  }
  if (command.text("a") == "many" && !model->typed().context->dims().hasSymbol("many")) {
    const TraceStep* asPass = model->trace().find("vectorize");  // --passes +vectorize
    DYN_TRY(WhyView many, whyMany(asPass ? *asPass : model->many()));
    return makeView(std::move(many));
  }
  if (command.text("a") == "stages" && !model->typed().context->dims().hasSymbol("stages")) {
    DYN_TRY(WhyView stages, whyStages(model->trace()));
    return makeView(std::move(stages));
  }
  if (command.text("a") == "cache" && !model->typed().context->dims().hasSymbol("cache")) {
    DYN_TRY(WhyView cache, whyCache(model->signature()));
    return makeView(std::move(cache));
  }
  std::vector<std::pair<std::string, ValueId>> ports;
  const Signature& signature = model->signature();
  const Function& main = *model->typed().main();
  for (size_t i = 0; i < std::min(signature.inputs.size(), main.parameters.size()); ++i)
    ports.emplace_back(signature.inputs[i].info.name, main.parameters[i].id);
  for (size_t i = 0; i < std::min(signature.outputs.size(), main.results.size()); ++i)
    ports.emplace_back(signature.outputs[i].info.name, main.results[i]);
  DYN_TRY(WhyView view, whyDim(model->questions().copy(), ports, command.text("a"), command.text("b")));
  return makeView(std::move(view));
}

Result<View> handle_kernels(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  KernelTable table;
  DYN_TRY(std::vector<DimSpec> specs, parseDimSpecs(command.all("dim")));
  DimValues dims;
  for (const DimSpec& spec : specs) {
    if (!spec.value)
      return makeError(DiagnosticId::usageError, "--dim " + spec.text + ": kernels wants a value");
    dims[spec.name] = *spec.value;
  }
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the kernels of a package are listed in its :bytecode");
  DYN_CHECK(model->ensureCompiled());
  for (const vm::KernelRow& kernel : model->compiled()->lowered.program.kernels) {
    KernelRow row;
    row.index = static_cast<int>(table.rows.size());
    row.kind = "kernel";
    row.name = kernel.name;
    row.symbol = kernel.symbol;
    row.description = kernel.description;
    if (const std::string versions = deviceVersions(*model->compiled(), table.rows.size()); !versions.empty())
      row.description += "; versions: " + versions;
    row.buffersCount = kernel.bufferCount;
    row.scalarsCount = kernel.scalarCount;
    table.rows.push_back(std::move(row));
  }
  for (const std::string& builtin : model->compiled()->lowered.program.builtins) {
    KernelRow row;
    row.kind = "builtin";
    row.name = builtin;
    row.description = builtin.rfind("onednn_", 0) == 0 ? "a call of oneDNN"
                      : builtin == "custom_call"       ? "custom kernels of the user, in C"
                                                       : "hand-written, part of the runtime";
    table.rows.push_back(std::move(row));
  }
  DYN_TRY(table.contractions, contractionRows(*model, state.now.options, dims));
  table.copies = copyRows(model->placed(), dims);
  return makeView(std::move(table));
}

Result<View> handle_bytecode(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(IrText text, bytecodeText(state));
  return shown(command, std::move(text));
}

Result<View> handle_asm_(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(IrText text, kernelTexts(state, command, KernelText::assembly));
  return shown(command, std::move(text));
}
Result<View> handle_llvm(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(IrText text, kernelTexts(state, command, KernelText::llvm));
  return shown(command, std::move(text));
}

}  // namespace dyn
