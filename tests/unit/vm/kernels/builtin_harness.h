// Builtins called directly, without a program.
#pragma once

#include <random>

#include "tests/unit/vm/vm_harness.h"
#include "vm/core/builtin.h"

namespace dyn::vm::test {

struct Options {
  std::vector<int64_t> scalars;
  std::vector<int32_t> numbers;
  size_t results = 1;
  std::vector<DynKernelFunction> kernels;
  std::vector<KernelRow> rows;
};
class BuiltinTest : public testing::Test {
 protected:
  ~BuiltinTest() override {
    release(nullptr);
    owned_.clear();
    pool_->releaseOwner();
  }

  template <typename T>
  Tensor* tensor(DataType dtype, std::vector<int64_t> shape, const std::vector<T>& data) {
    dyn_status why = DYN_OK;
    Tensor* made = newTensor(pool_, dtype, static_cast<uint32_t>(shape.size()), shape.data(), 0, why);
    EXPECT_EQ(static_cast<size_t>(made->elementCount), data.size());
    std::copy(data.begin(), data.end(), made->template as<T>());
    owned_.emplace_back(made);
    return made;
  }
  Tensor* floats(std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t dim : shape) count *= dim;
    std::vector<float> data(static_cast<size_t>(count));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : data) x = uniform(random_);
    return tensor(DataType::f32, shape, data);
  }
  Tensor* output(std::vector<int64_t> shape, DataType dtype = DataType::f32) {
    dyn_status why = DYN_OK;
    Tensor* made = newTensor(pool_, dtype, static_cast<uint32_t>(shape.size()), shape.data(), 0, why);
    memset(made->data, 0xff, made->sizeBytes());  // NaN: whatever is not written shows
    owned_.emplace_back(made);
    return made;
  }
  List* list(const std::vector<Object*>& items) {
    dyn_status why = DYN_OK;
    List* made = newList(pool_, static_cast<int64_t>(items.size()), 0, items.data(), why);
    owned_.emplace_back(made);
    return made;
  }

  Status call(const char* name, std::vector<Object*> arguments, const Options& options = Options(),
              std::vector<Object*> into = {}) {
    const BuiltinRow* row = findBuiltin(name);
    EXPECT_NE(row, nullptr) << name;
    return call(row->function, std::move(arguments), options, std::move(into));
  }
  // The same for a function that is no builtin by itself.
  template <typename Function>
  Status call(const Function& function, std::vector<Object*> arguments, const Options& options = Options(),
              std::vector<Object*> into = {}) requires std::is_invocable_v<Function, BuiltinCall&> {
    BuiltinCall call;
    call.pool = pool_;
    call.threads = threads_;
    call.cancelFlag = &cancel_;
    call.gemmFamily = family_;
    call.kernels = options.kernels.data();
    call.kernelRows = options.rows.data();
    call.kernelCount = static_cast<uint32_t>(options.rows.size());
    call.arguments = arguments;
    call.into = !into.empty();
    results_ = into.empty() ? std::vector<Object*>(options.results, nullptr) : into;
    call.results = results_;
    call.scalars = options.scalars;
    call.numbers = options.numbers;
    Status status = function(call);
    if (into.empty())
      for (Object* result : results_) owned_.emplace_back(result);
    return status;
  }
  Tensor* result(size_t index = 0) { return static_cast<Tensor*>(results_[index]); }
  template <typename T>
  static std::vector<T> data(const Tensor* tensor) {
    return std::vector<T>(tensor->as<T>(), tensor->as<T>() + tensor->elementCount);
  }
  static std::vector<int64_t> shape(const Tensor* tensor) {
    return std::vector<int64_t>(tensor->shape(), tensor->shape() + tensor->rank);
  }

  MemoryPool* pool_ = MemoryPool::create({});
  ThreadPool single_{1}, three_{3};
  ThreadPool* threads_ = &single_;
  const DynGemmFamily* family_ = defaultGemmFamily();
  std::atomic<uint32_t> cancel_{0};
  std::mt19937 random_{7};
  std::vector<Object*> results_;
  std::vector<Ref<Object>> owned_;
};

}  // namespace dyn::vm::test
