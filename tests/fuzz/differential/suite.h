// Programs as files for another runtime: FOLDER/seed-N/model.onnx, and for each set of sizes a folder with
// inputs and what the reference makes of them.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace dyn::differential {

Status writeTensor(const std::string& path, const HostTensor& tensor);

// Of the programs [from, to) those that ONNX can say. FOLDER/suite.jsonl has a line for each run that ends
// well: its folder, and which outputs are the same in every order of evaluation ("exact"). Returns the number
// of programs.
Result<int64_t> writeSuite(const std::string& folder, uint64_t from, uint64_t to);

}  // namespace dyn::differential
