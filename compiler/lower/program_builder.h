// ProgramBuilder: the tables of a program being built: strings, constants, kernels, builtins, globals; each
// entry once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "compiler/lower/lowered_module.h"
#include "compiler/target/device_kind.h"

namespace dyn {

class ProgramBuilder {
 public:
  ProgramBuilder(LoweredModule& out, const VersionPolicy& versions) : out_(out), versions_(versions) {}

  int32_t string(const std::string& text);
  int32_t constant(const HostTensor& tensor, const std::string& name);
  int32_t builtin(std::string_view name);
  // A builtin of the program runs on the machine's matrix kernels.
  void needGemmFamily() { out_.usesGemmFamily = true; }
  // The kernel's row; kernels of one structure are one (compiler/loop/kernel_key.h): the same layer twice,
  // the same sum over n and over m.
  int32_t kernel(loop::Kernel kernel);
  // The global that holds constant weights packed by this builtin, in rank 1 of `dtype`; @init fills it.
  int32_t packedGlobal(const HostTensor& weights, std::string_view builtin, std::vector<int32_t> numbers,
                       Dtype dtype, const std::string& name);
  // The global that holds the constant in the memory of the target's device; @init fills it.
  int32_t deviceGlobal(const HostTensor& tensor, const std::string& name);
  // The device beside the host that the program names; the host where it names none.
  void setDevice(DeviceKind device) { device_ = device; }
  int32_t deviceNumber() const { return deviceRow(device_).number; }
  std::string onDevice(const char* what) const { return std::string(what) + " on " + toString(device_); }
  // The kernel of this row is launched there.
  void runsOnDevice(int32_t kernel) { out_.kernelOnDevice[static_cast<size_t>(kernel)] = true; }
  // Writes @init when anything needs it. Call once, last.
  Status finishInit();
  // The symbols of an epilogue's columns, [first, second): one pair for all, so that equal epilogues are one
  // kernel.
  std::pair<Dim, Dim> epilogueColumns(DimContext& dims);
  int32_t functionIndex(const std::string& name) const;
  void declareFunction(const std::string& name);
  void setRegisterValues(size_t function, std::vector<RegisterValue> values);
  vm::Program& program() { return out_.program; }
  const VersionPolicy& versions() const { return versions_; }

 private:
  void share(size_t index, const loop::Kernel& with);
  int32_t constantRow(const HostTensor& tensor, const std::string& name);

  LoweredModule& out_;
  const VersionPolicy versions_;
  std::unordered_map<std::string, int32_t> strings_, builtins_, kernels_, functions_;
  std::unordered_map<const void*, int32_t> constants_;
  std::unordered_map<std::string, int> kernelNames_;
  std::optional<std::pair<Dim, Dim>> epilogueColumns_;
  // constant, builtin, its numbers → global, element type
  std::map<std::tuple<int32_t, std::string, std::vector<int32_t>>, std::pair<int32_t, Dtype>> packed_;
  DeviceKind device_ = {};
  std::map<int32_t, int32_t> deviceGlobals_;  // constant → global
};

}  // namespace dyn
