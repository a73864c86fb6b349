#include "model.h"

#include <memory>

#include "interruption.h"
#include "program.h"
#include "thread_pool.h"

namespace dynpython {

namespace {

// The diagnostics of this thread's latest call of dyn.h.
std::vector<Said> latestSaid() {
  std::vector<Said> all;
  for (int32_t i = 0; i < dyn_diagnostic_count(); ++i) {
    dyn_diagnostic one{};
    one.size = sizeof one;
    if (dyn_diagnostic_get(i, &one) != DYN_OK) break;
    all.push_back({one.severity, one.id, one.message, one.place, one.file, one.node, one.notes, one.op,
                   one.line, one.column});
  }
  return all;
}

std::vector<dyn_option> plain(const Options& options) {
  std::vector<dyn_option> all;
  for (const auto& [name, value] : options) all.push_back({name.c_str(), value.c_str()});
  return all;
}

struct DimText {
  int64_t value, low, high, multiple;
  std::string text;
};
struct PortText {
  std::string name, kind, type;
  int32_t dtype, rank;
  std::vector<DimText> dims;
};

dyn_status readPort(dyn_model* model, bool input, int32_t index, PortText& made) {
  dyn_port port{};
  port.size = sizeof port;
  if (const dyn_status status = (input ? dyn_model_input : dyn_model_output)(model, index, &port))
    return status;
  made = {port.name, port.kind, port.type, port.dtype, port.rank, {}};
  for (int32_t axis = 0; axis < port.rank; ++axis) {
    dyn_contract_dim dim{};
    if (const dyn_status status =
            (input ? dyn_model_input_dim : dyn_model_output_dim)(model, index, axis, &dim))
      return status;
    made.dims.push_back({dim.value, dim.low, dim.high, dim.multiple, dim.text});
  }
  return DYN_OK;
}

struct ReleasePrediction {
  void operator()(dyn_prediction* prediction) const { dyn_prediction_release(prediction); }
};

}  // namespace

Fault modelFault(dyn_status status) {
  std::vector<Said> said = latestSaid();
  std::string message = said.empty() ? dyn_status_text(status) : said.front().message;
  return Fault(status, std::move(message), std::move(said));
}

void Model::inTurn(const std::function<dyn_status()>& work) {
  workUnlocked(
      [&] {
        const std::lock_guard<std::mutex> lock(turn_);
        if (const dyn_status status = work()) throw modelFault(status);
      },
      [&] { dyn_model_cancel(model_); }, [&] { tellEvents(); });
}

void Model::note(Event event) {
  const std::lock_guard<std::mutex> lock(eventsMutex_);
  events_.push_back(std::move(event));
}

void Model::tellEvents() {
  std::vector<Event> events;
  {
    const std::lock_guard<std::mutex> lock(eventsMutex_);
    events.swap(events_);
  }
  if (listener_.is_none()) return;
  for (const Event& event : events)
    listener_(textOf(event.text), event.fraction ? nb::object(nb::float_(*event.fraction)) : nb::none());
}

Model::Model(const std::optional<std::string>& path, const std::optional<nb::bytes>& bytes,
             const std::string& name, const Options& options, nb::object listener)
    : listener_(std::move(listener)) {
  const std::vector<dyn_option> all = plain(options);
  dyn_model_options given{};
  given.size = sizeof given;
  given.path = path ? path->c_str() : nullptr;
  given.bytes = bytes ? bytes->data() : nullptr;
  given.byte_count = bytes ? bytes->size() : 0;
  given.name = name.c_str();
  given.options = all.data();
  given.option_count = all.size();
  given.user = this;
  given.log = [](void* user, const char* line) { static_cast<Model*>(user)->note({line, std::nullopt}); };
  given.progress = [](void* user, const char* what, double fraction) {
    static_cast<Model*>(user)->note({what, fraction});
  };
  dyn_model* opened = nullptr;  // model_ is for cancel(), which has nothing to end before
  try {
    inTurn([&] {
      const dyn_status status = dyn_model_open(&given, &opened);
      if (status == DYN_OK) warnings_ = latestSaid();
      return status;
    });
  } catch (...) {
    dyn_model_release(opened);
    throw;
  }
  model_ = opened;
}

Model::~Model() { dyn_model_release(model_); }

nb::list Model::ports(bool input) {
  std::vector<PortText> all;
  inTurn([&] {
    const int32_t count = (input ? dyn_model_input_count : dyn_model_output_count)(model_);
    for (int32_t i = 0; i < count; ++i)
      if (const dyn_status status = readPort(model_, input, i, all.emplace_back())) return status;
    return DYN_OK;
  });
  nb::list ports;
  for (const PortText& port : all) {
    nb::list dims;
    for (const DimText& dim : port.dims)
      dims.append(nb::make_tuple(dim.value, dim.text, dim.low, dim.high, dim.multiple));
    ports.append(nb::make_tuple(port.name, port.kind, port.type, port.dtype, port.rank, dims));
  }
  return ports;
}

Program* Model::compile(int32_t threads, uint64_t memoryLimitBytes, const ThreadPool* pool) {
  dyn_module* module = nullptr;
  inTurn([&] { return dyn_model_compile(model_, &module); });
  dyn_options options{};
  options.thread_count = threads;
  options.memory_limit_bytes = memoryLimitBytes;
  options.thread_pool = pool ? pool->get() : nullptr;
  return new Program(module, options);
}

std::string Model::command(const std::string& line, bool asText) {
  std::string answer;
  inTurn([&] {
    const char* text = nullptr;
    const dyn_status status =
        (asText ? dyn_model_command_text : dyn_model_command)(model_, line.c_str(), &text);
    if (text) answer = text;
    return status;
  });
  return answer;
}

void Model::exportTo(const std::string& kind, const std::string& path, const Options& options) {
  const std::vector<dyn_option> all = plain(options);
  inTurn([&] { return dyn_model_export(model_, kind.c_str(), path.c_str(), all.data(), all.size()); });
}

void Model::save(const std::string& path, const Options& options) {
  const std::vector<dyn_option> all = plain(options);
  inTurn([&] { return dyn_model_save(model_, path.c_str(), all.data(), all.size()); });
}

nb::tuple Model::predict(const std::vector<std::pair<std::string, int64_t>>& dims) {
  std::vector<dyn_dim> given;
  for (const auto& [name, value] : dims) given.push_back({name.c_str(), value});
  std::unique_ptr<dyn_prediction, ReleasePrediction> prediction;
  inTurn([&] {
    dyn_prediction* made = nullptr;
    const dyn_status status = dyn_model_predict(model_, given.data(), given.size(), &made);
    prediction.reset(made);
    return status;
  });
  nb::list shapes, checks;
  for (int32_t i = 0; i < dyn_model_output_count(model_); ++i) {
    const int64_t* shape = dyn_prediction_output_shape(prediction.get(), i);
    if (!shape) {
      shapes.append(nb::none());
      continue;
    }
    shapes.append(
        nb::cast(std::vector<int64_t>(shape, shape + dyn_prediction_output_rank(prediction.get(), i))));
  }
  for (int32_t i = 0; i < dyn_prediction_check_count(prediction.get()); ++i) {
    dyn_check check{};
    check.size = sizeof check;
    if (dyn_prediction_check(prediction.get(), i, &check) != DYN_OK) break;
    checks.append(nb::make_tuple(check.name, check.text, check.fails != 0));
  }
  return nb::make_tuple(shapes, dyn_prediction_peak_bytes(prediction.get()),
                        dyn_prediction_refused(prediction.get()), checks);
}

}  // namespace dynpython
