// Rematerialisation: a value that is cheap to make is made again beside a late use instead of being kept
// until then.
//   requires: types.  provides: nothing that others rely on.
//   before  %e = expand(%x, %s) : T[(n, m)]        after  %e = expand(%x, %s) : T[(n, m)]
//           %a = matmul(%e, %w)                           %a = matmul(%e, %w)
//           ... with %e alive, the most memory            ...
//           %b = matmul(%e, %v)                           %f = expand(%x, %s) : T[(n, m)]
//                                                         %b = matmul(%f, %v)
// Only where memory is asked to be small: with dims given, for which the sums of live bytes are compared in
// numbers. Each step takes the value that lets the largest sum fall, and only where it is proved that no sum
// is above what was reached before, whatever the dims: what the value is made from must live longer then.
// Cheap is what has one result, no effects, and elements that each follow from elements at one place: no
// reduction, no contraction. Elements are computed by the same operations, so they are the same to the last
// bit. Cost in IR size: an operation, and its views, for each value that is made again.
#include <algorithm>
#include <set>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/live_bytes.h"
#include "compiler/passes/rewrite/kernel_bodies.h"

namespace dyn::passes {

namespace {

constexpr size_t kMostRematerialisedOps = 2000;  // of a function: each step looks at all of them
constexpr size_t kMostRematerialisedSteps = 64;  // values made again in a function
constexpr size_t kMostTried = 16;                // values looked at in a step, the largest first

bool isCheap(const OpDef& def) {
  if (def.hasEffects || def.results != 1 || def.lowering != LoweringKind::loops) return false;
  return def.cls == OpClass::elementwise || def.cls == OpClass::view || def.cls == OpClass::injective;
}

bool isCheap(const Op& op) {
  if (op.results.size() != 1 || !op.results[0].type || !op.results[0].type.isTensor()) return false;
  if (op.def != &ops::fusedOp) return isCheap(*op.def) && op.regions.empty();
  const Function& body = *op.regions[0];
  return std::all_of(body.ops.begin(), body.ops.end(), [](const Op* inner) {
    return inner->def == &ops::constantOp || inner->def->traits.view || isCheap(*inner->def);
  });
}

class Rematerialiser {
 public:
  Rematerialiser(const Module& module, PassContext& context, std::map<std::string, int64_t> sample)
      : ir_(*module.context), context_(context), live_(module, std::move(sample)) {}

  const Function* run(const Function& function) {
    if (function.ops.size() > kMostRematerialisedOps) return &function;
    const Function* best = &function;
    live_.describe(function);
    std::vector<Dim> sums = live_.sums(function.ops);
    const int64_t before = live_.peakOf(sums);
    int64_t madeCount = 0;
    for (size_t step = 0; step < kMostRematerialisedSteps && !context_.isCancelled(); ++step) {
      const Function* next = improved(*best, sums);
      if (!next) break;
      best = next;
      live_.describe(*best);
      sums = live_.sums(best->ops);
      ++madeCount;
    }
    if (madeCount == 0) return &function;
    valuesCount_ += madeCount;
    context_.remarks.push_back("@" + function.name + ": " + std::to_string(madeCount) +
                               " values made again, live bytes for the dims given " + std::to_string(before) +
                               " -> " + std::to_string(live_.peakOf(sums)));
    return best;
  }

  int64_t valuesCount() const { return valuesCount_; }

 private:
  // How full memory gets: the largest sum, and how often it is reached.
  std::pair<int64_t, int64_t> fullness(const std::vector<Dim>& sums) {
    const int64_t peak = live_.peakOf(sums);
    return {peak,
            std::count_if(sums.begin(), sums.end(), [&](Dim sum) { return live_.sampleOf(sum) == peak; })};
  }

  // A value alive at the peak, and the first operation after it that reads the value.
  struct Candidate {
    ValueId value;
    size_t madeAt, wantedAt;
    int64_t bytes;
  };

  // Null where nothing helps.
  const Function* improved(const Function& function, const std::vector<Dim>& sums) {
    const std::pair<int64_t, int64_t> now = fullness(sums);
    const auto peak = static_cast<size_t>(
        std::find_if(sums.begin(), sums.end(), [&](Dim sum) { return live_.sampleOf(sum) == now.first; }) -
        sums.begin());
    std::vector<Candidate> candidates = candidatesAt(function, peak);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bytes > b.bytes; });
    if (candidates.size() > kMostTried) candidates.resize(kMostTried);
    for (const Candidate& candidate : candidates) {
      const Function* tried = madeAgain(function, candidate);
      live_.describe(*tried);
      const std::vector<Dim> triedSums = live_.sums(tried->ops);
      const bool better = fullness(triedSums) < now;
      if (better && live_.neverWorse(triedSums, sums)) return tried;
      if (better)
        context_.remarks.push_back("@" + function.name + ": making " + ir_.valueName(candidate.value) +
                                   " again is not proved to need no more for other dims");
      live_.describe(function);
    }
    return nullptr;
  }

