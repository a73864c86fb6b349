#include "app/session/answers/why_cache.h"

#include "app/engine/generate/decoder_ports.h"
#include "app/session/views/why_views.h"

namespace dyn {

Result<WhyView> whyCache(const Signature& signature) {
  DYN_TRY(const DecoderPorts ports, decoderPorts(signature, {.others = OtherInputs::shown}));
  WhyView view;
  view.question = "what is each input and output for in :generate?";
  int64_t growing = 0, states = 0, cross = 0;
  for (const CachePort& cache : ports.caches)
    ++(cache.kind == CacheKind::growing ? growing : cache.kind == CacheKind::state ? states : cross);
  const auto counted = [](int64_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  view.answer =
      counted(growing, "cache") + ", " + counted(states, "state") + ", " + counted(cross, "cross cache");
  if (ports.caches.empty()) view.answer += ": each step runs over the whole text";
  for (const DecoderRole& role : ports.roles)
    view.lines.push_back(role.port + ": " + role.role + " (" + role.reason + ")");
  return view;
}

}  // namespace dyn
