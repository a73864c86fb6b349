// Handler: tune, which measures the versions of each contraction at shapes that are likely.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "app/session/model/contraction_sites.h"
#include "app/session/model/random_tensor.h"
#include "app/session/model/tuning_records.h"
#include "app/session/session_state.h"
#include "compiler/driver/kernel_library.h"
#include "compiler/ops/op_table.h"
#include "compiler/support/clock.h"
#include "compiler/tune/trial_plan.h"
#include "compiler/tune/version_cover.h"

namespace dyn {

namespace {

constexpr size_t kMostValues = 6, kMostSparseValues = 16;  // of one dim that are measured
constexpr size_t kMostShapes = 8;                          // of one operation
constexpr size_t kMostSparseShapes = 16;                   // of one operation, most of which are not measured
// A library must win by so much: part of what it gains alone it loses to the memory around it in a whole model.
constexpr double kLibraryWorthIt = 0.9;
constexpr size_t kMostProductVersions = 6;  // the most promising by cost, besides "auto"
constexpr double kMostSeconds = 0.05;       // of one version at one shape, in each round

struct Draw {
  DimValues dims;
  double weight = 1;
};

// What is measured: every candidate at every shape, or few of these pairs.
enum class Extent : uint8_t { all, sparse };

// Values of a dim with their weights. By frequency where there is a list; over the logarithm of a range evenly: at most kMostValues, or, where few of them
// are measured, all powers of two.
Result<std::vector<std::pair<int64_t, double>>> drawsOf(const DimSpec& spec, Extent extent) {
  std::vector<std::pair<int64_t, double>> draws;
  if (spec.value) return std::vector<std::pair<int64_t, double>>{{*spec.value, 1.0}};
  if (!spec.sequence.empty()) {
    // Equal shares of the sorted lengths, each stood for by its middle.
    std::vector<int64_t> sorted = spec.sequence;
    std::sort(sorted.begin(), sorted.end());
    const size_t most = extent == Extent::sparse ? std::min(kMostSparseValues, sorted.size()) : kMostValues;
    for (size_t i = 0; i < most; ++i) {
      const int64_t value = sorted[(2 * i + 1) * sorted.size() / (2 * most)];
      const double share = 1.0 / static_cast<double>(most);
      if (!draws.empty() && draws.back().first == value)
        draws.back().second += share;
      else
        draws.emplace_back(value, share);
    }
    return draws;
  }
  if (!spec.low || !spec.high || *spec.low < 1 || *spec.high < *spec.low)
    return makeError(
        DiagnosticId::usageError,
        "--dim " + spec.text + ": tune wants a value, a range from 1 on with both ends, or @lengths.txt");
  if (extent == Extent::sparse) {
    for (int64_t value = 1; value <= *spec.high; value *= 2)
      if (value >= *spec.low && value % spec.multiple == 0) draws.emplace_back(value, 1.0);
    if (!draws.empty()) {
      for (auto& draw : draws) draw.second /= static_cast<double>(draws.size());
      return draws;
    }
  }
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

Result<std::vector<Draw>> drawsOf(const std::vector<DimSpec>& specs, Extent extent) {
  std::vector<Draw> all(1);
  for (const DimSpec& spec : specs) {
    DYN_TRY(auto values, drawsOf(spec, extent));
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

int64_t elementsOf(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
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

// The weightiest, at most so many, their weights summing to 1.
void cutShapes(std::vector<TunedShape>& shapes, size_t most) {
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const TunedShape& a, const TunedShape& b) { return a.weight > b.weight; });
  if (shapes.size() > most) shapes.resize(most);
  double sum = 0;
  for (const TunedShape& shape : shapes) sum += shape.weight;
  for (TunedShape& shape : shapes) shape.weight /= sum;
}

std::vector<Task> tasksOf(const LoadedModel& model, const std::vector<Draw>& draws) {
  std::vector<Task> tasks;
  for (const ContractionSite& site : contractionSites(model)) {
    auto task = std::find_if(tasks.begin(), tasks.end(),
                             [&](const Task& t) { return t.site.contraction.key == site.contraction.key; });
    if (task == tasks.end()) task = tasks.insert(tasks.end(), Task{site, {}, 0});
    ++task->sitesCount;
    for (const Draw& draw : draws) {
      std::optional<std::vector<int64_t>> sizes = sizesOf(model, site, draw.dims);
      if (sizes && std::find(sizes->begin(), sizes->end(), 0) == sizes->end())
        addShape(task->shapes, *std::move(sizes), draw.weight);
    }
  }
  return tasks;
}

// The operation with constant weights, made with one version, and something elementwise behind it, as nearly all have: Dyn's own kernels do that tile by
// tile, a library must be done first.
struct Trial {
  std::string version;
  std::unique_ptr<LoadedModel> model;
  std::optional<Runner> runner;
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
  Op after;
  after.def = &ops::reluOp;
  after.operands = {op.results[0].id};
  after.results = {{ir->newValue("z"), Type()}};
  main.results = {after.results[0].id};
  main.resultTypes = {Type()};
  main.ops = {ir->own(std::move(constant)), ir->own(std::move(op)), ir->own(std::move(after))};
  Module module;
  module.context = ir.get();
  module.functions = {ir->own(std::move(main))};
  Trial trial;
  trial.version = version;
  trial.model = LoadedModel::fromModule(ir, std::move(module), {"x"}, options, cancelled);
  DYN_TRY(trial.runner, makeRunner(*trial.model, options));
  return trial;
}

bool libraryFits(const passes::Contraction& c) {
  return c.fitsLibrary && libraryReady(contraction::kOneDnn).ok();
}

// Versions worth measuring, "auto" first: of products at most so many that are cheapest by cost among those that differ (over all shapes, or at the largest
// where few pairs are measured), of convolutions all that can do the window; and the library, where there is one. Only "auto": there is nothing to choose.
std::vector<std::string> candidatesOf(const Task& task, int threads, Extent extent, size_t most) {
  const passes::Contraction& c = task.site.contraction;
  const bool product = c.kind == passes::ContractionKind::product;
  std::vector<std::vector<int64_t>> sizes;
  for (const TunedShape& shape : task.shapes) sizes.push_back(shape.sizes);
  std::vector<std::pair<double, std::string>> ranked;
  for (const std::string& version : distinctVersions(c, sizes, threads)) {
    if (std::all_of(sizes.begin(), sizes.end(),
                    [&](const auto& size) { return usualOf(c, size, threads) == version; }))
      continue;
    double sum = 0;
    for (const TunedShape& shape : task.shapes)
      sum += shape.weight * predictedNs(task.site, version, shape.sizes, threads);
    if (extent == Extent::sparse) {
      const auto& largest = *std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) {
        return elementsOf(a) < elementsOf(b);
      });
      sum = predictedNs(task.site, version, largest, threads);
    }
    ranked.emplace_back(sum, version);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names{"auto"};
  for (size_t i = 0; i < ranked.size() && (!product || i < most); ++i) names.push_back(ranked[i].second);
  if (libraryFits(c)) names.emplace_back(contraction::kOneDnn);
  return names;
}

// Measures all trials at one shape, for about so long. Version after version, several times over: what disturbs one disturbs its neighbours too.
Result<std::vector<double>> measure(SessionState& state, std::span<Trial> trials,
                                    const std::vector<int64_t>& sizes, double seconds) {
  constexpr int kRounds = 3;
  RunRequest request;
  request.warmup = 1;
  request.repeat = 2;
  request.seconds = std::min(kMostSeconds, seconds / static_cast<double>(kRounds * trials.size()));
  std::vector<int64_t> shape = sizes;
  DYN_TRY(HostTensor x, randomTensor(Dtype::f32, shape, RandomSource(state.now.options.seed, "x"), 1));
  CallInputs inputs;
  inputs.values.emplace_back(std::move(x));
  std::vector<double> best(trials.size(), 0);
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < trials.size(); ++i) {
      RunResult result;
      DYN_CHECK(trials[i].runner->run(inputs, request, state.interruption, result));
      const auto least = static_cast<double>(*std::min_element(result.runsNs.begin(), result.runsNs.end()));
      best[i] = round == 0 ? least : std::min(best[i], least);
    }
  return best;
}

// The likely shapes' weights, and what is chosen with them among what has been measured so far.
void choose(TunedOperation& record, const Task& task, int mostVersions) {
  double sum = 0;
  for (TunedShape& shape : record.shapes) {
    auto likely = std::find_if(task.shapes.begin(), task.shapes.end(),
                               [&](const TunedShape& s) { return s.sizes == shape.sizes; });
    shape.weight = likely == task.shapes.end() ? 0 : likely->weight;
    sum += shape.weight;
  }
  std::vector<MeasuredVersion> versions;
  for (const TunedCandidate& c : record.candidates) versions.push_back({c.version, {}});
  std::vector<int64_t> rows;
  std::vector<double> weights;
  for (size_t i = 0; i < record.shapes.size(); ++i) {
    TunedShape& shape = record.shapes[i];
    if (sum > 0) shape.weight /= sum;
    if (shape.weight <= 0) continue;
    rows.push_back(shape.sizes[0]);
    weights.push_back(shape.weight);
    for (size_t v = 0; v < versions.size(); ++v)
      versions[v].timesNs.push_back(record.candidates[v].timesNs[i]);
  }
  if (rows.empty()) return;
  // Weights are packed once, for the library or for Dyn's own kernels: one or the other does all rows.
  double libraryNs = std::numeric_limits<double>::infinity();
  if (versions.back().version == contraction::kOneDnn) {
    libraryNs = std::inner_product(weights.begin(), weights.end(), versions.back().timesNs.begin(), 0.0);
    versions.pop_back();
  }
  // Those of a convolution are packed for one way.
  const bool product = task.site.contraction.kind == passes::ContractionKind::product;
  const VersionCover own = coverVersions(versions, rows, weights, product ? mostVersions : 1);
  record.chosen = libraryNs < kLibraryWorthIt * own.timeNs ? std::string(contraction::kOneDnn) : own.text;
}

std::string bar(double fraction) {
  constexpr int kWidth = 24;
  const int done = static_cast<int>(fraction * kWidth);
  return "[" + std::string(static_cast<size_t>(done), '#') +
         std::string(static_cast<size_t>(kWidth - done), '.') + "] ";
}

struct Budget {
  double startNs = static_cast<double>(steadyNs()), seconds = 0;
  size_t shapesCount = 0, done = 0;  // that are not measured yet
  int64_t trialsLeft = 0;            // where they are counted

