#include <fmt/format.h>

#include "app/session/views/level_homes.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

std::string sizedName(const std::string& place, int64_t sizeBytes) {
  return sizeBytes > 0 ? place + " (" + bytesText(sizeBytes) + ")" : place;
}

}  // namespace

std::string homesText(const LevelLoop& loop, const Caches& caches) {
  if (!loop.weightsBytes) return "";
  if (*loop.weightsBytes == 0) return "  weights: no level reads any\n";
  std::string text = fmt::format("  weights: {} in {}, read at each level\n", bytesText(*loop.weightsBytes),
                                 countText(loop.weightsCount, "tensor"));
  const std::vector<LevelHome> homes = homesOf(loop, caches);
  if (homes.empty()) return text + "    where they stay is not known: the machine's caches are not\n";
  for (const LevelHome& home : homes)
    text += fmt::format(
        "    {} over {}; not in {}: {}\n",
        home.sizeBytes > 0 ? "stay in " + sizedName(home.place, home.sizeBytes) : "come from memory again",
        countText(static_cast<int64_t>(home.levelsCount), "level"),
        sizedName(home.nearerPlace, home.nearerBytes), home.whyNearer);
  return text;
}

}  // namespace dyn
