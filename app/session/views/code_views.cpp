#include "app/session/views/code_views.h"

namespace dyn {

const char* toString(IrLevel level) {
  switch (level) {
    case IrLevel::source:
      return "source";
    case IrLevel::graph:
      return "graph";
    case IrLevel::placed:
      return "placed";
    case IrLevel::loop:
      return "loop";
    case IrLevel::llvm:
      return "llvm";
    case IrLevel::assembly:
      return "asm";
    case IrLevel::deviceCode:
      return "device";
    case IrLevel::bytecode:
      return "bytecode";
    case IrLevel::target:
      return "target";
  }
  return "?";
}

std::span<const std::string_view> levelNames() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names = {"source", "graph", "placed", "loop", "llvm", "asm"};
    for (const DeviceRow& row : deviceTable())
      if (row.isTarget()) names.push_back(row.level);
    names.insert(names.end(), {"bytecode", "target"});
    return names;
  }();
  return kNames;
}

std::string listOfLevels(std::string_view lastJoint) {
  const std::span<const std::string_view> names = levelNames();
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? lastJoint : ", ";
    text += names[i];
  }
  return text;
}

std::string_view IrText::levelName() const {
  return level == IrLevel::deviceCode ? deviceRow(device).level : toString(level);
}

}  // namespace dyn
