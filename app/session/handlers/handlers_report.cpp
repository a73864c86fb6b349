// Handlers: :report, the model and its compilation as one page.
#include <nlohmann/json.hpp>

#include "app/engine/model/model_info.h"
#include "app/session/report/report_data.h"
#include "app/session/report/report_page.h"
#include "app/session/session_state.h"
#include "app/session/views/file_views.h"
#include "app/session/views/view.h"
#include "compiler/support/atomic_write.h"

namespace dyn {

Result<View> handle_report(SessionState& state, const Command& command, Outcome&) {
  const std::string file = command.text("o");
  if (!file.ends_with(".html"))
    return makeError(DiagnosticId::usageError, file + ": a file NAME.html is needed");
  DYN_TRY(const nlohmann::ordered_json data, reportData(state, command));
  const std::string page = reportPage(data);
  DYN_CHECK(writeFileAtomically(file, {page}));
  ReportResult result;
  result.file = {file, static_cast<int64_t>(page.size())};
  result.passesCount = static_cast<int64_t>(data["passes"].size());
  result.kernelsCount = static_cast<int64_t>(data["kernel_texts"].size());
  const auto& run = data["run"];
  if (run.contains("refused"))
    result.whyNoRun = run["refused"];
  else
    result.dims = run["dims"].get<DimValues>();
  return makeView(std::move(result));
}

}  // namespace dyn
