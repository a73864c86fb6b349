// dynrepl: without arguments, but for --no-init, the shell, else batch mode.
#include <string_view>

#include "app/batch/batch.h"
#include "app/repl/repl.h"
#include "compiler/support/standard_streams.h"

int main(int argc, char** argv) {
  dyn::holdStandardStreams();
  const bool noInit = argc == 2 && std::string_view(argv[1]) == "--no-init";
  return argc > 1 && !noInit ? dyn::runBatch(argc, argv) : dyn::runRepl(!noInit);
}
