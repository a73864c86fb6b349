#include "compiler/ops/rules/need.h"

namespace dyn {

void tellNeed(const InferContext& c, int i, Need::Kind kind) {
  if (const auto* listener = dynamic_cast<const NeedListener*>(&c))
    listener->need({kind, c.op().operands[static_cast<size_t>(i)]});
}

Error operandNeeded(const InferContext& c, int i, Need::Kind kind, std::string message) {
  tellNeed(c, i, kind);
  return c.error(DiagnosticId::unsupportedFeature, std::move(message));
}

}  // namespace dyn
