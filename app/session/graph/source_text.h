// The text that a model's operations come from: of a text module its file; of an ONNX file each node as
// text, with what its exporter wrote down of the program behind it.
//
// Contract: origins by line have the places of all operations that came from it, at any step of the
// compilation so far; kernels are added by addOrigins (level_links.h). A model that cannot be compiled has
// its text, too.
#pragma once

#include "app/engine/model/loaded_model.h"
#include "app/session/views/code_views.h"

namespace dyn {

// Errors: unsupportedFeature of a package, of a model from standard input, of a file that is too large to
// be read as text; fileError where the file is gone.
Result<IrText> modelSource(const LoadedModel& model);

}  // namespace dyn
