#include "compiler/loop/access/access_prover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "compiler/loop/kernel.h"

namespace dyn::loop {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> unproven(const std::string& text,
                                  const std::function<void(DimContext&, DimSolver&)>& facts = {}) {
  DimContext dims;
  auto parsed = parseKernel(dims, text);
  if (!parsed.ok()) return {"parse: " + parsed.error().toString()};
  if (auto status = verify(*parsed); !status.ok()) return {status.error().message};
  DimSolver solver(dims);
  if (facts) facts(dims, solver);
  return unprovenAccesses(*parsed, &solver);
}

std::string kernel(const std::string& parameters, const std::string& rest) {
  return "kernel @k(" + parameters + ") scalars (n; m; k) " + rest + "\n";
}

TEST(UnprovenAccesses, simpleLoops) {
  const std::string p = "in x: f32[n, m], out y: f32[n, m]";
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < m { y[u, i] = x[u, i] } }")), IsEmpty());
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < m { y[u, i] = x[i, u] } }")), SizeIs(1));
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < dim(m + 1) { y[u, i] = 0.0 } }")), SizeIs(1));
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < m { y[u, i + 1] = 0.0 } }")), SizeIs(1));
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < m { y[u, i - 1] = 0.0 } }")), SizeIs(1));
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < dim(m - 1) { y[u, i + 1] = 0.0 } }")), IsEmpty());
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < m { y[u, m - 1 - i] = 0.0 } }")), IsEmpty());
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n y[u, 0] = 0.0 }")), SizeIs(1)) << "m may be 0";
}

TEST(UnprovenAccesses, linearIndicesAndDivision) {
  const std::string p = "in x: f32[dim(n*m)], out y: f32[n, m]";
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < m { y[u, i] = x[u * m + i] } }")), IsEmpty());
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < m { y[u, i] = x[i * n + u] } }")), IsEmpty());
  EXPECT_THAT(unproven(kernel(p, "units u < n {\n for i < m { y[u, i] = x[u * n + i] } }")), SizeIs(1));
  EXPECT_THAT(unproven(kernel(p, "units u < dim(n*m) {\n y[floorDiv(u, m), mod(u, m)] = x[u] }")), IsEmpty());
  EXPECT_THAT(unproven(kernel(p, "units u < dim(n*m) {\n y[floorDiv(u, n), mod(u, m)] = x[u] }")), SizeIs(1));
  EXPECT_THAT(unproven(kernel(p, "units u < dim(n*m) {\n y[floorDiv(u, m), mod(u, n)] = x[u] }")), SizeIs(1));
}

TEST(UnprovenAccesses, blocksWithTails) {
  const std::string p = "in x: f32[n], out y: f32[n]";
  EXPECT_THAT(
      unproven(kernel(
          p, "units u < dim(ceildiv(n, 8)) {\n for i < min(8, n - u * 8) { y[u * 8 + i] = x[u * 8 + i] } }")),
      IsEmpty());
  EXPECT_THAT(unproven(kernel(p, "units u < dim(ceildiv(n, 8)) {\n for i < 8 { y[u * 8 + i] = 0.0 } }")),
              SizeIs(1));
  EXPECT_THAT(
      unproven(kernel(
          p, "units u < dim(ceildiv(n, 8)) {\n for i < 8 { if u * 8 + i < n { y[u * 8 + i] = 0.0 } } }")),
      IsEmpty());
  EXPECT_THAT(unproven(kernel(p, "units u < dim(floordiv(n, 8)) {\n for i < 8 { y[u * 8 + i] = 0.0 } }")),
              IsEmpty());
}

TEST(UnprovenAccesses, guardsCountWhereTheyHold) {
  const std::string p = "in x: f32[n], in index: i64[m], out y: f32[m]";
  const auto store = [&](const std::string& value) {
    return unproven(kernel(p, "units u < m {\n y[u] = " + value + " }"));
  };
  EXPECT_THAT(store("select(0 <= u - 3 && u - 3 < n, x[u - 3], 0.0)"), IsEmpty());
  EXPECT_THAT(store("select(0 <= u - 3 && u - 3 <= n, x[u - 3], 0.0)"), SizeIs(1));
  EXPECT_THAT(store("select(u < 3 || !(u - 3 < n), 0.0, x[u - 3])"), IsEmpty());
  EXPECT_THAT(store("select(u < 3 && n < u, 0.0, x[u - 3])"), SizeIs(1));
  EXPECT_THAT(store("select(u < n, x[u], 0.0) + x[u]"), SizeIs(1)) << "the second use has no guard";
  EXPECT_THAT(store("x[index[u]]"), SizeIs(1));
  EXPECT_THAT(store("select(0 <= index[u] && index[u] < n, x[index[u]], 0.0)"), IsEmpty());
  EXPECT_THAT(
      unproven(
          kernel(p, "units u < m {\n let t: i64 = index[u]\n check 0 <= t && t < n fault 1\n y[u] = x[t] }")),
      IsEmpty());
  EXPECT_THAT(unproven(kernel(p,
                              "units u < m {\n let t: i64 = index[u]\n let s: i64 = select(t < 0, t + n, t)\n"
                              "check 0 <= s && s < n fault 1\n y[u] = x[s] }")),
              IsEmpty());
  EXPECT_THAT(unproven(kernel(p,
                              "units u < m {\n for i < 2 {\n check 0 <= index[u] && index[u] < n fault 1 }\n "
                              "y[u] = x[index[u]] }")),
              SizeIs(1))
      << "the check held in another block";
}

