// Texts of general kernels (general_kernel.h), one behind the other, as a file has them:
//
//   kernel @relu(in x: ...) scalars (scalar.0; scalar.1; size.0) units u < dim(scalar.1) {
//     ...
//   }
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

struct GeneralText {
  std::string text;
  std::shared_ptr<DimContext> dims;  // of `kernel`: code of several is made at the same time, and makes dims
  Kernel kernel;
  size_t openSizes = 0;  // its last scalars, which are called size.0, size.1, ...
  std::string key;       // generalKeyOf
};

// Errors: those of parseKernel, textName where one has no lasting key.
Result<std::vector<GeneralText>> readGeneralTexts(std::istream& in);

}  // namespace dyn::loop
