// Generated kernels that hand-written ones call, row by row: epilogues of products and convolutions, and what
// makes probabilities in attention (vm/kernels/epilogue.h). Their buffers and scalars are the call's.
#pragma once

#include <span>
#include <string>

#include "vm/certificate/walk_state.h"

namespace dyn::certificate {

struct InnerLaunch {
  size_t kernel = 0, firstArgument = 0, firstScalar = 0;  // of its own
  // The kernel's units are the rows of what is computed; nothing: how it is cut up is not known.
  Value rows, columns;
  bool takesColumns = false;    // its last two scalars: the first column, and the one behind the last
  bool isEven = false;          // whole rows may be told to it as one long row
  bool isElsewhere = false;     // the result is computed in rows of other memory, of four bytes an element
  bool readsElsewhere = false;  // ... which the last argument stands for, and the result is another tensor
};

// Of a call of the builtin `name`; the first result's shape is `dims`, its element type `dtype`. Nothing: it
// calls no generated kernel.
std::optional<InnerLaunch> innerLaunch(const std::string& name, std::span<const int32_t> numbers,
                                       const std::vector<ObjectRef>& arguments, const Object& result);

}  // namespace dyn::certificate
