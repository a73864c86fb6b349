// Runs a test case in the layout of the ONNX backend suite (model.onnx, test_data_set_K/input_i.pb, output_i.pb) in the reference
// interpreter: import, infer, evaluate, compare.
#pragma once

#include <string>
#include <vector>

#include "compiler/reference/value.h"
#include "compiler/support/result.h"

namespace dyn::onnx::test {

enum class CaseVerdict {
  passed,
  passedWhenFixed,  // with its small vectors (axes, scales) as constants: types depend on them
  wrong,
  failed,
  unsupported
};
const char* toString(CaseVerdict verdict);

struct CaseResult {
  CaseVerdict verdict = CaseVerdict::passed;
  std::string reason;
  int dataSets = 0;  // that agree
};

struct Tolerance {
  double relative = 1e-4;
  double absolute = 1e-5;
};

CaseResult runCase(const std::string& folder, const Tolerance& tolerance);
// Empty: they agree. Reals within the tolerance (NaN agrees with NaN), all else exactly.
std::string difference(const Value& expected, const Value& actual, const Tolerance& tolerance);

}  // namespace dyn::onnx::test
