// What a file says of its dims beyond their names: entries of ModelProto.metadata_props, as `--dim` takes
// them.
//
//   dyn.dims      m=2*n, n<=m     relations
//   dyn.dim.seq   1..512          the range of one dim, perhaps with a multiple: 1..512:8
#pragma once

#include <string_view>

namespace dyn::onnx {

inline constexpr std::string_view kRelationsKey = "dyn.dims";
inline constexpr std::string_view kRangeKey = "dyn.dim.";  // and the dim's name

}  // namespace dyn::onnx
