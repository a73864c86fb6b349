// A compiled module in the freestanding runtime, in this process. What a run takes is checked by a
// dry run and by canaries: it is given just as many bytes as the dry run said.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compiler/export/freestanding_program.h"
#include "compiler/ir/tensor.h"
#include "vm/include/dynvm.h"

namespace dyn::test {

struct FreestandingResult {
  int32_t status = DYN_OK;
  std::string message;
  std::vector<HostTensor> outputs;
  uint64_t peakBytes = 0;
  bool intact = true;  // the bytes behind the memory are as they were
};

class FreestandingRun {
 public:
  static Result<std::unique_ptr<FreestandingRun>> make(std::shared_ptr<const CompiledModel> compiled) {
    auto made = std::make_unique<FreestandingRun>();
    made->model_ = compiled;
    DYN_TRY(made->loaded_, loadFreestanding(std::move(compiled)));
    // Pages that nobody touches are no memory.
    made->memory_ =
        ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made->memory_ == MAP_FAILED) return makeError(DiagnosticId::memoryLimit, "no room to test in");
    return Result<std::unique_ptr<FreestandingRun>>(std::move(made));
  }
  ~FreestandingRun() {
    if (memory_ && memory_ != MAP_FAILED) ::munmap(memory_, kRoom);
  }

  FreestandingResult run(const std::vector<HostTensor>& inputs, uint64_t bytes = kRoom - kCanary) {
    const DynFreestandingProgram* program = freestandingProgramOf(*loaded_);
    const std::vector<int64_t> sizes = sizesOf(inputs);
    FreestandingResult result;
    DynFreestanding* model = nullptr;
    auto* canary = static_cast<unsigned char*>(memory_) + bytes;
    std::memset(canary, 0xA5, kCanary);
    result.status = dyn_freestanding_create(program, memory_, bytes, &model);
    if (result.status != DYN_OK) return result;
    std::vector<const void*> data;
    for (const HostTensor& input : inputs) data.push_back(input.data());
    // Left as they are: pages that nobody touches cost nothing.
    std::vector<std::unique_ptr<char[]>> memory;
    std::vector<DynFreestandingOutput> outputs;
    for (uint32_t i = 0; i < program->outputCount; ++i) {
      memory.push_back(std::make_unique_for_overwrite<char[]>(kMostOutputBytes));
      outputs.push_back({memory[i].get(), kMostOutputBytes});
    }
    std::vector<int64_t> shapes(64 * program->outputCount + 1);
    result.status = dyn_freestanding_run(model, sizes.data(), data.data(), outputs.data(), shapes.data());
    result.message = dyn_freestanding_message(model);
    result.peakBytes = dyn_freestanding_peak_bytes(model);
    for (uint64_t i = 0; i < kCanary; ++i) result.intact = result.intact && canary[i] == 0xA5;
    const int64_t* shape = shapes.data();
    for (uint32_t i = 0; result.status == DYN_OK && i < program->outputCount; ++i) {
      const DynFreestandingPort& port = program->outputs[i];
      HostTensor tensor =
          *HostTensor::create(static_cast<Dtype>(port.dtype), std::vector<int64_t>(shape, shape + port.rank));
      shape += port.rank == 0 ? 1 : port.rank;
      if (tensor.sizeBytes() > 0)
        std::memcpy(tensor.mutableData(), memory[i].get(), static_cast<size_t>(tensor.sizeBytes()));
      result.outputs.push_back(std::move(tensor));
    }
    return result;
  }

  // Bytes, or 0: it ended with `status`.
  uint64_t runDry(const std::vector<HostTensor>& inputs, int32_t& status,
                  DynFreestandingChoose choose = nullptr, void* user = nullptr) {
    DynFreestanding* model = nullptr;
    status = dyn_freestanding_create(freestandingProgramOf(*loaded_), memory_, kRoom, &model);
    if (status != DYN_OK) return 0;
    const std::vector<int64_t> sizes = sizesOf(inputs);
    status = dyn_freestanding_dry_run(model, sizes.data(), nullptr, choose, user);
    return status == DYN_OK ? dyn_freestanding_peak_bytes(model) : 0;
  }

  const FreestandingLoaded& loaded() const { return *loaded_; }

  static constexpr uint64_t kRoom = uint64_t{1} << 32, kCanary = 4096;
  static constexpr size_t kMostOutputBytes = size_t{16} << 20;

 private:
  std::vector<int64_t> sizesOf(const std::vector<HostTensor>& inputs) const {
    std::vector<std::vector<int64_t>> shapes;
    for (const HostTensor& input : inputs) shapes.push_back(input.shape());
    return freestandingSizesOf(*model_, shapes);
  }

  std::shared_ptr<const CompiledModel> model_;
  std::shared_ptr<const FreestandingLoaded> loaded_;
  void* memory_ = nullptr;
};

}  // namespace dyn::test
