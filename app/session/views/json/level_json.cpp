#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/level_homes.h"

namespace dyn {

namespace {

Json weightsJson(const LevelLoop& loop, const Caches& caches) {
  Json homes = Json::array();
  for (const LevelHome& home : homesOf(loop, caches))
    homes.push_back({{"place", home.place},
                     {"size_bytes", home.sizeBytes},
                     {"levels_count", home.levelsCount},
                     {"not_in", home.nearerPlace},
                     {"not_in_bytes", home.nearerBytes},
                     {"because", home.whyNearer}});
  return {{"bytes", *loop.weightsBytes}, {"tensors_count", loop.weightsCount}, {"stay_in", homes}};
}

Json loopJson(const LevelLoop& loop, const Caches& caches) {
  Json json = {{"function", loop.function},
               {"place", loop.place},
               {"nodes_count", loop.nodesCount()},
               {"levels_count", loop.nodes.size()},
               {"leaves_count", loop.leaves ? Json(*loop.leaves) : Json(nullptr)},
               {"widest_count", loop.widest()},
               {"time_ns", loop.timesNs.empty() ? Json(nullptr) : Json(loop.timeNs())},
               {"most_bytes", loop.takenBytes.empty() ? Json(nullptr) : Json(loop.mostBytes())}};
  if (!loop.oneByOne.empty()) json["one_by_one"] = loop.oneByOne;
  if (loop.weightsBytes) json["weights"] = weightsJson(loop, caches);
  json["nodes"] = loop.nodes;
  json["times_ns"] = loop.timesNs;
  json["bytes"] = loop.takenBytes;
  return json;
}

}  // namespace

Json viewJson(const LevelsView& view) {
  Json loops = Json::array(), sequences = Json::array();
  for (const LevelLoop& loop : view.loops) loops.push_back(loopJson(loop, view.caches));
  for (const SequenceRows& rows : view.sequences)
    sequences.push_back({{"value", rows.value},
                         {"lengths_of", rows.lengthsName},
                         {"sequences_count", rows.lengths.size()},
                         {"rows_count", rows.sum()},
                         {"longest_count", rows.longest()},
                         {"padding_share", rows.paddingShare()},
                         {"computed_padded", rows.isComputedPadded},
                         {"lengths", rows.lengths}});
  return {{"loops", loops}, {"sequences", sequences}};
}

}  // namespace dyn
