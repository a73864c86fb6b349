#include "compiler/tune/policies.h"

#include "compiler/driver/kernel_library.h"
#include "compiler/kernel/versions.h"
#include "compiler/passes/layout/contraction_versions.h"
#include "compiler/target/device_kind.h"

namespace dyn {

Status checkPolicies(const Policies& policies) {
  for (const auto& [kind, version] : policies) {
    if (kind == "loop") {
      DYN_TRY([[maybe_unused]] VersionPolicy policy, parseVersionPolicy(version));
    } else if (kind == "matmul" && findDeviceOfLibrary(version)) {
      // Of products on a GPU: who chooses the device says whether there is one.
    } else {
      DYN_CHECK(passes::checkPolicy(kind, version));
      DYN_CHECK(libraryReady(version));
    }
  }
  return {};
}

Status fitsDevice(const Policies& policies, DeviceKind device) {
  const bool onDevice = !isHost(device);
  const auto windows = policies.find("conv");
  if (onDevice && windows != policies.end() && windows->second != "auto")
    return makeError(
        DiagnosticId::usageError,
        "conv=" + windows->second + " is a version for the host; convolutions on a GPU have no versions");
  const auto products = policies.find("matmul");
  if (products == policies.end() || products->second == "auto") return {};
  const DeviceRow* other = findDeviceOfLibrary(products->second);
  if (other ? other->kind == device : !onDevice) return {};
  const std::string library(deviceRow(device).library);
  return makeError(DiagnosticId::usageError,
                   "matmul=" + products->second +
                       (other ? " is a version of a GPU: it goes with --device " + std::string(other->name)
                              : " is a version for the host: on a GPU there " +
                                    (library.empty() ? std::string("is auto") : "are auto and " + library)));
}

Result<Policies> parsePolicies(const std::string& text) {
  Policies policies;
  std::string* last = nullptr;
  for (size_t begin = 0; text != "auto" && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const size_t equals = item.find('=');
    const bool named = equals != std::string::npos && equals > 0 && item[equals - 1] != '<';
    if (!named && !last)
      return makeError(DiagnosticId::usageError, "policy '" + item + "' is not of the form OPERATOR=VERSION");
    if (named)
      *(last = &policies[item.substr(0, equals)]) = item.substr(equals + 1);
    else
      *last += "," + item;
    begin = end + 1;
  }
  DYN_CHECK(checkPolicies(policies));
  return policies;
}

std::string textOf(const Policies& policies) {
  std::string text;
  for (const auto& [kind, version] : policies) text += (text.empty() ? "" : ",") + kind + "=" + version;
  return text.empty() ? "auto" : text;
}

}  // namespace dyn
