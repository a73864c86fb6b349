// Whole cases in the reference interpreter. Needs data that are not part of the repository:
//   DYN_ONNX_MODELS=FOLDER   folders of cases that must all pass
//   DYN_ONNX_CASES=FOLDER    the node cases of the ONNX backend suite: prints a table by verdict; DYN_ONNX_FILTER=text picks some.
//                            No case may be wrong or fail (unsupported is allowed).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "tests/unit/frontends/onnx/case_runner.h"

namespace dyn::onnx::test {
namespace {

std::vector<std::string> casesIn(const char* folder) {
  std::vector<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (std::filesystem::exists(entry.path() / "model.onnx")) cases.push_back(entry.path().string());
  std::sort(cases.begin(), cases.end());
  return cases;
}

TEST(ImporterCases, ModelsAgreeWithTheirRecordedOutputs) {
  const char* folder = std::getenv("DYN_ONNX_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "DYN_ONNX_MODELS is not set";
  for (const std::string& path : casesIn(folder)) {
    const CaseResult result = runCase(path, {1e-4, 1e-5});
    EXPECT_EQ(result.verdict, CaseVerdict::passed)
        << path << ": " << toString(result.verdict) << ": " << result.reason;
    std::cout << std::filesystem::path(path).filename().string() << ": " << result.dataSets
              << " data sets agree\n";
  }
}

struct KnownCase {
  std::string_view name, reason;
};
// Not passed, and why that is right or has to wait.
constexpr KnownCase kKnown[] = {
    {"test_loop16_seq_none", "its sequence holds a scalar and vectors"},
    {"test_resize_downsample_scales_cubic_align_corners", "the standard's text wants the rounded length"},
    {"test_resize_downsample_scales_linear_align_corners", "the standard's text wants the rounded length"},
};

TEST(ImporterCases, NodeCases) {
  const char* folder = std::getenv("DYN_ONNX_CASES");
  if (folder == nullptr) GTEST_SKIP() << "DYN_ONNX_CASES is not set";
  const char* filter = std::getenv("DYN_ONNX_FILTER");
  std::map<CaseVerdict, int> counts;
  int knownCount = 0;
  for (const std::string& path : casesIn(folder)) {
    const std::string name = std::filesystem::path(path).filename().string();
    if (filter != nullptr && name.find(filter) == name.npos) continue;
    const CaseResult result = runCase(path, {1e-3, 1e-5});
    const bool known = std::any_of(std::begin(kKnown), std::end(kKnown),
                                   [&](const KnownCase& row) { return row.name == name; });
    if (known) {
      EXPECT_NE(result.verdict, CaseVerdict::passed) << name << " passes now: take it off the list";
      ++knownCount;
      continue;
    }
    ++counts[result.verdict];
    if (result.verdict != CaseVerdict::passed && result.verdict != CaseVerdict::passedWhenFixed)
      std::cout << toString(result.verdict) << "\t" << name << "\t" << result.reason << "\n";
  }
  for (const auto& [verdict, count] : counts) std::cout << toString(verdict) << ": " << count << "\n";
  std::cout << "known: " << knownCount << "\n";
  EXPECT_EQ(counts[CaseVerdict::wrong], 0);
  EXPECT_EQ(counts[CaseVerdict::failed], 0);
}

}  // namespace
}  // namespace dyn::onnx::test
