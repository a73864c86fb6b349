#include "compiler/support/diagnostic.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/support/result.h"

namespace dyn {
namespace {

TEST(Diagnostics, everyRowHasItsOwnCodeAndASummary) {
  std::set<std::string_view> codes, names;
  for (const DiagnosticRow& row : diagnosticTable()) {
    EXPECT_TRUE(codes.insert(row.code).second) << row.code << " is used twice";
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.summary.empty()) << row.code;
    EXPECT_EQ(&diagnosticRow(row.id), &row);
  }
}

TEST(Diagnostics, exitCodesFollowTheBatchContract) {
  EXPECT_EQ(exitCode(DiagnosticId::shapeMismatch), 1);
  EXPECT_EQ(exitCode(DiagnosticId::usageError), 2);
  EXPECT_EQ(exitCode(DiagnosticId::resultsDiffer), 3);
  EXPECT_EQ(exitCode(DiagnosticId::slowerThanBaseline), 3);
  EXPECT_EQ(exitCode(DiagnosticId::unsupportedOp), 4);
  EXPECT_EQ(exitCode(DiagnosticId::internalError), 70);
  EXPECT_EQ(exitCode(DiagnosticId::timeLimit), 124);
  EXPECT_EQ(exitCode(DiagnosticId::cancelled), 130);
}

TEST(Diagnostics, textNamesPlaceAndNotes) {
  SourceLocation place{.file = "a.dyn", .line = 3, .column = 7};
  Error e = makeError(DiagnosticId::shapeMismatch, "dim 1: 2 vs 3", place).note("declare it ?");
  EXPECT_EQ(e.diagnostic().toString(), "error[E0203]: dim 1: 2 vs 3\n  at a.dyn:3:7\n  note: declare it ?");
}

Result<int> half(int n) {
  if (n % 2) return makeError(DiagnosticId::dimDomain, "odd");
  return n / 2;
}
Result<int> quarter(int n) {
  DYN_TRY(int h, half(n));
  return half(h);
}

TEST(Result, tryPassesErrorsOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().id, DiagnosticId::dimDomain);
}

}  // namespace
}  // namespace dyn
