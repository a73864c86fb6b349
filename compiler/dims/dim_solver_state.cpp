// Definitions, proofs and undoing: the parts of the solver's state that learning and proving share.
#include "compiler/dims/dim_solver_state.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace dyn {

ProofId DimSolver::Impl::prove(uint32_t fact, std::vector<ProofId> parents) {
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  if (!parents.empty() && parents[0] == 0) parents.erase(parents.begin());
  if (fact == kNoFact && parents.size() <= 1) return parents.empty() ? 0 : parents[0];
  proofs.push_back({fact, std::move(parents)});
  return static_cast<ProofId>(proofs.size() - 1);
}

std::vector<uint32_t> DimSolver::Impl::factsBehind(const std::vector<ProofId>& proofIds) const {
  std::vector<uint32_t> out;
  std::vector<ProofId> stack(proofIds);
  std::unordered_set<ProofId> seen;
  while (!stack.empty()) {
    ProofId id = stack.back();
    stack.pop_back();
    if (id == 0 || !seen.insert(id).second) continue;
    if (proofs[id].fact != kNoFact) out.push_back(proofs[id].fact);
    stack.insert(stack.end(), proofs[id].parents.begin(), proofs[id].parents.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Iterative: definitions may form long chains. A chain once walked is kept short by `shortcut`.
const DimSolver::Impl::Resolved& DimSolver::Impl::resolve(SymbolId symbol) {
  if (resolved.size() < context->symbolCount()) resolved.resize(context->symbolCount());
  std::vector<SymbolId> stack{symbol};
  while (!stack.empty()) {
    SymbolId s = stack.back();
    count(1);
    if (resolved[s].generation == definitionGeneration) {
      stack.pop_back();
      continue;
    }
    if (!defined(s)) {
      resolved[s] = {definitionGeneration, {context->symbolById(s), 0}};
      stack.pop_back();
      continue;
    }
    Dim value = known(s).shortcut;
    std::vector<ProofId> proof{known(s).shortcutProof};
    bool ready = true, changed = false;
    for (SymbolId t : symbolsOf(value)) {
      if (!defined(t)) continue;
      changed = true;
      if (resolved[t].generation == definitionGeneration) {
        proof.push_back(resolved[t].value.proof);
      } else {
        ready = false;
        stack.push_back(t);
      }
    }
    if (!ready) continue;
    stack.pop_back();
    if (changed) {
      Dim next = substitute(value, [&](SymbolId t) { return defined(t) ? resolved[t].value.dim : Dim(); });
      SymbolKnowledge& k = known(s);
      undo.push_back([s, before = k.shortcut, proofBefore = k.shortcutProof](Impl& impl) {
        impl.known(s).shortcut = before;
        impl.known(s).shortcutProof = proofBefore;
        ++impl.definitionGeneration;
      });
      k.shortcut = value = next;
      k.shortcutProof = prove(kNoFact, std::move(proof));
    }
    resolved[s] = {definitionGeneration, {value, known(s).shortcutProof}};
  }
  return resolved[symbol].value;
}

// Operands first, each node once between two definitions.
Dim DimSolver::Impl::canonical(Dim d, std::vector<ProofId>* proof) {
  if (definitionCount == 0 || d.isConstant() || d.isInvalid()) return d;
  if (proof)
    for (SymbolId s : symbolsOf(d))
      if (const Resolved& r = resolve(s); r.proof) proof->push_back(r.proof);
  DimBuilder builder(*context);
  auto known = [&](const DimNode* n) -> std::optional<Dim> {
    if (n->symbolSet == 0) return DimBuilder::dim(n);
    if (n->kind == DimKind::symbol) return resolve(n->symbol).dim;
    if (n->id >= canonicals.size() || canonicals[n->id].generation != definitionGeneration)
      return std::nullopt;
    return canonicals[n->id].value;
  };
  visitOperandsFirst(DimBuilder::node(d), known, [&](const DimNode* done) {
    count(1 + done->operands.size());
    std::vector<Dim> operands;
    bool changed = false;
    for (Dim o : done->operands) {
      operands.push_back(*known(DimBuilder::node(o)));
      changed = changed || operands.back() != o;
    }
    if (done->id >= canonicals.size()) canonicals.resize(done->id + done->id / 2 + 16);
    canonicals[done->id] = {definitionGeneration,
                            changed ? builder.rebuild(done, operands) : DimBuilder::dim(done)};
    return true;
  });
  return *known(DimBuilder::node(d));
}

void DimSolver::Impl::rollback(size_t mark) {
  while (undo.size() > mark) {
    auto step = std::move(undo.back());
    undo.pop_back();
    step(*this);
  }
  ++generation;
}

NormalSum DimSolver::Impl::normalSum(DimContext& context, Dim d) {
  DimBuilder builder(context);
  DimPoly p = DimBuilder::poly(d);
  NormalSum normal;
  if (p.bad || p.terms.empty()) return normal;
  if (p.terms.back().monomial->degree == 0) {
    normal.offset = p.terms.back().coefficient;
    p.terms.pop_back();
  }
  if (p.terms.empty()) return normal;
  int64_t common = 0;
  for (const DimTerm& t : p.terms) {
    if (t.coefficient == INT64_MIN) return normal;
    common = std::gcd(common, t.coefficient);
  }
  normal.factor = p.terms[0].coefficient < 0 ? -common : common;
  for (DimTerm& t : p.terms) t.coefficient /= normal.factor;
  normal.sum = builder.build(p);
  return normal;
}

const SumKnowledge* DimSolver::Impl::sumKnowledge(Dim sum) const {
  auto found = sumIndex.find(DimBuilder::node(sum));
  return found != sumIndex.end() && sums[found->second].live ? &sums[found->second] : nullptr;
}

}  // namespace dyn
