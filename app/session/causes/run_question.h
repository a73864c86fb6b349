// A question about a run, read from text: `y.1`, `y[2,5]`, `y[nan]`, `failure`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn {

struct RunQuestion {
  enum class Kind : uint8_t { failure, size, element, notFinite } kind = Kind::failure;
  ValueId value = kNoValue;
  std::string name;  // of the value, as it was asked
  int64_t axis = 0;
  std::vector<int64_t> index;
};

// Names of inputs and outputs, which go before those of values.
using PortNames = std::vector<std::pair<std::string, ValueId>>;
// Errors: usageError for another form, textName for a value that is not there.
Result<RunQuestion> parseRunQuestion(const Module& module, const PortNames& ports, std::string text);

}  // namespace dyn
