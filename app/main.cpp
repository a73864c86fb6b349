// dynrepl: without arguments the shell, with a model's file the shell with that model, else batch mode.
#include <string>
#include <string_view>

#include "app/batch/batch.h"
#include "app/engine/model/dim_relation.h"
#include "app/engine/model/loaded_model.h"
#include "app/repl/repl.h"
#include "app/session/command.h"
#include "compiler/support/standard_streams.h"

namespace {

// `dynrepl [--no-init] [MODEL [SIZE or option of :load]...]`; sizes may stand before the model, too.
bool startsShell(int argc, char** argv, dyn::ShellStart& start) {
  int at = 1;
  if (at < argc && std::string_view(argv[at]) == "--no-init") {
    start.initFile = false;
    ++at;
  }
  if (at == argc) return true;
  int model = at;
  while (model + 1 < argc && dyn::areSizes(argv[model])) ++model;
  if (!dyn::namesModel(argv[model])) return false;
  start.command = ":load";
  for (; at < argc; ++at) start.command += " " + dyn::quotedWord(argv[at], false);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  dyn::holdStandardStreams();
  dyn::ShellStart start;
  return startsShell(argc, argv, start) ? dyn::runRepl(start) : dyn::runBatch(argc, argv);
}
