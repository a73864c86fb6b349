// A text module or ONNX bytes, compiled and run through the C API.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/ops/op_table.h"
#include "frontends/onnx/importer.h"
#include "frontends/text/parser.h"

namespace dyn::robustness {

inline Result<Module> parseText(IrContext& ir, const std::string& text) {
  text::ParseOptions options;
  options.findOp = findOp;
  return text::parseModule(ir, text, options);
}

inline Result<Module> importBytes(IrContext& ir, const std::string& bytes) {
  DYN_TRY(onnx::ImportResult result, onnx::importModel(ir, MappedFile::fromBytes(bytes, "m.onnx")));
  return std::move(result.module);
}

struct ModuleRelease {
  void operator()(dyn_module* module) const { dyn_module_release(module); }
};
struct ContextRelease {
  void operator()(dyn_context* context) const { dyn_context_release(context); }
};
struct ValueRelease {
  void operator()(dyn_value* value) const { dyn_value_release(value); }
};
using ModuleHandle = std::unique_ptr<dyn_module, ModuleRelease>;
using ContextHandle = std::unique_ptr<dyn_context, ContextRelease>;
using ValueHandle = std::unique_ptr<dyn_value, ValueRelease>;

inline Result<std::shared_ptr<const CompiledModel>> compileText(const std::string& text,
                                                                const std::string& passes = "") {
  IrContext ir;
  DYN_TRY(Module module, parseText(ir, text));
  CompileOptions options;
  options.passes = passes;
  options.threadCount = 1;
  DYN_TRY(CompiledModel compiled, compileModel(module, options));
  compiled.trace = Trace();  // its snapshots point into `ir`
  return std::shared_ptr<const CompiledModel>(std::make_shared<CompiledModel>(std::move(compiled)));
}

inline ContextHandle makeContext(dyn_module* module, const dyn_options& options = {}) {
  dyn_context* context = nullptr;
  (void)dyn_context_create(module, &options, &context);
  return ContextHandle(context);
}

// f32, element i is a small number that depends on i and the seed.
inline ValueHandle floatsOf(dyn_context* context, const std::vector<int64_t>& shape, uint32_t seed = 1) {
  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  std::vector<float> data(static_cast<size_t>(count));
  uint32_t state = seed * 2654435761u + 12345u;
  for (float& value : data) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int32_t>(state >> 8) % 1000) / 500.0f - 1.0f;
  }
  dyn_value* value = nullptr;
  (void)dyn_value_tensor(context, DYN_F32, static_cast<int32_t>(shape.size()), shape.data(), data.data(),
                         data.size() * sizeof(float), &value);
  return ValueHandle(value);
}

// The bytes of output `index` of the last run.
inline std::string outputBytes(dyn_context* context, int32_t index = 0) {
  dyn_value* raw = nullptr;
  if (dyn_context_get_output(context, index, &raw) != DYN_OK || !raw) return "";
  ValueHandle value(raw);
  return std::string(static_cast<const char*>(dyn_value_data(raw)), dyn_value_size_bytes(raw));
}

}  // namespace dyn::robustness
