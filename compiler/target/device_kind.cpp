#include "compiler/target/device_kind.h"

#include <algorithm>

namespace dyn {
namespace {

constexpr DeviceRow kRows[] = {
#define DYN_HOST(id, name, number) {DeviceKind::id, DeviceKind::id, name, number, "", "", "", "", ""},
#define DYN_DEVICE(id, name, number, level, language, generator, library, libraryFault, help) \
  {DeviceKind::id, DeviceKind::id, name, number, level, language, library, "", help},
#define DYN_SIMULATOR(id, name, of, driver, help) \
  {DeviceKind::id, DeviceKind::of, name, -1, "", "", "", driver, help},
#include "compiler/target/devices.def"
};

template <typename Matches>
const DeviceRow* findRow(Matches matches) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), matches);
  return row == std::end(kRows) ? nullptr : row;
}

template <typename Takes>
std::string joined(std::string_view before, std::string_view joint, Takes takes) {
  std::string text;
  for (const DeviceRow& row : kRows)
    if (takes(row))
      text += std::string(text.empty() ? "" : joint) + std::string(before) + std::string(row.name);
  return text;
}

}  // namespace

std::span<const DeviceRow> deviceTable() { return kRows; }

const DeviceRow& deviceRow(DeviceKind kind) { return kRows[static_cast<size_t>(kind)]; }

const char* toString(DeviceKind kind) { return deviceRow(kind).name.data(); }

const DeviceRow* findDevice(std::string_view name) {
  return findRow([&](const DeviceRow& row) { return row.name == name; });
}

const DeviceRow* findDeviceOfLevel(std::string_view level) {
  return findRow([&](const DeviceRow& row) { return !level.empty() && row.level == level; });
}

const DeviceRow* findDeviceOfLibrary(std::string_view library) {
  return findRow([&](const DeviceRow& row) { return !library.empty() && row.library == library; });
}

bool isRuntimeDevice(std::string_view name) {
  static constexpr std::string_view kNames[] = {
#define DYN_RUNTIME_DEVICE(word) word,
#include "compiler/target/devices.def"
  };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string allDeviceNames() {
  return joined("", ", ", [](const DeviceRow&) { return true; });
}

std::string namesOfSides(std::string_view before, std::string_view joint) {
  return joined(before, joint, [](const DeviceRow& row) { return row.isHost() || row.isTarget(); });
}

std::string namesOfDevices(std::string_view before, std::string_view joint) {
  return joined(before, joint, [](const DeviceRow& row) { return row.isTarget(); });
}

}  // namespace dyn
