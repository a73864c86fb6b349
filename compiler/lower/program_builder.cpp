#include "compiler/lower/program_builder.h"

#include "compiler/loop/kernel_key.h"
#include "compiler/lower/packed_program.h"

namespace dyn {

int32_t ProgramBuilder::string(const std::string& text) {
  auto [it, fresh] = strings_.try_emplace(text, static_cast<int32_t>(out_.program.strings.size()));
  if (fresh) out_.program.strings.push_back(text);
  return it->second;
}

int32_t ProgramBuilder::constant(const HostTensor& tensor, const std::string& name) {
  const int32_t index = constantRow(tensor, name);
  out_.onlyPacked[static_cast<size_t>(index)] = false;
  return index;
}

int32_t ProgramBuilder::constantRow(const HostTensor& tensor, const std::string& name) {
  // Tensors that share bytes are one constant, when they are also seen with the same shape.
  if (tensor.bytes()) {
    auto it = constants_.find(tensor.bytes());
    if (it != constants_.end() && out_.constants[it->second].shape() == tensor.shape() &&
        out_.constants[it->second].dtype() == tensor.dtype())
      return it->second;
  }
  const int32_t index = static_cast<int32_t>(out_.constants.size());
  if (tensor.bytes()) constants_[tensor.bytes()] = index;
  vm::ConstantRow row;
  row.dtype = static_cast<uint8_t>(tensor.dtype());
  row.shape = tensor.shape();
  row.sizeBytes = static_cast<uint64_t>(tensor.sizeBytes());
  row.name = name;
  // Offsets are those of a constant section in this order, each entry aligned to 64 bytes.
  if (!out_.program.constants.empty()) {
    const vm::ConstantRow& last = out_.program.constants.back();
    row.offset = (last.offset + last.sizeBytes + 63) / 64 * 64;
  }
  out_.program.constants.push_back(std::move(row));
  out_.constants.push_back(tensor);
  out_.onlyPacked.push_back(true);
  return index;
}

int32_t ProgramBuilder::builtin(std::string_view name) {
  auto [it, fresh] =
      builtins_.try_emplace(std::string(name), static_cast<int32_t>(out_.program.builtins.size()));
  if (fresh) out_.program.builtins.emplace_back(name);
  return it->second;
}

std::pair<Dim, Dim> ProgramBuilder::epilogueColumns(DimContext& dims) {
  if (!epilogueColumns_)
    epilogueColumns_ = {dims.any("first column of a tile"), dims.any("last column of a tile")};
  return *epilogueColumns_;
}

int32_t ProgramBuilder::kernel(loop::Kernel kernel) {
  const std::string base = kernel.name;
  auto [it, fresh] =
      kernels_.try_emplace(loop::structuralKey(kernel), static_cast<int32_t>(out_.kernels.size()));
  if (!fresh) {
    share(static_cast<size_t>(it->second), kernel);
    return it->second;
  }
  const int repeat = kernelNames_[base]++;
  kernel.name = repeat == 0 ? base : base + "." + std::to_string(repeat);
  vm::KernelRow row;
  row.name = kernel.name;
  row.symbol = "dyn_kernel_" + std::to_string(out_.kernels.size());
  row.bufferCount = static_cast<uint32_t>(kernel.buffers.size());
  for (const loop::Buffer* buffer : kernel.buffers)
    row.outputCount += buffer->role == loop::BufferRole::output;
  row.scalarCount = static_cast<uint32_t>(kernel.scalars.size());
  row.description = kernel.description;
  out_.program.kernels.push_back(std::move(row));
  out_.kernels.push_back(std::move(kernel));
  out_.kernelServesOthers.push_back(false);
  out_.kernelOnDevice.push_back(false);
  return it->second;
}

// What is told of a kernel that serves several operations holds for all of them.
void ProgramBuilder::share(size_t index, const loop::Kernel& with) {
  const loop::Kernel& kernel = out_.kernels[index];
  if (kernel.scalars != with.scalars) out_.kernelServesOthers[index] = true;
  std::string& said = out_.program.kernels[index].description;
  if (said.empty() || with.description.compare(0, said.size(), said) == 0) return;
  // "loop, 1 operation, if n > 32768" and "loop, 1 operation, if m > 32768" are "loop, 1 operation".
  size_t same = 0, common = 0;
  for (; common < std::min(said.size(), with.description.size()) && said[common] == with.description[common];
       ++common)
    if (said[common] == ',') same = common;
  said.resize(same);
}

int32_t ProgramBuilder::packedGlobal(const HostTensor& weights, std::string_view builtin,
                                     std::vector<int32_t> numbers, Dtype dtype, const std::string& name) {
  const auto next = static_cast<int32_t>(out_.program.globalCount);
  auto [it, fresh] = packed_.try_emplace(
      {constantRow(weights, name), std::string(builtin), std::move(numbers)}, next, dtype);
  if (fresh) ++out_.program.globalCount;
  return it->second.first;
}

int32_t ProgramBuilder::deviceGlobal(const HostTensor& tensor, const std::string& name) {
  const auto next = static_cast<int32_t>(out_.program.globalCount);
  auto [it, fresh] = deviceGlobals_.try_emplace(constant(tensor, name), next);
  if (fresh) ++out_.program.globalCount;
  return it->second;
}

Status ProgramBuilder::finishInit() {
  for (const auto& [key, made] : packed_) {
    const auto& [weights, name, numbers] = key;
    builtin(name);
    out_.packings.push_back({weights, made.first, name, numbers, made.second});
  }
  out_.deviceConstants.assign(deviceGlobals_.begin(), deviceGlobals_.end());
  if (out_.packings.empty() && out_.deviceConstants.empty()) return {};
  functions_["init"] = static_cast<int32_t>(out_.program.functions.size());
  return addInit(out_.program, out_.packings, {deviceNumber(), out_.deviceConstants});
}

void ProgramBuilder::declareFunction(const std::string& name) {
  functions_[name] = static_cast<int32_t>(out_.program.functions.size());
  out_.program.functions.emplace_back();
  out_.program.functions.back().name = name;
}

void ProgramBuilder::setRegisterValues(size_t function, std::vector<RegisterValue> values) {
  if (out_.registerValues.size() <= function) out_.registerValues.resize(function + 1);
  out_.registerValues[function] = std::move(values);
}

int32_t ProgramBuilder::functionIndex(const std::string& name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? -1 : it->second;
}

}  // namespace dyn
