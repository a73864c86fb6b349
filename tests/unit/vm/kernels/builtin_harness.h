// Builtins called directly, without a program.
#pragma once

#include <algorithm>
#include <random>

#include "tests/unit/vm/vm_harness.h"
#include "vm/core/builtin/builtin_host.h"
#include "vm/isa/program.h"

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
  BuiltinTest() { many_.simulate(true); }
  ~BuiltinTest() override {
    release(nullptr);
    owned_.clear();
    pool_->releaseOwner();
  }

  template <typename T>
  Tensor* tensor(DataType dtype, std::vector<int64_t> shape, const std::vector<T>& data) {
    dyn_status why = DYN_OK;
    Tensor* made = newTensor(pool_, dtype, static_cast<uint32_t>(shape.size()), shape.data(), why);
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
    Tensor* made = newTensor(pool_, dtype, static_cast<uint32_t>(shape.size()), shape.data(), why);
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
    return call(*row, std::move(arguments), options, std::move(into));
  }
  Status call(const BuiltinRow& row, std::vector<Object*> arguments, const Options& options = Options(),
              std::vector<Object*> into = {}) {
    if (!row.isFlat()) return call(row.hosted, std::move(arguments), options, std::move(into));
    return callFlat(row.flat.scratchBytes, row.flat.run, std::move(arguments), options, std::move(into));
  }
  // The same for a function that is no builtin by itself.
  template <typename Function>
  Status call(const Function& function, std::vector<Object*> arguments, const Options& options = Options(),
              std::vector<Object*> into = {}) requires std::is_invocable_v<Function, BuiltinCall&> {
    return withCall(std::move(arguments), options, std::move(into),
                    [&](BuiltinHost&, BuiltinCall& call) { return function(call); });
  }
  // For the two functions of a flat kernel. Its scratch memory is what it asked for and no more: what is
  // written beyond shows.
  template <typename Scratch, typename Run>
  Status callFlat(const Scratch& scratchBytes, const Run& run, std::vector<Object*> arguments,
                  const Options& options, std::vector<Object*> into) {
    return withCall(
        std::move(arguments), options, std::move(into), [&](BuiltinHost& host, BuiltinCall& call) -> Status {
          DynBuiltinCall flat;
          if (Status status = host.describeCall("flat", call, flat); !status.ok()) return status;
          bool asks = true;
          if constexpr (std::is_pointer_v<Scratch>) asks = scratchBytes != nullptr;
          if (asks)
            if (const int32_t status = scratchBytes(&flat, &flat.scratchBytes); status != DYN_OK)
              return host.takeFault(status);
          constexpr size_t kBeyond = 4096;
          const size_t bytes = flat.scratchBytes;
          std::vector<uint8_t> memory(64 + bytes + kBeyond, 0xff);  // NaN: what is read unwritten shows
          auto* begin = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
          flat.scratch = bytes > 0 ? begin : nullptr;
          const Status status = host.takeFault(run(&flat));
          EXPECT_EQ(std::count(begin + bytes, memory.data() + memory.size(), 0xff),
                    memory.data() + memory.size() - (begin + bytes))
              << "written beyond the scratch memory";
          return status;
        });
  }
  // A function of C++ as one of a flat kernel.
  template <typename Function>
  static int32_t scratchOf(const DynBuiltinCall& call, uint64_t& bytes, const Function& function) {
    int64_t elements = 0;
    const Status status = function(FlatCall(call), elements);
    bytes = static_cast<uint64_t>(elements) * 4;
    return status.ok() ? DYN_OK : reportStatus(call.context, status);
  }
  template <typename Function>
  static int32_t runOf(const DynBuiltinCall& call, const Function& function) {
    FlatCall flat(call);
    const Status status = function(flat);
    return status.ok() ? DYN_OK : reportStatus(call.context, status);
  }
  Tensor* result(size_t index = 0) { return static_cast<Tensor*>(results_[index]); }
  template <typename T>
  static std::vector<T> data(const Tensor* tensor) {
    return std::vector<T>(tensor->as<T>(), tensor->as<T>() + tensor->elementCount);
  }
  static std::vector<int64_t> shape(const Tensor* tensor) {
    return std::vector<int64_t>(tensor->shape(), tensor->shape() + tensor->rank);
  }

  template <typename Function>
  Status withCall(std::vector<Object*> arguments, const Options& options, std::vector<Object*> into,
                  const Function& function) {
    std::vector<DynKernelEntry> entries;
    for (size_t i = 0; i < options.rows.size(); ++i)
      entries.push_back({options.rows[i].name.c_str(), options.kernels[i], options.rows[i].bufferCount,
                         options.rows[i].outputCount, options.rows[i].scalarCount,
                         options.rows[i].scratchBytes});
    BuiltinHost host(threads_, &cancel_, entries);
    BuiltinCall call(host);
    call.pool = pool_;
    call.gemmFamily = family_;
    call.arguments = arguments;
    call.into = !into.empty();
    results_ = into.empty() ? std::vector<Object*>(options.results, nullptr) : into;
    call.results = results_;
    call.scalars = options.scalars;
    call.numbers = options.numbers;
    Status status = function(host, call);
    if (into.empty())
      for (Object* result : results_) owned_.emplace_back(result);
    return status;
  }

  MemoryPool* pool_ = MemoryPool::create({});
  // many_: more threads than a machine has, whose tasks run one after the other.
  ThreadPool single_{1}, three_{3}, many_{37};
  ThreadPool* const pools_[3] = {&single_, &three_, &many_};
  ThreadPool* threads_ = &single_;
  const DynGemmFamily* family_ = defaultGemmFamily();
  std::atomic<uint32_t> cancel_{0};
  std::mt19937 random_{7};
  std::vector<Object*> results_;
  std::vector<Ref<Object>> owned_;
};

}  // namespace dyn::vm::test
