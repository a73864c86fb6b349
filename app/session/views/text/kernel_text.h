// Kernels with their bounds, for people.
#pragma once

#include <string>

#include "app/engine/run/run_result.h"
#include "app/session/views/view_text.h"

namespace dyn {

// A row for each kernel that has a bound, and the limits of the machine; `timeTitle` heads the times.
std::string boundsText(const KernelTable& table, const char* timeTitle, const TextOptions& options);

}  // namespace dyn
