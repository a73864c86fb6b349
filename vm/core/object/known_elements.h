// Elements of small tensors that a rehearsal knows: of inputs that it was told, and of what follows from them
// alone. A rehearsal runs no kernels, and large blocks have no memory behind them; so elements that are known
// lie here, by the place of the tensor in its storage. Sizes that follow from them are then those of a run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "vm/core/object/object.h"

namespace dyn::vm {

class KnownElements {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 16;  // of all tensors of a call

  // 64-byte aligned memory.
  struct Bytes {
    explicit Bytes(uint64_t size);
    std::byte* data() const { return data_.get(); }

   private:
    struct Free {
      void operator()(std::byte* memory) const;
    };
    std::unique_ptr<std::byte, Free> data_;
  };

  bool empty() const { return regions_.empty(); }  // nothing was ever set
  // The elements of a tensor of the host, side by side; null: not known.
  const std::byte* of(const Tensor* tensor) const;
  void set(const Tensor* tensor, Bytes bytes);
  void forget(const Tensor* tensor);  // they were written

 private:
  struct Region {
    uint64_t end = 0;
    Bytes bytes;
  };
  using Regions = std::map<uint64_t, Region>;  // by their begin
  static uint64_t beginOf(const Tensor* tensor);

  std::map<const Storage*, Regions> regions_;
};

}  // namespace dyn::vm
