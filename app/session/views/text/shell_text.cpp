#include <algorithm>

#include "app/session/views/shell_views.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

std::string viewText(const SettingTable& view, const TextOptions& options) {
  TextRows rows;
  for (const auto& row : view.rows) rows.push_back({row.name, row.value, row.from, row.help});
  return textTable({"setting", "value", "from", ""}, rows, options);
}

std::string viewText(const TextView& view, const TextOptions& options) {
  if (view.hang < 0 || !options.fitted) return view.text;
  std::string text;
  for (size_t begin = 0; begin < view.text.size();) {
    const size_t end = std::min(view.text.find('\n', begin), view.text.size());
    text += wrapped(view.text.substr(begin, end - begin), static_cast<size_t>(options.width),
                    static_cast<size_t>(view.hang)) +
            "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace dyn
