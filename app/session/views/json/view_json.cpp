#include "app/session/views/view_json.h"

#include <nlohmann/json.hpp>

#include "app/session/views/json/view_cases.h"
#include "compiler/support/visible_text.h"

namespace dyn {

using Json = nlohmann::ordered_json;

Json toJson(const View& view) {
#define DYN_VIEW(kind) \
  if (const auto* held = view.as<kind>()) return viewJson(*held);
#include "app/session/views/views.def"
#undef DYN_VIEW
  return Json::object();
}

Json toJson(const Diagnostic& diagnostic) {
  Json json = {{"id", std::string(diagnosticRow(diagnostic.id).code)},
               {"name", std::string(diagnosticRow(diagnostic.id).name)},
               {"message", diagnostic.message},
               {"place", diagnostic.place.toString()},
               {"notes", diagnostic.notes}};
  if (!diagnostic.op.empty()) json["op"] = diagnostic.op;
  return json;
}

std::string jsonText(const Json& document) {
  return visibleJson(document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace dyn
