// What writes an export of each kind (app/session/export_kinds.def).
#pragma once

#include <optional>

#include "app/engine/model/signing_key.h"
#include "app/session/export_kinds.h"
#include "app/session/session_state.h"
#include "app/session/views/file_views.h"
#include "compiler/driver/compile.h"

namespace dyn {

// A model that is compiled and asked for as a file.
struct ExportJob {
  SessionState& state;
  const Command& command;
  const ExportKind& kind;
  LoadedModel& model;
  ExportResult& result;  // kind, target and bound are known; a writer adds what it wrote

  // Is it to run without a heap (LoadRequest::withoutHeap)?
  bool withoutHeap() const;
  const CompiledModel& compiled() const { return *model.compiled(); }
};

// Each writes the file that --output names, or leaves what was there. Errors: fileError; unsupportedFeature
// where a file of the runtime or a tool is missing, or the program needs what the kind does not have.
#define DYN_EXPORT_KIND(id, name, memory, options, help) Status write_##id(const ExportJob& job);
#include "app/session/export_kinds.def"
#undef DYN_EXPORT_KIND

// By --interpret and the setting host-code.
HostCode hostCodeOf(const SessionState& state, const Command& command);
// Of --sign; none: the package is not signed.
Result<std::optional<SigningSeed>> signingKeyOf(const Command& command);

// The files of the runtime for the system that the model was compiled for.
struct RuntimeFolders {
  std::string programs, objects;
  std::string system;  // the C library of another processor; "": that of this process
};
// Of this installation, or, for another processor than its own, of that below ../lib. Error
// unsupportedFeature: there is none for `what` ("a library").
Result<RuntimeFolders> runtimeFolders(const CompiledModel& compiled, const char* what);

}  // namespace dyn
