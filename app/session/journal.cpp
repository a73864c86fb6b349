#include "app/session/journal.h"

#include <algorithm>

namespace dyn {

void Journal::add(std::string line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++addedCount_;
  bytes_ += line.size();
  lines_.push_back(std::move(line));
  while (lines_.size() > kMostLines || (bytes_ > kMostBytes && lines_.size() > 1)) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
  }
}

Journal::Part Journal::last(size_t count) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (count == 0) count = lines_.size();
  count = std::min(count, lines_.size());
  Part part;
  part.firstNumber = addedCount_ - count + 1;
  part.lines.assign(lines_.end() - static_cast<ptrdiff_t>(count), lines_.end());
  return part;
}

}  // namespace dyn
