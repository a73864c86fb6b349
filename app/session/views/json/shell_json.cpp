#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/shell_views.h"

namespace dyn {

Json viewJson(const SettingTable& view) {
  Json list = Json::array();
  for (const auto& row : view.rows)
    list.push_back({{"name", row.name},
                    {"value", row.value},
                    {"from", row.from},
                    {"section", row.section},
                    {"option", row.option},
                    {"help", row.help}});
  return {{"settings", list}};
}

Json viewJson(const TextView& view) { return {{"text", view.text}}; }

}  // namespace dyn
