#include "tests/support/paths.h"

namespace dyn::test {

std::string sourceFolder() { return DYN_SOURCE_DIR; }
std::string buildFolder() { return DYN_BINARY_DIR; }

}  // namespace dyn::test
