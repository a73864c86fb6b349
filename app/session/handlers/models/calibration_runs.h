// The runs that static quantisation takes its ranges from.
#pragma once

#include <string>
#include <vector>

#include "app/engine/model/signature.h"
#include "app/session/case_file.h"

namespace dyn {

// `path` is one of
//
//   runs.jsonl                   a run in each line, as --cases takes them
//   a folder of test_data_set_*  ONNX data sets: input_0.pb, input_1.pb, ...
//   a folder of folders          each a run: NAME.npy, NAME.png, ... for each input
//   a folder of files            each a run: the value of the one input that `given` says nothing of
//
// `given`: NAME=SPEC of inputs that are the same in all runs. Files whose names begin with a dot are left
// out. Errors: fileError, fileFormat; usageError for a file that is the value of no input.
Result<std::vector<RunCase>> calibrationRuns(const Signature& signature, const std::string& path,
                                             const std::vector<std::string>& given);

}  // namespace dyn
