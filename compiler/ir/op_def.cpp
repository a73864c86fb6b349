#include "compiler/ir/op_def.h"

namespace dyn {
namespace {

Error errorAt(const Op& op, DiagnosticId id, std::string message) {
  Error error = makeError(id, std::move(message), op.place);
  if (op.def) error.diagnostic().op = op.def->name;
  return error;
}

}  // namespace

Error InferContext::error(DiagnosticId id, std::string message) const {
  return errorAt(op(), id, std::move(message));
}

Error EvalContext::error(DiagnosticId id, std::string message) const {
  return errorAt(op(), id, std::move(message));
}

const char* toString(OpClass c) {
  static constexpr const char* kNames[] = {"elementwise", "view",   "injective",  "reduction",
                                           "contraction", "opaque", "structural", "check"};
  return kNames[static_cast<size_t>(c)];
}

}  // namespace dyn
