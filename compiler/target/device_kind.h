// The rows of devices.def: the host, the devices beside it, and simulators of these. Whoever asks something
// about a device asks its row; no other file compares names.
//
//   const DeviceRow* row = findDevice("cuda");
//   row->isHost();                       // false
//   row->number;                         // 2: as programs name it
//   deviceRow(DeviceKind::simcuda).compiledAs;   // DeviceKind::cuda
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dyn {

enum class DeviceKind : uint8_t {
#define DYN_HOST(id, name, number) id,
#define DYN_DEVICE(id, name, number, level, language, generator, library, libraryFault, help) id,
#define DYN_SIMULATOR(id, name, of, driver, help) id,
#include "compiler/target/devices.def"
};

struct DeviceRow {
  DeviceKind kind;
  DeviceKind compiledAs;             // of simulators: the device whose code they run; else itself
  std::string_view name;             // "cuda"
  int32_t number = 0;                // in programs
  std::string_view level, language;  // of its code: "ptx" and "PTX"; of the host and simulators: ""
  std::string_view library;          // version of matmul that a library of the device does; "": none
  std::string_view driver;           // of simulators: the variable of the environment that names it
  std::string_view help;

  bool isHost() const { return number == 0; }
  bool isSimulated() const { return compiledAs != kind; }
  // Beside the host, with code of its own.
  bool isTarget() const { return !isHost() && !isSimulated(); }
};

// In the order of devices.def; the host is the first.
std::span<const DeviceRow> deviceTable();
const DeviceRow& deviceRow(DeviceKind kind);
const char* toString(DeviceKind kind);
inline bool isHost(DeviceKind kind) { return deviceRow(kind).isHost(); }

// By its name; null: there is none.
const DeviceRow* findDevice(std::string_view name);
const DeviceRow* findDeviceOfLevel(std::string_view level);      // "ptx"
const DeviceRow* findDeviceOfLibrary(std::string_view library);  // "cublaslt"
// Is it a device of the runtime that no program is compiled for?
bool isRuntimeDevice(std::string_view name);

// Names in sentences. Those of all rows: "cpu, cuda, simcuda".
std::string allDeviceNames();
// Of the host and the devices that programs are compiled for, each behind `before`, with `joint` between:
// namesOfSides("=", " or ") is "=cpu or =cuda".
std::string namesOfSides(std::string_view before, std::string_view joint);
// Likewise without the host: "--device cuda".
std::string namesOfDevices(std::string_view before, std::string_view joint);

// Words that attributes of operators allow, with spaces between.
// clang-format off
inline constexpr std::string_view kWordsOfDevices = std::string_view(""
#define DYN_DEVICE(id, name, number, level, language, generator, library, libraryFault, help) " " name
#include "compiler/target/devices.def"
).substr(1);
inline constexpr std::string_view kWordsOfSides = std::string_view(""
#define DYN_HOST(id, name, number) " " name
#define DYN_DEVICE(id, name, number, level, language, generator, library, libraryFault, help) " " name
#include "compiler/target/devices.def"
).substr(1);
// clang-format on

}  // namespace dyn
