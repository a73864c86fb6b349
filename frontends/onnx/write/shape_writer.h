// An ONNX file with the types that inference found written into it: value_info of the model's graph, and the
// types of its inputs and outputs. All else stays as it is, byte by byte; weights are not copied.
//
//   DYN_TRY(const FilePieces made, withTypes(file, types));      // of names of the model's graph
//   DYN_CHECK(writeFileAtomically("typed.onnx", made.pieces));
//
// A dim is its number, or its formula (`2*seq + 1`) as dim_param. A size that only the values of a run decide
// is a name of its own, `unk_7`, the same wherever it is the same size.
// Errors: onnxMalformed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "compiler/ir/type.h"
#include "frontends/onnx/write/file_pieces.h"

namespace dyn::onnx {

using TypesByName = std::map<std::string, Type, std::less<>>;

// Types that ONNX cannot say (of trees, of functions) are left out. `dims`: entries of metadata_props in
// place of the file's own about dims (dim_metadata.h); nothing: those stay.
Result<FilePieces> withTypes(std::shared_ptr<const MappedFile> file, const TypesByName& types,
                             const std::optional<Metadata>& dims = {});

}  // namespace dyn::onnx
