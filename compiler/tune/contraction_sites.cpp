#include "compiler/tune/contraction_sites.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/driver/target_choice.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/contraction/conv_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/support/clock.h"
#include "compiler/tune/trial_plan.h"

namespace dyn {

namespace {

const Module* prepacked(const Trace& trace) {
  const TraceStep* step = trace.find("prepack");
  return step && step->diagnostics.empty() ? &step->after : nullptr;
}

struct HostRates {
  MachineDescription machine;
  double gigahertz = 1;
  double stepsPerCycle = 16;
  int64_t lanes = 16;
};

// A chain of additions, each of which takes one cycle; long enough between the jumps for these not to count.
double measuredGigahertz() {
  double best = 0;
  for (int round = 0; round < 10; ++round) {
    constexpr int64_t kIterations = 10000, kLinks = 16;
    const int64_t start = steadyNs();
    uint64_t chain = 1;
    for (int64_t i = 0; i < kIterations; ++i)
      for (int64_t link = 0; link < kLinks; ++link) {
        chain += 3;
#if defined(__GNUC__)
        __asm__ volatile("" : "+r"(chain));
#endif
      }
    const auto ns = static_cast<double>(steadyNs() - start);
    if (ns > 0) best = std::max(best, static_cast<double>(kIterations * kLinks) / ns);
  }
  return best > 0 ? best : 1;
}

const HostRates& hostRates() {
  static const HostRates rates = [] {
    HostRates r;
    if (const Result<Target> host = hostTarget(); host.ok()) r.machine = host->machine;
    r.gigahertz = measuredGigahertz();
    r.lanes = std::max<int64_t>(4, r.machine.vectorBits / 32);
    r.stepsPerCycle = static_cast<double>(r.lanes * std::max(1, r.machine.fmaPerCycle));
    return r;
  }();
  return rates;
}

contraction::ProductMachine productMachine() {
  const HostRates& host = hostRates();
  contraction::ProductMachine m;
  const bool wide = host.machine.vectorBits >= 512;
  m.maxRows = wide ? 14 : 6;
  m.panelWidth = wide ? 32 : 16;
  if (host.machine.l2Bytes > 0) m.l2Bytes = host.machine.l2Bytes;
  if (host.machine.l3Bytes > 0) m.l3Bytes = host.machine.l3Bytes;
  return m;
}

contraction::ProductShape shapeOf(const passes::Contraction& c, const std::vector<int64_t>& sizes,
                                  int threads) {
  const double steps =
      static_cast<double>(sizes[0]) * static_cast<double>(c.columns * std::max<int64_t>(c.depth, 1));
  const auto tasks =
      std::clamp<int64_t>(static_cast<int64_t>(steps / contraction::kStepsPerTask), 1, threads);
  return {sizes[0], c.columns, c.depth, tasks, c.depth % 1024 == 0 && sizes[0] > 4};
}

size_t cheapest(const contraction::ProductShape& shape) {
  return contraction::cheapestSchedule(shape, productMachine());
}

// Row of the table that a version takes for a shape.
size_t scheduleAt(const contraction::Version& version, const contraction::ProductShape& shape) {
  const contraction::Version one = contraction::versionAt(version, shape.rows);
  const auto* dispatch = std::get_if<contraction::Dispatch>(&one);
  return dispatch ? static_cast<size_t>(dispatch->pieces.front().schedule) : cheapest(shape);
}

double outputPlaces(const ContractionSite& site, const std::vector<int64_t>& x) {
  const contraction::ConvolutionWindow& w = site.contraction.window;
  double places = 1;
  const size_t rank = x.size() - 2;
  std::vector<int64_t> pads = site.op->attributes.integers("pads");
  const std::string automatic = site.op->attributes.string("auto_pad", "NOTSET");
  pads.resize(2 * rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = 3 - rank + i;
    const int64_t reach = (w.kernel[at] - 1) * w.dilation[at] + 1;
    const int64_t size = automatic.rfind("SAME", 0) == 0
                             ? (x[2 + i] + w.stride[at] - 1) / w.stride[at]
                             : (x[2 + i] + pads[i] + pads[rank + i] - reach) / w.stride[at] + 1;
    places *= static_cast<double>(std::max<int64_t>(size, 0));
  }
  return places;
}

// The library's arithmetic near the peak; images lie otherwise there, so most are reordered, and back.
double oneDnnCycles(const ContractionSite& site, const std::vector<int64_t>& x) {
  constexpr double kOfPeak = 0.9, kPerReordered = 0.8;
  const contraction::ConvolutionWindow& w = site.contraction.window;
  const double outputs = static_cast<double>(x[0] * w.groups * w.filters) * outputPlaces(site, x);
  double inputs = 1;
  for (int64_t size : x) inputs *= static_cast<double>(size);
  return outputs * static_cast<double>(w.depth()) / (kOfPeak * hostRates().stepsPerCycle) +
         (w.taps() == 1 ? 0 : kPerReordered * (inputs + outputs));
}

double convolutionCycles(const ContractionSite& site, contraction::Way way, const std::vector<int64_t>& x) {
  const contraction::ConvolutionWindow& w = site.contraction.window;
  const HostRates& host = hostRates();
  const double output = outputPlaces(site, x);
  const auto roundedTo = [](int64_t count, int64_t unit) {
    return static_cast<double>((count + unit - 1) / unit * unit);
  };
  const double images = static_cast<double>(x[0] * w.groups), depth = static_cast<double>(w.depth()),
               filters = static_cast<double>(w.filters), channels = static_cast<double>(w.channels);
  double inputs = static_cast<double>(x[0]);
  for (size_t i = 1; i < x.size(); ++i) inputs *= static_cast<double>(x[i]);
  switch (way) {
    case contraction::Way::rows:
      return images * output * depth / (0.4 * host.stepsPerCycle) + 0.3 * images * output;
    case contraction::Way::staged:
      return images * output * filters * depth / (0.75 * host.stepsPerCycle) + inputs +
             0.3 * images * output * filters;
    case contraction::Way::direct:
      return images * output * roundedTo(w.filters, host.lanes) * depth / (0.85 * host.stepsPerCycle) +
             0.3 * inputs + 0.5 * images * output * filters;
    case contraction::Way::winograd: {
      // 16 products for 4 results at stride 1, 49 for 9 at stride 2; the transforms of as many inputs and of
      // as many products.
      const double products = w.stride[2] == 1 ? 16.0 / 4 : 49.0 / 9;
      return images * output * roundedTo(w.filters, host.lanes) * channels * products /
                 (0.75 * host.stepsPerCycle) +
             images * output * products / 16 * (channels * 12 + filters * 10);
    }
  }
  return 0;
}

}  // namespace

std::vector<ContractionSite> contractionSites(const Trace& trace) {
  std::vector<ContractionSite> sites;
  const Module* module = prepacked(trace);
  if (!module) return sites;
  const Uses uses(*module);
  forEachOp(*module, [&](const Function&, const Op& op) {
    if (op.operands.size() < 2 || op.results.empty()) return;
    const Type packed = uses.definition(op.operands[1]).type, input = uses.definition(op.operands[0]).type;
    if (!packed.isTensor() || !input.isTensor()) return;
    std::optional<passes::Contraction> found = passes::contractionOf(op, packed.dtype());
    if (found)
      sites.push_back({*std::move(found), &op, input, "%" + module->context->valueName(op.results[0].id)});
  });
  return sites;
}

std::optional<std::vector<int64_t>> sizesOf(const Trace& trace, const ContractionSite& site,
                                            const std::map<std::string, int64_t>& dims) {
  const Module* module = prepacked(trace);
  if (!module) return std::nullopt;
  DimBinding binding;
  DimContext& context = module->context->dims();
  for (SymbolId s = 0; s < context.symbolCount(); ++s)
    if (auto it = dims.find(context.symbolName(s)); it != dims.end()) binding.set(s, it->second);
  std::vector<int64_t> sizes;
  for (Dim d : site.input.dims()) {
    Result<int64_t> value = evaluate(d, binding);
    if (!value.ok()) value = evaluate(module->context->facts().canonical(d), binding);
    if (!value.ok()) return std::nullopt;
    sizes.push_back(*value);
  }
  if (site.contraction.kind == passes::ContractionKind::convolution) return sizes;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
  return std::vector<int64_t>{rows, sizes.back()};
}

contraction::Version usualOf(const passes::Contraction& c, const std::vector<int64_t>& sizes, int threads) {
  if (c.kind == passes::ContractionKind::convolution)
    return contraction::wayByRule(c.window, hostRates().lanes);
  if (sizes.empty()) return contraction::Automatic{};
  return contraction::scheduleVersion(cheapest(shapeOf(c, sizes, threads)));
}

contraction::Version scheduleAt(const passes::Contraction& product, const contraction::Version& version,
                                const std::vector<int64_t>& sizes, int threads) {
  return contraction::scheduleVersion(scheduleAt(version, shapeOf(product, sizes, threads)));
}

std::vector<contraction::Version> distinctVersions(const passes::Contraction& c,
                                                   const std::vector<std::vector<int64_t>>& sizes,
                                                   int threads) {
  std::vector<contraction::Version> versions;
  if (c.kind == passes::ContractionKind::convolution) {
    for (contraction::Version& version : passes::versionsOf(c))
      if (!contraction::isAutomatic(version)) versions.push_back(std::move(version));
    return versions;
  }
  const contraction::ProductMachine machine = productMachine();
  // For each size the block of depth, the rows of a block, and the side where threads share it.
  std::set<std::vector<int64_t>> known;
  const auto add = [&](size_t schedule) {
    const contraction::ProductSchedule& s = contraction::kProductSchedules[schedule];
    std::vector<int64_t> work;
    for (const std::vector<int64_t>& size : sizes) {
      const contraction::ProductShape shape = shapeOf(c, size, threads);
      work.push_back(contraction::depthBlockOf(shape, machine.maxRows, s));
      work.push_back(std::min(shape.rows, s.rowTiles * machine.maxRows));
      work.push_back(shape.tasks > 1 ? static_cast<int64_t>(s.side) : 0);
    }
    if (known.insert(std::move(work)).second) versions.push_back(contraction::scheduleVersion(schedule));
  };
  for (const std::vector<int64_t>& size : sizes) add(cheapest(shapeOf(c, size, threads)));
  for (size_t i = 0; i < contraction::kProductSchedules.size(); ++i) add(i);
  return versions;
}

double predictedNs(const ContractionSite& site, const contraction::Version& version,
                   const std::vector<int64_t>& sizes, int threads) {
  const passes::Contraction& c = site.contraction;
  const HostRates& host = hostRates();
  if (c.kind == passes::ContractionKind::convolution) {
    if (contraction::isLibrary(version)) return oneDnnCycles(site, sizes) / (host.gigahertz * threads);
    const contraction::Version named =
        contraction::isAutomatic(version) ? usualOf(c, sizes, threads) : version;
    return convolutionCycles(site, std::get<contraction::Way>(named), sizes) / (host.gigahertz * threads);
  }
  contraction::ProductMachine machine = productMachine();
  machine.stepsPerCycle = host.stepsPerCycle;
  const contraction::ProductShape shape = shapeOf(c, sizes, threads);
  return contraction::productCycles(shape, machine,
                                    contraction::kProductSchedules[scheduleAt(version, shape)]) /
         host.gigahertz;
}

double fitOf(const passes::Contraction& c, const contraction::Version& version,
             const std::vector<int64_t>& sizes, int threads) {
  if (c.kind == passes::ContractionKind::convolution) {
    const int64_t filters[] = {std::max<int64_t>(c.window.filters, 1)}, lanes[] = {hostRates().lanes};
    const bool laneFilters = version == contraction::Version(contraction::Way::direct) ||
                             version == contraction::Version(contraction::Way::winograd);
    return laneFilters ? paddingFactor(filters, lanes) : 1;
  }
  const contraction::ProductMachine machine = productMachine();
  const contraction::ProductShape shape = shapeOf(c, sizes, threads);
  const int64_t extents[] = {std::max<int64_t>(shape.rows, 1), std::max<int64_t>(shape.columns, 1)},
                tiles[] = {machine.maxRows, machine.panelWidth};
  const contraction::ProductSchedule& schedule = contraction::kProductSchedules[scheduleAt(version, shape)];
  const size_t side = schedule.side == contraction::SplitSide::rows ? 0 : 1;
  return paddingFactor(extents, tiles) *
         occupancyFactor((extents[side] + tiles[side] - 1) / tiles[side], shape.tasks);
}

}  // namespace dyn
