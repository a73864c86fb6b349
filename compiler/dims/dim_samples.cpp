// Values of dims at a few assignments that everything known allows: what one of them refutes needs no search
// for a proof.
//
//   n - 3 at n = 0, 1, 12, ...: negative at the first, so no search for n - 3 >= 0; 9 at the third, so none for n - 3 < 0
//
// Samples only end a search early; they never prove anything. An assignment that what is known forbids is
// left out by a mask; a proof that needs facts which the mask does not look at (chains of more than kMaxSums
// sums) is not cut short, for then no assignment counts.
#include <algorithm>
#include <bit>

#include "compiler/dims/dim_solver_state.h"

namespace dyn {
namespace {

using SamplesImpl = DimSolver::Impl;
constexpr size_t kSamples = SampledValues::kCount;
constexpr size_t kMaxSums = 32;

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

bool allows(const SymbolKnowledge& k, int64_t value) {
  const Interval& i = k.range.range;
  return (!i.low || value >= *i.low) && (!i.high || value <= *i.high) && value % k.multiple == 0;
}

// Least, one more, all symbols alike at two sizes, and four that differ from symbol to symbol.
SampledValues valuesOfSymbol(const SymbolKnowledge& k, SymbolId s) {
  SampledValues v;
  auto at = [&](size_t i, int64_t wanted) {
    const int64_t multiples = *checkedFloorDiv(wanted, k.multiple);
    v.at[i] = multiples * k.multiple;
    if (allows(k, v.at[i])) v.defined |= static_cast<uint8_t>(1u << i);
  };
  const Interval& range = k.range.range;
  constexpr int64_t kFar = int64_t{1} << 40;
  if (k.multiple > kFar || (range.low && (*range.low > kFar || *range.low < -kFar))) return v;
  const int64_t least = *checkedCeilDiv(range.low.value_or(-40), k.multiple) * k.multiple;
  const int64_t most = std::min(range.high.value_or(kFar), kFar);
  if (most < least) return v;
  const uint64_t places = static_cast<uint64_t>((most - least) / k.multiple) + 1;
  auto place = [&](uint64_t number) { return least + static_cast<int64_t>(number % places) * k.multiple; };
  at(0, least);
  at(1, place(std::min<uint64_t>(1, places - 1)));
  at(2, std::clamp<int64_t>(12, least, most));
  at(3, std::clamp<int64_t>(210, least, most));
  const uint64_t spans[] = {7, 40, 40, 1000};
  for (size_t i = 0; i < 4; ++i) at(4 + i, place(mixed(s * 4 + i + 1) % spans[i]));
  return v;
}

SampledValues combined(const DimNode* n, const std::vector<SampledValues>& operands) {
  SampledValues v;
  v.defined = 0xff;
  for (const SampledValues& o : operands) v.defined &= o.defined;
  for (size_t i = 0; i < kSamples; ++i) {
    if (!(v.defined >> i & 1)) continue;
    std::optional<int64_t> r = operands[0].at[i];
    for (size_t j = 1; j < operands.size() && r; ++j) {
      const int64_t x = operands[j].at[i];
      switch (n->kind) {
        case DimKind::add:
          r = checkedAdd(*r, x);
          break;
        case DimKind::mul:
          r = checkedMul(*r, x);
          break;
        case DimKind::floorDiv:
          r = checkedFloorDiv(*r, x);
          break;
        case DimKind::ceilDiv:
          r = checkedCeilDiv(*r, x);
          break;
        case DimKind::mod:
          r = checkedMod(*r, x);
          break;
        default:
          r = n->kind == DimKind::min ? std::min(*r, x) : std::max(*r, x);
      }
    }
    if (r)
      v.at[i] = *r;
    else
      v.defined &= static_cast<uint8_t>(~(1u << i));
  }
  return v;
}

}  // namespace

// Values of symbols stay as they are while most of them are allowed, so that what was worked out from them
// stays, too.
const SampledValues& DimSolver::Impl::sampledSymbol(SymbolId s) {
  if (s >= sampledSymbols.size()) sampledSymbols.resize(context->symbolCount());
  Remembered<SampledValues>& kept = sampledSymbols[s];
  if (kept.generation == generation) return kept.value;
  const SymbolKnowledge& k = known(s);
  uint8_t fitting = 0;
  for (size_t i = 0; i < kSamples; ++i)
    if ((kept.value.defined >> i & 1) && allows(k, kept.value.at[i]))
      fitting |= static_cast<uint8_t>(1u << i);
  if (kept.generation == 0 || std::popcount(fitting) < 4) {
    SampledValues fresh = valuesOfSymbol(k, s);
    if (kept.generation != 0 && (fresh.at != kept.value.at || fresh.defined != kept.value.defined))
      ++sampleEpoch;
    kept.value = fresh;
  }
  kept.generation = generation;
  return kept.value;
}

SampledValues DimSolver::Impl::sampled(Dim d) {
  for (SymbolId s : symbolsOf(d)) sampledSymbol(s);  // first: the epoch may change
  auto slot = [&](const DimNode* n) -> Remembered<SampledValues>& {
    if (n->id >= sampledAt.size()) sampledAt.resize(n->id + n->id / 2 + 16);
    if (!sampledAt[n->id]) {
      sampledNodes.emplace_back();
      sampledAt[n->id] = static_cast<uint32_t>(sampledNodes.size() - 1);
    }
    return sampledNodes[sampledAt[n->id]];
  };
  auto ready = [&](const DimNode* n) { return slot(n).generation == sampleEpoch; };
  std::vector<SampledValues> operands;
  visitOperandsFirst(DimBuilder::node(d), ready, [&](const DimNode* done) {
    count(1 + done->operands.size());
    SampledValues value;
    if (done->kind == DimKind::constant) {
      value.at.fill(done->value);
      value.defined = 0xff;
    } else if (done->kind == DimKind::symbol) {
      value = sampledSymbol(done->symbol);
      value.defined = 0xff;  // whether it is allowed is asked of each question, as it changes with each fact
    } else if (done->kind != DimKind::invalid) {
      operands.clear();
      for (Dim o : done->operands) operands.push_back(slot(DimBuilder::node(o)).value);
      value = combined(done, operands);
    }
    slot(done) = {sampleEpoch, value};
    return true;
  });
  return slot(DimBuilder::node(d)).value;
}

// The assignments that the ranges of all symbols allow which sums connect with s, and those sums themselves.
uint8_t DimSolver::Impl::allowedSamples(SymbolId s) {
  if (s >= allowedAt.size()) allowedAt.resize(context->symbolCount());
  if (allowedAt[s].generation == generation) return allowedAt[s].value;
  std::vector<SymbolId> symbols{s};
  std::vector<uint32_t> found;
  bool all = true;
  uint8_t mask = 0xff;
  for (size_t i = 0; i < symbols.size() && all; ++i) {
    const SampledValues& values = sampledSymbol(symbols[i]);
    for (size_t k = 0; k < kSamples; ++k)
      if (!(values.defined >> k & 1) || !allows(known(symbols[i]), values.at[k]))
        mask &= static_cast<uint8_t>(~(1u << k));
    if (symbols[i] >= sumsWithSymbol.size()) continue;
    for (uint32_t index : sumsWithSymbol[symbols[i]]) {
      count(1);
      if (!sums[index].live || std::find(found.begin(), found.end(), index) != found.end()) continue;
      found.push_back(index);
      for (SymbolId other : symbolsOf(sums[index].sum))
        if (std::find(symbols.begin(), symbols.end(), other) == symbols.end()) symbols.push_back(other);
      if (found.size() > kMaxSums || symbols.size() > 2 * kMaxSums) all = false;
      if (!all) break;
    }
  }
  if (!all) {
    allowedAt[s] = {generation, 0};
    return 0;
  }
  for (uint32_t index : found) {
    const SumKnowledge& sum = sums[index];
    const SampledValues values = sampled(sum.sum);
    for (size_t k = 0; k < kSamples; ++k) {
      const int64_t v = values.at[k];
      const Interval& range = sum.range.range;
      const bool fits = (values.defined >> k & 1) && (!range.low || v >= *range.low) &&
                        (!range.high || v <= *range.high) && *checkedMod(v, sum.modulus) == sum.residue;
      if (!fits) mask &= static_cast<uint8_t>(~(1u << k));
    }
  }
  for (SymbolId other : symbols) {
    if (other >= allowedAt.size()) allowedAt.resize(context->symbolCount());
    allowedAt[other] = {generation, mask};
  }
  return mask;
}

SampledSigns DimSolver::Impl::sampledSigns(Dim d) {
  SampledSigns signs;
  if (DimBuilder::node(d)->symbolSet == kManySymbols) return signs;
  const std::vector<SymbolId> symbols = symbolsOf(d);
  uint8_t mask = 0xff;
  for (SymbolId s : symbols)
    if (mask) mask &= allowedSamples(s);
  if (!mask) return signs;
  const SampledValues values = sampled(d);
  for (size_t k = 0; k < kSamples; ++k) {
    if (!(mask & values.defined & (1u << k))) continue;
    signs.negative = signs.negative || values.at[k] < 0;
    signs.zero = signs.zero || values.at[k] == 0;
    signs.positive = signs.positive || values.at[k] > 0;
  }
  return signs;
}

}  // namespace dyn
