#include "app/session/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "app/engine/run/run_result.h"
#include "compiler/support/clock.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn {

namespace {

bool isLaunch(const TimelineEvent& event) { return event.kind == "kernel" || event.kind == "builtin"; }

// What the launches of one row add up to.
struct RowTimes {
  LaunchTime sum;
  LaunchWork work;
  double boundNs = 0, expectedNs = 0, longestNs = -1;
  int64_t count = 0;
  std::string dims, place, description;
  int index = -1;

  void add(const TimelineEvent& event, const LaunchWork& launch, const LaunchTime& time) {
    sum.memoryNs += time.memoryNs;
    sum.computeNs += time.computeNs;
    sum.overheadNs += time.overheadNs;
    boundNs += time.boundNs();
    expectedNs += time.expectedNs();
    work.bytes += launch.bytes;
    work.operations += launch.products + launch.operations;
    work.calls += launch.calls;
    if (time.expectedNs() > longestNs) {
      longestNs = time.expectedNs();
      dims = launch.dims;
    }
    if (count++ == 0) {
      place = event.place;
      description = event.kernel;
      index = event.index;
    }
  }
};

// Kind, name and site, as in the profile's table. Without a site: all launches of that name.
using RowKey = std::tuple<std::string, std::string, std::string>;

std::map<RowKey, RowTimes> timesByRow(const std::vector<TimelineEvent>& events, const LoweredModule& lowered,
                                      const MachineLimits& limits, const Footprint& footprint) {
  std::map<RowKey, RowTimes> rows;
  for (const TimelineEvent& event : events) {
    if (!isLaunch(event)) continue;
    const LaunchWork work = workOf(event, lowered, limits.panelColumns);
    const LaunchTime time = timeOf(work, limits, footprint);
    rows[{event.kind, event.name, ""}].add(event, work, time);
    if (std::string site = siteOf(event); !site.empty())
      rows[{event.kind, event.name, std::move(site)}].add(event, work, time);
  }
  return rows;
}

void fillRowTimes(const RowTimes& times, KernelRow& row) {
  row.movedBytes = times.work.bytes;
  row.operations = times.work.operations;
  row.calls = times.work.calls;
  row.boundNs = wholeNs(times.boundNs);
  row.bound = times.sum.bound();
  row.dims = times.dims;
}

std::string limitsLine(const MachineLimits& limits) {
  return fmt::format(
             "{}, {} thread{}: {:.0f} GFLOP/s in products, {:.0f}/{:.0f}/{:.0f}/{:.0f} GB/s over 16 KiB, 512 "
             "KiB, 8 "
             "MiB, 64 MiB",
             limits.cpu.empty() ? "this machine" : limits.cpu, limits.threads, limits.threads == 1 ? "" : "s",
             limits.gemmOperations, limits.bytesSmall, limits.bytesMiddle, limits.bytesLarge,
             limits.bytesHuge) +
         (limits.eachLaunchNs >= 1 ? fmt::format(", {:.0f} ns a launch", limits.eachLaunchNs)
                                   : ", a launch takes less than can be measured") +
         tileText(tileSupport());
}

}  // namespace

double LaunchTime::boundNs() const { return std::max({memoryNs, computeNs, overheadNs}); }
double LaunchTime::expectedNs() const { return overheadNs + std::max(memoryNs, computeNs); }
const char* LaunchTime::bound() const {
  if (overheadNs >= std::max(memoryNs, computeNs)) return "overhead";
  return memoryNs >= computeNs ? "memory" : "compute";
}

Footprint footprintOf(const LoweredModule& lowered, int64_t peakBytes) {
  Footprint footprint;
  footprint.arenaBytes = static_cast<double>(peakBytes);
  for (const HostTensor& constant : lowered.constants)
    footprint.weightsBytes += static_cast<double>(constant.sizeBytes());
  return footprint;
}

namespace {

// Few rows take as long as some more, and all elements some time besides that of the depth.
double productsNs(const LaunchWork& work, double perNs, const MachineLimits& limits) {
  const double rows = work.rows > 0 ? std::max(1.0, limits.fewRows / work.rows) : 1;
  return (work.products + 2 * work.results * limits.moreDepthOf(work.productsOf)) * rows / perNs;
}

}  // namespace

LaunchTime timeOf(const LaunchWork& work, const MachineLimits& limits, const Footprint& footprint) {
  LaunchTime time;
  const double others = std::max(0.0, work.bytes - work.weightBytes);
  time.memoryNs = others / limits.bytesPerNs(std::max(footprint.arenaBytes, work.bytes)) +
                  work.weightBytes / limits.weightsPerNs(std::max(footprint.weightsBytes, work.weightBytes)) +
                  // Between the steps nothing else is read.
                  work.weightBytes * (work.weightReads - 1) / limits.weightsPerNs(work.weightBytes);
  time.computeNs = work.operations / limits.loopOperations + work.calls / limits.loopCalls +
                   work.scattered / limits.scattered + work.visits / limits.visits +
                   work.packed / limits.packed;
  switch (work.kind) {
    case LaunchKind::loop:
      time.overheadNs = limits.launchNs;
      break;
    case LaunchKind::recurrence:
      // The cells wait for the products of their step.
      time.overheadNs = limits.gemmLaunchNs + time.computeNs;
      time.computeNs = productsNs(work, limits.productsPerNs(work.productsOf), limits);
      break;
    case LaunchKind::gemm:
      time.overheadNs = limits.gemmLaunchNs;
      time.computeNs += productsNs(work, limits.productsPerNs(work.productsOf), limits);
      break;
    case LaunchKind::attention:
      time.overheadNs = limits.attentionLaunchNs;
      time.computeNs += productsNs(work, limits.attentionOperations, limits);
      break;
    case LaunchKind::convolution:
      time.overheadNs = limits.convolutionLaunchNs;
      time.computeNs += work.products / limits.convolutionPerNs(work.filters, work.productsOf);
      if (work.productsOf == ProductsOf::bytes)
        time.computeNs += 2 * work.results * limits.byteMoreDepth / limits.byteOperations;
      break;
    case LaunchKind::other:
      time.overheadNs = limits.otherLaunchNs;
      break;
  }
  return time;
}

