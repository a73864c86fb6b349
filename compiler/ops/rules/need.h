// Need: what a module lacks to have types: the sizes or the elements of a value on which a rank or an axis depends. Who has a program's
// inputs at hand may compile it again with them given.
#pragma once

#include "compiler/ir/op_def.h"

namespace dyn {

struct Need {
  enum class Kind : uint8_t { shape, contents };
  Kind kind = Kind::contents;
  ValueId value = kNoValue;
};

// An InferContext that collects needs is one of these too.
class NeedListener {
 public:
  virtual ~NeedListener() = default;
  virtual void need(Need need) const = 0;
};

// Error unsupportedFeature: operand i decides the rank or the axes of the result, and its shape or contents are not known. Tells a listener.
Error operandNeeded(const InferContext& c, int i, Need::Kind kind, std::string message);
void tellNeed(const InferContext& c, int i, Need::Kind kind);

}  // namespace dyn
