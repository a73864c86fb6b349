// The verbs of batch mode. Each returns the exit code after it printed its one result.
#pragma once

#include "app/batch/arguments.h"
#include "app/batch/output.h"
#include "app/session/session.h"
#include "app/session/watchdog.h"

namespace dyn {

// What a command works with.
struct BatchContext {
  const BatchRequest& request;
  BatchOutput& output;
  // Null: the verb has none.
  Session* session = nullptr;
  const Watchdog* watchdog = nullptr;

  // Runs one command of the session; `cancelled` becomes what the watchdog says.
  std::shared_ptr<const Outcome> execute(Command command) const;
  int fail(const Outcome& outcome) const;
  int fail(const Diagnostic& diagnostic) const;
};

// One of each verb of command_line.def. Those that start processes or print a text have neither a session nor
// a watchdog: no thread may run beside a fork.
#define DYN_VERB(id, name, start, help, example) int verb_##id(const BatchContext& context);
#include "app/session/command_line.def"

}  // namespace dyn
