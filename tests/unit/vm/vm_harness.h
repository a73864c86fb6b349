// What the VM tests share: a program in assembly text, run through the C API. Kernels of the tests are plain
// functions by symbol.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/vm_handles.h"
#include "vm/include/abi/dyn_kernel.h"
#include "vm/include/dynvm.h"
#include "vm/isa/assembler.h"
#include "vm/isa/program_file.h"

namespace dyn::vm::test {

// y[i] = a[i] + b[i], f32
inline int32_t addKernel(void* const* buffers, const int64_t*, int64_t begin, int64_t end, void*) {
  const auto *a = static_cast<const float*>(buffers[0]), *b = static_cast<const float*>(buffers[1]);
  auto* y = static_cast<float*>(buffers[2]);
  for (int64_t i = begin; i < end; ++i) y[i] = a[i] + b[i];
  return DYN_KERNEL_OK;
}
// y[i] = scalars[0], i64
inline int32_t fillKernel(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end, void*) {
  for (int64_t i = begin; i < end; ++i) static_cast<int64_t*>(buffers[0])[i] = scalars[0];
  return DYN_KERNEL_OK;
}
// Uses its 100 bytes of scratch, then y[i] = number of bytes set; checks alignment.
inline int32_t scratchKernel(void* const* buffers, const int64_t*, int64_t begin, int64_t end,
                             void* scratch) {
  if (reinterpret_cast<uintptr_t>(scratch) % 64 != 0) return DYN_KERNEL_BAD_VALUE;
  memset(scratch, 1, 100);
  for (int64_t i = begin; i < end; ++i) {
    int64_t sum = 0;
    for (int j = 0; j < 100; ++j) sum += static_cast<unsigned char*>(scratch)[j];
    static_cast<int64_t*>(buffers[0])[i] = sum;
  }
  return DYN_KERNEL_OK;
}
inline int32_t faultKernel(void* const*, const int64_t* scalars, int64_t, int64_t, void*) {
  return static_cast<int32_t>(scalars[0]);
}

inline constexpr const char* kKernelRows = R"(
kernel "add" symbol "add" buffers 3 outputs 1 scalars 0 scratch 0 "loop"
kernel "fill" symbol "fill" buffers 1 outputs 1 scalars 1 scratch 0 "loop"
kernel "scratch" symbol "scratch" buffers 1 outputs 1 scalars 0 scratch 100 "loop"
kernel "fault" symbol "fault" buffers 0 outputs 0 scalars 1 scratch 0 "loop"
)";

struct TestHost {
  std::map<std::string, DynKernelFunction> kernels = {
      {"add", addKernel}, {"fill", fillKernel}, {"scratch", scratchKernel}, {"fault", faultKernel}};
  std::vector<const void*> constants;
  const DynGemmFamily* family = nullptr;

  dyn_host host() {
    dyn_host result = {};
    result.user = this;
    result.resolve_kernel = [](void* user, const char* symbol) -> DynKernelFunction {
      auto& self = *static_cast<TestHost*>(user);
      auto found = self.kernels.find(symbol);
      return found == self.kernels.end() ? nullptr : found->second;
    };
    result.resolve_constant = [](void* user, int32_t index) -> const void* {
      auto& self = *static_cast<TestHost*>(user);
      return static_cast<size_t>(index) < self.constants.size() ? self.constants[static_cast<size_t>(index)]
                                                                : nullptr;
    };
    result.resolve_gemm_family = [](void* user) { return static_cast<TestHost*>(user)->family; };
    return result;
  }
};

using dyn::test::ContextHandle;
using dyn::test::ModuleHandle;
using Value = dyn::test::ValueHandle;

inline Program assemble(const std::string& text) {
  Program program;
  const Status status = parseProgramText(text, program);
  EXPECT_TRUE(status.ok()) << status.toString();
  return program;
}

// A program loaded and a context over it.
class Machine {
 public:
  explicit Machine(const std::string& text, const dyn_options& options = {},
                   std::vector<const void*> constants = {}) {
    host_.constants = std::move(constants);
    const std::vector<uint8_t> bytes = serializeProgram(assemble(text));
    const dyn_host host = host_.host();
    dyn_module* module = nullptr;
    loadStatus = dyn_module_load_memory(bytes.data(), bytes.size(), &host, &module);
    loadMessage = dyn_last_message();
    module_.reset(module);
    if (!module) return;
    dyn_context* context = nullptr;
    EXPECT_EQ(dyn_context_create(module, &options, &context), DYN_OK) << dyn_last_message();
    context_.reset(context);
  }

  dyn_status loadStatus = DYN_OK;
  std::string loadMessage;
  dyn_module* module() { return module_.get(); }
  dyn_context* context() { return context_.get(); }

  template <typename T>
  Value tensor(int32_t dtype, std::vector<int64_t> shape, const std::vector<T>& data) {
    dyn_value* value = nullptr;
    EXPECT_EQ(dyn_value_tensor(context(), dtype, static_cast<int32_t>(shape.size()), shape.data(),
                               data.empty() ? nullptr : data.data(), data.size() * sizeof(T), &value),
              DYN_OK)
        << dyn_last_message();
    return Value(value);
  }
  Value integers(std::vector<int64_t> data) {
    return tensor(DYN_I64, {static_cast<int64_t>(data.size())}, data);
  }
  Value floats(std::vector<float> data) { return tensor(DYN_F32, {static_cast<int64_t>(data.size())}, data); }

  dyn_status call(const std::string& function, const std::vector<dyn_value*>& arguments = {}) {
    const dyn_status status = dyn_context_run_function(context(), function.c_str(), arguments.data(),
                                                       static_cast<int32_t>(arguments.size()));
    message = dyn_last_message();
    return status;
  }
  Value output(int32_t index = 0) {
    dyn_value* value = nullptr;
    EXPECT_EQ(dyn_context_get_output(context(), index, &value), DYN_OK) << dyn_last_message();
    return Value(value);
  }
  dyn_statistics statistics() {
    dyn_statistics result = {};
    EXPECT_EQ(dyn_context_statistics(context(), &result), DYN_OK);
    return result;
  }
  std::string message;

 private:
  TestHost host_;
  ModuleHandle module_;
  ContextHandle context_;
};

template <typename T>
std::vector<T> dataOf(const Value& value) {
  if (!value || dyn_value_rank(value.get()) < 0) return {};
  const auto* data = static_cast<const T*>(dyn_value_data(value.get()));
  return std::vector<T>(data, data + dyn_value_size_bytes(value.get()) / sizeof(T));
}
inline std::vector<int64_t> shapeOf(const Value& value) {
  if (!value || dyn_value_rank(value.get()) < 0) return {-1};
  return std::vector<int64_t>(dyn_value_shape(value.get()),
                              dyn_value_shape(value.get()) + dyn_value_rank(value.get()));
}

// Runs the body of a function without parameters that leaves scalars in a list; returns them ("fromscalars"
// is added).
inline std::vector<int64_t> runScalars(const std::string& body, const std::string& registers,
                                       std::string* message = nullptr) {
  Machine machine(std::string(kKernelRows) + "string \"the check\"\nfunction f results 1\n" + body +
                  "\nfromscalars v0 i64 [" + registers + "]\nret [v0]\n");
  EXPECT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
  if (!machine.context()) return {};
  const dyn_status status = machine.call("f");
  if (message)
    *message = machine.message;
  else
    EXPECT_EQ(status, DYN_OK) << machine.message;
  return status == DYN_OK ? dataOf<int64_t>(machine.output()) : std::vector<int64_t>{};
}

}  // namespace dyn::vm::test
