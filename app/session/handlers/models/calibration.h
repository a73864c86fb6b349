// Ranges of a model's values over runs with data of the application: what static quantisation asks for.
#pragma once

#include "app/session/case_file.h"
#include "app/session/handlers/models/onnx_file.h"
#ifdef DYN_HAVE_ONNX
#include "frontends/onnx/quantise/activation_quantiser.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_ONNX

struct CalibrationRequest {
  TypedOnnxFile& typed;
  const std::vector<std::string>& values;  // by their names in the file
  const std::vector<RunCase>& runs;
  double percentile = 100;  // of the elements that a range holds, from either side; above 50
};
// Of values that the program computes; the others have no range. The program is compiled once, for all sizes.
// With a percentile the runs are made twice: a histogram of 4,096 steps needs the extremes first.
// Errors: those of the runs, with the run's place; inputMissing; usageError for a value that is not finite.
Result<onnx::RangesByName> measureRanges(SessionState& state, const CalibrationRequest& request);

#endif

}  // namespace dyn
