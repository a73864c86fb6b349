// A model that was exported at one size, opened: the numbers in it that were the example's sizes become
// formulas of named dims.
//
//   fn @main(%ids: Tensor[(1, 128), i64]) {                fn @main(%ids: Tensor[(1, seq), i64]) {
//     ...                                             →      ...
//     %s = constant() {value = i64[4] [1, 128, 12, 64]}      %s = dims_value() {value = dims(1, seq, 12, 64)}
//     %h = reshape(%q, %s)                                   %h = reshape(%q, %s)
//
// Operations are looked at in order, with the types that inference finds once the dims are open. A target
// of a reshape follows from what it reshapes (reshape_dims.h). Where two sizes must be equal and one is a
// number, the number is traced to where it is made: a shape, a limit, the end of a slice, a constant
// (constant_pattern.h). What no rule opens is refused, with its place: there is no guess that goes unsaid.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

struct OpenAxis {
  std::string input;
  int64_t axis = 0;
  std::string symbol;
  // Of the example, where the axis is open already and numbers of it are left in the model.
  std::optional<int64_t> size;
};
// "input_ids.1" (its symbol: input_ids_1), "input_ids.1=seq", "input_ids.1=seq:128". Error usageError.
Result<OpenAxis> parseOpenAxis(const std::string& text);

struct Opening {
  SourceLocation place;
  std::string op;    // "reshape"
  std::string what;  // "[1, 128, 12, 64] becomes [batch, seq, 12, 64]"
  std::string why;
  bool doubtful = false;  // the example's numbers allow another formula
};

struct Refusal {
  SourceLocation place;
  std::string op, why;
};

struct Generalised {
  Module module;                          // before inference; in the context of the module given
  std::map<std::string, int64_t> sizes;   // of the example, by symbol
  std::map<std::string, int64_t> limits;  // most of a symbol: tables in the model end there
  std::vector<Opening> openings;
  std::vector<Refusal> refused;
  std::vector<Refusal> suspects;  // numbers that are computed with, as large as a size of the example
};

struct GeneraliseRequest {
  std::vector<OpenAxis> axes;
  std::vector<std::string> inputNames;
  const Module* second = nullptr;  // the same model exported at other sizes, typed; it decides doubts
  const std::atomic<bool>* cancelled = nullptr;
};
// `imported`: before inference. Errors: usageError for axes that are not there, or open already and without
// the example's size; cancelled.
Result<Generalised> generalise(const Module& imported, const GeneraliseRequest& request);

}  // namespace dyn
