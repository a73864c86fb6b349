// Makes a failing program small: fewer results, statements and runs, smaller sizes, as long as it fails in
// the same way.
#pragma once

#include <functional>

#include "tests/fuzz/differential/program.h"

namespace dyn::differential {

struct Failure {
  Program program;
  Sizes sizes;
};

using Fails = std::function<bool(const Program&, const Sizes&)>;

Failure reduced(Failure failure, const Fails& fails);

}  // namespace dyn::differential
