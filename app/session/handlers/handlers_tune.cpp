// Handler: tune, which measures the versions of each contraction at shapes that are likely (compiler/tune).
#include <algorithm>

#include "app/engine/model/tuning_file.h"
#include "app/engine/run/run_result.h"
#include "app/session/session_state.h"
#include "app/session/views/kernel_views.h"
#include "app/session/views/view.h"
#include "compiler/tune/tuner.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn {

namespace {

std::string shareBar(double fraction) {
  constexpr int kWidth = 24;
  const int done = static_cast<int>(fraction * kWidth);
  return "[" + std::string(static_cast<size_t>(done), '#') +
         std::string(static_cast<size_t>(kWidth - done), '.') + "] ";
}

class SessionTrial : public TrialProgram {
 public:
  SessionTrial(std::unique_ptr<LoadedModel> model, Runner runner, Interruption& interruption)
      : model_(std::move(model)), runner_(std::move(runner)), interruption_(interruption) {}

  Result<double> leastNs(const HostTensor& x, double seconds) override {
    RunRequest request;
    request.warmup = 1;
    request.repeat = 2;
    request.seconds = seconds;
    CallInputs inputs;
    inputs.values.emplace_back(x);
    RunResult result;
    DYN_CHECK(runner_.run(inputs, request, interruption_, result));
    return static_cast<double>(*std::min_element(result.runsNs.begin(), result.runsNs.end()));
  }

 private:
  std::unique_ptr<LoadedModel> model_;
  Runner runner_;
  Interruption& interruption_;
};

// Trials are programs of the session, with its options.
class SessionTunerHost : public TunerHost {
 public:
  SessionTunerHost(SessionState& state, std::string file) : state_(state), file_(std::move(file)) {}

  Result<std::unique_ptr<TrialProgram>> make(std::shared_ptr<IrContext> ir, Module module,
                                             passes::ContractionKind kind,
                                             const contraction::Version& version) override {
    SessionOptions options = state_.now.options;
    options.tuningFile = "none";
    options.policies = {{toString(kind), textOf(version)}};
    options.passes.clear();
    std::unique_ptr<LoadedModel> model =
        LoadedModel::fromModule(std::move(ir), std::move(module), {"x"}, options, state_.interruption.flag());
    DYN_TRY(Runner runner, makeRunner(*model, options));
    return std::unique_ptr<TrialProgram>(
        std::make_unique<SessionTrial>(std::move(model), std::move(runner), state_.interruption));
  }
  void progress(const std::string& text, double fraction) override {
    state_.progress(shareBar(fraction) + text, fraction);
  }
  Status keep(const TunedOperation& record) override { return addTuning(file_, record); }

 private:
  SessionState& state_;
  const std::string file_;
};

std::vector<LikelyDim> likelyDims(const std::vector<DimSpec>& specs) {
  std::vector<LikelyDim> dims;
  for (const DimSpec& s : specs)
    dims.push_back({s.name, s.value, s.low, s.high, s.multiple, s.sequence, s.text});
  return dims;
}

}  // namespace

Result<View> handle_tune(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the versions of a package were chosen when it was compiled");
  DYN_TRY(double seconds, command.number("seconds", 30.0));
  if (!(seconds > 0 && seconds < 1e6))
    return makeError(DiagnosticId::usageError, "--seconds is not a positive time");
  DYN_TRY(int64_t mostVersions, command.integer("versions", 2));
  if (mostVersions < 1 || mostVersions > static_cast<int64_t>(contraction::kMostPieces))
    return makeError(DiagnosticId::usageError,
                     "--versions is from 1 to " + std::to_string(contraction::kMostPieces));
  DYN_TRY(int64_t trials, command.integer("trials", 0));
  if (command.has("trials") && (trials < 1 || trials > 100000))
    return makeError(DiagnosticId::usageError, "--trials is from 1 to 100000");
  DYN_CHECK(model->ensurePasses());
  DYN_TRY(std::vector<DimSpec> specs, parseDimSpecs(command.all("dim")));
  const std::vector<std::string>& symbols = model->info().symbols;
  for (const DimSpec& spec : specs)
    if (std::find(symbols.begin(), symbols.end(), spec.name) == symbols.end())
      return noSuchDim(spec.name, symbols);
  std::string missing;
  for (const std::string& symbol : symbols)
    if (missing.empty() &&
        std::none_of(specs.begin(), specs.end(), [&](const DimSpec& s) { return s.name == symbol; }))
      missing = symbol;
  DYN_TRY(std::vector<Draw> draws, drawsOf(likelyDims(specs), trials > 0 ? Extent::sparse : Extent::all));
  const std::string file = command.has("o") ? command.text("o") : tuningFileOf(state.now.options);
  if (file.empty())
    return makeError(DiagnosticId::usageError, "there is no cache folder for records")
        .note("name a file: -o FILE");
  Result<TuningRecords> before = readTuning(file);
  if (!before.ok())
    return before.takeError().note("it is left as it is: name another file (-o FILE), or remove it");
  SessionTunerHost host(state, file);
  TuneRequest request;
  request.known = *std::move(before);
  request.threads = threadsOf(state.now.options);
  request.mostVersions = static_cast<int>(mostVersions);
  request.trials = trials;
  request.seconds = seconds;
  request.seed = state.now.options.seed;
  request.missingDim = missing;
  DYN_TRY(TuneReport report, tune(tuneTasks(model->trace(), draws), request, host));
  return makeView(TuneView{std::move(report), file, tuningCpu()});
}

}  // namespace dyn
