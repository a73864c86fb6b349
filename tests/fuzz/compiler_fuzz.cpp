// libFuzzer: any bytes as an ONNX model, or, when they begin with `fn`, `dim` or `type`, as a text module of
// all operators; what is read goes through the standard pipeline and the lowering, each pass's module through
// the verifier. Machine code is not made of it. Errors are expected, but none that says Dyn itself is wrong.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "compiler/ir/verifier.h"
#include "compiler/lower/lowered_module.h"
#include "compiler/passes/pass_table.h"
#include "frontends/onnx/import/importer.h"
#include "tests/fuzz/replay/fuzz_target.h"
#include "tests/support/text_module.h"

namespace {

using namespace dyn;

void refuse(const Diagnostic& error) {
  std::fprintf(stderr, "%s\n", error.toString().c_str());
  std::abort();
}

void expectNoDefect(const Diagnostic& error) {
  if (error.id == DiagnosticId::internalError || error.message.empty()) refuse(error);
}

Result<Module> readModule(IrContext& ir, std::string_view bytes) {
  for (std::string_view word : {"fn ", "dim ", "type "})
    if (bytes.starts_with(word)) return test::parseText(ir, bytes);
  onnx::ImportOptions options;
  options.read.arenaLimitBytes = uint64_t{256} << 20;
  options.maxNodes = 10'000;
  DYN_TRY(onnx::ImportResult model,
          onnx::importModel(ir, MappedFile::fromBytes(std::string(bytes), "fuzz.onnx"), options));
  return std::move(model.module);
}

}  // namespace

bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  if (size > 1 << 14) return false;
  IrContext ir;
  Result<Module> module = readModule(ir, std::string_view(reinterpret_cast<const char*>(data), size));
  if (!module.ok()) {
    expectNoDefect(module.error());
    return false;
  }
  Trace trace;
  PipelineRun run;
  run.afterEach = [](const Module& after, const PassDef& pass) -> Status {
    Status status = verified(after);
    // Inference leaves some of what is wrong with a module to the verifier, and sizes may overflow wherever
    // they are computed.
    const bool expected =
        status.ok() || pass.name == "infer" || status.error().id == DiagnosticId::dimOverflow;
    if (!expected) {
      std::fprintf(stderr, "after the pass %s: ", std::string(pass.name).c_str());
      refuse(status.error());
    }
    return status;
  };
  Pipeline pipeline;  // every pass, those that are for who asks for them too
  for (const PassDef& pass : passTable()) addPass(pipeline, {&pass, {}}, passTable());
  const Result<Module> placed = runPipeline(*module, pipeline, trace, run);
  if (!placed.ok()) {
    expectNoDefect(placed.error());
    return false;
  }
  const Result<LoweredModule> lowered = lowerModule(*placed, {});
  if (!lowered.ok()) expectNoDefect(lowered.error());
  return lowered.ok();
}
