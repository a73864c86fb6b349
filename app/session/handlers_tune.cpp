// Handler: tune, which measures the versions of each contraction at shapes that are likely.
#include <algorithm>
#include <cmath>

#include "app/session/contraction_sites.h"
#include "app/session/random_tensor.h"
#include "app/session/session_state.h"
#include "app/session/tuning_records.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

constexpr size_t kMostValues = 6;           // of one dim that are measured
constexpr size_t kMostShapes = 8;           // of one operation
constexpr size_t kMostProductVersions = 6;  // the most promising by cost, besides "auto"
constexpr double kWorthIt = 0.97;           // of the time of "auto": else nothing is named

struct Draw {
  DimValues dims;
  double weight = 1;
};

// At most kMostValues values of a dim with their weights: by frequency where there is a list, evenly over the logarithm of a range.
Result<std::vector<std::pair<int64_t, double>>> drawsOf(const DimSpec& spec) {
  std::vector<std::pair<int64_t, double>> draws;
  if (spec.value) return std::vector<std::pair<int64_t, double>>{{*spec.value, 1.0}};
  if (!spec.sequence.empty()) {
    // Equal shares of the sorted lengths, each stood for by its middle.
    std::vector<int64_t> sorted = spec.sequence;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < kMostValues; ++i) {
      const int64_t value = sorted[(2 * i + 1) * sorted.size() / (2 * kMostValues)];
      if (!draws.empty() && draws.back().first == value)
        draws.back().second += 1.0 / kMostValues;
      else
        draws.emplace_back(value, 1.0 / kMostValues);
    }
    return draws;
  }
  if (!spec.low || !spec.high || *spec.low < 1 || *spec.high < *spec.low)
    return makeError(
        DiagnosticId::usageError,
        "--dim " + spec.text + ": tune wants a value, a range from 1 on with both ends, or @lengths.txt");
  for (size_t i = 0; i < 4; ++i) {
    const double at = std::log(static_cast<double>(*spec.low)) +
                      (std::log(static_cast<double>(*spec.high)) - std::log(static_cast<double>(*spec.low))) *
                          static_cast<double>(i) / 3;
    int64_t value = std::clamp<int64_t>(std::llround(std::exp(at)), *spec.low, *spec.high);
    value = std::min((value + spec.multiple - 1) / spec.multiple * spec.multiple,
                     *spec.high / spec.multiple * spec.multiple);
    if (value < *spec.low || (!draws.empty() && draws.back().first == value)) continue;
    draws.emplace_back(value, 1.0);
  }
  for (auto& draw : draws) draw.second /= static_cast<double>(draws.size());
  return draws;
}

Result<std::vector<Draw>> drawsOf(const std::vector<DimSpec>& specs) {
  std::vector<Draw> all(1);
  for (const DimSpec& spec : specs) {
    DYN_TRY(auto values, drawsOf(spec));
    std::vector<Draw> next;
    for (const Draw& draw : all)
      for (const auto& [value, weight] : values) {
        next.push_back(draw);
        next.back().dims[spec.name] = value;
        next.back().weight *= weight;
      }
    all = std::move(next);
    if (all.size() > 4096) return makeError(DiagnosticId::usageError, "too many dims to draw shapes from");
  }
  return all;
}

// All sites of one key, with the shapes they are met at.
struct Task {
  ContractionSite site;  // the first
  std::vector<TunedShape> shapes;
  int64_t sitesCount = 0;
};

void addShape(std::vector<TunedShape>& shapes, std::vector<int64_t> sizes, double weight) {
  for (TunedShape& shape : shapes)
    if (shape.sizes == sizes) {
      shape.weight += weight;
      return;
    }
  shapes.push_back({std::move(sizes), weight});
}

// The weightiest kMostShapes, their weights summing to 1.
void cutShapes(std::vector<TunedShape>& shapes) {
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const TunedShape& a, const TunedShape& b) { return a.weight > b.weight; });
  if (shapes.size() > kMostShapes) shapes.resize(kMostShapes);
  double sum = 0;
  for (const TunedShape& shape : shapes) sum += shape.weight;
  for (TunedShape& shape : shapes) shape.weight /= sum;
}

// The operation alone, with constant weights, made with one version.
struct Trial {
  std::string version;
  std::unique_ptr<LoadedModel> model;
  std::optional<Runner> runner;
  std::vector<double> bestNs;  // of each shape
};

