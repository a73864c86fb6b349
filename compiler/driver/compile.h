// The compiler as one call: a typed or untyped graph module in, a runnable program out.
//
//   CompileOptions options;
//   DYN_TRY(CompiledModel compiled, compileModel(module, options));   // passes, lowering, machine code
//   DYN_TRY(dyn_module* vm, instantiate(compiled));  // the VM's module; keeps what it needs alive
//
// After this no shape ever compiles anything: compiled.statistics.kernelsCompiledCount counts all there will
// be, and kernelsCompiledAfterLoad() is there to see that.
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

// How the functions of the host program run: their bytecode by the VM's interpreter, or as machine code.
enum class HostCode : uint8_t { bytecode, native };

struct CompileOptions {
  std::string passes;  // pipeline text; empty: the standard pipeline
  // Or bf16, or tf32 on a device: what both sides of products of f32 are rounded to.
  std::string math = "fp32";
  // Pass `pack_sequences` skips the positions that a mask excludes. exact: only where no output depends on
  // them. zero: always; outputs are 0 there.
  std::string paddedResults = "exact";
  bool memoryOfSizes = false;       // the memory of a run is to follow from its sizes, whatever a mask hides
  std::optional<Target> target;     // where the program will run; none: this host
  std::vector<std::string> places;  // "softmax=cpu": of the pass `devices`, beside what `passes` says
  // Versions of contractions (compiler/passes/contraction_versions.h): "conv" or "matmul" for all, or by the
  // key of one operation; "loop" of the generated kernels (compiler/kernel/versions.h). What is not named is
  // chosen by rule and cost.
  std::map<std::string, std::string> versions;
  // Variants for some sizes and buckets (compiler/passes/variant_spec.h): "seq=128;seq=256,batch=1",
  // "batch=4,8,16".
  std::string variants, buckets;
  std::string cacheDirectory;              // of compiled objects; empty: no cache
  int threadCount = 0;                     // for compiling; 0: one per core
  HostCode hostCode = HostCode::bytecode;  // of instantiate(); packages are told when they are written
  uint32_t flowPiece = 1000;  // instructions of the host program in one function of machine code, about
  bool verifyEach = false;    // verify the module after every pass
  // Given: as little memory as possible is to live at once for these dims, at the price of time (passes
  // `rematerialise` and `plan`).
  std::optional<std::map<std::string, int64_t>> smallFor;
  std::vector<std::string> inputNames, outputNames;
  std::map<std::string, int64_t> fixedDims;  // named dims that have a value in the module already
  const std::atomic<bool>* cancelled = nullptr;
};

struct CompileStatistics {
  int64_t kernelsCount = 0;          // distinct kernels of the program
  int64_t kernelsCompiledCount = 0;  // of them compiled now; the rest came from the cache
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
  Target target;               // what it was compiled for
  std::string cacheDirectory;  // as in the options, as is threadCount
  int threadCount = 0;
  HostCode hostCode = HostCode::bytecode;
  uint32_t flowPiece = 1000;
  CompileStatistics statistics;
  // Of the cached weights that instances read; null without code generation.
  std::shared_ptr<WeightCheck> weightCheck;
};

// The passes that runPasses runs.
Result<Pipeline> pipelineOf(const CompileOptions& options);

// Runs the pipeline only; the trace gets the steps even when one fails.
Result<Module> runPasses(const Module& module, const CompileOptions& options, Trace& trace);

Result<CompiledModel> compileModel(const Module& module, const CompileOptions& options,
                                   Trace* failedTrace = nullptr);

// The second half of it: lowering and code generation of a module that the passes have placed already. Its
// trace is empty. For a target that is not this host nothing is loaded: the program can be printed and
// written, instantiate() refuses it.
Result<CompiledModel> compilePlaced(const Module& placed, const CompileOptions& options);

// What the model's engine compiled since the model was ready, as the engine counts it.
int64_t kernelsCompiledAfterLoad(const CompiledModel& compiled);

// A VM module over the compiled code, which it keeps alive until dyn_module_release. Its host program runs as
// the options said, or as `form` says; what it has for a GPU, on that `device` (dyn_gpu.h; "": the first).
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
