#include "app/session/views/code_views.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"

namespace dyn {

Json viewJson(const IrText& view) {
  Json ir = {{"level", view.levelName()}, {"title", view.title}, {"text", view.text}};
  if (!view.file.empty()) ir["file"] = view.file;
  for (const LineOrigin& origin : view.origins)
    ir["origins"].push_back({{"line", origin.line},
                             {"last_line", origin.lastLine},
                             {"places", origin.places},
                             {"kernels", origin.kernels},
                             {"loop_line", origin.loopLine}});
  if (!view.kernelPlaces.empty()) ir["kernel_places"] = view.kernelPlaces;
  return {{"ir", ir}};
}

Json viewJson(const LinkedLines& view) {
  Json levels = Json::array();
  for (const LinkedLines::Level& level : view.levels) {
    Json lines = Json::array();
    for (const LinkedLines::Line& line : level.lines)
      lines.push_back({{"line", line.line}, {"text", line.text}});
    levels.push_back({{"level", toString(level.level)}, {"lines", lines}});
  }
  return {{"level", toString(view.level)},
          {"line", view.line.line},
          {"text", view.line.text},
          {"levels", levels}};
}

}  // namespace dyn
