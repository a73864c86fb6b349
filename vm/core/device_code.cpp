#include "vm/core/device_code.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "vm/device/device.h"

namespace dyn::vm {
namespace {

// Blocks of a launch: more walk on by the grid.
constexpr int64_t kMostBlocks = 1 << 16;
// Steps of a unit from which on a block shares them.
constexpr int64_t kStepsForBlock = 128;
// Rows that read the same columns, and the length of a sum, from which on tiles pay.
constexpr int64_t kRowsForTile = 8, kDepthForTile = 8;

const std::string* find(const Program& program, std::string_view key) {
  for (const auto& [name, value] : program.metadata)
    if (name == key) return &value;
  return nullptr;
}

}  // namespace

Status DeviceCode::load(const DynDevice& device, const Program& program, DeviceCode& code) {
  const std::string *text = find(program, kDevicePtxKey), *rows = find(program, kDeviceKernelsKey);
  if (!text || !rows)
    return failure(DYN_UNSUPPORTED, std::string("the program has no code for ") + device.name);
  std::istringstream lines(*rows);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    size_t kernel = 0;
    if (!(words >> kernel) || kernel >= program.kernels.size())
      return failure(DYN_BAD_PROGRAM, "its list of kernels on a device is damaged");
    Forms& forms = code.forms_[kernel];
    for (std::string word; words >> word;) {
      forms.thread |= word == "thread";
      forms.block |= word == "block";
      forms.mayFault |= word == "fault";
      const size_t slash = word.find('/');
      if (word.rfind("tile=", 0) == 0 && slash != std::string::npos) {
        forms.group = word.substr(5, slash - 5);
        forms.depth = word.substr(slash + 1);
      }
    }
  }
  DynDeviceText said{};
  return deviceStatus(
      device, device.functions->loadCode(&device, text->data(), text->size(), &code.module_, &said), said);
}

int64_t DeviceCode::valueOf(const std::string& text, const DynLaunch& launch) {
  const bool isScalar = !text.empty() && text[0] == '#';
  const int64_t number = strtoll(text.c_str() + (isScalar ? 1 : 0), nullptr, 10);
  if (!isScalar) return number;
  return number >= 0 && number < launch.scalarCount ? launch.scalars[number] : 0;
}

void DeviceCode::unload(const DynDevice& device) {
  if (module_ != 0) (void)device.functions->unloadCode(&device, module_, nullptr);
  module_ = 0;
  forms_.clear();
}

Status DeviceCode::prepare(const DynDevice& device, const Program& program, size_t kernel,
                           DynLaunch& launch) {
  const auto found = forms_.find(kernel);
  if (found == forms_.end() || !(found->second.thread || found->second.block))
    return failure(DYN_UNSUPPORTED,
                   "kernel " + program.kernels[kernel].name + " has no code for " + device.name);
  Forms& forms = found->second;
  enum Form { thread, block, tile };
  Form form = thread;
  int64_t group = 0;
  if (forms.block && (!forms.thread || launch.steps / std::max<int64_t>(launch.units, 1) >= kStepsForBlock))
    form = block;
  if (!forms.depth.empty()) {
    group = std::min(forms.group == "all" ? launch.units : valueOf(forms.group, launch), launch.units);
    if (group >= kRowsForTile && valueOf(forms.depth, launch) >= kDepthForTile) form = tile;
  }
  uint64_t& function = forms.functions[form];
  if (function == 0) {
    DynDeviceText said{};
    const std::string symbol = program.kernels[kernel].symbol + (form == block  ? kBlockSuffix
                                                                 : form == tile ? kTileSuffix
                                                                                : "");
    if (const int32_t status =
            device.functions->findKernel(&device, module_, symbol.c_str(), &function, &said);
        status != DYN_OK)
      return deviceStatus(device, status, said);
  }
  launch.kernel = function;
  // Elements that a unit's loops store are told by the steps: too many blocks find nothing to do.
  const int64_t elements = std::max(launch.units, launch.steps);
  int64_t blocks = elements / kThreadsOfElements + (elements % kThreadsOfElements != 0);
  if (form == block) blocks = launch.units;
  if (form == tile) blocks = launch.units / group * ((group + kRowsOfTile - 1) / kRowsOfTile);
  launch.gridX = static_cast<uint32_t>(std::clamp<int64_t>(blocks, 1, kMostBlocks));
  launch.blockX = form == block ? kThreadsOfUnit : kThreadsOfElements;
  launch.gridY = launch.gridZ = launch.blockY = launch.blockZ = 1;
  launch.mayFault = forms.mayFault ? 1 : 0;
  return okStatus();
}

}  // namespace dyn::vm
