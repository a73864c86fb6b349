// What the importer learns of ranks and element types by a second import (type_probe.h).
#include "frontends/onnx/import/graph_importer.h"

namespace dyn::onnx {

void GraphImporter::learn() {
  if (learntAt_ == nodeCount_ || probesLeft_ == 0) return;
  learntAt_ = nodeCount_;
  --probesLeft_;
  if (!isProbe_) {
    IrContext ir;
    GraphImporter probe(ir, model_, options_);
    probe.isProbe_ = true;
    probe.stopAt_ = nodeCount_;
    probe.known_ = known_;
    const uint32_t first = ir.valueCount();
    (void)probe.run();
    known_ = knownTypes(probe.moduleOf(probe.main_.finish("main", {}, {})), first);
  }
  for (size_t i = 0; i < known_.size(); ++i) {
    ValueTable::Entry& entry = values_.at(static_cast<ValueId>(firstValue_ + i));
    if (entry.owner != main_.serial() || entry.isList) continue;
    if (entry.rank < 0) entry.rank = known_[i].rank;
    if (!entry.dtype) entry.dtype = known_[i].dtype;
  }
}

}  // namespace dyn::onnx
