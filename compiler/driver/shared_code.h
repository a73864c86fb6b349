// Which kernels of a program have one machine code: those that are one general kernel at different sizes
// (compiler/loop/builder/general_kernel.h), as the layers of an image network that differ in channels and in
// how often the image was halved.
#pragma once

#include <memory>
#include <vector>

#include "compiler/loop/builder/general_kernel.h"

namespace dyn {

class SharedCode {
 public:
  SharedCode() = default;
  explicit SharedCode(const std::vector<loop::Kernel>& kernels);

  // By the first of each, ascending; one that shares with none is alone.
  const std::vector<std::vector<size_t>>& groups() const { return groups_; }
  // Null: kernel i has a code of its own.
  const loop::GeneralKernel* generalOf(size_t i) const { return general_[i].get(); }
  // For kernels of any program; of those that generalOf has.
  const std::string& keyOf(size_t i) const { return keys_[i]; }

 private:
  std::vector<std::vector<size_t>> groups_;
  std::vector<std::shared_ptr<const loop::GeneralKernel>> general_;
  std::vector<std::string> keys_;
};

}  // namespace dyn