void countTouchedBytes(const LoweredModule& lowered, RunResult& result) {
  struct Touched {
    double bytes = 0;
    int64_t count = 0;
  };
  std::map<std::string, Touched> rows;
  for (TimelineEvent& event : result.timeline) {
    if (!isLaunch(event)) continue;
    const LaunchWork work = workOf(event, lowered);
    event.movedBytes = work.bytes;
    event.operations = work.products + work.operations;
    if (event.kind != "kernel") continue;
    const double bytes = work.bytes;
    event.bytes = static_cast<int64_t>(bytes);
    rows[event.name].bytes += bytes;
    ++rows[event.name].count;
  }
  KernelTable table = *result.profile;
  for (KernelRow& row : table.rows) {
    const auto found = rows.find(row.name);
    if (row.kind != "kernel" || found == rows.end()) continue;
    // Of very long runs the timeline has the first launches only.
    row.bytes = static_cast<int64_t>(found->second.bytes * static_cast<double>(row.launchesCount) /
                                     static_cast<double>(found->second.count));
  }
  result.profile = std::make_shared<const KernelTable>(std::move(table));
}

void explainKernels(std::vector<TimelineEvent>& events, const LoweredModule& lowered,
                    const MachineLimits& limits, const Footprint& footprint, KernelTable& table) {
  table.explained = true;
  table.limits = limitsLine(limits);
  table.mostGflops = limits.gemmOperations;
  table.memoryGigabytesPerSecond = limits.bytesHuge;
  table.cacheGigabytesPerSecond = limits.bytesLarge;
  for (TimelineEvent& event : events) {
    if (!isLaunch(event)) continue;
    const LaunchWork work = workOf(event, lowered, limits.panelColumns);
    event.movedBytes = work.bytes;
    event.operations = work.products + work.operations;
    event.boundNs = wholeNs(timeOf(work, limits, footprint).boundNs());
  }
  const std::map<RowKey, RowTimes> times = timesByRow(events, lowered, limits, footprint);
  for (KernelRow& row : table.rows) {
    auto found = times.find({row.kind, row.name, row.site});
    if (found != times.end()) fillRowTimes(found->second, row);
  }
}

bool isBeyondLimits(const KernelTable& table) {
  constexpr double kNoise = 1.1;
  int64_t boundedNs = 0, beyondNs = 0;
  for (const KernelRow& row : table.rows) {
    if (row.bound != "compute" || row.boundNs <= 0) continue;
    boundedNs += row.totalNs;
    if (static_cast<double>(row.boundNs) > kNoise * static_cast<double>(row.totalNs)) beyondNs += row.totalNs;
  }
  return 2 * beyondNs > boundedNs;
}

KernelTable predictKernels(const Runner::DryRun& dryRun, const LoweredModule& lowered,
                           const MachineLimits& limits) {
  KernelTable table;
  table.profiled = table.explained = true;
  table.limits = limitsLine(limits);
  KernelRow host;
  host.kind = host.bound = "host";
  host.name = "the host code";
  host.launchesCount = 1;
  host.totalNs = host.boundNs = dryRun.hostNs;
  auto total = static_cast<double>(dryRun.hostNs);
  table.rows.push_back(std::move(host));
  const Footprint footprint = footprintOf(lowered, dryRun.peakBytes);
  const std::map<RowKey, RowTimes> all = timesByRow(dryRun.events, lowered, limits, footprint);
  for (auto at = all.begin(); at != all.end(); ++at) {
    const auto& [key, times] = *at;
    KernelRow row;
    std::tie(row.kind, row.name, row.site) = key;
    // The sum of all sites stands right before them.
    const auto next = std::next(at);
    if (row.site.empty() && next != all.end() && std::get<0>(next->first) == row.kind &&
        std::get<1>(next->first) == row.name)
      continue;
    row.index = row.kind == "kernel" ? times.index : -1;
    row.place = times.place;
    row.description = times.description;
    row.launchesCount = times.count;
    fillRowTimes(times, row);
    row.totalNs = wholeNs(times.expectedNs);
    total += times.expectedNs;
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const KernelRow& a, const KernelRow& b) { return a.totalNs > b.totalNs; });
  for (KernelRow& row : table.rows) row.share = total > 0 ? static_cast<double>(row.totalNs) / total : 0;
  return table;
}

}  // namespace dyn
