#include "app/session/views/generated_text.h"

#include "compiler/support/visible_text.h"

namespace dyn {

std::string headingOf(const GenerateResult& result, size_t sequence) {
  if (result.sequences.size() == 1) return "";
  return "[" + std::to_string(sequence + 1) + "] " + visibleLine(result.sequences[sequence].prompt) + "\n";
}

}  // namespace dyn
