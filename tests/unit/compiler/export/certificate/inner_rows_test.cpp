// Epilogues that hand-written kernels call for rows of a result: where whole rows may be told as one long
// row, each place must stay inside of its tensor then, too.
#include <gtest/gtest.h>

#include "compiler/export/certificate/kernel_accesses.h"
#include "compiler/export/certificate/witness_search.h"
#include "vm/certificate/accesses.h"

namespace dyn {
namespace {

using certificate::Atoms;
using certificate::Polynomial;
using certificate::Scope;

class Searching : public certificate::Judge {
 public:
  int firstNonNegative(const Atoms& atoms, const Scope& scope, std::span<const Polynomial> claims) override {
    ByteWriter out;
    for (size_t i = 0; i < claims.size(); ++i)
      if (search_.find(atoms, scope, claims[i], out)) return static_cast<int>(i);
    return -1;
  }
  const std::vector<Polynomial>& peak() override { return none_; }
  void live(const Atoms&, const Polynomial&) override {}
  bool isWrong() const override { return false; }

 private:
  WitnessSearch search_;
  std::vector<Polynomial> none_;
};

// What is open of an epilogue over [n, m] that is told n*m elements as one row, or rows of m. `extra`: a
// buffer of m elements or of [n, m]; `element` is what is added.
std::vector<std::string> open(const std::string& extra, const std::string& element, bool isOneRow) {
  DimContext dims;
  auto kernel = loop::parseKernel(
      dims, "kernel @epilogue(in x: f32[" + extra +
                "], in c: f32[n, m], out y: f32[n, m]) scalars (n; m; p; q) "
                "units u < n {\n  for e < q - p vector {\n    y[u, p + e] = c[u, p + e] + " +
                element + "\n  }\n}\n");
  EXPECT_TRUE(kernel.ok()) << kernel.error().toString();
  const std::string bytes = writeAccesses(*kernel);
  certificate::ByteReader in(bytes);
  certificate::KernelAccesses accesses;
  EXPECT_TRUE(certificate::readAccesses(in, accesses));
  Atoms atoms;
  Scope scope;
  const Polynomial n = atoms.symbol("n", true), m = atoms.symbol("m", true), p = atoms.symbol("p", true),
                   q = atoms.symbol("q", true);
  const certificate::Value all = product(n, m), columns = isOneRow ? all : m;
  certificate::learn(scope, atoms, *difference(columns, q));
  const certificate::Value whole = product(*all, Polynomial(4)),
                           ofExtra = extra == "m" ? product(m, Polynomial(4)) : whole;
  const certificate::Launch launch{
      &accesses, isOneRow ? Polynomial(1) : n, {n, m, p, q}, {ofExtra, whole, whole}, {true, false, false},
      isOneRow};
  Searching judge;
  uint64_t shown = 0;
  std::vector<std::string> found;
  EXPECT_TRUE(certificate::checkLaunch(launch, atoms, scope, judge, shown, found));
  EXPECT_GT(shown, 0U);
  return found;
}

TEST(InnerRows, AnEvenEpilogueMayBeToldOneRow) {
  EXPECT_EQ(open("n, m", "x[u, p + e]", false), std::vector<std::string>());
  EXPECT_EQ(open("n, m", "x[u, p + e]", true), std::vector<std::string>());
}

TEST(InnerRows, OneOfAColumnMayNot) {
  EXPECT_EQ(open("m", "x[p + e]", false), std::vector<std::string>());
  EXPECT_EQ(open("m", "x[p + e]", true), std::vector<std::string>{"a place of buffer 0"});
}

}  // namespace
}  // namespace dyn