TEST(UnprovenAccesses, factsOfDims) {
  const std::string p = "in x: f32[n], out y: f32[m]";
  const std::string body = "units u < m {\n y[u] = x[u] }";
  EXPECT_THAT(unproven(kernel(p, body)), SizeIs(1));
  EXPECT_THAT(unproven(kernel(p, body),
                       [](DimContext& c, DimSolver& s) {
                         ASSERT_TRUE(s.addEqual(c.symbol("n"), c.symbol("m"), {"t"}).ok());
                       }),
              IsEmpty());
  const std::string fixed = "units u < 1 {\n y[0] = x[6] }";
  EXPECT_THAT(unproven(kernel(p, fixed),
                       [](DimContext& c, DimSolver& s) {
                         ASSERT_TRUE(s.addRange(c.symbol("n"), 7, std::nullopt, {"t"}).ok());
                         ASSERT_TRUE(s.addRange(c.symbol("m"), 1, std::nullopt, {"t"}).ok());
                       }),
              IsEmpty());
  EXPECT_THAT(unproven(kernel(p, fixed),
                       [](DimContext& c, DimSolver& s) {
                         ASSERT_TRUE(s.addRange(c.symbol("n"), 6, std::nullopt, {"t"}).ok());
                         ASSERT_TRUE(s.addRange(c.symbol("m"), 1, std::nullopt, {"t"}).ok());
                       }),
              SizeIs(1));
}

TEST(UnprovenAccesses, symbolsThatMayBeNegative) {
  const std::string text =
      kernel("in x: f32[n], out y: f32[m]", "units u < m {\n y[u] = select(u + k < n, x[u + k], 0.0) }");
  EXPECT_THAT(unproven(text), IsEmpty()) << "a dim is not negative";
  EXPECT_THAT(unproven(text, [](DimContext& c,
                                DimSolver& s) { ASSERT_TRUE(s.addRange(c.symbol("k"), -5, 5, {"t"}).ok()); }),
              SizeIs(1));
}

// A ragged batch: rows of length s(b), packed; o is the prefix sum of s.
std::string ragged(const std::string& facts, const std::string& body) {
  return "kernel @ragged(in lens: i64[n], in starts: i64[dim(n + 1)], in x: f32[o(n)], out y: f32[o(n)]) "
         "scalars (n) units b < n {\n"
         "  function s(1) = array lens low 0\n  function o(1) = array starts " +
         facts + "\n" + body + "\n}\n";
}

TEST(UnprovenAccesses, raggedRowsByPrefixSums) {
  const std::string rows = "for i < s(b) { y[o(b) + i] = x[o(b) + i] }";
  EXPECT_THAT(unproven(ragged("prefixSum s", rows)), IsEmpty());
  EXPECT_THAT(unproven(ragged("monotone low 0", rows)), SizeIs(2))
      << "without the prefix sum the end of a row is not known";
  EXPECT_THAT(unproven(ragged("prefixSum s", "for i < s(b) { y[o(b) + i + 1] = 0.0 }")), SizeIs(1));
  EXPECT_THAT(unproven(ragged("prefixSum s", "for i < s(b) { y[o(b) + s(b) - 1 - i] = 0.0 }")), IsEmpty());
  // Pairs (i, j) of a row: both below s(b).
  EXPECT_THAT(
      unproven(
          ragged("prefixSum s",
                 "for i < s(b) { accumulate a: f32 = sum over j < s(b) { x[o(b) + j] }\n y[o(b) + i] = a }")),
      IsEmpty());
  EXPECT_THAT(unproven(ragged("prefixSum s", "for i < s(b) { y[i] = 0.0 }")), IsEmpty())
      << "s(b) <= o(b) + s(b) = o(b + 1) <= o(n)";
}

