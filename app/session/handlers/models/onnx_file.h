// The ONNX file of the session's model, to be written anew in parts.
#pragma once

#include <memory>
#include <string>

#include "app/session/session_state.h"
#ifdef DYN_HAVE_ONNX
#include "frontends/onnx/write/shape_writer.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_ONNX

// Read again up to inference: the types of all values that the file names.
struct TypedOnnxFile {
  std::unique_ptr<LoadedModel> model;
  onnx::TypesByName types;
};
// Errors: unsupportedFeature where the model is no ONNX file or came by standard input.
Result<TypedOnnxFile> typedOnnxFile(SessionState& state);
// What holds of the dims of a file with these inputs, as entries of its metadata.
onnx::Metadata dimsOfInputs(const TypedOnnxFile& typed, const std::vector<std::string>& inputs);

// The new file; its size. `from`: the file that it was made of, beside which it has to be where weights lie
// in files of their own. Error usageError where the name does not end in .onnx.
Result<int64_t> writeOnnxPieces(const onnx::FilePieces& pieces, const std::string& from,
                                const std::string& file);

#endif

}  // namespace dyn
