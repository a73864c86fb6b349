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

#include "case_runner.h"

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

TEST(ImporterCases, NodeCases) {
  const char* folder = std::getenv("DYN_ONNX_CASES");
  if (folder == nullptr) GTEST_SKIP() << "DYN_ONNX_CASES is not set";
  const char* filter = std::getenv("DYN_ONNX_FILTER");
  std::map<CaseVerdict, int> counts;
  for (const std::string& path : casesIn(folder)) {
    const std::string name = std::filesystem::path(path).filename().string();
    if (filter != nullptr && name.find(filter) == name.npos) continue;
    const CaseResult result = runCase(path, {1e-3, 1e-5});
    ++counts[result.verdict];
    if (result.verdict != CaseVerdict::passed && result.verdict != CaseVerdict::passedWhenFixed)
      std::cout << toString(result.verdict) << "\t" << name << "\t" << result.reason << "\n";
  }
  for (const auto& [verdict, count] : counts) std::cout << toString(verdict) << ": " << count << "\n";
  EXPECT_EQ(counts[CaseVerdict::wrong], 0);
  EXPECT_EQ(counts[CaseVerdict::failed], 0);
}

}  // namespace
}  // namespace dyn::onnx::test
