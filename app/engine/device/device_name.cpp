#include "app/engine/device/device_name.h"

#include <charconv>

namespace dyn {

namespace {

constexpr int kMostDevices = 64;  // as the runtime has rows for

Error unknown(const std::string& text) {
  return makeError(DiagnosticId::usageError, "there is no device '" + text + "'")
      .note("there is " + allDeviceNames() + ", and of several GPUs " + namesOfDevices("", ":1, ") +
            ":1 and the like");
}

}  // namespace

std::string DeviceName::ofRuntime() const {
  const std::string name = toString(compiledAs());
  return isHost() ? name : name + ":" + std::to_string(index);
}

Result<DeviceName> parseDevice(const std::string& text) {
  if (isRuntimeDevice(text))
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: the device " + text)
        .note("there is " + allDeviceNames());
  const size_t colon = text.find(':');
  const DeviceRow* row = findDevice(text.substr(0, colon));
  if (!row || (row->isHost() && colon != std::string::npos)) return unknown(text);
  DeviceName device{row->kind, 0};
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
  if (device.isHost() || dyn_module_metadata(module, "device")) return {};
  return makeError(DiagnosticId::usageError,
                   "--device " + device.ofRuntime() +
                       ": the program was made for the cpu, it has no code for a GPU")
      .note("compile and export take " + namesOfDevices("--device ", " or "));
}

bool isOnHost(const std::string& device) {
  const Result<DeviceName> name = parseDevice(device);
  return !name.ok() || name->isHost();
}

bool isOnSimulator(const std::string& device) {
  const Result<DeviceName> name = parseDevice(device);
  return name.ok() && name->isSimulated();
}

std::string_view deviceHelp() {
  static const std::string kHelp = [] {
    std::string text;
    for (const DeviceRow& row : deviceTable())
      text += (text.empty() ? "" : "; ") + std::string(row.name) +
              (row.help.empty() ? "" : ": " + std::string(row.help));
    return text;
  }();
  return kHelp;
}

Error nothingBesideHost() {
  return makeError(DiagnosticId::usageError, "everything runs on the cpu")
      .note(namesOfDevices(":set device ", " or ") + ", or " + namesOfDevices("--device ", " or ") +
            ", puts a GPU beside it");
}

}  // namespace dyn
