// Searches for the witnesses of a certificate (vm/certificate/witness.h): for a claim p >= 0, facts that are
// subtracted until no coefficient is negative, and cases of min, max and comparisons.
//
// Bounded: a claim takes at most some thousand steps. What is not found stays open in the certificate.
#pragma once

#include <unordered_map>

#include "compiler/export/certificate/byte_writer.h"
#include "vm/certificate/witness.h"

namespace dyn {

class WitnessSearch {
 public:
  // Appends a witness of `p` to `out`, or nothing and returns false.
  bool find(const certificate::Atoms& atoms, const certificate::Scope& scope,
            const certificate::Polynomial& p, ByteWriter& out);

 private:
  struct Step {
    uint64_t fact = 0;
    int64_t coefficient = 1;
    certificate::Monomial monomial;
  };
  struct Problem {
    const certificate::Atoms& atoms;
    const certificate::Scope& scope;
    const std::set<certificate::AtomId>& near;  // of the claim, and what they are operations on
    int deepest = 0;                            // so many steps at most
    int budget = 0;
    std::vector<Step> steps;
    int64_t scale = 1;
    std::set<std::map<certificate::Monomial, int64_t>> tried;  // what was left before
  };

  bool cases(const certificate::Atoms& atoms, const certificate::Scope& scope,
             const certificate::Polynomial& p, int depth, ByteWriter& out);
  static std::vector<certificate::AtomId> splittable(const certificate::Atoms& atoms,
                                                     const certificate::Scope& scope,
                                                     const certificate::Polynomial& p);
  bool scaled(const certificate::Atoms& atoms, const certificate::Scope& scope,
              const certificate::Polynomial& p, ByteWriter& out);
  bool peel(Problem& problem, const certificate::Polynomial& p, const certificate::Polynomial& fresh,
            int& tries);
  static void write(const Problem& problem, ByteWriter& out);
  bool combine(Problem& problem, const certificate::Polynomial& p, int depth);
  void noteFacts(const certificate::Atoms& atoms);

  std::unordered_map<certificate::AtomId, std::vector<size_t>>
      factsOf_;  // of the atoms, by what they mention
  size_t noted_ = 0;
  std::vector<certificate::Polynomial> scaledBy_;  // the divisors of the claim that is looked at
  const certificate::Atoms* atoms_ = nullptr;
  std::optional<certificate::AtomId> split_;  // the symbol whose cases are looked at: 0, at least 1
  int cases_ = 0;                             // tried for one claim
  int caseDepth_ = 0;
  int64_t steps_ = 0, work_ = 0;  // of all claims
};

}  // namespace dyn
