// Where exports find what they link or run.
#pragma once

#include <filesystem>

namespace dyn {

// The folder of the running program; of a process that has loaded libdyn.so, that library's ../bin. It holds
// dynrun; ../lib holds the objects that exports link.
std::filesystem::path programFolder();

}  // namespace dyn
