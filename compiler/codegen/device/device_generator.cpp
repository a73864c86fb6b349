#include "compiler/codegen/device/device_generator.h"

#include <cassert>

namespace dyn {

const DeviceGenerator& generatorOf(DeviceKind kind) {
  static constexpr std::pair<DeviceKind, const DeviceGenerator*> kRows[] = {
#define DYN_DEVICE(id, name, number, level, language, generator, library, libraryFault, help) \
  {DeviceKind::id, &k##generator},
#include "compiler/target/devices.def"
  };
  const auto* row = std::begin(kRows);
  while (row != std::end(kRows) && row->first != kind) ++row;
  assert(row != std::end(kRows) && "the host's code has another generator");
  return *row->second;
}

}  // namespace dyn
