// How text is read here: with the operators of this compiler.
#pragma once

#include <string>

#include "frontends/text/parser.h"

namespace dyn {

// file: as places name it.
text::ParseOptions textOptions(std::string file);

}  // namespace dyn
