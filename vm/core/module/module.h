// Module: a loaded program. Verified, kernels and builtins resolved, constants wrapped, globals filled once
// by init (vm/core/run/module_init.h). Immutable from then on, so any number of threads may share it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vm/core/builtin/builtin.h"
#include "vm/core/device/device_choice.h"
#include "vm/core/module/flow_code.h"
#include "vm/core/object/contract.h"
#include "vm/isa/program.h"

namespace dyn::vm {

// Memory that a module keeps mapped or linked (a package); destroyed after everything else of the module.
struct ModuleResource {
  virtual ~ModuleResource() = default;
};

// Gives a host back unless somebody took it over, also when memory gives out on the way.
class HostOwner {
 public:
  explicit HostOwner(const dyn_host& host) : host_(&host) {}
  ~HostOwner() {
    if (host_ && host_->release) host_->release(host_->user);
  }
  HostOwner(const HostOwner&) = delete;
  void taken() { host_ = nullptr; }

 private:
  const dyn_host* host_;  // the caller's
};

class Module {
 public:
  struct Options {
    dyn_host host = {};
    std::unique_ptr<ModuleResource> resource;
    const void* constantSection =
        nullptr;  // rows' offsets count from here; null: the host resolves constants
    uint64_t constantSectionBytes = 0;
    const DynGemmFamily* gemmFamily = nullptr;  // goes before the host's
    const DynFlowProgram* flow = nullptr;       // as is this: native code of the functions
    uint64_t memoryLimitBytes = 0;              // of constants' heads and globals; 0: usableMemoryBytes()
    const char* device = nullptr;               // as in dyn_gpu.h; read during load
    Fallback fallback = Fallback::none;         // where there is no device
  };
  // All but the globals, which init fills: loadModule() does both. Calls host.release when it fails, too.
  static Status create(Program program, Options options, std::shared_ptr<Module>& module);
  ~Module();

  const Program& program() const { return program_; }
  const std::vector<DynKernelFunction>& kernels() const { return kernels_; }
  const std::vector<DynKernelEntry>& kernelEntries() const {
    return kernelEntries_;
  }  // the same, for builtins
  const std::vector<const BuiltinRow*>& builtins() const { return builtins_; }
  const std::vector<Object*>& constants() const { return constants_; }
  std::vector<Object*>& globals() { return globals_; }  // written by init only
  void keepGlobals();  // init has filled them: they are never counted from now on
  const std::vector<Object*>& globals() const { return globals_; }
  const std::vector<SharedDim>& sharedDims() const { return sharedDims_; }  // of the program's inputs
  const DynGemmFamily* gemmFamily() const { return gemmFamily_; }
  // What packing functions make; null: what this machine reads.
  const PanelLayout* packs() const { return packs_ ? &*packs_ : nullptr; }
  const dyn_host& host() const { return options_.host; }
  const FlowCode& flow() const { return flow_; }
  MemoryPool* pool() { return pool_; }
  const DeviceChoice& device() const { return device_; }
  int32_t findFunction(std::string_view name) const;
  // The user's place of a code position; "" if absent.
  const std::string& placeOf(uint32_t function, uint32_t position) const;
  // Check `number`, from 1, of what is launched there; nullopt: it is not known.
  struct Check {
    std::string place, noun, bound;
  };
  std::optional<Check> checkOf(uint32_t function, uint32_t position, int32_t number) const;
  bool hasChecks(uint32_t function, uint32_t position) const;
  // "main@12"
  std::string positionText(uint32_t function, uint32_t position) const;

 private:
  const PlaceRow* placeRow(uint32_t function, uint32_t position) const;
  Module() = default;
  Status resolve();
  Status checkMachine();
  Status checkBuiltinCalls() const;
  Status loadConstants();
  Status chooseDevice();

  Program program_;
  Options options_;
  DeviceChoice device_;
  MemoryPool* pool_ = nullptr;
  std::vector<DynKernelFunction> kernels_;
  std::vector<DynKernelEntry> kernelEntries_;
  std::vector<const BuiltinRow*> builtins_;
  std::vector<Object*> constants_, globals_;
  Object* immortals_ = nullptr;
  std::vector<SharedDim> sharedDims_;
  const DynGemmFamily* gemmFamily_ = nullptr;
  std::optional<PanelLayout> packs_;
  FlowCode flow_;
};

}  // namespace dyn::vm
