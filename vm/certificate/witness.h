// Witnesses: why an inequality over atoms holds, in a form whose check is arithmetic only.
//
// The claim is p >= 0 in a scope. A witness is one of
//   0                        no coefficient of p is negative, and no atom may be
//   1 D n (f c m)*           D*p + D - 1 minus the sum of c * m * (fact f) is of the first form: c >= 1, and m is a
//                            monomial of atoms that are not negative. All are integers, so p >= 0 follows.
//   2 a w w                  w shows p >= 0 in each alternative of atom a (atoms.h)
//   4 f w                    w shows D*p + D - 1 >= 0 for D = (fact f) + 1, which is at least 1: p >= 0 as above
//   3                        there is none: the obligation stays open, and the report says so
// Fact 2*i is fact i of the atoms, 2*i + 1 fact i of the scope. Numbers as ByteReader::number reads them.
#pragma once

#include <span>

#include "vm/certificate/atoms.h"
#include "vm/certificate/package_text.h"

namespace dyn::certificate {

enum class Verdict : uint8_t { shown, open, wrong };

// Reads one witness and checks it.
Verdict checkWitness(ByteReader& in, const Atoms& atoms, const Scope& scope, const Polynomial& p,
                     int depth = 0);

// Who answers what a walk over a program (walk.h) has to know: the certificate of a package, whose answers
// are checked, or the one who makes a certificate and searches for them.
class Judge {
 public:
  virtual ~Judge() = default;
  // Is one of `claims` at least 0? The first one that is, or -1: open.
  virtual int firstNonNegative(const Atoms& atoms, const Scope& scope,
                               std::span<const Polynomial> claims) = 0;
  // The stated peak: a run has at most as many bytes as the largest of these. `live` is one of its sums.
  virtual const std::vector<Polynomial>& peak() = 0;
  virtual void live(const Atoms& atoms, const Polynomial& sum) = 0;
  // A witness was wrong: the walk ends.
  virtual bool isWrong() const = 0;
};

}  // namespace dyn::certificate
