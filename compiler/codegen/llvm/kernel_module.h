// KernelModule: generated code before it is compiled. Opaque here; emitters inside codegen fill it through
// llvm_module.h.
//
// Movable, not copyable. It carries its own LLVM context, so different modules may be built and compiled on
// different threads; one module belongs to one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "compiler/support/result.h"
#include "compiler/target/machine.h"

namespace dyn {

class KernelModule {
 public:
  struct Contents;  // defined in llvm_module.h

  explicit KernelModule(std::unique_ptr<Contents> contents);
  KernelModule(KernelModule&&) noexcept;
  KernelModule& operator=(KernelModule&&) noexcept;
  ~KernelModule();

  const std::string& name() const;
  const MachineDescription& machine() const;
  // LLVM assembly; for inspection, golden tests and cache keys.
  std::string irText() const;
  // LLVM's verifier: types, dominance, intrinsic signatures.
  Status verify() const;

  Contents& contents() { return *contents_; }

 private:
  std::unique_ptr<Contents> contents_;
};

}  // namespace dyn
