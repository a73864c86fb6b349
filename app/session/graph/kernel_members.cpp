#include "app/session/graph/kernel_members.h"

#include <algorithm>

#include "app/engine/run/run_result.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

std::map<std::string, std::vector<std::string>> kernelMembers(const Module& placed) {
  std::map<std::string, std::vector<std::string>> members;
  forEachOp(placed, [&](const Function&, const Op& group) {
    if ((group.def != &ops::fusedOp && group.def != &ops::intoOp) || group.regions.empty()) return;
    std::vector<std::string>& places = members[group.place.toString()];
    for (const Op* op : group.regions[0]->ops) {
      std::string place = op->place.toString();
      if (op->place.known() && std::find(places.begin(), places.end(), place) == places.end())
        places.push_back(std::move(place));
    }
  });
  std::erase_if(members, [](const auto& row) { return row.second.size() < 2; });
  return members;
}

void nameMembers(const Module& placed, RunResult& run) {
  const auto members = kernelMembers(placed);
  for (NodeTime& time : run.nodeTimes)
    if (const auto found = members.find(time.place); found != members.end()) time.members = found->second;
}

}  // namespace dyn
