// lazy_array.h — a large array of zeros that takes memory only where it is touched.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace simcuda {

// T is a plain type for which zero bytes are a value.
template <class T>
class LazyArray {
 public:
  LazyArray() = default;
  explicit LazyArray(size_t count) : bytes_(count * sizeof(T)) {
    if (bytes_ == 0) return;
    void* at =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(at);
  }
  LazyArray(LazyArray&& other) noexcept { swap(other); }
  LazyArray& operator=(LazyArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~LazyArray() {
    if (data_) munmap(data_, bytes_);
  }

  explicit operator bool() const { return data_ != nullptr; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  void swap(LazyArray& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  T* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace simcuda
