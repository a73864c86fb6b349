// The kind of a launch in words for labels: what the profile calls "builtin" is a hand-written kernel.
#pragma once

#include <QString>
#include <string>

namespace dyn::ui {

inline QString kindText(const std::string& kind) {
  if (kind == "builtin") return "hand-written kernel";
  if (kind == "kernel") return "generated kernel";
  return QString::fromStdString(kind);
}

}  // namespace dyn::ui
