#include "vm/device/cuda/ptx_parts.h"

namespace dyn::vm {

std::string PtxParts::moduleOf(const std::string& kernel) const {
  const auto found = entry.find(kernel);
  return found == entry.end() ? std::string() : head + found->second;
}

PtxParts splitPtx(std::string_view text) {
  constexpr std::string_view kEntry = ".visible .entry ";
  PtxParts parts;
  std::string name;  // of the kernel whose lines these are
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    text.remove_prefix(line.size());
    if (name.empty() && line.substr(0, kEntry.size()) == kEntry) {
      const size_t close = line.find_first_of("( \n", kEntry.size());
      name = line.substr(kEntry.size(), close == std::string_view::npos ? close : close - kEntry.size());
    }
    (name.empty() ? parts.head : parts.entry[name]) += line;
    if (line.substr(0, 1) == "}") name.clear();
  }
  return parts;
}

}  // namespace dyn::vm
