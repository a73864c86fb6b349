// Whether files of operators (--ops) can be read: apart from operator_files.h, for callers without the text
// language.
#pragma once

#include <string>

#include "compiler/support/result.h"

namespace dyn {

// paths: "a.dyn;b.dyn"; "": none.
Status checkOperatorFiles(const std::string& paths);

}  // namespace dyn
