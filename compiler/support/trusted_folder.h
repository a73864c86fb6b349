// Is a folder one whose files may be believed?
#pragma once

#include <string>

namespace dyn {

// "" for a folder of this user (or of root) that not everybody may write to; else why not: "belongs to
// another user".
std::string whyNotTrusted(const std::string& folder);

}  // namespace dyn
