#include "app/engine/device/device_name.h"

#include <charconv>

namespace dyn {

namespace {

constexpr int kMostDevices = 64;  // as the runtime has rows for

Error unknown(const std::string& text) {
  return makeError(DiagnosticId::usageError, "there is no device '" + text + "'")
      .note("there is cpu, cuda, simcuda, and of several GPUs cuda:1 and the like");
}

}  // namespace

std::string DeviceName::ofRuntime() const { return isGpu ? "cuda:" + std::to_string(index) : "cpu"; }

Result<DeviceName> parseDevice(const std::string& text) {
  if (text == "cpu") return DeviceName();
  if (text == "sim")
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: the device sim")
        .note("there is cpu, cuda, simcuda");
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (kind != "cuda" && kind != "simcuda") return unknown(text);
  DeviceName device{true, kind == "simcuda", 0};
  if (colon == std::string::npos) return device;
  const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, device.index);
  if (begin == end || *begin == '-' || stopped != end) return unknown(text);
  if (error != std::errc() || device.index >= kMostDevices)
    return makeError(DiagnosticId::usageError,
                     "there is no device '" + text +
                         "': they are counted from 0, and there are never more than " +
                         std::to_string(kMostDevices));
  return device;
}

Status hasCodeFor(const DeviceName& device, const dyn_module* module) {
  if (!device.isGpu || dyn_module_metadata(module, "device")) return {};
  return makeError(DiagnosticId::usageError,
                   "--device " + device.ofRuntime() +
                       ": the program was made for the cpu, it has no code for a GPU")
      .note("compile and export take --device cuda");
}

bool isGpu(const std::string& device) {
  const Result<DeviceName> name = parseDevice(device);
  return name.ok() && name->isGpu;
}

bool isSimulatedGpu(const std::string& device) {
  const Result<DeviceName> name = parseDevice(device);
  return name.ok() && name->isSimulated;
}

}  // namespace dyn
