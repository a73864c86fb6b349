// A loop whose iterations differ between instances (loop_rule.cpp shows it).
#pragma once

#include "compiler/passes/many/many_body.h"

namespace dyn::passes {

// `layouts`: of the body's parameters; what is carried is batched.
void makeLoopOfActive(ManyBody& outer, const Op& loop, const std::vector<Layout>& layouts);

}  // namespace dyn::passes
