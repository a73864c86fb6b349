#include "tests/fuzz/differential/suite.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler/driver/compile.h"
#include "compiler/reference/reference_interpreter.h"
#include "compiler/support/npy.h"
#include "tests/fuzz/differential/comparison.h"
#include "tests/fuzz/differential/generator.h"
#include "tests/fuzz/differential/onnx_export.h"
#include "tests/support/text_module.h"

namespace dyn::differential {

namespace {

// Whether it is part of the suite.
Result<bool> writeProgram(const std::string& folder, uint64_t seed, std::ofstream& list) {
  const Program program = generate(seed);
  IrContext context;
  DYN_TRY(Module parsed, test::parseText(context, toText(program)));
  CompileOptions inferOnly;
  inferOnly.passes = "infer";
  Trace trace;
  const Result<Module> typed = runPasses(parsed, inferOnly, trace);
  if (!typed.ok()) return false;
  const Result<std::string> model = toOnnx(*typed);
  if (!model.ok()) return false;
  const std::string name = "seed-" + std::to_string(seed);
  std::filesystem::create_directories(folder + "/" + name);
  std::ofstream(folder + "/" + name + "/model.onnx", std::ios::binary) << *model;
  std::string exact;
  for (int result : program.main.results) {
    const ValueInfo& info = program.values[static_cast<size_t>(result)];
    exact += (exact.empty() ? "" : ", ") + std::string(!isReal(info.dtype) || info.exact ? "true" : "false");
  }
  const std::vector<Sizes> sizes = sizesFor(program, seed);
  for (size_t k = 0; k < sizes.size(); ++k) {
    const std::vector<HostTensor> inputs = inputsFor(program, sizes[k], seed);
    const Result<std::vector<Value>> outputs =
        interpret(*typed, std::vector<Value>(inputs.begin(), inputs.end()), {});
    if (!outputs.ok()) continue;
    const std::string place = name + "/" + std::to_string(k);
    std::filesystem::create_directories(folder + "/" + place);
    for (size_t i = 0; i < inputs.size(); ++i)
      DYN_CHECK(writeTensor(folder + "/" + place + "/input_" + std::to_string(i) + ".npy", inputs[i]));
    for (size_t i = 0; i < outputs->size(); ++i)
      DYN_CHECK(writeTensor(folder + "/" + place + "/output_" + std::to_string(i) + ".npy",
                            (*outputs)[i].tensor()));
    list << "{\"model\": \"" << name << "/model.onnx\", \"folder\": \"" << place
         << "\", \"inputs\": " << inputs.size() << ", \"exact\": [" << exact << "]}\n";
  }
  return true;
}

}  // namespace

Status writeTensor(const std::string& path, const HostTensor& tensor) {
  NpyArray array;
  array.kind = tensor.dtype() == Dtype::boolean ? NpyKind::boolean
               : dyn::isReal(tensor.dtype())    ? NpyKind::real
                                                : NpyKind::integer;
  array.shape = tensor.shape();
  array.data.resize(static_cast<size_t>(tensor.sizeBytes()));
  array.elementBytes = static_cast<unsigned>(storageBytes(tensor.dtype()));
  if (!array.data.empty()) std::memcpy(array.data.data(), tensor.data(), array.data.size());
  return writeNpy(path, array);
}

Result<int64_t> writeSuite(const std::string& folder, uint64_t from, uint64_t to) {
  std::filesystem::create_directories(folder);
  std::ofstream list(folder + "/suite.jsonl");
  int64_t count = 0;
  for (uint64_t seed = from; seed < to; ++seed) {
    DYN_TRY(bool written, writeProgram(folder, seed, list));
    count += written ? 1 : 0;
  }
  list.flush();
  if (!list) return makeError(DiagnosticId::runtimeError, folder + "/suite.jsonl cannot be written");
  return count;
}

}  // namespace dyn::differential
