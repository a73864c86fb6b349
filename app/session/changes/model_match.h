// Which operations and values of two modules are the same: two versions of a model, or its f32 form and a
// quantised one.
//
//   %h = matmul(%x, %w)            %h = matmul(%x, %w)          matched by name
//   %y = relu(%h)                  %renamed = relu(%h)          matched by structure
//                                  %z = tanh(%renamed)          added
//
// Operations are matched in this order: one operator with a result of one name; one operator with the same
// attributes on matched operands; the same without attributes; what computes an operand of a matched pair;
// different operators with results of one name. Numbers are no names there: exporters count them anew.
// Constants are matched by name, then by content, then by what reads them. Linear in the operations of both.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "app/engine/model/loaded_model.h"

namespace dyn {

struct MatchedOps {
  const Op* before = nullptr;
  const Op* after = nullptr;
};

struct ModelMatch {
  std::unordered_map<ValueId, ValueId> values;  // of the first module → of the second
  std::vector<MatchedOps> ops;                  // in the order of the first, outer functions before bodies
  std::vector<const Op*> removed;               // of the first alone
  std::vector<const Op*> added;                 // of the second alone
};

// Of the imported modules. Inputs match by the names that the models give them, then by their place.
ModelMatch matchModels(const LoadedModel& before, const LoadedModel& after);

std::vector<std::string> inputNamesOf(const LoadedModel& model);

}  // namespace dyn
