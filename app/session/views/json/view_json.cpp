#include "app/session/views/view_json.h"

#include <nlohmann/json.hpp>

#include "app/session/views/json/view_cases.h"
#include "compiler/support/visible_text.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

struct JsonWriter {
  Json operator()(std::monostate) const { return Json::object(); }
  template <typename T>
  Json operator()(const Shared<T>& view) const {
    return viewJson(*view);
  }
};

}  // namespace

Json toJson(const View& view) { return std::visit(JsonWriter{}, view); }

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
