// dynrepl: without arguments the shell, else batch mode.
#include "app/batch/batch.h"
#include "app/repl/repl.h"
#include "compiler/support/standard_streams.h"

int main(int argc, char** argv) {
  dyn::holdStandardStreams();
  return argc > 1 ? dyn::runBatch(argc, argv) : dyn::runRepl();
}
