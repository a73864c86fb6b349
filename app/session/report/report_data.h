// The data of a report page: what the commands of a session answer about its model, as one document.
//
//   model, settings, target    :info, :set, :ir --level target; command_line: what makes this page again
//   dims, checks, why          :dims, and :why of each symbol and of each dim of an output
//   padding                    :why ragged
//   passes, graph              :passes, :graph and :diff of each step (report_graph.h)
//   plan, kernels, prediction  :plan, :kernels and :predict at the sizes given
//   kernel_texts               by kernel: its loop IR, its machine code, the operations it is launched for
//   sweeps                     :sweep of each dim of the inputs
//   run                        :profile, with the timeline
//
// A part that has no answer is {"refused": why}.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/session/session_state.h"

namespace dyn {

// `command` has the arguments --dim, --input, --lengths and --no-run. Errors: unsupportedFeature for a
// package, cancelled, and those of a model that no pass can begin with.
Result<nlohmann::ordered_json> reportData(SessionState& state, const Command& command);

}  // namespace dyn
