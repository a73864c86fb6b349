// dynrepl: without arguments the shell, else batch mode.
#include "app/batch/batch.h"
#include "app/repl/repl.h"

int main(int argc, char** argv) { return argc > 1 ? dyn::runBatch(argc, argv) : dyn::runRepl(); }
