#include "vm/core/device/device_code.h"

#include <algorithm>
#include <sstream>

#include "vm/core/device/launch_sizes.h"
#include "vm/core/device/library_product.h"
#include "vm/device/device.h"
#include "vm/include/dyn_gpu.h"

namespace dyn::vm {
namespace {

// Blocks of a launch: more walk on by the grid.
constexpr int64_t kMostBlocks = 1 << 16;
// Steps of a unit from which on a block shares them.
constexpr int64_t kStepsForBlock = 128;
// Rows and the length of a sum from which on tiles pay.
constexpr int64_t kRowsForTile = 8, kDepthForTile = 8;
// Rows and columns from which on large tiles pay: half of one.
constexpr int64_t kSidesForSquare = 33;
constexpr const char* kSuffixes[] = {
    "", kBlockSuffix, kTileSuffix,        kSquareSuffix, kTensorSuffix, kAttentionSuffix,
    "", "",           "_attention_tensor"};

// What the forms are called where a person reads them.
constexpr const char* kFormNames[] = {"thread",        "block",        "tile",
                                      "square",        "tensor",       "attention",
                                      "thread_narrow", "block_narrow", "attention_tensor"};

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
      forms.tensor |= word == "tensor";
      forms.narrow |= word == "narrow";
      forms.perUnit |= word == "units";
      forms.byLibrary |= word == kCublasLt;
      const size_t sizes = word.find('=');
      if (sizes == std::string::npos) continue;
      if (word.substr(0, sizes) == kLibraryWord) {
        forms.library = word.substr(sizes + 1);
        if (isLibraryProduct(forms.library)) continue;
        return failure(DYN_BAD_PROGRAM, "its list of kernels on a device is damaged");
      }
      forms.attention = word.substr(0, sizes) == "attention";
      forms.sizes = word.substr(sizes + 1);
    }
  }
  const auto loaded = [&](const std::string& code, uint64_t& module) {
    DynDeviceText said{};
    return deviceStatus(device, device.functions->loadCode(&device, code.data(), code.size(), &module, &said),
                        said);
  };
  if (Status status = loaded(*text, code.module_); !status.ok()) return status;
  const std::string* tensors = find(program, kDeviceTensorPtxKey);
  if (!tensors) return okStatus();
  Status status = loaded(*tensors, code.tensorModule_);
  // An older chip has no such units: the other forms do.
  return status.code == DYN_UNSUPPORTED ? okStatus() : status;
}

// "u/#1,#1,8*9,1"
DeviceCode::Product DeviceCode::productOf(const std::string& sizes, const DynLaunch& launch) {
  int64_t values[4] = {1, 1, 1, 1};
  size_t which = 0;
  for (std::string_view part : partsOf(sizes, ','))
    if (!part.empty() && which < 4) values[which++] = takeSize(part, launch);
  return {values[0], values[1], values[2], values[3]};
}

DeviceCode::Form DeviceCode::formOf(const Forms& forms, const Product& product,
                                    const DynLaunch& launch) const {
  if (forms.attention) return forms.tensor && tensorModule_ != 0 ? tensorAttention : attention;
  if (!forms.sizes.empty() && product.rows >= kRowsForTile && product.depth >= kDepthForTile) {
    if (forms.tensor && tensorModule_ != 0) return tensor;
    return std::min(product.rows, product.columns) >= kSidesForSquare ? square : tile;
  }
  const bool shares = !forms.thread || launch.steps / std::max<int64_t>(launch.units, 1) >= kStepsForBlock;
  return forms.block && shares ? block : thread;
}

// Whether all that its indices are made of is far from the end of 32 bits.
bool DeviceCode::fitsNarrow(const DynLaunch& launch) {
  const auto fits = [](int64_t number) { return -kNarrowLimit < number && number < kNarrowLimit; };
  const uint64_t* bytes = launch.bufferBytes;
  return bytes && fits(launch.units) && fits(launch.steps) &&
         std::all_of(bytes, bytes + launch.bufferCount,
                     [](uint64_t size) { return size < uint64_t{kNarrowLimit}; }) &&
         std::all_of(launch.scalars, launch.scalars + launch.scalarCount, fits);
}

