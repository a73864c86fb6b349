// The rules of the graph IR (module.h), checked: what every pass must leave behind.
//
//   std::vector<Diagnostic> faults = verify(module);
//   DYN_CHECK(verified(module));                       // the first fault as an error
//
// Checked: single definition, definition before use in the same function, operators known, numbers of
// operands and results, attributes against the operator's row, bodies of if/loop/match and callees of calls
// against their operations, function names, declared data types, types and dims of this context. Types of
// bodies are compared by structure (kind, dtype, rank): whether their dims agree is for the type rules, which
// may insert run-time checks. Linear in the size of the module; no recursion. Never crashes on a broken
// module made of owned nodes.
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn {

// Before type inference results may have no type yet.
enum class TypePresence : uint8_t { required, optional };

struct VerifyOptions {
  TypePresence types = TypePresence::required;
  size_t maxDiagnostics = 100;
};

std::vector<Diagnostic> verify(const Module& module, const VerifyOptions& options = {});
Status verified(const Module& module, const VerifyOptions& options = {});

// Could a value of `given` stand where `demanded` is declared, dims aside: same kinds, dtypes and ranks? Null
// types fit everything.
bool sameStructure(Type given, Type demanded);

}  // namespace dyn
