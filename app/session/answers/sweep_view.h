// Time and peak over one dim, without running: what a person drags a slider along.
#pragma once

#include <functional>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/answers/limit_view.h"
#include "app/session/views/predict_views.h"

namespace dyn {

struct Forecast {
  int64_t timeNs = 0, peakBytes = 0;
  std::string versions;  // of the contractions, as one text
};
// Errors: what the run would end in; `cancelled` and `unsupportedFeature` end the sweep.
using ForecastOfDims = std::function<Result<Forecast>(const DimValues&)>;

// At most so many sizes from first to last, both among them, multiples where the symbol has them; the other
// dims as given, or at their usual size.
Result<SweepView> sweepView(const LimitSymbol& symbol, const std::vector<LimitSymbol>& all,
                            const DimValues& given, int64_t first, int64_t last, int64_t pointsCount,
                            const ForecastOfDims& forecast, const std::function<void(double)>& progress);
// "k384r24-panels; winograd": each version that is chosen once.
std::string versionsText(const std::vector<ContractionRow>& rows);
// The runs with these other dims.
std::vector<MeasuredRun> measuredAlong(const std::vector<MeasuredRun>& runs, const std::string& symbol,
                                       const DimValues& others);

}  // namespace dyn
