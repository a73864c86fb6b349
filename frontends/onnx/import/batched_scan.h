// Scan of operator set 8, whose values have the batch as their first axis, and a length for each entry where
// they are given. Here the node becomes nodes: a Scan over the batch, whose body is a Scan of the later form
// over one entry.
//
//   states [batch, ...], sequences [batch, steps, ...]  ->  states [batch, ...], results [batch, steps, ...]
//
// Of an entry that is shorter, the results past its length are 0, as in onnxruntime; one that is read
// backward begins at its own last step.
#pragma once

#include <memory>
#include <string_view>

#include "frontends/onnx/import/written_graph.h"
#include "frontends/text/operators.h"

namespace dyn::onnx {

// The domain of the Scans that are written here: they have the form of operator set 9, and their bodies stay
// in the model's operator set.
inline constexpr Text kScanDomain = "dyn.scan";
inline bool isScanOfWritten(std::string_view domain, std::string_view name) {
  return domain == kScanDomain && name == "Scan";
}

// `opsets`: of the function or graph around the node. `number`: another one for each call.
Result<std::shared_ptr<WrittenGraph>> batchedScan(const NodeProto& node, std::vector<OperatorSetId> opsets,
                                                  size_t number);

// What is computed around a shorter entry, as operators in the text language. The text is fixed: an error is
// a fault of Dyn's.
Result<text::OperatorFile> batchedScanSteps();

}  // namespace dyn::onnx
