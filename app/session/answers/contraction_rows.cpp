#include "app/session/answers/contraction_rows.h"

#include <algorithm>
#include <cmath>

#include "app/engine/model/model_info.h"
#include "app/engine/model/tuning_file.h"
#include "app/engine/run/run_result.h"
#include "compiler/tune/contraction_sites.h"

namespace dyn {

namespace {

// By the number of elements.
const TunedShape* nearestShape(const TunedOperation& tuned, const std::vector<int64_t>& sizes) {
  const auto count = [](const std::vector<int64_t>& shape) {
    double product = 1;
    for (int64_t size : shape) product *= static_cast<double>(size);
    return std::log(std::max(product, 1.0));
  };
  auto nearest =
      std::min_element(tuned.shapes.begin(), tuned.shapes.end(), [&](const auto& a, const auto& b) {
        return std::fabs(count(a.sizes) - count(sizes)) < std::fabs(count(b.sizes) - count(sizes));
      });
  return nearest == tuned.shapes.end() ? nullptr : &*nearest;
}

ContractionRow rowOf(const ContractionSite& site, const std::optional<std::vector<int64_t>>& sizes,
                     const TunedOperation* tuned, bool policy, int threads) {
  const passes::Contraction& c = site.contraction;
  ContractionRow row;
  row.values.push_back(site.value);
  row.key = c.key;
  if (sizes) row.sizes = *sizes;
  const bool product = c.kind == passes::ContractionKind::product,
             automatic = contraction::isAutomatic(c.chosen), library = contraction::isLibrary(c.chosen);
  const contraction::Version usual = usualOf(c, row.sizes, threads);
  row.by = automatic && !(tuned && contraction::isAutomatic(tuned->chosen)) ? (product ? "cost" : "rule")
           : !automatic && policy                                           ? "policy"
                                                                            : "measured";
  row.dispatch = c.chosen;
  if (product && sizes && !library)
    row.chosen = scheduleAt(c, c.chosen, *sizes, threads);
  else
    row.chosen = automatic ? usual : c.chosen;
  std::vector<contraction::Version> versions = distinctVersions(
      c, sizes ? std::vector<std::vector<int64_t>>{*sizes} : std::vector<std::vector<int64_t>>(), threads);
  const auto add = [&](const contraction::Version& version) {
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) versions.push_back(version);
  };
  const TunedShape* measuredAt = tuned && sizes ? nearestShape(*tuned, *sizes) : nullptr;
  if (measuredAt) row.measuredSizes = measuredAt->sizes;
  add(row.chosen);
  for (const TunedCandidate& measured : tuned ? tuned->candidates : std::vector<TunedCandidate>())
    if (measuredAt && !contraction::isAutomatic(measured.version)) add(measured.version);
  for (const contraction::Version& version : versions) {
    VersionTimes candidate;
    candidate.version = version;
    if (sizes) candidate.predictedNs = predictedNs(site, version, *sizes, threads);
    for (const TunedCandidate& measured : tuned ? tuned->candidates : std::vector<TunedCandidate>()) {
      if (measured.version != version && !(contraction::isAutomatic(measured.version) && version == usual))
        continue;
      candidate.measuredNs = measuredAt
                                 ? measured.timesNs[static_cast<size_t>(measuredAt - tuned->shapes.data())]
                                 : tuned->weightedNs(measured);
    }
    row.candidates.push_back(std::move(candidate));
  }
  return row;
}

}  // namespace

Result<std::vector<ContractionRow>> contractionRows(const LoadedModel& model, const EngineOptions& options,
                                                    const DimValues& dims) {
  const int threads = threadsOf(options);
  TuningRecords records;
  if (const std::string path = tuningFileOf(options); !path.empty())
    if (Result<TuningRecords> read = readTuning(path); read.ok()) records = *std::move(read);
  std::vector<ContractionRow> rows;
  for (const ContractionSite& site : contractionSites(model.trace())) {
    const passes::Contraction& c = site.contraction;
    ContractionRow row = rowOf(site, sizesOf(model.trace(), site, dims), records.find(c.key, threads),
                               options.policies.count(toString(c.kind)) > 0, threads);
    auto same = std::find_if(rows.begin(), rows.end(), [&](const ContractionRow& other) {
      return other.key == row.key && other.sizes == row.sizes && other.dispatch == row.dispatch;
    });
    if (same == rows.end())
      rows.push_back(std::move(row));
    else
      same->values.push_back(site.value);
  }
  return rows;
}

}  // namespace dyn
