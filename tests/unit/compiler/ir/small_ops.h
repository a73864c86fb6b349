// A private table of a few operators: tests of the graph IR and its text do not wait for the real one.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/op_def.h"

namespace dyn::testing {

inline constexpr AttributeSpec kAxis[] = {{"axis", AttributeKind::integer}};
inline constexpr AttributeSpec kConstant[] = {{"value", AttributeKind::tensor, true}};
inline constexpr AttributeSpec kCast[] = {{"to", AttributeKind::dtype, true}};
inline constexpr AttributeSpec kLoop[] = {{"carried", AttributeKind::integer}};
inline constexpr AttributeSpec kMatch[] = {{"constructors", AttributeKind::strings}};
inline constexpr AttributeSpec kCallee[] = {{"callee", AttributeKind::string, true}};
inline constexpr AttributeSpec kConstruct[] = {{"type", AttributeKind::string, true},
                                               {"constructor", AttributeKind::string, true}};
// One attribute of each kind.
inline constexpr AttributeSpec kEverything[] = {
    {"i", AttributeKind::integer},   {"r", AttributeKind::real},    {"s", AttributeKind::string},
    {"is", AttributeKind::integers}, {"rs", AttributeKind::reals},  {"ss", AttributeKind::strings},
    {"d", AttributeKind::dtype},     {"dims", AttributeKind::dims}, {"t", AttributeKind::tensor},
    {"ty", AttributeKind::type}};

inline const std::vector<OpDef>& smallOps() {
  static const std::vector<OpDef> kOps = {
      {.name = "relu", .cls = OpClass::elementwise, .minOperands = 1, .maxOperands = 1},
      {.name = "neg", .cls = OpClass::elementwise, .minOperands = 1, .maxOperands = 1},
      {.name = "add", .cls = OpClass::elementwise, .minOperands = 2, .maxOperands = 2},
      {.name = "sub", .cls = OpClass::elementwise, .minOperands = 2, .maxOperands = 2},
      {.name = "mul", .cls = OpClass::elementwise, .minOperands = 2, .maxOperands = 2},
      {.name = "div", .cls = OpClass::elementwise, .minOperands = 2, .maxOperands = 2},
      {.name = "matmul", .cls = OpClass::contraction, .minOperands = 2, .maxOperands = 2},
      {.name = "gather", .cls = OpClass::injective, .minOperands = 2, .maxOperands = 2, .attributes = kAxis},
      {.name = "softmax", .cls = OpClass::reduction, .minOperands = 1, .maxOperands = 1, .attributes = kAxis},
      {.name = "cast", .cls = OpClass::elementwise, .minOperands = 1, .maxOperands = 1, .attributes = kCast},
      {.name = "constant", .cls = OpClass::opaque, .attributes = kConstant},
      {.name = "split",
       .cls = OpClass::injective,
       .minOperands = 1,
       .maxOperands = 2,
       .results = -1,
       .attributes = kAxis},
      {.name = "minmax", .cls = OpClass::opaque, .minOperands = 1, .maxOperands = 1, .results = 2},
      {.name = "concat", .cls = OpClass::injective, .minOperands = 1, .maxOperands = -1, .attributes = kAxis},
      {.name = "check",
       .cls = OpClass::check,
       .minOperands = 1,
       .maxOperands = 1,
       .results = 0,
       .hasEffects = true},
      {.name = "everything",
       .cls = OpClass::opaque,
       .minOperands = 0,
       .maxOperands = -1,
       .attributes = kEverything},
      {.name = "if", .cls = OpClass::structural, .minOperands = 1, .maxOperands = -1, .results = -1},
      {.name = "loop",
       .cls = OpClass::structural,
       .minOperands = 2,
       .maxOperands = -1,
       .results = -1,
       .attributes = kLoop},
      {.name = "match",
       .cls = OpClass::structural,
       .minOperands = 1,
       .maxOperands = -1,
       .results = -1,
       .attributes = kMatch},
      {.name = "call",
       .cls = OpClass::structural,
       .minOperands = 0,
       .maxOperands = -1,
       .results = -1,
       .attributes = kCallee},
      {.name = "construct",
       .cls = OpClass::structural,
       .minOperands = 0,
       .maxOperands = -1,
       .attributes = kConstruct},
      {.name = "fused", .cls = OpClass::structural, .minOperands = 0, .maxOperands = -1, .results = -1},
      {.name = "closure",
       .cls = OpClass::structural,
       .minOperands = 0,
       .maxOperands = -1,
       .attributes = kCallee},
  };
  return kOps;
}

inline const OpDef* findSmallOp(std::string_view name) {
  for (const OpDef& op : smallOps()) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

inline std::vector<std::string_view> smallOpNames() {
  std::vector<std::string_view> names;
  for (const OpDef& op : smallOps()) names.push_back(op.name);
  return names;
}

}  // namespace dyn::testing
