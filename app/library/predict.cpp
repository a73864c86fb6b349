// What a run of given sizes will be, without running it.
#include "app/engine/model/loaded_model.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/specialisation.h"
#include "app/library/model.h"
#include "app/session/answers/dim_views.h"
#include "app/session/session_state.h"
#include "app/session/views/predict_views.h"

struct dyn_prediction {
  struct Check {
    std::string name, text;
    bool fails = false;
  };
  int64_t peakBytes = -1;
  std::string refused;
  std::vector<std::optional<std::vector<int64_t>>> outputs;  // nothing: no tensor
  std::vector<Check> checks;
};

namespace dyn::library {

namespace {

// By the dims of the inputs; -1 where that does not say it.
std::vector<int64_t> shapeOf(const Port& output, const DimValues& dims) {
  DimContext context;
  DimBinding binding;
  for (const auto& [name, value] : dims) {
    const Result<Dim> symbol = parseDim(context, name);
    if (symbol.ok() && symbol->isSymbol()) binding.set(*symbol, value);
  }
  std::vector<int64_t> shape;
  for (const std::string& text : output.info.shape) {
    const Result<Dim> dim = parseDim(context, text);
    const Result<int64_t> size = dim.ok() ? evaluate(*dim, binding) : Result<int64_t>(-1);
    shape.push_back(size.ok() && *size >= 0 ? *size : -1);
  }
  return shape;
}

// Is it an answer about these sizes, not a fault of the question?
bool isRefusal(DiagnosticId id) {
  return id == DiagnosticId::shapeCheckFailed || id == DiagnosticId::dimDomain ||
         id == DiagnosticId::dimOverflow || id == DiagnosticId::unsupportedFeature;
}

Status predict(SessionState& state, const dyn_dim* given, size_t count, dyn_prediction& prediction) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_TRY(Runner runner, makeRunner(*model, state.now.options));
  CallDims bound(model->signature());
  for (size_t i = 0; i < count; ++i) {
    if (!given[i].name) return badArgument("dim " + std::to_string(i) + ": its name is a null pointer");
    DYN_CHECK(bound.bind(given[i].name, given[i].value));
  }
  (void)bound.deduce();
  const DimValues dims = bound.values();
  DYN_TRY([[maybe_unused]] const auto shapes, shapesFor(model->signature(), dims));
  bool fails = false;
  if (model->hasModule()) {
    for (const RangeFault& fault : rangeFaults(model->typed(), dims)) {
      prediction.checks.push_back({"", fault.text, true});
      fails = true;
    }
    for (const CheckRow& row : checkRows(model->typed(), dims)) {
      prediction.checks.push_back({row.name, row.text, row.fails});
      fails |= row.fails;
    }
  }
  for (const Port& output : model->signature().outputs)
    prediction.outputs.push_back(output.info.kind == "tensor" ? std::optional(shapeOf(output, dims))
                                                              : std::nullopt);
  Result<int64_t> peak = runner.predictPeak(dims, Runner::Warmth::first, state.interruption);
  if (peak.ok()) {
    prediction.peakBytes = *peak;
    return {};
  }
  if (!fails && !isRefusal(peak.error().id)) return peak.takeError();
  prediction.refused = peak.error().message;
  return {};
}

}  // namespace

}  // namespace dyn::library

using namespace dyn;
using namespace dyn::library;

extern "C" {

dyn_status dyn_model_predict(dyn_model* model, const dyn_dim* dims, size_t dim_count,
                             dyn_prediction** prediction) {
  if (prediction) *prediction = nullptr;
  return reporting([&]() -> Status {
    if (!model || !prediction) return badArgument("model or prediction is a null pointer");
    if (!dims && dim_count > 0) return badArgument("dims is a null pointer");
    auto made = std::make_unique<dyn_prediction>();
    const Status done =
        model->session->visit([&](SessionState& state) { return predict(state, dims, dim_count, *made); });
    if (!done.ok()) return Error{done.error()};
    *prediction = made.release();
    return {};
  });
}

void dyn_prediction_release(dyn_prediction* prediction) { delete prediction; }

int64_t dyn_prediction_peak_bytes(const dyn_prediction* prediction) {
  return prediction ? prediction->peakBytes : -1;
}
const char* dyn_prediction_refused(const dyn_prediction* prediction) {
  return prediction ? prediction->refused.c_str() : "";
}

const int64_t* dyn_prediction_output_shape(const dyn_prediction* prediction, int32_t index) {
  if (!prediction || index < 0 || static_cast<size_t>(index) >= prediction->outputs.size()) return nullptr;
  const auto& shape = prediction->outputs[static_cast<size_t>(index)];
  static const int64_t kScalar = 0;
  return !shape ? nullptr : shape->empty() ? &kScalar : shape->data();
}
int32_t dyn_prediction_output_rank(const dyn_prediction* prediction, int32_t index) {
  if (!dyn_prediction_output_shape(prediction, index)) return -1;
  return static_cast<int32_t>(prediction->outputs[static_cast<size_t>(index)]->size());
}

int32_t dyn_prediction_check_count(const dyn_prediction* prediction) {
  return prediction ? static_cast<int32_t>(prediction->checks.size()) : -1;
}
dyn_status dyn_prediction_check(const dyn_prediction* prediction, int32_t index, dyn_check* check) {
  return reporting([&]() -> Status {
    if (!prediction || index < 0 || static_cast<size_t>(index) >= prediction->checks.size())
      return badArgument("there is no check " + std::to_string(index));
    const dyn_prediction::Check& from = prediction->checks[static_cast<size_t>(index)];
    dyn_check made{};
    made.name = from.name.c_str();
    made.text = from.text.c_str();
    made.fails = from.fails;
    return give(made, check);
  });
}

}  // extern "C"
