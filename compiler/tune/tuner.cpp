#include "compiler/tune/tuner.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/driver/kernel_library.h"
#include "compiler/reference/random_tensor.h"
#include "compiler/support/clock.h"
#include "compiler/tune/trial_module.h"
#include "compiler/tune/trial_plan.h"
#include "compiler/tune/version_cover.h"

namespace dyn {

namespace {

constexpr size_t kMostShapes = 8;         // of one operation
constexpr size_t kMostSparseShapes = 16;  // of one operation, most of which are not measured
// A library must win by so much: part of what it gains alone it loses to the memory around it in a whole
// model.
constexpr double kLibraryWorthIt = 0.9;
constexpr size_t kMostProductVersions = 6;  // the most promising by cost, besides "auto"
constexpr double kMostSeconds = 0.05;       // of one version at one shape, in each round

using Trial = std::unique_ptr<TrialProgram>;

int64_t elementsOf(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

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

bool libraryFits(const passes::Contraction& c) {
  return c.fitsLibrary && libraryReady(contraction::kOneDnn).ok();
}

// Versions worth measuring, Automatic first: of products at most so many that are cheapest by cost among
// those that differ (over all shapes, or at the largest where few pairs are measured), of convolutions all
// that can do the window; and the library, where there is one. Only Automatic: there is nothing to choose.
std::vector<contraction::Version> candidatesOf(const TuneTask& task, int threads, Extent extent,
                                               size_t most) {
  const passes::Contraction& c = task.site.contraction;
  const bool product = c.kind == passes::ContractionKind::product;
  std::vector<std::vector<int64_t>> sizes;
  for (const TunedShape& shape : task.shapes) sizes.push_back(shape.sizes);
  std::vector<std::pair<double, contraction::Version>> ranked;
  for (const contraction::Version& version : distinctVersions(c, sizes, threads)) {
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
  std::vector<contraction::Version> versions{contraction::Automatic{}};
  for (size_t i = 0; i < ranked.size() && (!product || i < most); ++i) versions.push_back(ranked[i].second);
  if (libraryFits(c)) versions.emplace_back(contraction::Library{});
  return versions;
}

// The likely shapes' weights, and what is chosen with them among what has been measured so far.
void choose(TunedOperation& record, const TuneTask& task, int mostVersions) {
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
  if (contraction::isLibrary(versions.back().version)) {
    libraryNs = std::inner_product(weights.begin(), weights.end(), versions.back().timesNs.begin(), 0.0);
    versions.pop_back();
  }
  // Those of a convolution are packed for one way.
  const bool product = task.site.contraction.kind == passes::ContractionKind::product;
  const VersionCover own = coverVersions(versions, rows, weights, product ? mostVersions : 1);
  record.chosen = libraryNs < kLibraryWorthIt * own.timeNs ? contraction::Library{} : own.version;
}

struct Budget {
  double startNs = static_cast<double>(steadyNs()), seconds = 0;
  size_t shapesCount = 0, done = 0;  // that are not measured yet
  int64_t trialsLeft = 0;            // where they are counted

  double left() const { return seconds - (static_cast<double>(steadyNs()) - startNs) * 1e-9; }
};

class Tuner {
 public:
  Tuner(TunerHost& host, const TuneRequest& request) : host_(host), request_(request) {
    report_.threads = request.threads;
  }

  Result<TuneReport> run(std::vector<TuneTask> tasks) {
    budget_.seconds = request_.seconds;
    std::vector<TunedOperation> records;
    for (TuneTask& task : tasks) {
      cutShapes(task.shapes, extent() == Extent::sparse ? kMostSparseShapes : kMostShapes);
      records.push_back(recordOf(task));
      if (records.back().candidates.size() > 1) budget_.trialsLeft += request_.trials;
      if (records.back().candidates.size() > 1)
        for (const TunedShape& shape : task.shapes)
          budget_.shapesCount += records.back().shapeOf(shape.sizes) == nullptr;
    }
    for (size_t i = 0; i < tasks.size(); ++i) {
      TuneRow row;
      row.key = tasks[i].site.contraction.key;
      row.sitesCount = tasks[i].sitesCount;
      if (tasks[i].shapes.empty()) {
        row.state = request_.missingDim.empty() ? "its sizes depend on values"
                                                : "its sizes need --dim " + request_.missingDim;
        ++report_.skippedCount;
      } else if (records[i].candidates.size() < 2) {
        row.state = "there is one version";
        row.shapesCount = static_cast<int64_t>(tasks[i].shapes.size());
        ++report_.skippedCount;
      } else {
        if (request_.trials > 0)
          DYN_CHECK(tuneWithFewTrials(tasks[i], records[i], row));
        else
          DYN_CHECK(tune(tasks[i], records[i], row));
      }
      report_.rows.push_back(std::move(row));
    }
    return std::move(report_);
  }

 private:
  // One program of a version, which all shapes share.
  Result<Trial> makeTrial(const ContractionSite& site, const contraction::Version& version) {
    auto ir = std::make_shared<IrContext>();
    DYN_TRY(Module module, trialModule(*ir, site, request_.seed));
    return host_.make(std::move(ir), std::move(module), site.contraction.kind, version);
  }

  // All trials at one shape, for about so long. Version after version, several times over: what disturbs one
  // disturbs its neighbours too.
  Result<std::vector<double>> measure(std::span<Trial> trials, const std::vector<int64_t>& sizes,
                                      double seconds) {
    constexpr int kRounds = 3;
    const double each = std::min(kMostSeconds, seconds / static_cast<double>(kRounds * trials.size()));
    DYN_TRY(HostTensor x, randomTensor(Dtype::f32, sizes, RandomSource(request_.seed, "x"), 1));
    std::vector<double> best(trials.size(), 0);
    for (int round = 0; round < kRounds; ++round)
      for (size_t i = 0; i < trials.size(); ++i) {
        DYN_TRY(double least, trials[i]->leastNs(x, each));
        best[i] = round == 0 ? least : std::min(best[i], least);
      }
    return best;
  }

  // What is known of the operation already, as far as it can still be used: where there is a library it has
  // been measured, and where there is none it has not.
  TunedOperation recordOf(const TuneTask& task) const {
    const passes::Contraction& c = task.site.contraction;
    if (const TunedOperation* known = request_.known.find(c.key, report_.threads);
        known && !known->candidates.empty() && contraction::isAutomatic(known->candidates[0].version) &&
        contraction::isLibrary(known->candidates.back().version) == libraryFits(c) &&
        std::all_of(known->candidates.begin(), known->candidates.end(),
                    [&](const TunedCandidate& old) { return passes::isVersionOf(c, old.version); }))
      return *known;
    TunedOperation record;
    record.key = c.key;
    record.threads = report_.threads;
    if (!task.shapes.empty())
      for (const contraction::Version& version :
           candidatesOf(task, report_.threads, extent(), mostProductVersions()))
        record.candidates.push_back({version, {}, {}});
    return record;
  }

  // Each shape is kept as soon as it is measured.
  Status tune(const TuneTask& task, TunedOperation& record, TuneRow& row) {
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
      host_.progress(c.key + ", input " + sizes, fraction);
      for (size_t i = trials.size(); i < record.candidates.size(); ++i) {
        DYN_TRY(Trial trial, makeTrial(task.site, record.candidates[i].version));
        trials.push_back(std::move(trial));
      }
      const double share =
          std::max(0.0, budget_.left()) / static_cast<double>(budget_.shapesCount - budget_.done);
      DYN_TRY(std::vector<double> timesNs, measure(trials, shape.sizes, share));
      record.shapes.push_back(shape);
      report_.trialsCount += static_cast<int64_t>(timesNs.size());
      for (size_t i = 0; i < timesNs.size(); ++i) {
        record.candidates[i].timesNs.push_back(timesNs[i]);
        if (!record.candidates[i].expected.empty()) record.candidates[i].expected.push_back(false);
      }
      choose(record, task, request_.mostVersions);
      DYN_CHECK(host_.keep(record));
      ++budget_.done;
      measured = true;
    }
    if (!measured && !record.shapes.empty()) {
      // Other weights, or another number of versions, may mean another choice.
      const TunedOperation before = record;
      choose(record, task, request_.mostVersions);
      if (!(before == record)) DYN_CHECK(host_.keep(record));
    }
    row.state = left       ? (record.shapes.empty() ? "left for another time" : "partly measured")
                : measured ? "measured"
                           : "kept";
    ++(left ? report_.leftCount : measured ? report_.measuredCount : report_.keptCount);
    describe(task, record, row);
    return {};
  }

  Extent extent() const { return request_.trials > 0 ? Extent::sparse : Extent::all; }
  // Half of few trials measure each candidate once, the other half compares those that lead.
  size_t mostProductVersions() const {
    return request_.trials > 0 ? static_cast<size_t>(std::max<int64_t>(1, request_.trials / 2 - 1))
                               : kMostProductVersions;
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
  Status tuneWithFewTrials(const TuneTask& task, TunedOperation& record, TuneRow& row) {
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
        const contraction::Version& version = record.candidates[v].version;
        costs[v].push_back(predictedNs(task.site, version, shape.sizes, report_.threads));
        fits[v].push_back(fitOf(task.site.contraction, version, shape.sizes, report_.threads));
      }
    }
    TrialPlan plan(std::move(costs), fits, std::move(shapes), request_.trials);
    for (size_t v = 0; v < versions; ++v)
      for (size_t s = 0; s < record.shapes.size(); ++s)
        if (record.candidates[v].isMeasured(s)) plan.note({v, s}, record.candidates[v].timesNs[s]);
    const int64_t known = plan.trialsUsed();
    std::vector<Trial> trials(versions);
    while (std::optional<TrialPlan::Trial> next = plan.next()) {
      if (budget_.left() <= 0) break;
      TunedCandidate& candidate = record.candidates[next->version];
      const TunedShape& shape = record.shapes[next->shape];
      const double fraction =
          static_cast<double>(plan.trialsUsed() - known) / static_cast<double>(request_.trials - known);
      host_.progress(task.site.contraction.key + ", " + textOf(candidate.version), fraction);
      if (!trials[next->version]) {
        DYN_TRY(trials[next->version], makeTrial(task.site, candidate.version));
      }
      const double share =
          std::max(0.0, budget_.left()) / static_cast<double>(std::max<int64_t>(1, budget_.trialsLeft--));
      DYN_TRY(std::vector<double> timesNs, measure(std::span(&trials[next->version], 1), shape.sizes, share));
      plan.note(*next, timesNs[0]);
      ++report_.trialsCount;
      fill(record, plan);
      choose(record, task, request_.mostVersions);
      DYN_CHECK(host_.keep(record));
    }
    if (plan.trialsUsed() > 0) fill(record, plan);
    const bool measured = plan.trialsUsed() > known;
    const bool left = !measured && before == 0;  // no time for a single one
    if (left) record.shapes.clear();
    row.state = left ? "left for another time" : measured ? "measured" : "kept";
    ++(left ? report_.leftCount : measured ? report_.measuredCount : report_.keptCount);
    describe(task, record, row);
    return {};
  }

  void describe(const TuneTask& task, const TunedOperation& record, TuneRow& row) const {
    if (record.shapes.empty()) return;
    const passes::Contraction& c = task.site.contraction;
    row.chosen = record.chosen;
    row.chosenNs = 0;
    for (const TunedShape& shape : record.shapes) row.shapesCount += shape.weight > 0;
    for (const TunedCandidate& candidate : record.candidates) {
      double predicted = 0;
      for (const TunedShape& shape : record.shapes)
        if (shape.weight > 0)
          predicted += shape.weight * predictedNs(task.site, candidate.version, shape.sizes, report_.threads);
      const contraction::Version& version = candidate.version;
      row.candidates.push_back({contraction::isAutomatic(version) ? usualOf(c, {}, report_.threads) : version,
                                predicted, record.weightedNs(candidate)});
    }
    if (contraction::isAutomatic(record.chosen)) row.chosen = usualOf(c, {}, report_.threads);
    for (size_t i = 0; i < record.shapes.size(); ++i) {
      const contraction::Version version = contraction::versionAt(record.chosen, record.shapes[i].sizes[0]);
      for (const TunedCandidate& candidate : record.candidates)
        if (candidate.version == version) *row.chosenNs += record.shapes[i].weight * candidate.timesNs[i];
    }
  }

  TunerHost& host_;
  const TuneRequest& request_;
  TuneReport report_;
  Budget budget_;
};

}  // namespace

std::vector<TuneTask> tuneTasks(const Trace& trace, const std::vector<Draw>& draws) {
  std::vector<TuneTask> tasks;
  for (const ContractionSite& site : contractionSites(trace)) {
    auto task = std::find_if(tasks.begin(), tasks.end(), [&](const TuneTask& t) {
      return t.site.contraction.key == site.contraction.key;
    });
    if (task == tasks.end()) task = tasks.insert(tasks.end(), TuneTask{site, {}, 0});
    ++task->sitesCount;
    for (const Draw& draw : draws) {
      std::optional<std::vector<int64_t>> sizes = sizesOf(trace, site, draw.dims);
      if (sizes && std::find(sizes->begin(), sizes->end(), 0) == sizes->end())
        addShape(task->shapes, *std::move(sizes), draw.weight);
    }
  }
  return tasks;
}

Result<TuneReport> tune(std::vector<TuneTask> tasks, const TuneRequest& request, TunerHost& host) {
  return Tuner(host, request).run(std::move(tasks));
}

}  // namespace dyn
