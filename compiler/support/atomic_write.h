// Writes a whole file or nothing: the bytes go to a temporary file of the same folder, which then replaces
// the target by rename. A reader never sees half a file; after a failure the old file, if there was one, is
// still there. What is no file and no folder (/dev/null, a pipe) is written where it is, and stays what it
// is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

enum class FileMode { data, executable };

// The pieces are written one after the other; folders that are missing are made. Error usageError for a file
// that the same command has read (read_files.h).
Status writeFileAtomically(const std::string& path, const std::vector<std::string_view>& pieces,
                           FileMode mode = FileMode::data);
// For a file that is read to be written anew with more in it: tuning records.
Status updateFileAtomically(const std::string& path, const std::vector<std::string_view>& pieces,
                            FileMode mode = FileMode::data);

// For a process that is about to end on a thread other than the writer's: files that are half written are
// removed, and from now on both functions make no file and no folder (cancelled).
void endWrites();

}  // namespace dyn
