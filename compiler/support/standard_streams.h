// Standard output and error as a program's results need them: what could not be written is an error, not
// silence.
#pragma once

#include <string_view>

#include "compiler/support/result.h"

namespace dyn {

// For main(): a standard stream that the caller closed is opened on nothing, else the next file opened would
// take its place and get what is printed. Writing to it still fails.
void holdStandardStreams();

// Writes all of the text to descriptor 1 or 2. Errors: fileError. A reader that went away is none: the rest
// is not written.
Status writeStandard(int descriptor, std::string_view text);

}  // namespace dyn
