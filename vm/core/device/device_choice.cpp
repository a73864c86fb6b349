#include "vm/core/device/device_choice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "vm/device/cuda/cublaslt.h"
#include "vm/device/cuda/cuda_device.h"
#include "vm/device/device.h"
#include "vm/include/dyn_gpu.h"
#include "vm/shared/dyn_device_code.h"

namespace dyn::vm {
namespace {

bool hasDeviceCode(const Program& program) {
  return std::any_of(program.metadata.begin(), program.metadata.end(),
                     [](const auto& row) { return row.first == kDevicePtxKey; });
}

// Of some product cuBLASLt was chosen.
bool wantsLibrary(const Program& program) {
  return std::any_of(program.metadata.begin(), program.metadata.end(), [](const auto& row) {
    return row.first == kDeviceKernelsKey &&
           row.second.find(std::string(" ") + kCublasLt) != std::string::npos;
  });
}

// -1: `text` is no name of a GPU.
int indexOf(const char* text) {
  if (strncmp(text, "cuda", 4) != 0) return -1;
  if (text[4] == '\0') return 0;
  if (text[4] != ':' || text[5] < '0' || text[5] > '9') return -1;
  char* end = nullptr;
  const long index = strtol(text + 5, &end, 10);
  return *end == '\0' && index < kMostCudaDevices ? static_cast<int>(index) : -1;
}

}  // namespace

Status chooseDevice(const Program& program, const char* wanted, Fallback fallback, DeviceChoice& choice) {
  const bool isHost = wanted && strcmp(wanted, "cpu") == 0;
  const int index = !wanted ? 0 : isHost ? -1 : indexOf(wanted);
  if (!isHost && index < 0)
    return failure(DYN_INVALID_ARGUMENT,
                   "there is no device '" + std::string(wanted) + "': there are cpu, cuda, cuda:1, ...");
  if (!hasDeviceCode(program)) return okStatus();
  choice.onHost = isHost;
  choice.name = isHost ? "cpu" : "cuda:" + std::to_string(index);
  if (isHost) return okStatus();
  const DynDevice* row = cudaDevice(index);
  DynDeviceText text{};
  const Status status = deviceStatus(*row, row->functions->open(row, &text), text);
  if (status.ok()) {
    choice.cuda = row;
    if (wantsLibrary(program) && row->extras->planProduct(row, nullptr, 0, nullptr, &text) != DYN_OK)
      choice.notice =
          std::string(text.text) + "; kernels of the program do the products that cuBLASLt was chosen for";
    return status;
  }
  if (status.code != DYN_UNAVAILABLE || wanted || fallback == Fallback::none) return status;
  choice.onHost = true;
  choice.name = "cpu";
  choice.notice = status.message + "; the program runs its code for the host";
  return okStatus();
}

}  // namespace dyn::vm

extern "C" const char* dyn_cublaslt_fault(void) {
  static const std::string* const kFault = [] {
    std::string why;
    return dyn::vm::cublasLt(why) ? nullptr : new std::string(std::move(why));
  }();
  return kFault ? kFault->c_str() : nullptr;
}
