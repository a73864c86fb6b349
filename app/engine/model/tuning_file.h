// The file of tuning records: JSON beside the object cache, or one of the user's.
//
//   {"schema": 1, "cpu": "znver4 l2=1048576 l3=33554432", "operations": [
//     {"key": "conv f32 w=64x3x7x7 s=2x2 d=1x1 g=1", "threads": 1, "chosen": "direct", "shapes": [{"sizes": [1, 3, 300, 300], "weight": 1}],
//      "candidates": [{"version": "auto", "times_ns": [1400000]}, {"version": "direct", "times_ns": [1200000]}]}]}
//
// A candidate that was not measured at each shape has "expected" too, a true for each shape where its time is
// expected.
#pragma once

#include <string>

#include "app/engine/model/engine_options.h"
#include "compiler/support/result.h"
#include "compiler/tune/tuning_records.h"

namespace dyn {

// "": there is none (no cache, or tuningFile is "none").
std::string tuningFileOf(const EngineOptions& options);
// No records when there is no such file. Errors: fileError, fileFormat (damaged, another schema, another
// CPU).
Result<TuningRecords> readTuning(const std::string& path);
// Adds one record to the file, or replaces it; whole or not at all.
Status addTuning(const std::string& path, const TunedOperation& record);

}  // namespace dyn
