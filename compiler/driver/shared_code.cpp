#include "compiler/driver/shared_code.h"

#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/loop/kernel_key.h"

namespace dyn {

SharedCode::SharedCode(const std::vector<loop::Kernel>& kernels, const IsBuilt& isBuilt)
    : general_(kernels.size()), keys_(kernels.size()), built_(kernels.size()) {
  std::unordered_map<std::string, size_t> groupOf;
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::optional<loop::GeneralKernel> general = loop::generalOf(kernels[i]);
    std::optional<std::string> key = general ? loop::lastingKey(general->kernel) : std::nullopt;
    if (key) *key = loop::generalKeyOf(*key, general->given.size());
    if (!key) {
      groups_.push_back({i});
      continue;
    }
    const auto [group, fresh] = groupOf.try_emplace(*key, groups_.size());
    if (fresh) groups_.emplace_back();
    groups_[group->second].push_back(i);
    keys_[i] = *key;
    general_[i] = std::make_shared<const loop::GeneralKernel>(*std::move(general));
  }
  for (const std::vector<size_t>& group : groups_) {
    const bool isThere = isBuilt && general_[group[0]] && isBuilt(keys_[group[0]]);
    for (size_t i : group) built_[i] = isThere;
    if (group.size() == 1 && !isThere) {
      general_[group[0]] = nullptr;
      keys_[group[0]].clear();
    }
  }
}

}  // namespace dyn
