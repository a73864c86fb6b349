// The files of a command, by the kinds of its arguments (commands.def): what it reads is noted, and what it
// is to write is looked at before it begins, so that no work is done for nothing. Names that follow from an
// argument (weights beside a model, the files of a library, NAME.npy of a folder) are looked at where they
// are written (compiler/support/read_files.h).
#pragma once

#include "app/session/session_state.h"
#include "compiler/support/read_files.h"

namespace dyn {

// Notes the loaded model's files, the script that the command stands in and the files among its arguments.
void noteFiles(const SessionState& state, const Command& command, ReadFiles& files);
// Errors usageError: an output is one of `files`, or ends as a kind of file that the command does not write.
Status checkOutputs(const SessionState& state, const Command& command, const ReadFiles& files);

}  // namespace dyn
