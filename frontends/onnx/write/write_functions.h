// The operators that are more than one node of the same form, by family; write_table.cpp lists them.
#pragma once

#include "frontends/onnx/write/node_writer.h"

namespace dyn::onnx {

#define DYN_ONNX_WRITING(name) void name(NodeWriter& w)
// write_products.cpp
DYN_ONNX_WRITING(writeMatmul);
DYN_ONNX_WRITING(writeMatmulPermuted);
DYN_ONNX_WRITING(writeGemmPacked);
DYN_ONNX_WRITING(writeMatmulIntegerPacked);
DYN_ONNX_WRITING(writeMatmulNbits);
DYN_ONNX_WRITING(writeConvInteger);
DYN_ONNX_WRITING(writeConvIntegerPacked);
// write_images.cpp
DYN_ONNX_WRITING(writeConv);
DYN_ONNX_WRITING(writeConvPacked);
DYN_ONNX_WRITING(writePool);
// write_attention.cpp
DYN_ONNX_WRITING(writePackedAttention);
// write_shapes.cpp
DYN_ONNX_WRITING(writeReshape);
DYN_ONNX_WRITING(writeSplit);
DYN_ONNX_WRITING(writeAppend);
DYN_ONNX_WRITING(writeStrided);
DYN_ONNX_WRITING(writeTopK);
DYN_ONNX_WRITING(writeResize);
DYN_ONNX_WRITING(writeDepthToSpace);
// write_trees.cpp
DYN_ONNX_WRITING(writeWalkTrees);
// write_values.cpp
DYN_ONNX_WRITING(writeList);
DYN_ONNX_WRITING(writeStackFromSequence);
DYN_ONNX_WRITING(writeBitShift);
DYN_ONNX_WRITING(writeRangeReal);
DYN_ONNX_WRITING(writeScaledNorm);
DYN_ONNX_WRITING(writeLookup);
DYN_ONNX_WRITING(writeStringNormalize);
DYN_ONNX_WRITING(writeTfidf);
#undef DYN_ONNX_WRITING

// Steps that several of them share.
// Axis i of the result is axis order[i] of the tensor.
std::string transposed(NodeWriter& w, const std::string& tensor, std::span<const int64_t> order);
// What was packed for operand `operand`, in the element type that the product computes in; `pack` becomes the
// operation that packs it.
std::string unpackedWeights(NodeWriter& w, size_t operand, const Op** pack);

}  // namespace dyn::onnx
