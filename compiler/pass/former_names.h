// Former names of passes. They are accepted for one version wherever a pass is named; nothing prints them.
#pragma once

#include <array>
#include <string_view>

namespace dyn {

struct FormerPassName {
  std::string_view former, now;
};

inline constexpr std::array<FormerPassName, 6> kFormerPassNames = {{{"absorb", "fold_transposes"},
                                                                    {"contract", "einsum_to_matmul"},
                                                                    {"linearise", "batch_levels"},
                                                                    {"own_pads", "fold_pads"},
                                                                    {"place", "bufferize"},
                                                                    {"unpad", "pack_sequences"}}};

// The name that a pass has now: currentPassName("unpad") is "pack_sequences". Other names stay as they are.
constexpr std::string_view currentPassName(std::string_view name) {
  for (const FormerPassName& row : kFormerPassNames)
    if (row.former == name) return row.now;
  return name;
}

}  // namespace dyn
