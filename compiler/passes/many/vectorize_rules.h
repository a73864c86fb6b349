// The rules by which one operation on many instances is made of an operation on one.
//
//   before  %y = softmax(%x) {axis = 0}      %x (n)
//   after   %y = softmax(%x) {axis = 1}      %x (r, n)
//
// A rule sees an operation of which an operand is batched and none is listed. It gives all results, or
// returns false: the operation has a form that the rule does not take.
#pragma once

#include "compiler/passes/many/many_body.h"

namespace dyn::passes {

using VectorizeRule = bool (*)(ManyBody&, const Op&);

struct VectorizeRow {
  const OpDef* def;
  VectorizeRule rule;
};

// By family; null where there is no row for the operator.
VectorizeRule vectorizeRuleOf(const OpDef& def);

std::vector<VectorizeRow> axisRules();     // an axis named by an attribute or an operand
std::vector<VectorizeRow> productRules();  // products, with shared and with batched matrices
std::vector<VectorizeRow> shapeRules();    // sizes, other shapes of the same elements, parts
std::vector<VectorizeRow> indexRules();    // picked and replaced elements
std::vector<VectorizeRow> imageRules();    // a batch axis of their own: instances are more of its rows
std::vector<VectorizeRow> controlRules();  // branches, loops, calls
bool vectorizeElementwise(ManyBody& body, const Op& op);

// An axis of one instance's value behind the leading one.
inline int64_t shifted(int64_t axis) { return axis < 0 ? axis : axis + 1; }

}  // namespace dyn::passes
