#include "frontends/onnx/type_probe.h"

#include "compiler/ops/infer.h"
#include "frontends/onnx/graph_importer.h"

namespace dyn::onnx {

std::vector<KnownType> knownTypes(const Module& module, uint32_t firstValue) {
  std::vector<KnownType> known;
  const Result<InferredModule> typed = inferTypes(module);
  if (!typed.ok()) return known;
  const auto learn = [&](ValueId id, Type type) {
    if (id < firstValue || !type || !type.isTensor()) return;
    if (id - firstValue >= known.size()) known.resize(id - firstValue + 1);
    known[id - firstValue] = {type.rank(), type.dtype()};
  };
  for (const Op* op : typed->module.main()->ops)
    for (const ValueDef& result : op->results) learn(result.id, result.type);
  return known;
}

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
    Module module;
    module.context = &ir;
    module.functions.push_back(probe.main_.finish("main", {}, {}));
    known_ = knownTypes(module, first);
  }
  for (size_t i = 0; i < known_.size(); ++i) {
    ValueTable::Entry& entry = values_.at(static_cast<ValueId>(firstValue_ + i));
    if (entry.owner != main_.serial() || entry.isList) continue;
    if (entry.rank < 0) entry.rank = known_[i].rank;
    if (!entry.dtype) entry.dtype = known_[i].dtype;
  }
}

}  // namespace dyn::onnx
