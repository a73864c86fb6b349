// Which kernels of a program have one machine code: those that are one general kernel at different sizes
// (compiler/loop/builder/general_kernel.h), as the layers of an image network that differ in channels and in
// how often the image was halved.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/loop/builder/general_kernel.h"

namespace dyn {

class SharedCode {
 public:
  SharedCode() = default;
  // isBuilt: whether the code of the general kernel with this key is there already; null: of none.
  using IsBuilt = std::function<bool(const std::string& key)>;
  explicit SharedCode(const std::vector<loop::Kernel>& kernels, const IsBuilt& isBuilt = nullptr);

  // By the first of each, ascending. One that shares with none, and whose code is not there, is alone.
  const std::vector<std::vector<size_t>>& groups() const { return groups_; }
  // Null: kernel i has a code of its own.
  const loop::GeneralKernel* generalOf(size_t i) const { return general_[i].get(); }
  // For kernels of any program; of those that generalOf has.
  const std::string& keyOf(size_t i) const { return keys_[i]; }
  bool isBuilt(size_t i) const { return built_[i]; }

 private:
  std::vector<std::vector<size_t>> groups_;
  std::vector<std::shared_ptr<const loop::GeneralKernel>> general_;
  std::vector<std::string> keys_;
  std::vector<bool> built_;
};

}  // namespace dyn
