#include "app/engine/generalise/generalise.h"

#include <charconv>

#include "app/engine/generalise/generaliser.h"
#include "compiler/ir/walk.h"

namespace dyn {

Result<OpenAxis> parseOpenAxis(const std::string& text) {
  const auto bad = [&](const char* why) {
    return makeError(DiagnosticId::usageError, "--at " + text + ": " + why)
        .note("write --at input_ids.1, or --at input_ids.1=seq");
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
  for (char& c : axis.symbol) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits && equals != std::string::npos) return bad("the name of a dim has letters, digits and _");
    if (!fits) c = '_';
  }
  if (axis.symbol.empty() || (axis.symbol[0] >= '0' && axis.symbol[0] <= '9'))
    return bad("the name of a dim begins with a letter");
  return axis;
}

Result<Generalised> generalise(const Module& imported, const GeneraliseRequest& request) {
  if (request.axes.empty())
    return makeError(DiagnosticId::usageError, "no axis is to be opened: --at INPUT.AXIS");
  // Sizes of the example that stand inside of a body are not looked for: a model that has one would come back
  // open and wrong.
  std::optional<Error> withBody;
  forEachOp(imported, [&](const Function&, const Op& op) {
    if (op.regions.empty() || withBody) return;
    withBody = makeError(
        DiagnosticId::unsupportedFeature,
        "unsupported: a model with branches or loops is not opened: " + std::string(op.def->name), op.place);
  });
  if (withBody) return *withBody;
  return Generaliser(imported, request).run();
}

}  // namespace dyn
