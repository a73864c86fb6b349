// Files of operators that the user defines (--ops): text modules of `operator` definitions, and shared
// libraries with their kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "frontends/text/operators.h"

namespace dyn {

// The definitions. paths: "a.dyn;b.dyn;libc.so"; "": none. Errors: fileError, and those of the text language,
// with their places.
Result<std::vector<std::shared_ptr<const text::OperatorFile>>> readOperatorFiles(const std::string& paths);
// The libraries among them: their kernels are the process's from then on, as are those for pictures. Without
// `nativeCode` they are unsupportedFeature. Errors: fileError, unsupportedFeature.
Status loadKernelLibraries(const std::string& paths, bool nativeCode);

}  // namespace dyn
