// Folders for files that are to be written, and parts of paths.
#pragma once

#include <string>

#include "compiler/support/result.h"

namespace dyn {

// The folder, and each above it that is missing. Error fileError with the system's reason.
Status makeFolders(const std::string& path);
// "." for a name without a slash.
std::string folderOf(const std::string& path);
// What stands behind the last slash.
std::string fileNameOf(const std::string& path);

}  // namespace dyn
