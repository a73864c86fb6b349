// What a check found in the formats of tools: SARIF 2.1.0 (code scanning), and the annotations of a workflow
// of GitHub, a line for each.
#pragma once

#include <string>

#include "app/session/views/problem_views.h"

namespace dyn {

std::string sarifText(const ProblemList& list);
std::string githubText(const ProblemList& list);

// Problems, findings about sizes, and warnings, in this order.
std::vector<Diagnostic> diagnosticsOf(const ProblemList& list);

}  // namespace dyn
