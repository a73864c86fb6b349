#include "app/session/views/generate_views.h"
#include "app/session/views/generated_text.h"
#include "app/session/views/text/view_cases.h"

namespace dyn {

std::string viewText(const GenerateResult& view, const TextOptions&) {
  std::string text;
  for (size_t i = 0; i < view.sequences.size(); ++i)
    text += headingOf(view, i) + view.sequences[i].text + "\n";
  return text;
}

}  // namespace dyn
