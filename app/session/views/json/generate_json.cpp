#include "app/session/views/generate_views.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"

namespace dyn {

Json viewJson(const GenerateResult& view) {
  Json sequences = Json::array();
  for (const GeneratedText& sequence : view.sequences) {
    Json item = {{"prompt", sequence.prompt}, {"prompt_ids", sequence.promptIds},
                 {"ids", sequence.ids},       {"text", sequence.text},
                 {"end", sequence.end},       {"first_token_ns", sequence.firstTokenNs}};
    if (sequence.score) item["score"] = *sequence.score;
    if (!sequence.stop.empty()) item["stop"] = sequence.stop;
    if (!sequence.error.empty()) item["error"] = sequence.error;
    sequences.push_back(std::move(item));
  }
  return {{"sequences", std::move(sequences)},
          {"caches", view.caches},
          {"new_tokens_count", view.newTokensCount},
          {"steps_count", view.stepsCount},
          {"rows_count", view.rowsCount},
          {"shared_tokens_count", view.sharedTokensCount},
          {"draft_tokens_count", view.draftTokensCount},
          {"accepted_tokens_count", view.acceptedTokensCount},
          {"first_token_ns", view.firstTokenNs},
          {"total_ns", view.totalNs}};
}

}  // namespace dyn