Result<Trial> makeTrial(const ContractionSite& site, const std::string& version, SessionOptions options,
                        const std::atomic<bool>* cancelled) {
  const passes::Contraction& c = site.contraction;
  const bool product = c.kind == passes::ContractionKind::product;
  options.tuningFile = "none";
  options.policies = {{toString(c.kind), version}};
  options.passes.clear();
  auto ir = std::make_shared<IrContext>();
  std::vector<int64_t> weights;
  Shape x;
  if (product) {
    weights = {c.depth, c.columns};
    x = {ir->dims().symbol("rows"), ir->dims().constant(c.depth)};
  } else {
    for (Dim d : site.op->attributes.dims("weights")) weights.push_back(*d.constant());
    x = {ir->dims().symbol("batch"), ir->dims().constant(c.window.channels * c.window.groups)};
    for (int64_t i = 0; i < c.window.rank; ++i) x.push_back(ir->dims().symbol("s" + std::to_string(i)));
  }
  DYN_TRY(HostTensor contents, randomTensor(Dtype::f32, weights, RandomSource(options.seed, "weights"), 1));
  Op constant;
  constant.def = &ops::constantOp;
  constant.attributes.set("value", std::move(contents));
  constant.results = {{ir->newValue("w"), ir->tensorType(std::span<const int64_t>(weights), Dtype::f32)}};
  Function main;
  main.name = "main";
  main.parameters = {{ir->newValue("x"), ir->tensorType(x, Dtype::f32)}};
  Op op;
  op.def = product ? &ops::matmulOp : &ops::convOp;
  if (!product) op.attributes = site.op->attributes;
  for (const char* name : {"weights", "way"}) op.attributes.erase(name);
  op.operands = {main.parameters[0].id, constant.results[0].id};
  op.results = {{ir->newValue("y"), Type()}};
  main.results = {op.results[0].id};
  main.resultTypes = {Type()};
  main.ops = {ir->own(std::move(constant)), ir->own(std::move(op))};
  Module module;
  module.context = ir.get();
  module.functions = {ir->own(std::move(main))};
  Trial trial;
  trial.version = version;
  trial.model = LoadedModel::fromModule(ir, std::move(module), {"x"}, options, cancelled);
  DYN_TRY(trial.runner, makeRunner(*trial.model, options));
  return trial;
}

// Versions worth measuring: of products those that are cheapest by cost, of convolutions all that can do the window; "auto" first.
std::vector<std::string> candidatesOf(const Task& task, int threads) {
  const passes::Contraction& c = task.site.contraction;
  std::vector<std::string> names = passes::versionsOf(c);
  if (c.kind == passes::ContractionKind::convolution) {
    names.erase(std::remove(names.begin(), names.end(), ruleOf(c)), names.end());
    return names;
  }
  std::vector<std::pair<double, std::string>> ranked;
  for (size_t i = 1; i < names.size(); ++i) {
    const int number = passes::scheduleNumber(names[i]).value_or(0);
    const contraction::ProductSchedule& schedule =
        contraction::kProductSchedules[static_cast<size_t>(number)];
    if (threads == 1 && schedule.side == contraction::SplitSide::rows) continue;
    // Blocks of at least the depth are all the same: one of them is enough.
    if (schedule.depthBlock >= c.depth && schedule.depthBlock > 384 && schedule.depthBlock / 2 >= c.depth)
      continue;
    double sum = 0;
    for (const TunedShape& shape : task.shapes)
      sum += shape.weight * predictedNs(task.site, names[i], shape.sizes, threads);
    ranked.emplace_back(sum, names[i]);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  names.resize(1);
  for (size_t i = 0; i < ranked.size() && i < kMostProductVersions; ++i) names.push_back(ranked[i].second);
  return names;
}

Result<TunedOperation> measure(SessionState& state, const Task& task, int threads, double seconds) {
  std::vector<Trial> trials;
  for (const std::string& version : candidatesOf(task, threads)) {
    DYN_TRY(Trial trial, makeTrial(task.site, version, state.now.options, state.interruption.flag()));
    trial.bestNs.assign(task.shapes.size(), 0);
    trials.push_back(std::move(trial));
  }
  // Version after version, several times over: what disturbs one disturbs its neighbours too.
  constexpr int kRounds = 3;
  RunRequest request;
  request.warmup = 1;
  request.repeat = 2;
  request.seconds = seconds / (kRounds * static_cast<double>(trials.size() * task.shapes.size()));
  for (size_t s = 0; s < task.shapes.size(); ++s) {
    std::vector<int64_t> sizes = task.shapes[s].sizes;
    DYN_TRY(HostTensor x, randomTensor(Dtype::f32, sizes, RandomSource(state.now.options.seed, "x"), 1));
    CallInputs inputs;
    inputs.values.emplace_back(std::move(x));
    for (int round = 0; round < kRounds; ++round)
      for (Trial& trial : trials) {
        RunResult result;
        DYN_CHECK(trial.runner->run(inputs, request, state.interruption, result));
        const double least =
            static_cast<double>(*std::min_element(result.runsNs.begin(), result.runsNs.end()));
        trial.bestNs[s] = round == 0 ? least : std::min(trial.bestNs[s], least);
      }
  }
  TunedOperation record;
  record.key = task.site.contraction.key;
  record.threads = threads;
  record.shapes = task.shapes;
  size_t best = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    double sum = 0;
    for (size_t s = 0; s < task.shapes.size(); ++s) sum += task.shapes[s].weight * trials[i].bestNs[s];
    record.candidates.push_back({trials[i].version, std::round(sum)});
    if (sum < record.candidates[best].timeNs) best = i;
  }
  record.chosen = record.candidates[best].timeNs < kWorthIt * record.candidates[0].timeNs
                      ? record.candidates[best].version
                      : "auto";
  return record;
}

