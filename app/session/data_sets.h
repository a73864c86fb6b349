// Data sets as ONNX's test cases have them: a folder test_data_set_0 with input_0.pb, output_0.pb, ...
#pragma once

#include <string>
#include <vector>

#include "app/engine/model/signature.h"

namespace dyn {

// NAME=@FOLDER/input_0.pb for each input with a file. Error fileError where there is none.
Result<std::vector<std::string>> inputsOfDataSet(const Signature& signature, const std::string& folder);

}  // namespace dyn
