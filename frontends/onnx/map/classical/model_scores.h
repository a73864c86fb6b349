// What classifiers and regressors of ai.onnx.ml do with their scores.
#pragma once

#include <string>

#include "frontends/onnx/map/map_context.h"

namespace dyn::onnx {

// scores [n, k] after `transform`: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO (scores of 0 take no part) or
// PROBIT, for whose inverse error function the standard's approximation is taken.
ValueId transformedScores(MapContext& c, ValueId scores, const std::string& transform);
// [n, 2] of the score s [n, 1] of the second of two classes: (1 - s, s), or (-s, s) where scores are
// `signedScores`; LOGISTIC of (-s, s).
ValueId bothScores(MapContext& c, ValueId score, bool signedScores, const std::string& transform);

// The labels of a classifier's classes: attributes `integers` or `strings`. A vector.
HostTensor classLabels(MapContext& c, const std::string& integers, const std::string& strings);
// label[place], place [n] of integers or booleans.
ValueId labelsAt(MapContext& c, const HostTensor& labels, ValueId place);
// x [n, f] in f32; in f64 where it is that and `keepDouble`. A vector is one row.
enum class DoubleRows : uint8_t { keep, narrow };
ValueId rowsOf(MapContext& c, ValueId x, DoubleRows doubles);

// A constant vector of f32.
ValueId vectorOf(MapContext& c, const std::vector<double>& values);
// x [n, f] times `rows` [k, f] → [n, k]; `what` names the attribute that has the rows.
ValueId timesRows(MapContext& c, ValueId x, const std::vector<double>& values, int64_t rows,
                  std::string_view what);

}  // namespace dyn::onnx