std::string bar(double fraction) {
  constexpr int kWidth = 24;
  const int done = static_cast<int>(fraction * kWidth);
  return "[" + std::string(static_cast<size_t>(done), '#') +
         std::string(static_cast<size_t>(kWidth - done), '.') + "] ";
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
  DYN_CHECK(model->ensurePasses());
  DYN_TRY(std::vector<DimSpec> specs, parseDimSpecs(command.all("dim")));
  const std::vector<std::string>& symbols = model->info().symbols;
  for (const DimSpec& spec : specs)
    if (std::find(symbols.begin(), symbols.end(), spec.name) == symbols.end())
      return makeError(DiagnosticId::usageError, "the model has no dim '" + spec.name + "'");
  std::vector<std::string> missing;
  for (const std::string& symbol : symbols)
    if (std::none_of(specs.begin(), specs.end(), [&](const DimSpec& s) { return s.name == symbol; }))
      missing.push_back(symbol);
  DYN_TRY(std::vector<Draw> draws, drawsOf(specs));
  TuneView view;
  view.file = command.has("o") ? command.text("o") : tuningFileOf(state.now.options);
  if (view.file.empty())
    return makeError(DiagnosticId::usageError, "there is no cache folder to keep records in")
        .note("name a file: -o FILE");
  Result<TuningRecords> before = readTuning(view.file);
  if (!before.ok())
    return before.takeError().note("it is left as it is: name another file (-o FILE), or remove it");

  const int threads = tuningThreads(state.now.options);
  std::vector<Task> tasks;
  for (const ContractionSite& site : contractionSites(*model)) {
    auto task = std::find_if(tasks.begin(), tasks.end(),
                             [&](const Task& t) { return t.site.contraction.key == site.contraction.key; });
    if (task == tasks.end()) task = tasks.insert(tasks.end(), Task{site, {}, 0});
    ++task->sitesCount;
    for (const Draw& draw : draws) {
      std::optional<std::vector<int64_t>> sizes = sizesOf(*model, site, draw.dims);
      if (sizes && std::find(sizes->begin(), sizes->end(), 0) == sizes->end())
        addShape(task->shapes, *std::move(sizes), draw.weight);
    }
  }
  const double start = static_cast<double>(steadyNs());
  auto elapsed = [&] { return (static_cast<double>(steadyNs()) - start) * 1e-9; };
  size_t open = 0;
  for (const Task& task : tasks)
    if (!task.shapes.empty() && !before->find(task.site.contraction.key, threads)) ++open;
  size_t done = 0;
  for (Task& task : tasks) {
    const std::string& key = task.site.contraction.key;
    TuneRow row;
    row.key = key;
    row.sitesCount = task.sitesCount;
    const TunedOperation* known = before->find(key, threads);
    std::optional<TunedOperation> fresh;
    if (!known && task.shapes.empty()) {
      row.state = missing.empty() ? "its sizes depend on values" : "its sizes need --dim " + missing.front();
      ++view.skippedCount;
    } else if (!known && elapsed() >= seconds) {
      row.state = "left for another time";
      ++view.leftCount;
    } else if (!known) {
      const double fraction = static_cast<double>(done) / static_cast<double>(open);
      state.progress(bar(fraction) + key, fraction);
      cutShapes(task.shapes);
      DYN_TRY(fresh, measure(state, task, threads, (seconds - elapsed()) / static_cast<double>(open - done)));
      DYN_CHECK(addTuning(view.file, *fresh));
      known = &*fresh;
      row.state = "measured";
      ++view.measuredCount;
      ++done;
    } else {
      row.state = "kept";
      ++view.keptCount;
    }
    if (known) {
      row.chosen = known->chosen;
      row.shapesCount = static_cast<int64_t>(known->shapes.size());
      for (const TunedCandidate& c : known->candidates)
        row.candidates.push_back({c.version == "auto" && !ruleOf(task.site.contraction).empty()
                                      ? "auto (" + ruleOf(task.site.contraction) + ")"
                                      : c.version,
                                  std::nullopt, c.timeNs});
    }
    view.rows.push_back(std::move(row));
  }
  view.cpu = tuningCpu();
  view.threads = threads;
  return makeView(std::move(view));
}

}  // namespace dyn
