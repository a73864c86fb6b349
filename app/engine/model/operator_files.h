// Files of operators that the user defines (--ops): text modules of `operator` definitions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "frontends/text/operators.h"

namespace dyn {

// paths: "a.dyn;b.dyn"; "": none. Errors: fileError, and those of the text language, with their places.
Result<std::vector<std::shared_ptr<const text::OperatorFile>>> readOperatorFiles(const std::string& paths);

}  // namespace dyn
