// Copies that a placed program makes only because their readers take no strides: kernels that do nothing
// but move elements.
//
//   into(%x, %t) {kind = "loop"} body { %q = transpose(%p) }       t: 4*n*m bytes
//   into(%t, %w, %y) {kind = "builtin"} body { conv(...) }         refused by conv: its builtin reads rows
//
// What moves elements as part of other work (a transpose composed into a kernel that also adds) is no copy,
// nor is what reads at positions that only a run knows (gather). Kernels of more than kMostOperands are not
// looked at. Made when somebody asks: a compile does not pay for it.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

enum class CopyReason : uint8_t {
  denseBuiltin,     // the reader's row takes no strides for this operand
  generatedKernel,  // the reader is a generated kernel that the view was not composed into
  output,           // of the program
  boundary,         // of a function or of a body of `if` and `loop`
  stored,           // in a list, a tuple, a structure
  noStrides,        // no offset and strides say where the elements lie in another's memory
  sharedCopy,       // the reader takes strides; it reads the copy that others need
};
const char* toString(CopyReason reason);  // a clause: "reads elements side by side"

struct CopyRefusal {
  std::string by;  // an operator, "a result of @main", "loop"
  CopyReason reason;
};

struct RefusedCopy {
  const Function* function = nullptr;  // where it is made
  const Op* op = nullptr;              // the kernel
  ValueId value = kNoValue;            // the copy
  Dim bytes;
  std::vector<CopyRefusal> refusals;  // one a reader and reason, in the order of the program
};

// Of a module with destination-passing kernels, in the order of its text.
std::vector<RefusedCopy> refusedCopies(const Module& placed);
Dim bytesOf(const Module& module, const std::vector<RefusedCopy>& copies);

}  // namespace dyn
