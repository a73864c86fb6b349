// The text of one sequence up to the first of some texts that end it. A piece that may be the beginning of
// such a text is held back until it is clear.
#pragma once

#include <string>
#include <vector>

namespace dyn {

class TextUntilStop {
 public:
  explicit TextUntilStop(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  // What of the text so far, with this piece, is new and clear.
  std::string add(const std::string& piece);
  // What was held back, where nothing follows.
  std::string finish();
  bool hasEnded() const { return !ending_.empty(); }
  const std::string& ending() const { return ending_; }  // the text that ended it; ""

 private:
  size_t heldBytes() const;

  std::vector<std::string> stops_;  // empty ones are passed over
  std::string held_, ending_;
};

}  // namespace dyn
