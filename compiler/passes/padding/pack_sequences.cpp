// Attention under a mask without the positions that the mask leaves out.
//   requires: types.  provides: nothing that others rely on.
//   before  %x [b, s, 8]  ...
//           %p = softmax(add(mul(matmul(%q, %k), c), %bias))  %z = matmul(%p, %v)
//           ...  %y = slice(%w, position 0)
//   after   %keep = greater(%bias, -9999) or position 0 or a sequence without any    [b, s]
//           %at = nonzero(%keep)  %lengths = reduce_sum(%keep)    once for all layers
//           %x1 = gather(%x, %at)                                 [1, n, 8]
//           ...  the same operations on [1, n, ...]
//           %z1 = packed_attention(%q1, %k1, %v1, %lengths, %bias1) {scale = c}
//           ...  %y = slice(%w1 put back where it came from, 0 elsewhere, position 0)
// The batch becomes one sequence of all positions that are kept, so that every operation which computes
// position by position (positions.h proves it) stays as it is, and attention sees the runs of it
// (masked_attention.h). A value is packed only if nobody reads a position of it that is left out. Under
// the policy `unseen` that is all: what is read of a sequence whatever its mask says is kept, and so is the
// whole of a sequence whose mask holds nowhere, as its softmax is over all of it; what the program itself
// multiplies by the mask is 0 elsewhere. Under `zero` results of the program are 0 at positions that the
// mask leaves out, and nothing is computed there. What is not packed, and who reads it, is told in
// remarks. Batches of other sizes, each with a mask of its own, are packed one after the other. Cost in
// IR size: some twenty operations, and about eight for each value that is packed or put back.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/padding/canonicalise.h"
#include "compiler/passes/padding/pair_values.h"
#include "compiler/passes/padding/position_needs.h"
#include "compiler/passes/padding/sequence_packer.h"
#include "compiler/passes/padding/split_heads.h"
#include "compiler/passes/rewrite/changed_main.h"

