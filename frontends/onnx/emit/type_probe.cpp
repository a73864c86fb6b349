#include "frontends/onnx/emit/type_probe.h"

#include "compiler/infer/infer.h"

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

}  // namespace dyn::onnx
