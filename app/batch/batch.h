// Batch mode: one command line, one result, one exit code (the contract: 0 ok, 1 failed, 2 usage, 3 results
// differ, 4 unsupported, 70 internal error, 124 time limit, 130 interrupted). Results go to stdout,
// everything else to stderr.
#pragma once

namespace dyn {

int runBatch(int argc, char** argv);

}  // namespace dyn
