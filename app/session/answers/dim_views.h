// Views of dims: the symbols with what is known, where a dim comes from, and why two are or are not equal.
#pragma once

#include "app/engine/model/model_info.h"
#include "app/engine/model/scratch_program.h"
#include "app/engine/model/signature.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/why_views.h"

namespace dyn {

// All symbols that types and dim attributes of the module mention, in order of creation; or the one of that
// name. `copy` of the module answers questions.
Result<DimsTable> dimsTable(const Module& module, ScratchCopy& copy, const std::string& symbol);
// Of a package: what was said of the dims of its inputs.
Result<DimsTable> dimsOfPackage(const Signature& signature, const std::string& symbol);
// The run-time checks with the sides that these dims decide; those that fail first.
std::vector<CheckRow> checkRows(const Module& module, const DimValues& dims);
enum class RangesOf : uint8_t { declared, all };  // all: also what run-time checks say, which checkRows has
// The dims that are outside of what is declared or known of them.
std::vector<RangeFault> rangeFaults(const Module& module, const DimValues& dims,
                                    RangesOf ranges = RangesOf::declared);
// `a`, `b`: "value.axis", a symbol, or an expression over symbols. b empty: where a comes from; then a may be
// a run-time check: "check0". `ports`: names of the file → parameters and results of main.
Result<WhyView> whyDim(ScratchCopy& program, const std::vector<std::pair<std::string, ValueId>>& ports,
                       const std::string& a, const std::string& b);

}  // namespace dyn
