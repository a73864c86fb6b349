// A module's text in parts, so that the driver is given the kernels that are launched and no others: it
// compiles what it is given when it is given it.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace dyn::vm {

struct PtxParts {
  std::string head;                          // version, target, variables: what belongs to all kernels
  std::map<std::string, std::string> entry;  // of each kernel, by name
  // A module with that kernel alone; "" if absent.
  std::string moduleOf(const std::string& kernel) const;
};

// Kernels begin with a line ".visible .entry NAME(" and end with a line "}"; a text of another form has none,
// and is all head.
PtxParts splitPtx(std::string_view text);

}  // namespace dyn::vm
