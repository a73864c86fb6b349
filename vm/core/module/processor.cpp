#include "vm/core/module/processor.h"

#include <vector>

namespace dyn::vm {

#if defined(__x86_64__)
const std::string_view kArchitecture = "x86_64";
#elif defined(__aarch64__)
const std::string_view kArchitecture = "aarch64";
#elif defined(__riscv)
const std::string_view kArchitecture = "riscv64";
#else
const std::string_view kArchitecture = "unknown";
#endif

namespace {

struct Feature {
  std::string_view shortName, name;
  int32_t level;
  bool here;
};

std::vector<Feature> features() {
  std::vector<Feature> rows;
#if defined(__x86_64__)
  __builtin_cpu_init();
#define DYN_PROCESSOR_FEATURE(short, name, level) \
  rows.push_back({short, name, level, __builtin_cpu_supports(name) != 0});
#include "vm/shared/dyn_processor_features.def"
#elif defined(__aarch64__)
#define DYN_ARM_FEATURE(short, name, word, bit) rows.push_back({short, short, 0, armHas(word, bit)});
#include "vm/shared/dyn_arm_features.def"
#endif
  return rows;
}

struct Needs {
  int32_t count = 0;
  std::string lacking;
  void add(std::string_view name, bool here) {
    ++count;
    if (!here) lacking += (lacking.empty() ? "" : ", ") + std::string(name);
  }
};

Needs needsOf(std::string_view text) {
  Needs needs;
  const size_t colon = text.find(':');
  if (text.substr(0, colon) != kArchitecture) {
    needs.lacking = "the architecture " + std::string(text.substr(0, colon));
    return needs;
  }
  const std::vector<Feature> rows = features();
  for (size_t at = colon; at != std::string_view::npos;) {
    const size_t next = text.find('+', at + 1);
    const std::string_view one = text.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    at = next;
    if (one == "v2" || one == "v3" || one == "v4") {
      for (const Feature& row : rows)
        if (row.level <= one[1] - '0') needs.add(row.name, row.here);
      continue;
    }
    bool known = false;
    for (const Feature& row : rows)
      if (row.shortName == one) {
        needs.add(row.name, row.here);
        known = true;
      }
    if (!known) needs.add(one, false);
  }
  return needs;
}

}  // namespace

int32_t codeFitness(std::string_view text) {
  const Needs needs = needsOf(text);
  return needs.lacking.empty() ? needs.count : -1;
}

std::string lackingFor(std::string_view text) { return needsOf(text).lacking; }

}  // namespace dyn::vm