namespace dyn::passes {

namespace {

void tell(PassContext& context, const Module& module, const PositionNeeds& needs,
          const std::vector<ValueId>& mask) {
  const std::unordered_set<ValueId> ofMask = makersOf(*module.main(), mask);
  for (const auto& [value, why] : needs.reasons())
    if (why != "it is the mask" && !ofMask.count(value))
      context.remarks.push_back("padded: %" + module.context->valueName(value) + ": " + why);
}

// A value that the mask is made of and that is packed itself; kNoValue: absent.
ValueId packedInMask(const Function& main, const PositionNeeds& needs, const std::vector<ValueId>& mask) {
  const std::unordered_set<ValueId> reached = makersOf(main, mask);
  for (const Op* op : main.ops)
    for (const ValueDef& r : op->results)
      if (reached.count(r.id) && needs.isPacked(*op)) return r.id;
  return kNoValue;
}

std::string batchName(Dim batch, Dim sequence) { return batch.toString() + ", " + sequence.toString(); }

// The sites under the mask of the first, and what it is made of.
struct OneMask {
  MaskedSites sites;
  Dim batch, sequence;
  std::vector<ValueId> mask;
  bool areOthers = false;  // there are sites of another batch, or of other sequences
};

// Nothing is taken of batches that are packed, `seen`; the one that is taken joins them.
std::optional<OneMask> sitesOfOneMask(const InferredModule& inferred, PassContext& context,
                                      std::set<std::string>& seen, std::vector<std::string>& refusals) {
  const IrContext& ir = *inferred.module.context;
  AttentionSearch attentions = findMaskedAttention(inferred);
  RecurrenceSearch recurrences = findPaddedRecurrences(inferred);
  refusals = std::move(attentions.refusals);
  refusals.insert(refusals.end(), recurrences.refusals.begin(), recurrences.refusals.end());
  OneMask one;
  std::string mask, keys;
  const auto take = [&](const auto& site, std::vector<ValueId> values, const Op& op, const Op& named,
                        auto& sites) {
    if (seen.count(batchName(site.batch, site.sequence))) return;
    if (one.batch && (site.batch != one.batch || site.sequence != one.sequence)) {
      one.areOthers = true;
      return;
    }
    if (!one.batch) {
      one.batch = site.batch;
      one.sequence = site.sequence;
      one.mask = std::move(values);
      mask = site.mask;
    }
    if (site.mask == mask)
      sites.emplace(&op, site);
    else
      context.remarks.push_back("not packed: " + std::string(named.def->name) + " %" +
                                ir.valueName(named.results[0].id) + ": its mask is not the first one");
  };
  for (const MaskedAttention& site : attentions.found) {
    take(site, {site.bias, site.allowed}, *site.product, *site.softmax, one.sites.attentions);
    if (site.mask == mask) keys = site.keys;
  }
  const bool ofPairs = std::any_of(attentions.found.begin(), attentions.found.end(),
                                   [](const MaskedAttention& site) { return site.pairs; });
  for (const MaskedAttention& site : attentions.others)
    if ((site.mask == mask || (!keys.empty() && site.keys == keys)) && site.batch == one.batch &&
        site.sequence == one.sequence && !ofPairs)
      one.sites.keyReaders.insert({site.scores, site.product});
  for (PaddedRecurrence& site : recurrences.found) {
    site.isKernel &= context.target.isHostOnly();
    take(site, {site.lengths}, *site.loop, *site.loop, one.sites.recurrences);
  }
  for (const auto& [loop, site] : one.sites.recurrences)
    one.sites.reversals.insert(site.reversals.begin(), site.reversals.end());
  if (!one.batch) return std::nullopt;
  seen.insert(batchName(one.batch, one.sequence));
  return one;
}

// What is added to the scores of each sequence: what it is made by, and attentions left out where that reads
// other positions than those of query and key.
void addPairs(OneMask& one, const InferredModule& inferred, const Positions& positions,
              PassContext& context) {
  PairValues pairs(inferred, positions);
  for (const Op* op : inferred.module.main()->ops) {
    const auto site = one.sites.attentions.find(op);
    if (site == one.sites.attentions.end()) continue;
    std::string why;
    for (ValueId v : site->second.own) {
      const PairRegion region = pairs.regionOf(v);
      if (why.empty()) why = region.whyNot;
      one.sites.pairs.insert(region.ops.begin(), region.ops.end());
    }
    if (why.empty()) continue;
    context.remarks.push_back("not packed: softmax %" +
                              inferred.module.context->valueName(site->second.softmax->results[0].id) +
                              ": of what is added to its scores " + why);
    one.sites.attentions.erase(site);
  }
}

// "" or why a position that is read whatever the mask says forbids it.
std::string whyNotSeen(const MaskedSites& sites, const PositionNeeds& needs) {
  if (!needs.readsUnmasked()) return "";
  if (!sites.recurrences.empty()) return "padded positions are read";
  constexpr double kLosesScores = -1e30;  // whatever is added to a score leaves nothing of it
  for (const auto& [op, site] : sites.attentions) {
    if (site.pairs && site.fill > kLosesScores && needs.isPacked(*op))
      return "masked positions are read, as the mask adds only " + std::to_string(site.fill);
    if ((site.causal || site.window) && needs.isPacked(*op))
      return "masked positions are read, and one under a " +
             std::string(site.causal ? "causal mask" : "window of keys") + " may have no key";
  }
  return "";
}

// @main without the positions that the mask leaves out; null: nothing is packed, remarks say why.
struct PackedMain {
  const Function* main = nullptr;
  int64_t attentions = 0, recurrences = 0, packedOps = 0;
};
PackedMain unpadMask(const InferredModule& inferred, OneMask one, PaddedResults policy,
                     PassContext& context) {
  Positions positions(inferred, one.batch, one.sequence);
  addPairs(one, inferred, positions, context);
  if (one.sites.attentions.empty() && one.sites.recurrences.empty()) return {};
  PositionNeeds needs(inferred, positions, one.sites, policy);
  std::vector<ValueId> mask = one.mask;
  mask.insert(mask.end(), needs.factors().begin(), needs.factors().end());
  tell(context, inferred.module, needs, mask);
  if (const ValueId hidden = packedInMask(*inferred.module.main(), needs, mask); hidden != kNoValue) {
    context.remarks.push_back("not packed: the mask is made of %" +
                              inferred.module.context->valueName(hidden) + ", which it hides");
    return {};
  }
  if (const std::string why = whyNotSeen(one.sites, needs); !why.empty()) {
    context.remarks.push_back("not packed: " + why);
    return {};
  }
  const auto packedOf = [&](const auto& sites) {
    return std::count_if(sites.begin(), sites.end(),
                         [&](const auto& site) { return needs.isPacked(*site.first); });
  };
  PackedMain made;
  made.attentions = packedOf(one.sites.attentions);
  made.recurrences = packedOf(one.sites.recurrences);
  context.counters["attentions"] += made.attentions;
  context.counters["recurrences"] += made.recurrences;
  if (made.attentions + made.recurrences > 0)
    made.main = unpadded(inferred, positions, needs, one.sites, made.packedOps);
  return made;
}

// In the forms that attention is looked for in; as it is, where a size that only an operation makes known has
// another name then.
Result<InferredModule> withTypes(const Module& module) {
  DYN_TRY(InferredModule inferred, inferTypes(module));
  const Module forms = withHeadsApart(withCanonicalForms(inferred));
  if (forms.main() == inferred.module.main()) return inferred;
  Result<InferredModule> plain = inferTypes(forms);
  return plain.ok() ? std::move(plain) : std::move(inferred);
}

Result<Module> runPackSequences(const Module& module, PassContext& context) {
  const auto option = context.options.find("results");
  const std::string policyName = option == context.options.end() ? "unseen" : option->second;
  if (policyName != "unseen" && policyName != "zero")
    return makeError(DiagnosticId::usageError,
                     "pack_sequences: results are unseen or zero, not " + policyName);
  const PaddedResults policy = policyName == "zero" ? PaddedResults::zero : PaddedResults::unseen;
  if (!module.main()) return module;
  const std::vector<const Op*>& all = module.main()->ops;
  if (std::none_of(all.begin(), all.end(),
                   [](const Op* op) { return op->def == &ops::softmaxOp || op->def == &ops::loopOp; }))
    return module;
  DYN_TRY(InferredModule inferred, withTypes(module));
  std::vector<std::string> refusals;
  std::set<std::string> seen;
  std::optional<OneMask> one = sitesOfOneMask(inferred, context, seen, refusals);
  for (const std::string& refusal : refusals) context.remarks.push_back("not packed: " + refusal);
  // Batches with masks of their own, as of queries and documents, one after the other.
  bool changed = false;
  while (one) {
    const bool last = !one->areOthers;
    const PackedMain made = unpadMask(inferred, std::move(*one), policy, context);
    if (made.main) {
      Result<Module> next = withMain(inferred, made.main);
      if (next.ok()) {
        context.counters["packed_ops"] += made.packedOps;
        if (last) return next;
        DYN_TRY(inferred, inferTypes(*next));
        changed = true;
      } else {
        context.counters["attentions"] -= made.attentions;
        context.counters["recurrences"] -= made.recurrences;
        context.remarks.push_back("not packed: without padding " + next.error().message);
      }
    }
    if (last) break;
    one = sitesOfOneMask(inferred, context, seen, refusals);
  }
  return changed ? inferred.module : module;
}

}  // namespace

PassDef pack_sequencesPass() {
  return {
      .name = "pack_sequences",
      .summary = "packs sequences: skips the positions that a mask excludes, where no output depends on them",
      .requiredProperties = Property::types,
      .forbiddenProperties = Property::groups,
      .options = {{"results", "unseen, or zero: results at padded positions are 0; default unseen"}},
      .run = runPackSequences,
      .makesBuiltins = true,
      .onRequest = true};
}

}  // namespace dyn::passes
