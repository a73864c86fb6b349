#include "app/library/model.h"

#include <charconv>
#include <cstddef>
#include <cstring>

#include "app/engine/model/loaded_model.h"
#include "app/session/answers/limit_view.h"
#include "app/session/session_state.h"
#include "compiler/dims/size_multiples.h"

namespace dyn::library {

std::shared_ptr<const Outcome> execute(dyn_model& model, Command command) {
  std::shared_ptr<const Outcome> outcome = model.session->execute(std::move(command));
  std::vector<Diagnostic> said;
  if (outcome->error) said.push_back(*outcome->error);
  said.insert(said.end(), outcome->more.begin(), outcome->more.end());
  said.insert(said.end(), outcome->warnings.begin(), outcome->warnings.end());
  noteDiagnostics(said);
  return outcome;
}

dyn_status perform(dyn_model& model, Command command) {
  const std::shared_ptr<const Outcome> outcome = execute(model, std::move(command));
  return outcome->error ? statusOf(outcome->error->id) : DYN_OK;
}

Status addOptions(Command& command, const dyn_option* options, size_t count) {
  if (!options && count > 0) return badArgument("options is a null pointer");
  for (size_t i = 0; i < count; ++i) {
    if (!options[i].name || !options[i].value)
      return badArgument("option " + std::to_string(i) + ": its name or value is a null pointer");
    command.add(options[i].name, options[i].value);
  }
  return {};
}

namespace {

void listen(dyn_model& model, const dyn_model_options& options) {
  if (!options.log && !options.progress) return;
  model.session->setListener([options](const Event& event) {
    if (event.kind == EventKind::log && options.log) options.log(options.user, event.text.c_str());
    if (event.kind == EventKind::progress && options.progress)
      options.progress(options.user, event.text.c_str(), event.fraction);
  });
}

// The path of a model that is given as bytes.
Result<std::string> fileOfBytes(dyn_model& model, const dyn_model_options& options) {
  if (!options.name) return badArgument("bytes need a name: its ending says what they are");
  const std::string name = options.name;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    return badArgument("'" + name + "' is no name for bytes: write model.onnx, model.dyn or model.dynpkg");
  DYN_TRY(model.bytes, MemoryFile::make(name, {static_cast<const char*>(options.bytes), options.byte_count}));
  return model.bytes->path();
}

// Options become settings; some are arguments of `load`.
Result<Command> loadCommand(dyn_model& model, const dyn_model_options& options, std::string path) {
  Command load = Command::of(CommandId::load).add("model", std::move(path));
  Command all = Command::of(CommandId::set);
  DYN_CHECK(addOptions(all, options.options, options.option_count));
  for (auto& [name, values] : all.arguments) {
    if (name == "dim" || name == "static") {
      for (const std::string& value : values) load.add(name, value);
      continue;
    }
    const auto outcome =
        model.session->execute(Command::of(CommandId::set).add("name", name).add("value", values.back()));
    if (outcome->error) return Error{*outcome->error};
  }
  return load;
}

dyn_status open(const dyn_model_options& given, dyn_model** target) {
  auto model = std::make_unique<dyn_model>();
  SessionOptions options;
  options.cacheDirectory = defaultCacheDirectory();
  model->session = std::make_unique<Session>(std::move(options));
  listen(*model, given);
  Result<std::string> path = given.path ? Result<std::string>(given.path) : fileOfBytes(*model, given);
  if (!path.ok()) return failed(path.error());
  Result<Command> load = loadCommand(*model, given, *std::move(path));
  if (!load.ok()) return failed(load.error());
  if (const dyn_status status = perform(*model, *std::move(load)); status != DYN_OK) return status;
  const Status seen = model->session->visit([&](SessionState& state) -> Status {
    DYN_TRY(LoadedModel * loaded, state.opened());
    model->inputs = loaded->signature();
    return {};
  });
  if (!seen.ok()) return failed(seen.error());
  *target = model.release();
  return DYN_OK;
}

// After type inference; what the file says where that fails is no answer.
Result<const Signature*> typed(dyn_model& model) {
  if (!model.outputs) {
    auto made = std::make_unique<Signature>();
    const Status done = model.session->visit([&](SessionState& state) -> Status {
      DYN_TRY(LoadedModel * loaded, state.model());
      if (loaded->hasModule()) DYN_CHECK(loaded->ensurePasses());
      *made = loaded->signature();
      return {};
    });
    if (!done.ok()) return Error{done.error()};
    model.outputs = std::move(made);
  }
  return model.outputs.get();
}

Result<const Port*> portOf(dyn_model* model, bool input, int32_t index) {
  if (!model) return badArgument("model is a null pointer");
  const Signature* signature = &model->inputs;
  if (!input) {
    DYN_TRY(signature, typed(*model));
  }
  const std::vector<Port>& ports = input ? signature->inputs : signature->outputs;
  if (index < 0 || static_cast<size_t>(index) >= ports.size())
    return badArgument("there is no " + std::string(input ? "input " : "output ") + std::to_string(index) +
                       ", there are " + std::to_string(ports.size()));
  return &ports[static_cast<size_t>(index)];
}

dyn_status describe(dyn_model* model, bool input, int32_t index, dyn_port* target) {
  return reporting([&]() -> Status {
    DYN_TRY(const Port* port, portOf(model, input, index));
    const bool tensor = port->info.kind == "tensor";
    dyn_port made{};
    made.name = port->info.name.c_str();
    made.kind = port->info.kind.c_str();
    made.type = port->info.type.c_str();
    made.dtype = tensor ? static_cast<int32_t>(port->dtype) : -1;
    made.rank = tensor && !port->rankIsOpen ? static_cast<int32_t>(port->info.shape.size()) : -1;
    return give(made, target);
  });
}

std::optional<int64_t> wholeNumber(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// What is declared or known of a dim that is one symbol.
Status rangeOf(dyn_model& model, const std::string& text, dyn_contract_dim& dim) {
  return model.session->visit([&](SessionState& state) -> Status {
    DYN_TRY(LoadedModel * loaded, state.model());
    const DimSolver* facts = factsOfDims(*loaded);
    if (!facts || !facts->context().hasSymbol(text)) return {};
    const Dim symbol = facts->context().symbol(text);
    const Interval range = facts->interval(symbol);
    dim.low = range.low.value_or(0);
    dim.high = range.high.value_or(INT64_MAX);
    for (const Fact& fact : facts->factsAbout(symbol.symbol()))
      if (fact.a == symbol && fact.kind == FactKind::multipleOf)
        dim.multiple = commonMultiple(dim.multiple, fact.multiple);
    return {};
  });
}

dyn_status describeDim(dyn_model* model, bool input, int32_t index, int32_t axis, dyn_contract_dim* target) {
  if (target) *target = {};
  return reporting([&]() -> Status {
    if (!target) return badArgument("dim is a null pointer");
    DYN_TRY(const Port* port, portOf(model, input, index));
    if (axis < 0 || static_cast<size_t>(axis) >= port->info.shape.size())
      return badArgument(port->info.name + " has no axis " + std::to_string(axis) + ": it is " +
                         port->info.type);
    const std::string& text = port->info.shape[static_cast<size_t>(axis)];
    const std::optional<int64_t> number = wholeNumber(text);
    *target = {number.value_or(-1), number ? "" : text.c_str(), number.value_or(0),
               number.value_or(INT64_MAX), 1};
    return number ? Status() : rangeOf(*model, text, *target);
  });
}

}  // namespace

}  // namespace dyn::library

using namespace dyn;
using namespace dyn::library;

extern "C" {

dyn_status dyn_model_open(const dyn_model_options* options, dyn_model** model) {
  if (model) *model = nullptr;
  dyn_status status = DYN_OK;
  const dyn_status thrown = reporting([&]() -> Status {
    if (!options || !model) return badArgument("options or model is a null pointer");
    DYN_TRY(const dyn_model_options whole,
            taken(*options, offsetof(dyn_model_options, log), "dyn_model_options"));
    if (!whole.path == !whole.bytes) return badArgument("give either path or bytes");
    status = open(whole, model);
    return {};
  });
  return thrown != DYN_OK ? thrown : status;
}

void dyn_model_release(dyn_model* model) { delete model; }

void dyn_model_cancel(dyn_model* model) {
  if (model) model->session->interrupt();
}

int32_t dyn_model_input_count(const dyn_model* model) {
  return model ? static_cast<int32_t>(model->inputs.inputs.size()) : -1;
}
int32_t dyn_model_output_count(const dyn_model* model) {
  return model ? static_cast<int32_t>(model->inputs.outputs.size()) : -1;
}

dyn_status dyn_model_input(dyn_model* model, int32_t index, dyn_port* port) {
  return describe(model, true, index, port);
}
dyn_status dyn_model_output(dyn_model* model, int32_t index, dyn_port* port) {
  return describe(model, false, index, port);
}

dyn_status dyn_model_input_dim(dyn_model* model, int32_t index, int32_t axis, dyn_contract_dim* dim) {
  return describeDim(model, true, index, axis, dim);
}
dyn_status dyn_model_output_dim(dyn_model* model, int32_t index, int32_t axis, dyn_contract_dim* dim) {
  return describeDim(model, false, index, axis, dim);
}

}  // extern "C"
