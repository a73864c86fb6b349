#include "vm/certificate/witness.h"

#include <algorithm>

namespace dyn::certificate {

namespace {

constexpr int kSplitDepth = 12;

// One step of a combination; false when it is malformed.
bool subtractFact(ByteReader& in, const Atoms& atoms, const Scope& scope, Polynomial& rest) {
  const uint64_t which = in.number(), coefficient = in.number();
  const std::vector<Polynomial>& facts = which % 2 == 0 ? atoms.facts() : scope.facts;
  Polynomial factor;
  Monomial monomial(std::min<uint64_t>(in.number(), kMaximumDegree));
  for (AtomId& atom : monomial) {
    atom = static_cast<AtomId>(std::min<uint64_t>(in.number(), UINT32_MAX));
    if (atom >= atoms.size() || !atoms.isNonNegative(atom, scope)) return false;
  }
  if (in.failed() || which / 2 >= facts.size() || coefficient < 1 || coefficient > INT64_MAX) return false;
  std::sort(monomial.begin(), monomial.end());
  factor.terms[monomial] = static_cast<int64_t>(coefficient);
  const Value part = product(factor, facts[which / 2]);
  const Value left = part ? scaledSum(rest, *part, -1) : std::nullopt;
  if (!left) return false;
  rest = *left;
  return true;
}

}  // namespace

Verdict checkWitness(ByteReader& in, const Atoms& atoms, const Scope& scope, const Polynomial& p, int depth) {
  switch (in.number()) {
    case 0:
      return !in.failed() && atoms.isPlainlyNonNegative(p, scope) ? Verdict::shown : Verdict::wrong;
    case 1: {
      const uint64_t scale = in.number();
      if (in.failed() || scale < 1 || scale > (1u << 30)) return Verdict::wrong;
      const Value scaled =
          scaledSum(Polynomial(static_cast<int64_t>(scale) - 1), p, static_cast<int64_t>(scale));
      if (!scaled) return Verdict::wrong;
      Polynomial rest = *scaled;
      for (uint64_t left = in.count(in.number()); left > 0; --left)
        if (!subtractFact(in, atoms, scope, rest)) return Verdict::wrong;
      return !in.failed() && atoms.isPlainlyNonNegative(rest, scope) ? Verdict::shown : Verdict::wrong;
    }
    case 2: {
      const uint64_t atom = in.number();
      if (in.failed() || atom >= atoms.size() || depth > kSplitDepth) return Verdict::wrong;
      const auto cases = alternatives(atoms, static_cast<AtomId>(atom));
      if (cases.empty()) return Verdict::wrong;
      for (const Alternative& each : cases) {
        Scope inside = scope;
        for (const Polynomial& fact : each.facts) learn(inside, atoms, fact);
        const Value claim = replaced(p, static_cast<AtomId>(atom), each.value);
        if (!claim || checkWitness(in, atoms, inside, *claim, depth + 1) != Verdict::shown)
          return Verdict::wrong;
      }
      return Verdict::shown;
    }
    case 4: {
      const uint64_t which = in.number();
      const std::vector<Polynomial>& facts = which % 2 == 0 ? atoms.facts() : scope.facts;
      if (in.failed() || which / 2 >= facts.size() || depth > kSplitDepth) return Verdict::wrong;
      const Value factor = sum(facts[which / 2], Polynomial(1));
      const Value claim = sum(factor ? product(*factor, p) : factor, facts[which / 2]);
      return claim ? checkWitness(in, atoms, scope, *claim, depth + 1) : Verdict::wrong;
    }
    case 3:
      return in.failed() || depth > 0 ? Verdict::wrong : Verdict::open;
    default:
      return Verdict::wrong;
  }
}

}  // namespace dyn::certificate
