// A pass: a function from module to module. One table (passes/passes.def) lists the passes; each names the
// properties that it requires, provides and forbids.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/pass/properties.h"
#include "compiler/support/result.h"
#include "compiler/target/target.h"

namespace dyn {

// Options of one pass in a pipeline: `fuse{max=8}`.
using PassOptions = std::map<std::string, std::string, std::less<>>;

// Input of a pass besides the module, and its notes.
struct PassContext {
  PassOptions options;
  Target target;                                 // where the program will run
  const std::atomic<bool>* cancelled = nullptr;  // polled by long passes
  std::map<std::string, int64_t> counters;       // "folded_ops": 12
  std::vector<std::string> remarks;  // decisions worth showing: "not fused: n and m not provably equal"
  bool isCancelled() const { return cancelled && cancelled->load(std::memory_order_relaxed); }
};

struct PassOptionSpec {
  std::string_view name, doc;  // "max", "largest number of operations in a kernel; default 64"
};

struct PassDef {
  std::string_view name;           // "fold"
  std::string_view summary;        // one line, beginning with a verb
  Properties requiredProperties;   // the module that it is given has them
  Properties providedProperties;   // the module that it returns has them
  Properties forbiddenProperties;  // the module that it is given must not have them yet
  std::vector<PassOptionSpec> options;
  Result<Module> (*run)(const Module&, PassContext&);
  // Its result calls hand-written kernels: the pass is left out for targets without them.
  bool makesBuiltins = false;
  // Lowering to bytecode does not work without it: it cannot be left out.
  bool required = false;
  // Not in the standard pipeline: `+NAME` or an option of the compiler adds it.
  bool onRequest = false;
};

}  // namespace dyn
