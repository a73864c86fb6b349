// What inference needs to know of a module before it looks at a single operation.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

// Functions in an order where callees come before their callers; a cycle (recursion) is entered at the
// function listed first.
Result<std::vector<const Function*>> calleesFirst(const Module& module);
// Gives each function symbols of its own: one that an earlier function mentions too becomes `function.symbol`
// in the later one. What is learnt of a size in one function (a variant is a copy of another) says nothing
// about the other's.
Result<Module> separateSymbols(const Module& module);
int64_t operationCount(const Module& module);
// Tells the solver what a passed check says: a relation of `check` operations ("eq", "le", "broadcast").
// Others say nothing.
Status learnFromCheck(DimSolver* solver, std::string_view relation, Dim a, Dim b, const Reason& reason);
// Tells the solver a fact as another one knows it.
Status addFact(DimSolver* solver, const Fact& fact);
// All function bodies reachable from `function`: itself and its regions, outermost first.
std::vector<const Function*> bodiesOf(const Function* function);

// Is the fact said of the program, by its user or its text? Those that operators add rest on checks of their
// own.
bool isStated(const Fact& fact);

}  // namespace dyn