  double left() const { return seconds - (static_cast<double>(steadyNs()) - startNs) * 1e-9; }
};

class Tuner {
 public:
  // `trials`: most measurements of one operation; 0: each candidate at each shape.
  Tuner(SessionState& state, TuneView& view, TuningRecords known, int mostVersions, int64_t trials)
      : state_(state), view_(view), known_(std::move(known)), mostVersions_(mostVersions), trials_(trials) {
    view_.threads = tuningThreads(state.now.options);
  }

  Status run(std::vector<Task>& tasks, double seconds, const std::string& missingDim) {
    budget_.seconds = seconds;
    std::vector<TunedOperation> records;
    for (Task& task : tasks) {
      cutShapes(task.shapes, extent() == Extent::sparse ? kMostSparseShapes : kMostShapes);
      records.push_back(recordOf(task));
      if (records.back().candidates.size() > 1) budget_.trialsLeft += trials_;
      if (records.back().candidates.size() > 1)
        for (const TunedShape& shape : task.shapes)
          budget_.shapesCount += records.back().shapeOf(shape.sizes) == nullptr;
    }
    for (size_t i = 0; i < tasks.size(); ++i) {
      TuneRow row;
      row.key = tasks[i].site.contraction.key;
      row.sitesCount = tasks[i].sitesCount;
      if (tasks[i].shapes.empty()) {
        row.state = missingDim.empty() ? "its sizes depend on values" : "its sizes need --dim " + missingDim;
        ++view_.skippedCount;
      } else if (records[i].candidates.size() < 2) {
        row.state = "there is one version";
        row.shapesCount = static_cast<int64_t>(tasks[i].shapes.size());
        ++view_.skippedCount;
      } else {
        if (trials_ > 0)
          DYN_CHECK(tuneWithFewTrials(tasks[i], records[i], row));
        else
          DYN_CHECK(tune(tasks[i], records[i], row));
      }
      view_.rows.push_back(std::move(row));
    }
    return {};
  }

