// Exports over the freestanding runtime: libraries without heap, and images.
#pragma once

#include "app/session/session_state.h"
#include "compiler/export/library_export.h"

namespace dyn {

// The library that the command asks for, of a model from `source`, over the runtime of the request; its
// bound is that of the result, which is told what was written.
Status writeLibraryFiles(const CompiledModel& compiled, const Command& command, const std::string& source,
                         LibraryRequest request, ExportResult& result);

// `model` is compiled for a target without heap (LoadRequest::withoutHeap). Errors: unsupportedFeature where
// the memory has no bound, or the program wants what the runtime does not have.
Status exportWithoutHeap(SessionState& state, const Command& command, LoadedModel& model,
                         ExportResult& result);

}  // namespace dyn
