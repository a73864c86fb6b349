#include <nlohmann/json.hpp>

#include "app/session/views/level_homes.h"
#include "app/session/views/level_views_text.h"

namespace dyn {

namespace {

using LevelJson = nlohmann::ordered_json;

LevelJson weightsJson(const LevelLoop& loop, const Caches& caches) {
  LevelJson homes = LevelJson::array();
  for (const LevelHome& home : homesOf(loop, caches))
    homes.push_back({{"place", home.place},
                     {"size_bytes", home.sizeBytes},
                     {"levels_count", home.levelsCount},
                     {"not_in", home.nearerPlace},
                     {"not_in_bytes", home.nearerBytes},
                     {"because", home.whyNearer}});
  return {{"bytes", *loop.weightsBytes}, {"tensors_count", loop.weightsCount}, {"stay_in", homes}};
}

LevelJson loopJson(const LevelLoop& loop, const Caches& caches) {
  LevelJson json = {
      {"function", loop.function},
      {"place", loop.place},
      {"nodes_count", loop.nodesCount()},
      {"levels_count", loop.nodes.size()},
      {"leaves_count", loop.leaves ? LevelJson(*loop.leaves) : LevelJson(nullptr)},
      {"widest_count", loop.widest()},
      {"time_ns", loop.timesNs.empty() ? LevelJson(nullptr) : LevelJson(loop.timeNs())},
      {"most_bytes", loop.takenBytes.empty() ? LevelJson(nullptr) : LevelJson(loop.mostBytes())}};
  if (!loop.oneByOne.empty()) json["one_by_one"] = loop.oneByOne;
  if (loop.weightsBytes) json["weights"] = weightsJson(loop, caches);
  json["nodes"] = loop.nodes;
  json["times_ns"] = loop.timesNs;
  json["bytes"] = loop.takenBytes;
  return json;
}

}  // namespace

nlohmann::ordered_json levelsJson(const LevelsView& view) {
  LevelJson loops = LevelJson::array(), sequences = LevelJson::array();
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
