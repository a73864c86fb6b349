// A text module or ONNX bytes, compiled and run through the C API.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "frontends/onnx/import/importer.h"
#include "tests/support/text_module.h"
#include "tests/support/vm_handles.h"

namespace dyn::robustness {

using test::ContextHandle;
using test::ModuleHandle;
using test::parseText;
using test::ValueHandle;

inline Result<Module> importBytes(IrContext& ir, const std::string& bytes) {
  DYN_TRY(onnx::ImportResult result, onnx::importModel(ir, MappedFile::fromBytes(bytes, "m.onnx")));
  return std::move(result.module);
}

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
