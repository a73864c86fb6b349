// dyn_model: a session with one model, and what the C API lends out of it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "app/engine/model/signature.h"
#include "app/library/diagnostics.h"
#include "app/session/session.h"
#include "compiler/support/memory_file.h"

struct dyn_model {
  std::optional<dyn::MemoryFile> bytes;  // of a model that was given as bytes
  std::unique_ptr<dyn::Session> session;
  dyn::Signature inputs;                    // as loaded
  std::unique_ptr<dyn::Signature> outputs;  // after type inference; null before they were asked for
  std::string answer;                       // of the last command
};

namespace dyn::library {

// Runs a command and notes what it said. Errors of the command are values of the outcome.
std::shared_ptr<const Outcome> execute(dyn_model& model, Command command);
// The same; its error is noted, and its status returned.
dyn_status perform(dyn_model& model, Command command);
// Options as arguments of the command. Errors: badArgument for null pointers.
Status addOptions(Command& command, const dyn_option* options, size_t count);

}  // namespace dyn::library
