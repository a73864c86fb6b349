// A compiled module with a context to run it in, for tensors in and out.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "tests/support/vm_handles.h"

namespace dyn::test {

inline HostTensor fromVm(const dyn_value* value) {
  std::vector<int64_t> shape(dyn_value_shape(value), dyn_value_shape(value) + dyn_value_rank(value));
  if (static_cast<Dtype>(dyn_value_dtype(value)) == Dtype::string) {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) texts.push_back(dyn_value_text(value, i));
    return HostTensor::strings(std::move(shape), std::move(texts));
  }
  HostTensor tensor = *HostTensor::create(static_cast<Dtype>(dyn_value_dtype(value)), std::move(shape));
  if (tensor.sizeBytes() > 0)
    std::memcpy(tensor.mutableData(), dyn_value_data(value), static_cast<size_t>(tensor.sizeBytes()));
  return tensor;
}

// As the session says what the runtime refuses.
inline DiagnosticId idOf(dyn_status status) {
  switch (status) {
    case DYN_CHECK_FAILED:
      return DiagnosticId::shapeCheckFailed;
    case DYN_ARITHMETIC:
      return DiagnosticId::dimDomain;
    case DYN_BAD_INPUT:
      return DiagnosticId::inputMismatch;
    case DYN_OUT_OF_MEMORY:
    case DYN_MEMORY_LIMIT:
      return DiagnosticId::memoryLimit;
    case DYN_INTERNAL:
      return DiagnosticId::internalError;
    default:
      return DiagnosticId::runtimeError;
  }
}

// A compiled module and a context to run it in.
class Compiled {
 public:
  static Result<std::unique_ptr<Compiled>> make(const Module& module, CompileOptions options = {},
                                                int threads = 1) {
    options.verifyEach = true;
    DYN_TRY(CompiledModel model, compileModel(module, options));
    auto made = std::make_unique<Compiled>();
    made->model = std::make_shared<CompiledModel>(std::move(model));
    DYN_TRY(dyn_module * loaded, instantiate(made->model));
    made->module.reset(loaded);
    dyn_options vm{};
    vm.thread_count = threads;
    dyn_context* context = nullptr;
    if (dyn_context_create(loaded, &vm, &context) != DYN_OK)
      return makeError(DiagnosticId::runtimeError, dyn_last_message());
    made->context.reset(context);
    return Result<std::unique_ptr<Compiled>>(std::move(made));
  }

  Result<std::vector<HostTensor>> run(const std::vector<HostTensor>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueHandle input = toVm(inputs[i]);
      if (!input) return makeError(DiagnosticId::runtimeError, dyn_last_message());
      if (dyn_context_set_input(context.get(), static_cast<int32_t>(i), input.get()) != DYN_OK)
        return makeError(DiagnosticId::inputMismatch, dyn_last_message());
    }
    if (const dyn_status status = dyn_context_run(context.get()); status != DYN_OK)
      return makeError(idOf(status), dyn_last_message());
    std::vector<HostTensor> outputs;
    for (int32_t i = 0; i < dyn_context_result_count(context.get()); ++i) {
      dyn_value* value = nullptr;
      if (dyn_context_get_output(context.get(), i, &value) != DYN_OK)
        return makeError(DiagnosticId::runtimeError, dyn_last_message());
      outputs.push_back(fromVm(ValueHandle(value).get()));
    }
    return outputs;
  }

  std::shared_ptr<CompiledModel> model;
  ModuleHandle module;
  ContextHandle context;

  ValueHandle toVm(const HostTensor& tensor) {
    dyn_value* value = nullptr;
    if (tensor.dtype() == Dtype::string) {
      std::vector<const char*> texts;
      for (const std::string& text : tensor.stringValues()) texts.push_back(text.c_str());
      (void)dyn_value_strings(context.get(), tensor.rank(), tensor.shape().data(), texts.data(),
                              static_cast<int64_t>(texts.size()), &value);
    } else {
      (void)dyn_value_tensor(context.get(), static_cast<int32_t>(tensor.dtype()), tensor.rank(),
                             tensor.shape().data(), tensor.data(), static_cast<size_t>(tensor.sizeBytes()),
                             &value);
    }
    return ValueHandle(value);
  }
};

}  // namespace dyn::test
