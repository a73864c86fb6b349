#include "compiler/support/shared_text.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace dyn {

SharedText::SharedText(std::string_view text) {
  text = text.substr(0, UINT32_MAX);
  if (text.empty()) return;
  void* memory = ::operator new(sizeof(Held) + text.size());
  std::memcpy(static_cast<char*>(memory) + sizeof(Held), text.data(), text.size());
  held_ = new (memory) Held;
  held_->size = static_cast<uint32_t>(text.size());
}

void SharedText::letGo() {
  if (held_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  held_->~Held();
  ::operator delete(held_);
}

}  // namespace dyn