 private:
  // What is known of the operation already, as far as it can still be used: where there is a library it has been measured, and where there is none it has
  // not.
  TunedOperation recordOf(const Task& task) const {
    const passes::Contraction& c = task.site.contraction;
    if (const TunedOperation* known = known_.find(c.key, view_.threads);
        known && !known->candidates.empty() && known->candidates[0].version == "auto" &&
        (known->candidates.back().version == contraction::kOneDnn) == libraryFits(c) &&
        std::all_of(known->candidates.begin(), known->candidates.end(),
                    [&](const TunedCandidate& old) { return passes::isVersionOf(c, old.version); }))
      return *known;
    TunedOperation record;
    record.key = c.key;
    record.threads = view_.threads;
    if (!task.shapes.empty())
      for (const std::string& version : candidatesOf(task, view_.threads, extent(), mostProductVersions()))
        record.candidates.push_back({version, {}, {}});
    return record;
  }

  // Each shape is kept as soon as it is measured.
  Status tune(const Task& task, TunedOperation& record, TuneRow& row) {
    const passes::Contraction& c = task.site.contraction;
    std::vector<Trial> trials;
    bool measured = false, left = false;
    for (const TunedShape& shape : task.shapes) {
      if (record.shapeOf(shape.sizes)) continue;
      left = left || budget_.left() <= 0;
      if (left) break;
      const double fraction = static_cast<double>(budget_.done) / static_cast<double>(budget_.shapesCount);
      std::string sizes;
      for (int64_t size : shape.sizes) sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
      state_.progress(bar(fraction) + c.key + ", input " + sizes, fraction);
      for (size_t i = trials.size(); i < record.candidates.size(); ++i) {
        DYN_TRY(Trial trial, makeTrial(task.site, record.candidates[i].version, state_.now.options,
                                       state_.interruption.flag()));
        trials.push_back(std::move(trial));
      }
      const double share =
          std::max(0.0, budget_.left()) / static_cast<double>(budget_.shapesCount - budget_.done);
      DYN_TRY(std::vector<double> timesNs, measure(state_, trials, shape.sizes, share));
      record.shapes.push_back(shape);
      view_.trialsCount += static_cast<int64_t>(timesNs.size());
      for (size_t i = 0; i < timesNs.size(); ++i) {
        record.candidates[i].timesNs.push_back(timesNs[i]);
        if (!record.candidates[i].expected.empty()) record.candidates[i].expected.push_back(false);
      }
      choose(record, task, mostVersions_);
      DYN_CHECK(addTuning(view_.file, record));
      ++budget_.done;
      measured = true;
    }
    if (!measured && !record.shapes.empty()) {
      // Other weights, or another number of versions, may mean another choice.
      const TunedOperation before = record;
      choose(record, task, mostVersions_);
      if (!(before == record)) DYN_CHECK(addTuning(view_.file, record));
    }
    row.state = left       ? (record.shapes.empty() ? "left for another time" : "partly measured")
                : measured ? "measured"
                           : "kept";
    ++(left ? view_.leftCount : measured ? view_.measuredCount : view_.keptCount);
    describe(task, record, row);
    return {};
  }

