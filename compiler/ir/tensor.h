// HostTensor: a dense row-major tensor in host memory with concrete shape: constants, reference evaluation,
// test inputs.
//
// Value semantics with shared bytes: copying a HostTensor shares its buffer; mutableData() copies first when
// shared. Large weights borrow a mapped file through `owner`, where they may lie at any address. Strings are
// held apart.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/support/result.h"

namespace dyn {

class HostTensor {
 public:
  HostTensor() = default;
  // Zero-filled. Error dimOverflow when the size does not fit, memoryLimit when it cannot be allocated.
  static Result<HostTensor> create(Dtype dtype, std::vector<int64_t> shape);
  // Borrows `data` (storage form of dyn_dtype.def) at any address, kept alive by `owner`. `forget`, when
  // given, drops the memory behind a part of the bytes, which come back from a file when they are read again.
  // Not valid() when the shape is negative or too large, or for strings.
  using Forget = std::function<void(std::string_view)>;
  static HostTensor borrow(Dtype dtype, std::vector<int64_t> shape, const void* data,
                           std::shared_ptr<const void> owner, Forget forget = {});
  static HostTensor strings(std::vector<int64_t> shape, std::vector<std::string> values);
  // Rank-0 and rank-1 conveniences.
  static HostTensor scalar(Dtype dtype, double value);
  static HostTensor scalarInt(Dtype dtype, int64_t value);
  static HostTensor vectorInt(Dtype dtype, std::span<const int64_t> values);
  static HostTensor vectorReal(Dtype dtype, std::span<const double> values);

  bool valid() const { return valid_; }
  Dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t elementCount() const { return count_; }
  int64_t sizeBytes() const { return count_ * storageBytes(dtype_); }
  // Aligned for the element type: bytes borrowed at an odd address are copied at the first call
  // (std::bad_alloc when they cannot be).
  const std::byte* data() const { return borrowed_ ? alignedData() : data_; }
  // The same where they lie, at any address.
  const std::byte* bytes() const { return data_; }
  // Borrowed bytes will not be read for a while.
  void forget() const;
  // Copies first when the bytes are borrowed or shared; null when that copy cannot be allocated, or for
  // strings.
  std::byte* mutableData();
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data());
  }
  template <typename T>
  T* mutableAs() {
    return reinterpret_cast<T*>(mutableData());
  }
  const std::vector<std::string>& stringValues() const { return *strings_; }
  std::vector<std::string>& mutableStringValues();

  // Element `flat` converted; integers and booleans exactly by intAt (u64 wraps, reals go toward zero),
  // everything numeric by realAt (complex: the real part).
  int64_t intAt(int64_t flat) const;
  double realAt(int64_t flat) const;
  void setInt(int64_t flat, int64_t value);  // wraps to the type
  // Rounds to nearest even for reals; integers take the part toward zero and wrap (NaN: 0); complex gets
  // imaginary part 0.
  void setReal(int64_t flat, double value);
  // The same elements seen with another shape of equal element count (shared bytes).
  HostTensor reshaped(std::vector<int64_t> shape) const;
  // Same dtype, shape and bits (NaNs of equal bits are equal).
  bool identical(const HostTensor& other) const;

 private:
  struct Borrowed;
  const std::byte* alignedData() const;

  Dtype dtype_ = Dtype::f32;
  std::vector<int64_t> shape_;
  int64_t count_ = 0;
  bool valid_ = false;
  std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;   // keeps data_ alive
  bool writable_ = false;               // data_ is ours (not borrowed)
  std::shared_ptr<Borrowed> borrowed_;  // shared by all that borrow the same bytes
  std::shared_ptr<std::vector<std::string>> strings_;
};

// "f32[2, 3] = [[1, 2, 3], [4, 5, 6]]"; edge items and `…` beyond maxElements.
std::string toString(const HostTensor& tensor, int64_t maxElements = 64);

}  // namespace dyn
