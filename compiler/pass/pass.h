// A pass: a function from module to module, listed in one table (passes/passes.def) with what it needs and
// establishes.
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

// What a pass is told and may tell.
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
  std::string_view name;     // "fold"
  std::string_view summary;  // one line
  Properties needs;          // of the module it is given
  Properties establishes;    // of the module it leaves
  Properties before;         // what must not be there yet: it would not know what to do with it
  std::vector<PassOptionSpec> options;
  Result<Module> (*run)(const Module&, PassContext&);
  bool makesBuiltins =
      false;              // what it makes are calls of hand-written kernels: left out for targets without
  bool required = false;  // lowering to bytecode does not work without it (placement); cannot be switched off
  bool onRequest = false;  // not in the standard pipeline: `+NAME` or an option of the compiler puts it there
};

}  // namespace dyn
