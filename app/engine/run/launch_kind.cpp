#include "app/engine/run/launch_kind.h"

namespace dyn {

LaunchKind launchKindOf(const TimelineEvent& event) {
  if (event.kind == "kernel") return LaunchKind::loop;
  if (event.kind != "builtin") return LaunchKind::other;
  if (event.name == "gemm" || event.name == "onednn_gemm" || event.name == "bytegemm")
    return LaunchKind::gemm;
  if (event.name == "attention") return LaunchKind::attention;
  if (event.name == "conv" || event.name == "conv_packed" || event.name == "onednn_conv" ||
      event.name == "byteconv")
    return LaunchKind::convolution;
  if (event.name == "recurrence") return LaunchKind::recurrence;
  return LaunchKind::other;
}

std::string siteOf(const TimelineEvent& event) {
  const LaunchKind kind = launchKindOf(event);
  return kind == LaunchKind::loop || kind == LaunchKind::other ? "" : event.place;
}

}  // namespace dyn
