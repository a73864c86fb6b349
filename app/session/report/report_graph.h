// The graph after each pass, small: what the steps have in common is said once.
//
//   {"groups": [{"path", "label", "kind", "parent"}],            all that any step has
//    "nodes": [{"id", "op", "label", "name", "inputs", ...}],    a node as it is until a pass changes it
//    "steps": [{"name", "nodes": [...], "groups": [...], "changes": [...], "added_count", ...}]}
//
// steps[].nodes gives the nodes in execution order: a list [from, count] repeats so many nodes of the step
// before, from that position on; a number is a new one of "nodes". steps[].groups gives their groups as one
// flat list: group, count, group, count, ...; -1 is the top level. steps[].changes is what that step did
// itself: {"kind", "node", "what"}, and "before" and "after" where it is of no node.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/pass/trace.h"

namespace dyn {

// Places are written without `path`, the file of the model, in front.
nlohmann::ordered_json reportGraph(const Trace& trace, const std::string& path);

}  // namespace dyn
