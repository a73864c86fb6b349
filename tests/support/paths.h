// Where tests find the repository and the build. The paths stand in one translation unit (paths.cpp), so that
// a compiler cache serves the tests of every checkout.
#pragma once

#include <string>

namespace dyn::test {

// The repository's folder, without a slash at its end.
std::string sourceFolder();
// The folder of this build, without a slash at its end; programs lie in its bin/.
std::string buildFolder();

}  // namespace dyn::test