void DeviceCode::unload(const DynDevice& device) {
  if (module_ != 0) (void)device.functions->unloadCode(&device, module_, nullptr);
  if (tensorModule_ != 0) (void)device.functions->unloadCode(&device, tensorModule_, nullptr);
  module_ = tensorModule_ = 0;
  forms_.clear();
}

// Where the library is not there, or can not do these sizes, the kernel's own forms do.
Status DeviceCode::prepareProduct(const DynDevice& device, const Program& program, size_t kernel,
                                  DynLaunch& launch) {
  hasLibrary_ = device.extras && device.extras->planProduct;
  if (!hasLibrary_) return okStatus();
  const std::optional<DynDeviceProduct> product =
      libraryProductAt(forms_.at(kernel).library, launch, program.kernels[kernel].symbol.c_str());
  if (!product) return okStatus();
  product_ = *product;
  DynDeviceText said{};
  const int32_t status =
      device.extras->planProduct(&device, launch.buffers, kMostWorkspaceBytes, &product_, &said);
  hasLibrary_ = status != DYN_UNAVAILABLE;
  if (status == DYN_UNAVAILABLE || status == DYN_UNSUPPORTED) return okStatus();
  if (status != DYN_OK) return deviceStatus(device, status, said);
  launchesProduct_ = true;
  version_ = kCublasLt;
  launch.product = &product_;
  launch.gridX = launch.gridY = launch.gridZ = launch.blockX = launch.blockY = launch.blockZ = 1;
  return okStatus();
}

Status DeviceCode::prepare(const DynDevice& device, const Program& program, size_t kernel,
                           DynLaunch& launch) {
  const auto found = forms_.find(kernel);
  if (found == forms_.end() || !(found->second.thread || found->second.block || found->second.attention))
    return failure(DYN_UNSUPPORTED,
                   "kernel " + program.kernels[kernel].name + " has no code for " + device.name);
  launchesProduct_ = false;
  Forms& forms = found->second;
  if (forms.byLibrary && hasLibrary_ && !forms.library.empty())
    if (Status status = prepareProduct(device, program, kernel, launch); !status.ok() || launchesProduct_)
      return status;
  const Product product = productOf(forms.sizes, launch);
  const Form form = formOf(forms, product, launch);
  const bool narrow = forms.narrow && (form == thread || form == block) && fitsNarrow(launch);
  const Form taken = !narrow ? form : form == thread ? narrowThread : narrowBlock;
  version_ = kFormNames[taken];
  uint64_t& function = forms.functions[taken];
  if (function == 0) {
    DynDeviceText said{};
    const bool byTensor = form == tensor || form == tensorAttention;
    const std::string symbol =
        program.kernels[kernel].symbol + kSuffixes[form] + (narrow ? kNarrowSuffix : "");
    if (const int32_t status = device.functions->findKernel(&device, byTensor ? tensorModule_ : module_,
                                                            symbol.c_str(), &function, &said);
        status != DYN_OK)
      return deviceStatus(device, status, said);
  }
  launch.kernel = function;
  // Elements that a unit's loops store are told by the steps: too many blocks find nothing to do.
  const int64_t elements = forms.perUnit ? launch.units : std::max(launch.units, launch.steps);
  int64_t blocks = elements / kThreadsOfElements + (elements % kThreadsOfElements != 0);
  if (form == block) blocks = launch.units;
  const int64_t rowsOfTile = form == tile                                   ? kRowsOfTile
                             : form == attention || form == tensorAttention ? kRowsOfAttention
                                                                            : kRowsOfSquare;
  if (form != thread && form != block)
    blocks = product.count * ((product.rows + rowsOfTile - 1) / rowsOfTile) *
             ((product.columns + kColumnsOfTile - 1) / kColumnsOfTile);
  launch.gridX = static_cast<uint32_t>(std::clamp<int64_t>(blocks, 1, kMostBlocks));
  launch.blockX = form == block ? kThreadsOfUnit : form == tensor ? kThreadsOfTensor : kThreadsOfElements;
  launch.gridY = launch.gridZ = launch.blockY = launch.blockZ = 1;
  launch.mayFault = forms.mayFault ? 1 : 0;
  return okStatus();
}

}  // namespace dyn::vm
