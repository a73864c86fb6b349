// What is known of integers without inference: that all elements of a value are one number, that a value is
// another plus a number, and so how long a slice from one to the other can be; that a real is a whole number.
//
//   i1 = Add(i, 1)  i2 = Add(i, 2)  s = Slice(v, i1, i2)      s has at most one element
#pragma once

#include "frontends/onnx/emit/function_builder.h"

namespace dyn::onnx {

// Writes it into the entry of the operation's result.
void learnSums(const Op& op, ValueTable& values);

}  // namespace dyn::onnx