  std::vector<Candidate> candidatesAt(const Function& function, size_t peak) {
    std::vector<Candidate> candidates;
    std::set<SymbolId> known;
    for (const Parameter& p : function.parameters)
      if (p.type)
        for (SymbolId s : symbolsOf(p.type)) known.insert(s);
    for (size_t at = 0; at < peak; ++at) {
      const Op& op = *function.ops[at];
      std::set<SymbolId> own;
      collectOwnSymbols(op, own);
      // What finds out a size is not done twice.
      const bool sizesKnown = std::includes(known.begin(), known.end(), own.begin(), own.end());
      known.insert(own.begin(), own.end());
      if (!sizesKnown || op.def->traits.view || !isCheap(op)) continue;
      const ValueId value = op.results[0].id;
      if (live_.of(&op).makes.empty() || live_.outlives(value)) continue;
      const std::optional<size_t> wanted = wantedAfter(function, value, peak);
      if (wanted) candidates.push_back({value, at, *wanted, live_.sampleOf(live_.sizeOf(value))});
    }
    return candidates;
  }

  // The first operation after `peak` that reads the value; nullopt where `peak` does, or a body of another
  // operation may.
  std::optional<size_t> wantedAfter(const Function& function, ValueId value, size_t peak) const {
    std::optional<size_t> first;
    size_t last = 0;
    for (size_t at = peak; at < function.ops.size(); ++at) {
      const Op& op = *function.ops[at];
      const std::vector<ValueId>& reads = live_.of(&op).reads;
      if (std::find(reads.begin(), reads.end(), value) == reads.end()) continue;
      if (at == peak || (!op.regions.empty() && op.def != &ops::fusedOp)) return std::nullopt;
      if (op.def->traits.view) continue;  // it is shown again where it is wanted
      if (!first) first = at;
      last = at;
    }
    // Views of it may be read in bodies, too: then it lives longer than the operations here tell.
    for (const auto& [v, lastUse] : live_.liveness().lastUse)
      if (live_.liveness().rootOf(v) == value && lastUse > last) return std::nullopt;
    return first;
  }

  const Op* copied(const Op& op) {
    Op copy = op;
    for (ValueDef& r : copy.results) r.id = ir_.newValue();
    for (const Function*& region : copy.regions)
      region = cloneWithNewIds(ir_, *region, ir_.uniqueFunctionName(region->name));
    return ir_.own(std::move(copy));
  }

  // From the candidate's use on, all that reads the value or a view of it reads what is made there.
  const Function* madeAgain(const Function& function, const Candidate& candidate) {
    Function changed = function;
    changed.ops.assign(function.ops.begin(),
                       function.ops.begin() + static_cast<std::ptrdiff_t>(candidate.wantedAt));
    ValueMap again;
    const Op* maker = copied(*function.ops[candidate.madeAt]);
    again[candidate.value] = maker->results[0].id;
    changed.ops.push_back(maker);
    // Views of it, as they were written.
    for (size_t at = candidate.madeAt + 1; at < candidate.wantedAt; ++at) {
      const Op& op = *function.ops[at];
      if (!op.def->traits.view || !again.count(op.operands[0])) continue;
      Op view = op;
      view.operands[0] = again.at(op.operands[0]);
      const Op* shown = copied(*ir_.own(std::move(view)));
      again[op.results[0].id] = shown->results[0].id;
      changed.ops.push_back(shown);
    }
    for (size_t at = candidate.wantedAt; at < function.ops.size(); ++at) {
      const Op& op = *function.ops[at];
      if (std::none_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return again.count(v) > 0; })) {
        changed.ops.push_back(&op);
        continue;
      }
      Op reader = op;
      for (ValueId& v : reader.operands)
        if (auto found = again.find(v); found != again.end()) v = found->second;
      changed.ops.push_back(ir_.own(std::move(reader)));
    }
    dropUnreadViews(changed, again);
    return ir_.own(std::move(changed));
  }

  // What shows the old value for those only that read the new one now.
  static void dropUnreadViews(Function& function, const ValueMap& again) {
    std::unordered_set<ValueId> read(function.results.begin(), function.results.end());
    for (size_t at = function.ops.size(); at-- > 0;) {
      const Op& op = *function.ops[at];
      if (op.def->traits.view && again.count(op.results[0].id) && !read.count(op.results[0].id))
        function.ops.erase(function.ops.begin() + static_cast<std::ptrdiff_t>(at));
      else
        read.insert(op.operands.begin(), op.operands.end());
    }
  }

  IrContext& ir_;
  PassContext& context_;
  LiveBytes live_;
  int64_t valuesCount_ = 0;
};

Result<Module> runRematerialise(const Module& module, PassContext& context) {
  const auto dims = context.options.find("dims");
  if (dims == context.options.end()) return module;
  DYN_TRY(auto sample, parseSampleDims(dims->second));
  const std::unordered_set<const Function*> kernelBodies = kernelBodiesOf(module);
  Rematerialiser rematerialiser(module, context, std::move(sample));
  DYN_TRY(Module changed, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            return kernelBodies.count(&function) ? &function : rematerialiser.run(function);
          }));
  context.counters["values_made_again"] = rematerialiser.valuesCount();
  return changed;
}

constexpr PassOptionSpec kRematerialiseOptions[] = {
    {"dims", "NAME:N ..., the sizes for which memory is to be small; without it nothing is made again"}};

}  // namespace

PassDef rematerialisePass() {
  return {.name = "rematerialise",
          .summary =
              "makes cheap values again beside late uses where less memory then lives at once, when that is "
              "asked for",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {kRematerialiseOptions, kRematerialiseOptions + std::size(kRematerialiseOptions)},
          .run = runRematerialise};
}

}  // namespace dyn::passes
