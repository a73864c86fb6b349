#include "app/session/views/level_homes.h"

#include <map>

#include "app/session/views/view_text.h"

namespace dyn {

namespace {

struct Place {
  std::string name;
  int64_t sizeBytes;
};

// From the nearest on; registers and memory are at the ends.
std::vector<Place> placesOf(const Caches& caches) {
  std::vector<Place> places{{"registers", caches.registerBytes}};
  for (const Place& cache :
       {Place{"L1", caches.l1Bytes}, Place{"L2", caches.l2Bytes}, Place{"L3", caches.l3Bytes}})
    if (cache.sizeBytes > 0) places.push_back(cache);
  places.push_back({"memory", 0});
  return places;
}

std::string whyNotIn(const Place& place, int64_t weightsBytes, int64_t mostBytes) {
  if (weightsBytes > place.sizeBytes) return "they are larger";
  if (place.name == "registers") return "each product is a call of its own, which loads them anew";
  return "a level computes with up to " + bytesText(mostBytes) + " beside them";
}

}  // namespace

std::vector<LevelHome> homesOf(const LevelLoop& loop, const Caches& caches) {
  const std::vector<Place> places = placesOf(caches);
  const int64_t weights = loop.weightsBytes.value_or(0);
  if (weights == 0 || places.size() == 2) return {};
  struct Levels {
    size_t count = 0;
    int64_t mostBytes = 0;
  };
  std::map<size_t, Levels> byPlace;
  for (const int64_t taken : loop.takenBytes) {
    size_t place = 1;
    while (place + 1 < places.size() && weights + taken > places[place].sizeBytes) ++place;
    Levels& levels = byPlace[place];
    ++levels.count;
    levels.mostBytes = std::max(levels.mostBytes, taken);
  }
  std::vector<LevelHome> homes;
  for (const auto& [place, levels] : byPlace) {
    const Place &here = places[place], &nearer = places[place - 1];
    homes.push_back({here.name, here.sizeBytes, levels.count, nearer.name,
                     whyNotIn(nearer, weights, levels.mostBytes), nearer.sizeBytes});
  }
  return homes;
}

}  // namespace dyn