TEST(UnprovenAccesses, functionRanges) {
  const auto text = [](const std::string& facts) {
    return "kernel @gather(in child: i64[n], in h: f32[m], out y: f32[n]) scalars (n; m) units u < n {\n"
           "  function c(1) = array child " +
           facts + "\n  y[u] = h[c(u)]\n}\n";
  };
  EXPECT_THAT(unproven(text("low 0 high m - 1")), IsEmpty());
  EXPECT_THAT(unproven(text("low 0")), SizeIs(1));
  EXPECT_THAT(unproven(text("high m - 1")), SizeIs(1));
  EXPECT_THAT(unproven(text("low 0 high m")), SizeIs(1));
}

TEST(UnprovenAccesses, messagesNameTheAccess) {
  const auto list = unproven(kernel("in x: f32[n], out y: f32[m]", "units u < m {\n y[u] = x[u * 2] }"));
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_THAT(list[0], HasSubstr("x[u * 2]"));
  EXPECT_THAT(list[0], HasSubstr("below n"));
}

// Whatever the prover says is in range is in range: random index expressions against all values of small
// loops.
TEST(AccessProver, soundOnRandomExpressions) {
  std::mt19937 random(11);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  int proved = 0;
  for (int round = 0; round < 3000; ++round) {
    DimContext dims;
    LoopContext c(dims);
    DimSolver solver(dims);
    const Dim n = dims.symbol("n"), m = dims.symbol("m");
    const Expr i = c.variable("i"), j = c.variable("j");
    AccessProver prover(c, &solver);
    const Expr extents[2] = {pick(2) ? c.dim(n) : c.dim(n * m),
                             pick(3) ? c.dim(m) : min(c.integer(4), c.dim(m) - i)};
    prover.addVariable(i, extents[0]);
    prover.addVariable(j, extents[1]);
    std::vector<Expr> pool{i, j, c.dim(n), c.dim(m), c.integer(pick(5) - 1), c.integer(2)};
    for (int k = 0; k < 4; ++k) {
      const Expr a = pool[static_cast<size_t>(pick(static_cast<int>(pool.size())))];
      const Expr b = pool[static_cast<size_t>(pick(static_cast<int>(pool.size())))];
      switch (pick(8)) {
        case 0:
        case 1:
          pool.push_back(a + b);
          break;
        case 2:
          pool.push_back(a - b);
          break;
        case 3:
          pool.push_back(a * b);
          break;
        case 4:
          pool.push_back(floorDiv(a, b));
          break;
        case 5:
          pool.push_back(mod(a, b));
          break;
        case 6:
          pool.push_back(pick(2) ? min(a, b) : max(a, b));
          break;
        default:
          pool.push_back(select(a < b, b, a));
      }
    }
    const Expr e = pool.back();
    const Expr limit = pick(2) ? c.dim(n * m) : pool[static_cast<size_t>(2 + pick(2))];
    if (!prover.inRange(e, limit)) continue;
    ++proved;
    for (int64_t nv = 0; nv < 4; ++nv)
      for (int64_t mv = 0; mv < 6; ++mv) {
        const auto value = [&](Expr root, int64_t iv, int64_t jv) -> std::optional<int64_t> {
          const Expr r = c.substitute(root, [&](Expr x) {
            if (x.same(i)) return c.integer(iv);
            if (x.same(j)) return c.integer(jv);
            if (x.kind() == ExprKind::dim) {
              DimBinding b;
              b.set(n, nv);
              b.set(m, mv);
              return c.integer(*evaluate(x.dimValue(), b));
            }
            return Expr();
          });
          if (r.kind() != ExprKind::intConstant) return std::nullopt;  // divides by zero
          return r.intValue();
        };
        const int64_t iEnd = *value(extents[0], 0, 0);
        for (int64_t iv = 0; iv < iEnd; ++iv) {
          const int64_t jEnd = *value(extents[1], iv, 0);
          for (int64_t jv = 0; jv < jEnd; ++jv) {
            const auto v = value(e, iv, jv), l = value(limit, iv, jv);
            if (!v || !l) continue;
            ASSERT_TRUE(*v >= 0 && *v < *l)
                << e.toString() << " < " << limit.toString() << " at n " << nv << " m " << mv << " i " << iv
                << " j " << jv << " j < " << extents[1].toString();
          }
        }
      }
  }
  EXPECT_GT(proved, 150) << "too few questions are answered for the test to mean anything";
}

}  // namespace
}  // namespace dyn::loop
