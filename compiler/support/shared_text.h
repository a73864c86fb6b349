// SharedText: an immutable text whose copies are one text.
//
//   SharedText file = "model.onnx";
//   SharedText same = file;          // no copy of the characters
//
// As large as a pointer, "" takes no memory. Copies may be made and dropped on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace dyn {

class SharedText {
 public:
  static constexpr size_t npos = std::string_view::npos;

  SharedText() = default;
  SharedText(std::string_view text);
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}
  SharedText(const char* text) : SharedText(std::string_view(text)) {}
  SharedText(const SharedText& other) : held_(other.held_) {
    if (held_) held_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedText(SharedText&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~SharedText() {
    if (held_) letGo();
  }

  std::string_view view() const { return held_ ? std::string_view(held_->text(), held_->size) : ""; }
  std::string str() const { return std::string(view()); }
  operator std::string_view() const { return view(); }
  operator std::string() const { return str(); }

  bool empty() const { return held_ == nullptr; }
  size_t size() const { return held_ ? held_->size : 0; }
  void clear() { *this = SharedText(); }
  size_t find(std::string_view part, size_t from = 0) const { return view().find(part, from); }
  size_t rfind(std::string_view part, size_t from = npos) const { return view().rfind(part, from); }
  std::string substr(size_t begin, size_t size = npos) const {
    return std::string(view().substr(begin, size));
  }
  // Is it the same text in memory, not only an equal one?
  bool sharesWith(const SharedText& other) const { return held_ == other.held_; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.held_ == b.held_ || a.view() == b.view();
  }
  friend bool operator==(const SharedText& a, std::string_view b) { return a.view() == b; }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.view() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.view() == b; }
  friend std::string operator+(std::string a, const SharedText& b) { return std::move(a.append(b.view())); }
  friend std::string operator+(const SharedText& a, std::string_view b) { return a.str().append(b); }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) { return out << text.view(); }

 private:
  // The characters stand behind it.
  struct Held {
    std::atomic<uint32_t> owners{1};
    uint32_t size = 0;
    const char* text() const { return reinterpret_cast<const char*>(this + 1); }
  };
  void letGo();

  Held* held_ = nullptr;
};

}  // namespace dyn
