// Records of runs as JSON: files that `bench -o` and `:runs -o` write, and a baseline is read from.
//
//   {"schema": 1, "runs": [{"number": 1, "model": "bert.onnx", "dims": {"seq": 7}, "median_ns": 812345,
//    "spread_ns": 9000, "places": [...], ...}]}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/run/run_record.h"
#include "compiler/support/result.h"

namespace dyn {

// Whether the times of operations are among the fields.
enum class RecordDetail : uint8_t { whole, withoutPlaces };
nlohmann::ordered_json toJson(const RunRecord& record, RecordDetail detail);
std::string runsText(const std::vector<RunRecord>& runs);

// Does the text begin as such a file does? A trace of :profile does not.
bool isRunsText(std::string_view text);
// Errors: fileFormat for what is no such file, or of another version.
Result<std::vector<RunRecord>> readRuns(std::string_view text);
// The same of a file, whose name errors have.
Result<std::vector<RunRecord>> readRunsFile(const std::string& path);
Status writeRunsFile(const std::string& path, const std::vector<RunRecord>& runs);

}  // namespace dyn
