#include "app/engine/generalise/generalise.h"

#include <charconv>
#include <set>

#include "app/engine/generalise/generaliser.h"
#include "compiler/ops/op_table.h"

namespace dyn {

Result<OpenAxis> parseOpenAxis(const std::string& text) {
  const auto bad = [&](const char* why) {
    return makeError(DiagnosticId::usageError, "--at " + text + ": " + why)
        .note("write --at input_ids.1, --at input_ids.1=seq, or --at input_ids.1=seq:128");
  };
  OpenAxis axis;
  const size_t equals = text.find('=');
  const std::string place = text.substr(0, equals);
  const size_t dot = place.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == place.size()) return bad("there is no axis");
  const char* end = place.data() + place.size();
  const auto [read, error] = std::from_chars(place.data() + dot + 1, end, axis.axis);
  if (error != std::errc() || read != end) return bad("the axis is not a number");
  axis.input = place.substr(0, dot);
  axis.symbol =
      equals == std::string::npos ? axis.input + "_" + std::to_string(axis.axis) : text.substr(equals + 1);
  if (const size_t colon = axis.symbol.find(':'); colon != std::string::npos) {
    int64_t size = 0;
    const char* stop = axis.symbol.data() + axis.symbol.size();
    const auto number = std::from_chars(axis.symbol.data() + colon + 1, stop, size);
    if (number.ec != std::errc() || number.ptr != stop || size < 1)
      return bad("the size of the example is not a number");
    axis.size = size;
    axis.symbol.resize(colon);
  }
  for (char& c : axis.symbol) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits && equals != std::string::npos) return bad("the name of a dim has letters, digits and _");
    if (!fits) c = '_';
  }
  if (axis.symbol.empty() || (axis.symbol[0] >= '0' && axis.symbol[0] <= '9'))
    return bad("the name of a dim begins with a letter");
  return axis;
}

namespace {

bool mayBeSize(const HostTensor& tensor) {
  return tensor.elementCount() != 1 || (isInteger(tensor.dtype()) && tensor.intAt(0) > 1);
}

// An operation of a body, or of a body in it, that may hold a size of the example: as a number, or a
// constant as long. The bodies of recurrent layers hold none: products, parts of equal size, and what goes
// element by element. Null: none.
const Op* holderOfSizes(const Function& body) {
  std::vector<const Function*> list{&body};
  while (!list.empty()) {
    const Function* function = list.back();
    list.pop_back();
    std::set<ValueId> constants;
    for (const Op* op : function->ops) {
      list.insert(list.end(), op->regions.begin(), op->regions.end());
      if (op->def == &ops::constantOp) {
        if (mayBeSize(*op->attributes.tensor("value"))) return op;
        constants.insert(op->results[0].id);
        continue;
      }
      const bool picks = op->def == &ops::gatherOp && constants.count(op->operands[1]) == 0;
      const bool keepsSizes = op->def->cls == OpClass::elementwise || op->def == &ops::matmulOp ||
                              op->def == &ops::unsqueezeOp || op->def == &ops::splitOp ||
                              op->def == &ops::loopOp || op->def == &ops::ifOp;
      if (!picks && !keepsSizes) return op;
    }
  }
  return nullptr;
}

}  // namespace

Result<Generalised> generalise(const Module& imported, const GeneraliseRequest& request) {
  if (request.axes.empty())
    return makeError(DiagnosticId::usageError, "no axis is to be opened: --at INPUT.AXIS");
  std::optional<Error> withSizes;
  for (const Op* op : imported.main()->ops)
    for (const Function* body : op->regions)
      if (const Op* holder = withSizes ? nullptr : holderOfSizes(*body))
        withSizes =
            makeError(DiagnosticId::unsupportedFeature,
                      "unsupported: sizes inside of branches and loops are not opened, and the operator " +
                          std::string(holder->def->name) + " may have some in the body of " +
                          std::string(op->def->name),
                      holder->place);
  if (withSizes) return *withSizes;
  return Generaliser(imported, request).run();
}

}  // namespace dyn
