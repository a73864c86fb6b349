// The shell: expressions of the text IR are values, `:commands` look into the model.
//
// On a terminal: line editing, history, Tab, `... ` while brackets are open, Ctrl-C clears the line or ends
// the run, Ctrl-D leaves. On piped input: the same commands without prompt, banner, colour and history; it
// stops at the first error with that error's exit code.
#pragma once

#include <string>

namespace dyn {

struct ShellStart {
  bool initFile = true;  // the commands of a person's own (app/repl/init_file.h) come first, on a terminal
  std::string command;   // and then this one, such as ":load bert.onnx"; "": none
};

int runRepl(const ShellStart& start);

}  // namespace dyn