  Extent extent() const { return trials_ > 0 ? Extent::sparse : Extent::all; }
  // Half of few trials measure each candidate once, the other half compares those that lead.
  size_t mostProductVersions() const {
    return trials_ > 0 ? static_cast<size_t>(std::max<int64_t>(1, trials_ / 2 - 1)) : kMostProductVersions;
  }

  // All times of the record, with what is expected where nothing was measured.
  static void fill(TunedOperation& record, const TrialPlan& plan) {
    for (size_t v = 0; v < record.candidates.size(); ++v) {
      TunedCandidate& candidate = record.candidates[v];
      bool all = true;
      candidate.expected.assign(candidate.timesNs.size(), false);
      for (size_t s = 0; s < candidate.timesNs.size(); ++s) {
        candidate.timesNs[s] = plan.timeNs(v, s);
        candidate.expected[s] = !plan.isMeasured(v, s);
        all = all && plan.isMeasured(v, s);
      }
      if (all) candidate.expected.clear();
    }
  }

  // By a TrialPlan; what an earlier tuning measured counts as measured, and each measurement is kept at once.
  Status tuneWithFewTrials(const Task& task, TunedOperation& record, TuneRow& row) {
    const auto before = static_cast<int64_t>(record.shapes.size());
    for (const TunedShape& shape : task.shapes)
      if (!record.shapeOf(shape.sizes)) {
        record.shapes.push_back(shape);
        for (TunedCandidate& candidate : record.candidates) {
          candidate.expected.resize(candidate.timesNs.size(), false);
          candidate.timesNs.push_back(0);
          candidate.expected.push_back(true);
        }
      }
    const size_t versions = record.candidates.size();
    std::vector<std::vector<double>> costs(versions), fits(versions);
    std::vector<TrialPlan::Shape> shapes;
    for (const TunedShape& shape : record.shapes) {
      auto likely = std::find_if(task.shapes.begin(), task.shapes.end(),
                                 [&](const TunedShape& s) { return s.sizes == shape.sizes; });
      shapes.push_back({elementsOf(shape.sizes), likely == task.shapes.end() ? 0 : likely->weight});
      for (size_t v = 0; v < versions; ++v) {
        const std::string& version = record.candidates[v].version;
        costs[v].push_back(predictedNs(task.site, version, shape.sizes, view_.threads));
        fits[v].push_back(fitOf(task.site.contraction, version, shape.sizes, view_.threads));
      }
    }
    TrialPlan plan(std::move(costs), fits, std::move(shapes), trials_);
    for (size_t v = 0; v < versions; ++v)
      for (size_t s = 0; s < record.shapes.size(); ++s)
        if (record.candidates[v].isMeasured(s)) plan.note({v, s}, record.candidates[v].timesNs[s]);
    const int64_t known = plan.trialsUsed();
    std::vector<std::optional<Trial>> trials(versions);
    while (std::optional<TrialPlan::Trial> next = plan.next()) {
      if (budget_.left() <= 0) break;
      TunedCandidate& candidate = record.candidates[next->version];
      const TunedShape& shape = record.shapes[next->shape];
      const double fraction =
          static_cast<double>(plan.trialsUsed() - known) / static_cast<double>(trials_ - known);
      state_.progress(bar(fraction) + task.site.contraction.key + ", " + candidate.version, fraction);
      if (!trials[next->version]) {
        DYN_TRY(trials[next->version],
                makeTrial(task.site, candidate.version, state_.now.options, state_.interruption.flag()));
      }
      const double share =
          std::max(0.0, budget_.left()) / static_cast<double>(std::max<int64_t>(1, budget_.trialsLeft--));
      DYN_TRY(std::vector<double> timesNs,
              measure(state_, std::span(&*trials[next->version], 1), shape.sizes, share));
      plan.note(*next, timesNs[0]);
      ++view_.trialsCount;
      fill(record, plan);
      choose(record, task, mostVersions_);
      DYN_CHECK(addTuning(view_.file, record));
    }
    if (plan.trialsUsed() > 0) fill(record, plan);
    const bool measured = plan.trialsUsed() > known;
    const bool left = !measured && before == 0;  // no time for a single one
    if (left) record.shapes.clear();
    row.state = left ? "left for another time" : measured ? "measured" : "kept";
    ++(left ? view_.leftCount : measured ? view_.measuredCount : view_.keptCount);
    describe(task, record, row);
    return {};
  }

