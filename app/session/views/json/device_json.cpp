#include "app/session/views/device_views.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"

namespace dyn {

namespace {

Json rowOfCounts(const DeviceCounts& row, bool ofLaunch) {
  Json json = {{"function", row.function}, {"kernel", row.name}, {"index", row.index}};
  if (ofLaunch) {
    json["launch"] = row.launch;
    json["grid"] = row.grid;
    json["block"] = row.threads;
  } else {
    json["launches_count"] = row.launchesCount;
  }
  json["warp_instructions_count"] = row.instructions;
  json["lane_instructions_count"] = row.laneInstructions;
  json["active_lanes"] = row.activeLanes();
  json["global_requests_count"] = row.globalRequests;
  json["global_sectors_count"] = row.globalSectors;
  json["sectors_per_request"] = row.sectorsPerRequest();
  json["shared_requests_count"] = row.sharedRequests;
  json["shared_ways_count"] = row.sharedWays;
  json["shared_ways_per_request"] = row.waysPerRequest();
  json["branches_count"] = row.branches;
  json["divergent_branches_count"] = row.divergentBranches;
  json["barriers_count"] = row.barriers;
  json["atomics_count"] = row.atomics;
  return json;
}

}  // namespace

Json countsJson(const DeviceCountTable& table) {
  Json rows = Json::array();
  for (const DeviceCounts& row : table.rows) rows.push_back(rowOfCounts(row, table.byLaunch));
  return rows;
}

Json viewJson(const DeviceCountTable& view) {
  return {{view.byLaunch ? "device_launches" : "device_counters", countsJson(view)}};
}

Json viewJson(const WarpView& view) {
  Json registers = Json::array();
  for (const WarpView::Register& held : view.registers)
    registers.push_back({{"name", held.name}, {"bits", held.bits}, {"lanes", held.lanes}});
  Json warp = {{"launch", view.launch},
               {"function", view.function},
               {"kernel", view.name},
               {"grid", view.grid},
               {"threads", view.threads},
               {"block", view.block},
               {"warp", view.warp},
               {"warps_count", view.warpsCount},
               {"active", view.active},
               {"exists", view.exists},
               {"ended", view.ended},
               {"waiting", view.parked},
               {"line", view.line},
               {"instruction", view.instruction},
               {"loop_line", view.loopLine},
               {"loop_text", view.loopText},
               {"instructions_count", view.instructions},
               {"barriers_count", view.barriers},
               {"fault", view.fault},
               {"registers", registers}};
  if (!view.shared.empty())
    warp["shared"] = {{"offset", view.sharedOffset}, {"bytes", view.shared}, {"written", view.sharedWritten}};
  return {{"warp", warp}};
}

Json viewJson(const PlacementView& view) {
  Json rows = Json::array();
  for (const PlacementView::Row& row : view.rows)
    rows.push_back({{"values", row.values},
                    {"operation", row.operation},
                    {"place", row.place},
                    {"device", row.onDevice ? view.device : view.host},
                    {"reason", row.reason},
                    {"rule", row.rule}});
  return {{"placement", rows}, {"place_rules", view.rules}, {"device_copies_count", view.copiesCount}};
}

}  // namespace dyn
