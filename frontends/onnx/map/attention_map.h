// Attention written out in products, softmax and masks: what the operators of several domains share.
//
//   AttentionMap a{c};  a.q = ...; a.k = ...; a.v = ...;        // [b, heads, s, d]
//   a.scaleOperands();  a.addMask(mask);  a.addPositions(true, -1, -1);
//   ValueId weights = ... softmax(a.products() + a.bias) ...;   ValueId y = a.weighted(weights);
#pragma once

#include <limits>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {

struct AttentionMap {
  MapContext& c;
  int64_t queryHeads = 0, keyHeads = 0;  // 0: operands have four axes
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;
  ValueId past = kNoValue, lengths = kNoValue;
  ValueId bias = kNoValue;
  bool rowsMayBeEmpty = false;

  ValueId minusInfinity() { return c.number(-std::numeric_limits<double>::infinity(), q); }
  ValueId asBias(ValueId allowed) { return c.emit("where", {allowed, c.number(0, q), minusInfinity()}); }
  void addBias(ValueId more) { bias = bias == kNoValue ? more : c.emit("add", {bias, more}); }

  void scaleOperands();
  void addMask(ValueId mask);
  void addPositions(bool causal, int64_t left, int64_t right);
  bool sameHeads() const { return queryHeads != 0 && queryHeads == keyHeads; }
  // Query heads in groups that share a key head: [b, h, s, d] → [b, kh, h / kh, s, d].
  ValueId grouped(ValueId x);
  ValueId products();
  ValueId weighted(ValueId weights);
};

}  // namespace dyn::onnx