  void describe(const Task& task, const TunedOperation& record, TuneRow& row) const {
    if (record.shapes.empty()) return;
    const passes::Contraction& c = task.site.contraction;
    row.chosen = record.chosen;
    row.chosenNs = 0;
    for (const TunedShape& shape : record.shapes) row.shapesCount += shape.weight > 0;
    for (const TunedCandidate& candidate : record.candidates) {
      double predicted = 0;
      for (const TunedShape& shape : record.shapes)
        if (shape.weight > 0)
          predicted += shape.weight * predictedNs(task.site, candidate.version, shape.sizes, view_.threads);
      const std::string usual =
          c.kind == passes::ContractionKind::convolution ? usualOf(c, {}, view_.threads) : "";
      row.candidates.push_back({candidate.version == "auto" && !usual.empty() ? usual : candidate.version,
                                predicted, record.weightedNs(candidate)});
      if (candidate.version == "auto" && record.chosen == "auto" && !usual.empty()) row.chosen = usual;
    }
    const auto pieces = contraction::parseDispatch(record.chosen);
    for (size_t i = 0; i < record.shapes.size(); ++i) {
      std::string version = record.chosen;
      if (c.kind == passes::ContractionKind::product && pieces)
        for (const contraction::DispatchPiece& piece : *pieces)
          if (record.shapes[i].sizes[0] <= piece.mostRows) {
            version =
                piece.schedule < 0 ? "auto" : contraction::scheduleName(static_cast<size_t>(piece.schedule));
            break;
          }
      for (const TunedCandidate& candidate : record.candidates)
        if (candidate.version == version) *row.chosenNs += record.shapes[i].weight * candidate.timesNs[i];
    }
  }

