// The part of a contraction group that a convolution of bytes does itself: sums that become bytes.
//
//   %s = conv_integer_packed(...)  %t = add(%s, %bias)  %r = cast(%t) {to = f32}  %u = mul(%r, %scale)
//   %v = relu(%u)  %w = round(%v)  %x = add(%w, %zero)  %y = cast(%x) {to = u8}
// Without bias, relu or zero point as well. Then a sum with other bytes, a shortcut (byte_shortcut.h), where
// all of its numbers are constants. What follows %y is an epilogue, which ends in the same type.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/module.h"
#include "vm/shared/dyn_byte_rescale.h"

namespace dyn {

struct ByteRescale {
  ByteRescaleForm form;
  std::vector<ValueId> operands;       // parameters of the body, in the order of the call's arguments
  std::optional<HostTensor> shortcut;  // its numbers, an argument behind these
  ValueId bytes = kNoValue;            // what they become
};

// Of a group's body; `constantOf` gives the value of a parameter that is a constant, else null.
std::optional<ByteRescale> byteRescaleOf(const Function& body,
                                         const std::function<const HostTensor*(ValueId)>& constantOf);

}  // namespace dyn
