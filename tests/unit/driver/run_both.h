// A text module run twice: compiled, in the VM, and by the reference interpreter. The two must agree.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/ops/reference_interpreter.h"
#include "tests/support/text_module.h"
#include "tests/support/vm_handles.h"

namespace dyn::test {

// Integers 0..4, reals about 1.
inline HostTensor randomTensor(Dtype dtype, std::vector<int64_t> shape, uint32_t seed) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    if (isReal(dtype))
      tensor.setReal(i, std::normal_distribution<double>(0, 1)(random));
    else
      tensor.setInt(i, dtype == Dtype::boolean ? random() % 2 : random() % 5);
  }
  return tensor;
}

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
    if (dyn_context_run(context.get()) != DYN_OK)
      return makeError(DiagnosticId::runtimeError, dyn_last_message());
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

 private:
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

inline void expectClose(const HostTensor& actual, const HostTensor& expected, const std::string& what,
                        double tolerance = 1e-4) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  if (actual.dtype() == Dtype::string) {
    ASSERT_EQ(actual.stringValues(), expected.stringValues()) << what;
    return;
  }
  for (int64_t i = 0; i < actual.elementCount(); ++i) {
    const double a = actual.realAt(i), e = expected.realAt(i);
    if (std::isnan(a) && std::isnan(e)) continue;
    ASSERT_TRUE(a == e || std::abs(a - e) <= tolerance * (1 + std::abs(e)))
        << what << ": element " << i << ": " << a << " but the reference says " << e;
  }
}

// Runs `text` for each set of inputs, from one compiled module.
inline void expectSame(const std::string& text, const std::vector<std::vector<HostTensor>>& inputSets,
                       CompileOptions options = {}, double tolerance = 1e-4) {
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Trace trace;
  CompileOptions inferOnly;
  inferOnly.passes = "infer";
  Result<Module> typed = runPasses(*parsed, inferOnly, trace);
  ASSERT_TRUE(typed.ok()) << typed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  for (const std::vector<HostTensor>& inputs : inputSets) {
    std::string what;
    for (const HostTensor& input : inputs) what += toString(input, 4) + " ";
    std::vector<Value> values(inputs.begin(), inputs.end());
    Result<std::vector<Value>> expected = interpret(*typed, values);
    Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs);
    ASSERT_EQ(expected.ok(), actual.ok())
        << what << (expected.ok() ? actual.error().toString() : expected.error().toString());
    if (!expected.ok()) continue;
    ASSERT_EQ(expected->size(), actual->size());
    for (size_t i = 0; i < expected->size(); ++i)
      expectClose((*actual)[i], (*expected)[i].tensor(), what + "output " + std::to_string(i), tolerance);
  }
}

}  // namespace dyn::test
