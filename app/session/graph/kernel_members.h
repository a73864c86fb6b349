// Which operations are computed by one kernel: a profile times the kernel, which belongs to all of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/engine/run/run_result.h"
#include "compiler/ir/module.h"

namespace dyn {

// By the place that launches of a kernel have: the places of all operations in it, in order, each once.
// Kernels of one operation are left out.
std::map<std::string, std::vector<std::string>> kernelMembers(const Module& placed);
// The members of each time of a run by place, from the program that was run.
void nameMembers(const Module& placed, RunResult& run);

}  // namespace dyn
