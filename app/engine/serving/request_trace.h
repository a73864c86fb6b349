// A file of requests: when each arrives, and its sizes.
//
//   time,seq            {"time": 0.0, "seq": 17}
//   0.0,17              {"time": 0.013, "seq": 5}
//   0.013,5
//
// Seconds from the start, not descending; the other columns are dims. Each line has all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

struct RequestTrace {
  struct Line {
    int64_t arrivalNs = 0;
    std::vector<int64_t> sizes;  // in the order of `dims`
  };
  std::vector<std::string> dims;
  std::vector<Line> lines;
};

// Errors: fileError; usageError with the line's number.
Result<RequestTrace> readRequestTrace(const std::string& path);

}  // namespace dyn
