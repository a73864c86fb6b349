// Runs of an opened model beside the model of fixed sizes: what shows that it computes the same.
#pragma once

#include "app/engine/generalise/generalise.h"
#include "app/engine/inputs/input_spec.h"
#include "app/engine/model/loaded_model.h"
#include "app/engine/run/run_result.h"
#include "app/session/session_state.h"

namespace dyn {

// Random inputs at these sizes; other `more`, other numbers.
Result<CallInputs> inputsAt(SessionState& state, const LoadedModel& model, const DimValues& sizes,
                            uint64_t more = 0);
// The results of a run with these inputs, in order.
Result<std::vector<NamedValue>> resultsOfRun(SessionState& state, LoadedModel& model,
                                             const CallInputs& inputs);
// At the example's sizes the opened model has to compute the same, but for rounding: a table that an
// exporter had computed may be computed here in another order. Whether it is the same to the bit.
Result<bool> compareAtExample(SessionState& state, LoadedModel& fixed, LoadedModel& open,
                              const DimValues& fixedSizes, const DimValues& sizes);
// A dim that was 1 in the example: at 2, the results of two rows have to be those of each row alone, as of a
// batch. It is not said of a dim that is no first axis where the numbers left no doubt: steps of a sequence
// may read each other. "" or why not. `decided`: another export says what each axis is.
Result<std::string> mixedRows(SessionState& state, LoadedModel& fixed, LoadedModel& open,
                              const DimValues& fixedSizes, const Generalised& opened, bool decided);

}  // namespace dyn
