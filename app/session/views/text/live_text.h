// What a profiled run that goes on says of itself.
#pragma once

#include <string>

namespace dyn {

struct LiveRun;

// "operation 12 of 80, now /layer.3/MatMul, iteration 45"
std::string textOf(const LiveRun& run);
// How much of the runs is behind; -1: a loop hides it.
double fractionOf(const LiveRun& run);

}  // namespace dyn
