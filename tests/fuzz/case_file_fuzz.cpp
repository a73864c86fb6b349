// libFuzzer: any bytes as a file of cases (JSON lines), whose dims and inputs are then given to a model of
// three inputs. Files that a case names are not opened.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/engine/inputs/input_spec.h"
#include "app/session/case_file.h"
#include "tests/fuzz/replay/fuzz_target.h"
#include "tests/support/text_module.h"

namespace {

using namespace dyn;

constexpr int64_t kLargestDim = 64;

bool namesFile(const std::string& text) { return text.find("=@") != std::string::npos; }

void tryCase(const Signature& signature, const RunCase& one) {
  std::vector<std::string> inputs;
  for (const std::string& input : one.inputs)
    if (!namesFile(input)) inputs.push_back(input);
  std::vector<std::string> dims;
  for (const std::string& dim : one.dims)
    if (!namesFile(dim)) dims.push_back(dim);
  Result<std::vector<DimSpec>> specs = parseDimSpecs(dims);
  if (!specs.ok()) return;
  for (DimSpec& spec : *specs)
    if (spec.value.value_or(0) > kLargestDim)
      spec.value = kLargestDim;  // a large input is slow, and no fault
  (void)makeInputs(signature, *specs, inputs, 0, {});
}

}  // namespace

bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) return false;
  Result<CaseFile> cases = CaseFile::of(
      MappedFile::fromBytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz.jsonl"));
  if (!cases.ok()) return false;
  IrContext ir;
  const Result<Module> module = test::parseText(ir, R"(
fn @main(%x: Tensor[(n, 2*m), f32], %ids: Tensor[(n), i64], %on: Tensor[(), bool]) { return %x, %ids, %on })");
  if (!module.ok()) abort();  // the text is ours
  const Signature signature = signatureOf(*module, {"x", "ids", "on"}, {"a", "b", "c"});
  for (int64_t i = 0; i < cases->count(); ++i) {
    const Result<std::optional<RunCase>> one = cases->next();
    if (!one.ok() || !*one) abort();  // it was looked through before
    Command command = Command::of(CommandId::run);
    (*one)->addTo(command);
    tryCase(signature, **one);
  }
  return true;
}