  SessionState& state_;
  TuneView& view_;
  const TuningRecords known_;
  const int mostVersions_;
  const int64_t trials_;
  Budget budget_;
};

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
      return makeError(DiagnosticId::usageError, "the model has no dim '" + spec.name + "'");
  std::string missing;
  for (const std::string& symbol : symbols)
    if (missing.empty() &&
        std::none_of(specs.begin(), specs.end(), [&](const DimSpec& s) { return s.name == symbol; }))
      missing = symbol;
  DYN_TRY(std::vector<Draw> draws, drawsOf(specs, trials > 0 ? Extent::sparse : Extent::all));
  TuneView view;
  view.cpu = tuningCpu();
  view.file = command.has("o") ? command.text("o") : tuningFileOf(state.now.options);
  if (view.file.empty())
    return makeError(DiagnosticId::usageError, "there is no cache folder to keep records in")
        .note("name a file: -o FILE");
  Result<TuningRecords> before = readTuning(view.file);
  if (!before.ok())
    return before.takeError().note("it is left as it is: name another file (-o FILE), or remove it");
  std::vector<Task> tasks = tasksOf(*model, draws);
  DYN_CHECK(Tuner(state, view, *std::move(before), static_cast<int>(mostVersions), trials)
                .run(tasks, seconds, missing));
  return makeView(std::move(view));
}

}  // namespace dyn
