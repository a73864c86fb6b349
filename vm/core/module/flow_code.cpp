#include "vm/core/module/flow_code.h"

#include <string>
#include <utility>

#include "vm/isa/flow_digest.h"

namespace dyn::vm {

Status FlowCode::create(const DynFlowProgram& given, const Program& program, FlowCode& code) {
  const auto refuse = [](const std::string& why) {
    return failure(DYN_BAD_PROGRAM, "the native host code " + why);
  };
  if (given.version != DYN_FLOW_VERSION)
    return refuse("is of version " + std::to_string(given.version) + ", this runtime has " +
                  std::to_string(DYN_FLOW_VERSION));
  if (given.digest != flowDigest(program)) return refuse("was made of other bytecode");
  std::vector<Range> functions(program.functions.size());
  for (uint32_t i = 0; i < given.pieceCount; ++i) {
    const DynFlowPiece& piece = given.pieces[i];
    if (piece.function >= functions.size() || !piece.code) return refuse("has a piece of no function");
    Range& range = functions[piece.function];
    if (piece.views > kMostViews) return refuse("wants too many views");
    const bool first = range.end == 0;
    if (first ? piece.begin != 0 : range.end != i || given.pieces[i - 1].begin >= piece.begin)
      return refuse("has pieces in disorder");
    if (first) range.begin = i;
    range.end = i + 1;
  }
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i].end == 0 && static_cast<int32_t>(i) != program.initFunction)
      return refuse("lacks function " + program.functions[i].name);
  code.pieces_ = given.pieces;
  code.functions_ = std::move(functions);
  return okStatus();
}

}  // namespace dyn::vm
