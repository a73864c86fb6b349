// Folders for files that are to be written, and parts of paths.
#pragma once

#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

// The folder, and each above it that is missing. Error fileError with the system's reason.
Status makeFolders(const std::string& path);
// "." for a name without a slash.
std::string folderOf(const std::string& path);
// What stands behind the last slash.
std::string fileNameOf(const std::string& path);

bool isFolder(const std::string& path);
// Names in the folder that begin with `prefix`, shorter ones first, so that name_2 stands before name_10.
// None where there is no such folder.
std::vector<std::string> membersOf(const std::string& folder, const std::string& prefix);

}  // namespace dyn
