// The compiler as one call: a typed or untyped graph module in, a runnable program out.
//
//   CompileOptions options;
//   DYN_TRY(CompiledModel compiled, compileModel(module, options));   // passes, lowering, machine code
//   DYN_TRY(dyn_module* vm, instantiate(compiled));  // the VM's module; keeps what it needs alive
//
// No run compiles anything after this, whatever its shapes: compiled.statistics.kernelsCompiledCount counts
// all kernels, and kernelsCompiledAfterLoad() proves it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "compiler/lower/lowered_module.h"
#include "compiler/pass/pipeline.h"
#include "compiler/target/target.h"
#include "vm/include/dynvm.h"

namespace dyn {

// Form of the host code: bytecode for the interpreter, or machine code.
enum class HostCode : uint8_t { bytecode, native };

struct CompileOptions {
  std::string passes;  // pipeline text; empty: the standard pipeline
  // Rounding of both operands of f32 products: fp32, bf16, or tf32 on a device.
  std::string math = "fp32";
  // Pass `pack_sequences` skips the positions that a mask excludes. exact: only where no output depends on
  // them. zero: always; outputs are 0 there.
  std::string paddedResults = "exact";
  // The memory of a run depends on its sizes only, not on the positions that a mask excludes.
  bool memoryOfSizes = false;
  std::optional<Target> target;     // machine that the program runs on; none: this host
  std::vector<std::string> places;  // device placements, "softmax=cpu", for the pass `devices`
  // Fixed kernel variants of contractions (compiler/passes/layout/contraction_versions.h) by "conv" or
  // "matmul" for all, or by the key of one operation; "loop" for generated kernels
  // (compiler/kernel/versions.h). Rules and costs choose the others.
  std::map<std::string, std::string> versions;
  // Specialised programs and shape buckets (compiler/passes/variants/variant_spec.h):
  // "seq=128;seq=256,batch=1", "batch=4,8,16".
  std::string variants, buckets;
  std::string cacheDirectory;              // of compiled objects; empty: no cache
  int threadCount = 0;                     // for compiling; 0: the cores that the process may use
  HostCode hostCode = HostCode::bytecode;  // of instantiate(); a package has its own
  uint32_t flowPiece = 1000;  // approximate number of instructions of host code per native function
  bool verifyEach = false;    // verify the module after every pass
  // Not null: minimise the peak memory for these dims at the cost of time (passes `rematerialise` and
  // `plan`).
  std::optional<std::map<std::string, int64_t>> smallFor;
  std::vector<std::string> inputNames, outputNames;
  std::map<std::string, int64_t> fixedDims;  // named dims that have a value in the module already
  const std::atomic<bool>* cancelled = nullptr;
};

struct CompileStatistics {
  int64_t kernelsCount = 0;          // distinct kernels of the program
  int64_t kernelsCompiledCount = 0;  // of them compiled now; the rest came from the cache or Dyn's build
  int64_t compileNs = 0;             // wall time of code generation; 0 when everything came from the cache
  int64_t passesNs = 0;
  int64_t lowerNs = 0;
};

struct NativeCode;  // the loaded kernels and micro-kernels
class WeightCheck;

struct CompiledModel {
  Trace trace;
  LoweredModule lowered;
  std::shared_ptr<NativeCode> code;
  Target target;               // machine that it was compiled for
  std::string cacheDirectory;  // as in the options
  int threadCount = 1;         // for compiling
  HostCode hostCode = HostCode::bytecode;
  uint32_t flowPiece = 1000;
  CompileStatistics statistics;
  // Of the cached weights that instances read; null without code generation.
  std::shared_ptr<WeightCheck> weightCheck;
};

// The pipeline of runPasses.
Result<Pipeline> pipelineOf(const CompileOptions& options);

// A program that names an operator which only passes may make (OpTraits::onlyOfPasses: kernels, destinations)
// is unsupported: the pipeline forms these anew and would take them for something else.
Status refuseFormsOfPasses(const Module& source);

// Runs the pipeline only; the trace gets the steps even when one fails.
Result<Module> runPasses(const Module& module, const CompileOptions& options, Trace& trace);

Result<CompiledModel> compileModel(const Module& module, const CompileOptions& options,
                                   Trace* failedTrace = nullptr);

// The second half of compileModel: lowering and code generation of a module that has gone through the passes.
// The trace is empty. Code for another target than this host is not loaded: the program can be printed and
// written, and instantiate() refuses it.
Result<CompiledModel> compilePlaced(const Module& placed, const CompileOptions& options);

// Number of kernels that the engine compiled after the model was ready.
int64_t kernelsCompiledAfterLoad(const CompiledModel& compiled);

// A VM module over the compiled code, which it keeps alive until dyn_module_release. `form` overrides the
// form of the host code in the options. Kernels for a GPU run on `device` (dyn_gpu.h; "": the first).
Result<dyn_module*> instantiate(std::shared_ptr<const CompiledModel> compiled,
                                std::optional<HostCode> form = std::nullopt, const std::string& device = "");

// Text of one kernel: its LLVM IR or the machine's assembly. Error unsupportedFeature when built without
// LLVM.
enum class KernelText : uint8_t { llvm, assembly };
Result<std::string> kernelText(const CompiledModel& compiled, size_t kernel, KernelText form);

// The same text, and which lines come from which lines of the kernel's loop IR.
struct KernelListing {
  std::string text;
  std::vector<uint32_t> loopLines;  // by line; 0: of no statement. Empty where debug lines changed the code
};
Result<KernelListing> kernelListing(const CompiledModel& compiled, size_t kernel, KernelText form);

}  // namespace dyn
