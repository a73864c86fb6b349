#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/stop_views.h"

namespace dyn {

Json viewJson(const StopView& view) {
  Json registers = Json::array();
  for (const StopView::Register& held : view.registers)
    registers.push_back({{"name", held.name},
                         {"value", held.value},
                         {"type", held.type},
                         {"dims", held.dims},
                         {"holds", held.holds},
                         {"changed", held.changed}});
  Json source = Json::array();
  for (const StopView::SourceLine& line : view.source)
    source.push_back(
        {{"line", line.number}, {"text", line.text}, {"here", line.here}, {"same_kernel", line.sameKernel}});
  Json stop = {{"ended", view.ended},
               {"why", view.why},
               {"function", view.function},
               {"place", view.place},
               {"instruction", view.instruction},
               {"position", view.position},
               {"line", view.line},
               {"depth", view.depth},
               {"registers", registers},
               {"source", source}};
  if (view.result) stop["result"] = viewJson(*view.result);
  return {{"stop", stop}};
}

Json viewJson(const BreakpointTable& view) {
  Json rows = Json::array();
  for (const BreakpointTable::Row& row : view.rows)
    rows.push_back({{"number", row.number},
                    {"what", row.what},
                    {"where", row.where},
                    {"hits", row.hits},
                    {"lines", row.lines}});
  return {{"breakpoints", rows}, {"watched", view.watched}};
}

}  // namespace dyn
