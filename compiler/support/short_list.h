// ShortList<T, N>: a list as std::vector, of which up to N elements lie in itself.
//
//   ShortList<uint32_t, 2> operands = {1, 2};   // 16 bytes, nothing on the heap
//   operands.push_back(3);                      // three on the heap
//
// T is copied as bytes. It converts from and to std::vector, so that functions need not know of it. Pointers
// into it last until it grows, moves or goes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace dyn {

template <typename T, uint32_t N>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && N > 0);

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  ShortList() = default;
  ShortList(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  ShortList(const std::vector<T>& list) { append(list.data(), list.data() + list.size()); }
  template <std::forward_iterator Iterator>
  ShortList(Iterator first, Iterator last) {
    insert(end(), first, last);
  }
  ShortList(const ShortList& other) { append(other.begin(), other.end()); }
  ShortList(ShortList&& other) noexcept { take(other); }
  ShortList& operator=(const ShortList& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  ShortList& operator=(const std::vector<T>& list) {
    assign(list.begin(), list.end());
    return *this;
  }
  ShortList& operator=(ShortList&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ShortList& operator=(std::initializer_list<T> list) {
    assign(list.begin(), list.end());
    return *this;
  }
  ~ShortList() { release(); }
  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ > N ? heap() : reinterpret_cast<T*>(room_); }
  const T* data() const { return const_cast<ShortList*>(this)->data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  auto rbegin() { return std::reverse_iterator<T*>(end()); }
  auto rend() { return std::reverse_iterator<T*>(begin()); }
  auto rbegin() const { return std::reverse_iterator<const T*>(end()); }
  auto rend() const { return std::reverse_iterator<const T*>(begin()); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  // std::out_of_range beyond the end.
  T& at(size_t i) { return const_cast<T&>(std::as_const(*this).at(i)); }
  const T& at(size_t i) const {
    if (i >= size_) throw std::out_of_range("ShortList::at");
    return data()[i];
  }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  void clear() { size_ = 0; }
  void resize(size_t count, T value = T()) {
    reserve(count);
    for (; size_ < count; ++size_) new (data() + size_) T(value);
    size_ = static_cast<uint32_t>(count);
  }
  void push_back(T value) { insert(end(), value); }
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    return *insert(end(), T{std::forward<Arguments>(arguments)...});
  }
  void pop_back() { --size_; }
  T* insert(const T* at, T value) {
    T* place = open(at, 1);
    new (place) T(value);
    return place;
  }
  template <std::forward_iterator Iterator>
  T* insert(const T* at, Iterator first, Iterator last) {  // of another list
    T* place = open(at, static_cast<size_t>(std::distance(first, last)));
    std::copy(first, last, place);
    return place;
  }
  T* insert(const T* at, std::initializer_list<T> list) { return insert(at, list.begin(), list.end()); }
  T* insert(const T* at, size_t count, T value) {
    T* place = open(at, count);
    std::fill_n(place, count, value);
    return place;
  }
  T* erase(const T* first, const T* last) {
    T* place = begin() + (first - begin());
    std::copy(last, static_cast<const T*>(end()), place);
    size_ -= static_cast<uint32_t>(last - first);
    return place;
  }
  T* erase(const T* at) { return erase(at, at + 1); }
  template <std::forward_iterator Iterator>
  void assign(Iterator first, Iterator last) {  // of another list
    size_ = 0;
    insert(end(), first, last);
  }
  void assign(size_t count, T value) {
    size_ = 0;
    resize(count, value);
  }

  friend bool operator==(const ShortList& a, const ShortList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* heap() const {
    T* place;
    std::memcpy(&place, room_, sizeof place);
    return place;
  }
  void release() {
    if (capacity_ > N) ::operator delete(heap());
  }
  void take(ShortList& other) {
    std::memcpy(room_, other.room_, sizeof room_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }
  void grow(size_t wanted) {
    const size_t capacity = std::max<size_t>(wanted, 2 * static_cast<size_t>(capacity_));
    T* place = static_cast<T*>(::operator new(capacity * sizeof(T)));
    std::uninitialized_copy(begin(), end(), place);
    release();
    std::memcpy(room_, &place, sizeof place);
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void append(const T* first, const T* last) {
    const size_t count = static_cast<size_t>(last - first);
    if (size_ + count > capacity_) grow(size_ + count);
    std::uninitialized_copy(first, last, end());
    size_ += static_cast<uint32_t>(count);
  }
  // Room for `count` elements at `at`; what is there holds any value.
  T* open(const T* at, size_t count) {
    const ptrdiff_t place = at - begin();
    if (size_ + count > capacity_) grow(size_ + count);
    T* from = begin() + place;
    std::copy_backward(from, end(), end() + count);
    size_ += static_cast<uint32_t>(count);
    return from;
  }

  // Elements, or the address of those on the heap.
  static constexpr size_t kRoomBytes = std::max(N * sizeof(T), sizeof(T*));
  alignas(std::max(alignof(T), alignof(T*))) std::byte room_[kRoomBytes] = {};
  uint32_t size_ = 0, capacity_ = N;
};

}  // namespace dyn
