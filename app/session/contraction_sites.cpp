#include "app/session/contraction_sites.h"

#include <algorithm>
#include <chrono>

#include "app/session/tuning_records.h"
#include "compiler/codegen/machine.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/conv_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

const Module* prepacked(const LoadedModel& model) {
  const TraceStep* step = model.trace().find("prepack");
  return step && step->diagnostics.empty() ? &step->after : nullptr;
}

struct HostRates {
  MachineDescription machine;
  double gigahertz = 1;
  double stepsPerCycle = 16;
  int64_t lanes = 16;
};

// A chain of additions, each of which takes one cycle.
double measuredGigahertz() {
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    constexpr int64_t kSteps = 100000;
    const auto start = std::chrono::steady_clock::now();
    uint64_t chain = 1;
    for (int64_t i = 0; i < kSteps; ++i) {
      chain += 3;
#if defined(__GNUC__)
      __asm__ volatile("" : "+r"(chain));
#endif
    }
    const double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    if (ns > 0) best = std::max(best, kSteps / ns);
  }
  return best > 0 ? best : 1;
}

const HostRates& hostRates() {
  static const HostRates rates = [] {
    HostRates r;
    if (Result<MachineDescription> host = detectHost(); host.ok()) r.machine = *std::move(host);
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
  m.stepsPerCycle = host.stepsPerCycle;
  if (host.machine.l2Bytes > 0) m.l2Bytes = host.machine.l2Bytes;
  if (host.machine.l3Bytes > 0) m.l3Bytes = host.machine.l3Bytes;
  return m;
}

double convolutionCycles(const ContractionSite& site, contraction::Way way, const std::vector<int64_t>& x) {
  const contraction::ConvolutionWindow& w = site.contraction.window;
  const HostRates& host = hostRates();
  const auto output = [&] {
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
  }();
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
    case contraction::Way::winograd:
      // 16 products for each four results; the transforms of 16 inputs and of 16 products each.
      return images * output * roundedTo(w.filters, host.lanes) * channels * 4 / (0.75 * host.stepsPerCycle) +
             images * output / 4 * (channels * 12 + filters * 10);
  }
  return 0;
}

}  // namespace

std::vector<ContractionSite> contractionSites(const LoadedModel& model) {
  std::vector<ContractionSite> sites;
  const Module* module = prepacked(model);
  if (!module) return sites;
  const Uses uses(*module);
  forEachOp(*module, [&](const Function&, const Op& op) {
    if (op.operands.size() < 2 || op.results.empty()) return;
    if (op.def != &ops::conv_packedOp && op.def != &ops::gemm_packedOp) return;
    const Type packed = uses.definition(op.operands[1]).type, input = uses.definition(op.operands[0]).type;
    if (!packed.isTensor() || !input.isTensor()) return;
    std::optional<passes::Contraction> found = passes::contractionOf(op, packed.dtype());
    if (found)
      sites.push_back({*std::move(found), &op, input, "%" + module->context->valueName(op.results[0].id)});
  });
  return sites;
}

std::optional<std::vector<int64_t>> sizesOf(const LoadedModel& model, const ContractionSite& site,
                                            const DimValues& dims) {
  const Module* module = prepacked(model);
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

std::string ruleOf(const passes::Contraction& contraction) {
  if (contraction.kind == passes::ContractionKind::product) return "";
  const contraction::Way way = contraction::wayByRule(contraction.window, hostRates().lanes);
  return std::string(contraction::kWayNames[static_cast<size_t>(way)]);
}

double predictedNs(const ContractionSite& site, const std::string& version, const std::vector<int64_t>& sizes,
                   int threads) {
  const passes::Contraction& c = site.contraction;
  const HostRates& host = hostRates();
  if (c.kind == passes::ContractionKind::convolution) {
    const std::optional<int> way = passes::wayNumber(version == "auto" ? ruleOf(c) : version);
    return convolutionCycles(site, static_cast<contraction::Way>(way.value_or(0)), sizes) /
           (host.gigahertz * threads);
  }
  const contraction::ProductMachine machine = productMachine();
  const contraction::ProductShape shape{sizes[0], c.columns, c.depth, threads, false};
  const std::optional<int> named = passes::scheduleNumber(version);
  const size_t schedule = named ? static_cast<size_t>(*named) : contraction::cheapestSchedule(shape, machine);
  return contraction::productCycles(shape, machine, contraction::kProductSchedules[schedule]) /
         host.gigahertz;
}

Result<std::vector<ContractionRow>> contractionRows(const LoadedModel& model, const SessionOptions& options,
                                                    const DimValues& dims) {
  const int threads = tuningThreads(options);
  TuningRecords records;
  if (const std::string path = tuningFileOf(options); !path.empty())
    if (Result<TuningRecords> read = readTuning(path); read.ok()) records = *std::move(read);
  std::vector<ContractionRow> rows;
  for (const ContractionSite& site : contractionSites(model)) {
    const passes::Contraction& c = site.contraction;
    const TunedOperation* tuned = records.find(c.key, threads);
    const bool policy = options.policies.count(toString(c.kind)) > 0;
    ContractionRow row;
    row.value = site.value;
    row.key = c.key;
    const bool product = c.kind == passes::ContractionKind::product;
    row.chosen = c.chosen != "auto" ? c.chosen : product ? "auto" : ruleOf(c);
    row.by = c.chosen == "auto" ? (tuned && tuned->chosen == "auto" ? "measured"
                                   : product                        ? "cost"
                                                                    : "rule")
             : policy           ? "policy"
                                : "measured";
    const std::optional<std::vector<int64_t>> sizes = sizesOf(model, site, dims);
    if (sizes) row.sizes = *sizes;
    for (const std::string& version : passes::versionsOf(c)) {
      if (version == "auto" && !product) continue;
      if (threads == 1 && version.size() > 5 && version.substr(version.size() - 5) == "-rows") continue;
      ContractionRow::Candidate candidate;
      candidate.version = version;
      if (sizes) candidate.predictedNs = predictedNs(site, version, *sizes, threads);
      for (const TunedCandidate& measured : tuned ? tuned->candidates : std::vector<TunedCandidate>())
        if (measured.version == version || (measured.version == "auto" && version == ruleOf(c)))
          candidate.measuredNs = measured.timeNs;
      row.candidates.push_back(std::move(candidate));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace dyn
