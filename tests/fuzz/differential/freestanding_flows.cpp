#include "tests/fuzz/differential/freestanding_flows.h"

#include "compiler/driver/target_choice.h"
#include "tests/support/compiled.h"
#include "tests/support/freestanding_run.h"
#include "tests/support/text_module.h"

namespace dyn::differential {

namespace {

bool sameBits(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.sizeBytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.sizeBytes())) == 0);
}

// Empty when they agree.
std::string difference(const test::FreestandingResult& freestanding,
                       const Result<std::vector<HostTensor>>& vm) {
  if ((freestanding.status == DYN_OK) != vm.ok())
    return "ends with '" + freestanding.message + "', the VM with '" +
           (vm.ok() ? "" : vm.error().toString()) + "'";
  if (!vm.ok())
    return test::idOf(static_cast<dyn_status>(freestanding.status)) == vm.error().id
               ? ""
               : "ends with '" + freestanding.message + "', the VM with '" + vm.error().toString() + "'";
  if (!freestanding.intact) return "writes behind its memory";
  for (size_t i = 0; i < vm->size(); ++i)
    if (i >= freestanding.outputs.size() || !sameBits(freestanding.outputs[i], (*vm)[i]))
      return "result " + std::to_string(i) + " has other bits or another shape";
  return "";
}

}  // namespace

Comparison compareFreestanding(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed) {
  IrContext context;
  Result<Module> module = test::parseText(context, toText(program));
  if (!module.ok()) return {Verdict::invalid, module.error().toString()};
  Result<Target> host = hostTarget();
  if (!host.ok()) return {Verdict::unsupported, host.error().toString()};
  CompileOptions options;
  options.threadCount = 1;
  options.target = freestandingTarget(*host);
  if (seed % 3 == 0) options.flowPiece = 1 + static_cast<uint32_t>(seed / 3 % 9);  // cut everywhere
  const std::string passes(kFreestanding);
  const auto refused = [&](const Diagnostic& error) {
    const bool ours = error.id == DiagnosticId::internalError;
    return Comparison{ours ? Verdict::differ : Verdict::unsupported, error.toString(), passes};
  };
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module, options);
  if (!compiled.ok()) return refused(compiled.error());
  Result<std::unique_ptr<test::FreestandingRun>> freestanding =
      test::FreestandingRun::make((*compiled)->model);
  if (!freestanding.ok()) return refused(freestanding.error());
  Comparison result;
  result.passes = passes;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const std::vector<HostTensor> inputs = inputsFor(program, sizes[k], seed);
    const Result<std::vector<HostTensor>> expected = (*compiled)->run(inputs);
    int32_t status = DYN_OK;
    const uint64_t bytes = (*freestanding)->runDry(inputs, status);
    const test::FreestandingResult actual =
        bytes > 0 ? (*freestanding)->run(inputs, bytes) : (*freestanding)->run(inputs);
    result.faultsCount += expected.ok() ? 0 : 1;
    std::string what = difference(actual, expected);
    if (what.empty() && bytes > 0 && actual.status == DYN_OK && actual.peakBytes != bytes)
      what =
          "takes " + std::to_string(actual.peakBytes) + " bytes, the dry run said " + std::to_string(bytes);
    if (!what.empty()) return {Verdict::differ, "in the freestanding runtime " + what, passes, k};
  }
  return result;
}

}  // namespace dyn::differential
